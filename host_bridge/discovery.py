"""Finding actions by words: a BM25 index over the registry's catalog, kept up to date source by source.

It ranks and describes; it calls nothing and knows no policy. Every ref it returns is a registered one, so it can be
called by exactly that ref.
"""

import re
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from host_bridge.descriptor import Descriptor
from host_bridge.registry import CatalogEntry, Registry

COLUMN_WEIGHTS: Final = (10.0, 6.0, 3.0, 1.0)
"""Name, namespace, description, parameters: a word in a tool's name says most."""
QUERY_WORDS: Final = 64
INDEXED_CHARACTERS: Final = 4000
"""Of one description: 640 MB of schemas in a catalog must not become an index."""
SUMMARY_CHARACTERS: Final = 200
_WORD: Final = re.compile(r"[^\W_]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s")


@dataclass(frozen=True, slots=True)
class Hit:
    """One result of a search, best first."""

    descriptor: Descriptor
    score: float
    """BM25, larger is better; comparable within one search only."""


class Discovery:
    """The index over one registry. Opening it costs nothing; the first search reads the catalog."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._stale: set[str] = set(registry.source_names())
        self._hashes: dict[str, dict[str, str]] = {}
        """By source: ref to descriptor hash, as indexed."""
        self._rows: dict[str, int] = {}
        self._next_row = 1
        self._found: dict[str, Descriptor] = {}
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.execute(
            "CREATE VIRTUAL TABLE actions USING fts5(name, namespace, description, parameters, ref UNINDEXED, "
            "tokenize = 'porter unicode61')"
        )
        # Sorting by `rank` happens inside the index, which is what makes `LIMIT` cheap.
        self._database.execute(
            "INSERT INTO actions (actions, rank) VALUES ('rank', ?)", (f"bm25({', '.join(map(str, COLUMN_WEIGHTS))})",)
        )
        self._end = registry.subscribe(self._stale.add)

    def close(self) -> None:
        """Stop following the registry."""
        self._end()
        self._database.close()

    def search(
        self, query: str, *, limit: int = 10, risk: str | None = None, namespace: str | None = None
    ) -> list[Hit]:
        """The actions that fit the words of `query`, best first; words join by OR, the last one may be unfinished."""
        self._refresh()
        words = list(dict.fromkeys(_words(query)))[:QUERY_WORDS]
        if not words or limit < 1:
            return []
        terms = [f'"{word}"' for word in words]
        terms[-1] += " *" if len(words[-1]) > 2 else ""
        filtered = risk is not None or namespace is not None
        rows = self._database.execute(
            "SELECT ref, -rank FROM actions WHERE actions MATCH ? ORDER BY rank LIMIT ?",
            (" OR ".join(terms), -1 if filtered else limit),
        )
        hits: list[Hit] = []
        for ref, score in rows:
            descriptor = self._found[ref]
            if (risk is None or descriptor.risk == risk) and _inside(descriptor, namespace):
                hits.append(Hit(descriptor, score))
                if len(hits) == limit:
                    break
        rows.close()
        return sorted(hits, key=lambda hit: (-hit.score, hit.descriptor.ref))

    def entries(self, namespace: str | None = None) -> list[CatalogEntry]:
        """The catalog's entries, by ref; with `namespace` those of one namespace, root or server."""
        return [entry for entry in self._registry.catalog().entries if _inside(entry.descriptor, namespace)]

    def entry(self, ref: str) -> CatalogEntry | None:
        """The entry of exactly this ref."""
        action = self._registry.lookup(ref)
        if action is None:
            return None
        return next(entry for entry in self._registry.catalog().entries if entry.descriptor.ref == ref)

    def _refresh(self) -> None:
        """Bring the sources that changed up to date: only rows whose hash differs are written."""
        if not self._stale:
            return
        now = {
            source: {entry.descriptor.ref: entry for entry in self._registry.entries_of(source)}
            for source in self._stale
        }
        with self._database:
            for source, entries in now.items():
                before = self._hashes.pop(source, {})
                for ref in before.keys() - entries.keys():
                    # A ref that moved to another source is indexed there.
                    if self._registry.lookup(ref) is None:
                        self._forget(ref)
                for ref, entry in entries.items():
                    if before.get(ref) != entry.hash:
                        self._index(entry.descriptor)
                    else:
                        self._found[ref] = entry.descriptor
                if entries:
                    self._hashes[source] = {ref: entry.hash for ref, entry in entries.items()}
        self._stale.clear()

    def _forget(self, ref: str) -> None:
        self._database.execute("DELETE FROM actions WHERE rowid = ?", (self._rows.pop(ref),))
        del self._found[ref]

    def _index(self, descriptor: Descriptor) -> None:
        if descriptor.ref in self._rows:
            self._forget(descriptor.ref)
        name = f"{descriptor.ref.rpartition('.')[2]} {descriptor.tool_name or ''}"
        namespace = f"{descriptor.ref.rpartition('.')[0]} {descriptor.namespace or ''}"
        texts = (name, namespace, descriptor.description[:INDEXED_CHARACTERS], " ".join(_parameter_names(descriptor)))
        self._database.execute(
            "INSERT INTO actions (rowid, name, namespace, description, parameters, ref) VALUES (?, ?, ?, ?, ?, ?)",
            (self._next_row, *(" ".join(_words(text)) for text in texts), descriptor.ref),
        )
        self._rows[descriptor.ref] = self._next_row
        self._found[descriptor.ref] = descriptor
        self._next_row += 1


def summary(descriptor: Descriptor) -> str:
    """The first sentence of a description."""
    text = " ".join(descriptor.description.split())
    first = _SENTENCE_END.split(text, maxsplit=1)[0]
    return first if len(first) <= SUMMARY_CHARACTERS else first[: SUMMARY_CHARACTERS - 1] + "…"


def _inside(descriptor: Descriptor, namespace: str | None) -> bool:
    if namespace is None:
        return True
    return descriptor.namespace == namespace or descriptor.ref.startswith(f"{namespace.rstrip('.')}.")


def _parameter_names(descriptor: Descriptor) -> Iterable[str]:
    schema = descriptor.input_schema
    properties = schema.get("properties") if schema is not None else None
    if not isinstance(properties, Mapping):
        return []
    return [str(name) for name in list(properties)[:100]]


def _words(text: str) -> Iterator[str]:
    """Words in lower case, with names taken apart: `getIssue_v2` is get, issue, v2 (and getissue)."""
    for match in _WORD.finditer(unicodedata.normalize("NFKC", text)):
        word = match[0]
        parts = _HUMP.split(word)
        if len(parts) > 1:
            yield from (part.casefold() for part in parts)
        yield word.casefold()
