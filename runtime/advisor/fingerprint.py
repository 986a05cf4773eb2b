"""The catalog as the advisor sees it: sources, their tools, and which tool holds which term. It knows no prompt.

A source is a namespace. Its tools come from *slices*, the parts of a catalog that refresh on their own (the registered
tools, each MCP server). The index is inverted: per term, the sources that hold it and there the tools. A slice that
changes touches its own namespaces and their terms only; nothing else is rebuilt, and a tool costs its name, its
description and about a hundred bytes per term, whatever the size of its schema.
"""

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from sys import intern
from typing import Final, NamedTuple, TypeAlias

from runtime.advisor.limits import BRAND_MINIMUM_LETTERS, UNSCOPED
from runtime.advisor.sentences import sentence_to_index
from runtime.advisor.stopwords import STOPWORDS
from runtime.advisor.tokens import token_run


class CatalogTool(NamedTuple):
    """A tool as a catalog lists it."""

    name: str
    description: str = ""
    namespace: str | None = None
    """None: the tool belongs to no source of its own and is `unscoped`."""
    ref: str | None = None
    """What a program calls, as hints print it; None: `mcp.` or `extensions.` and the name."""


class Surface(NamedTuple):
    """One tool of a source: what is printed of it and what it is known by."""

    name: str
    description: str
    ref: str
    """What a program calls."""
    terms: tuple[str, ...]
    """Each once, in no particular order."""


class Source(NamedTuple):
    """One namespace with its tools in catalog order."""

    number: int
    """Stays the same through refreshes of the source."""
    namespace: str
    label: str
    brands: frozenset[str]
    surfaces: tuple[Surface, ...]


Posting: TypeAlias = dict[int, tuple[int, ...]]
"""Source number to the positions of the tools that hold the term."""


def label(namespace: str | None) -> str:
    """How a namespace is printed: without its leading `extension:`."""
    return UNSCOPED if namespace is None else namespace.removeprefix("extension:")


def brand_tokens(namespace: str) -> frozenset[str]:
    """The words by which a source is called: tokens of at least three letters after the label's last colon.

    Seed: combustion:gate:brand-exception, combustion:gate:short-silent
    """
    name = label(namespace).rpartition(":")[2]
    return frozenset(
        [token for token in token_run(name) if len(token) >= BRAND_MINIMUM_LETTERS and token not in STOPWORDS]
    )


def surface_text(name: str, description: str) -> str:
    """What is read of one tool: its name and the first sentence of its description.

    Seed: combustion:index:name-plus-first-sentence, combustion:index:skip-later
    """
    return f"{name} {sentence_to_index(description)}"


def surface_terms(name: str, description: str) -> tuple[str, ...]:
    """The terms of one tool, each once."""
    found = set(token_run(surface_text(name, description))) - STOPWORDS
    return tuple(map(intern, found))  # one string per term, however many tools hold it


@contextmanager
def _no_collection() -> Iterator[None]:
    """No collector runs while the body builds: it makes no cycles, and each run would walk the host's whole heap."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Fingerprint:
    """The inverted index over all slices.

    Seed: combustion:index:by-namespace
    """

    def __init__(self) -> None:
        self.postings: Final[dict[str, Posting]] = {}
        """Term to where it stands. The document frequency of a term is the length of its posting."""
        self._sources: Final[dict[str, Source]] = {}
        self._by_number: Final[dict[int, Source]] = {}
        self._brands: Final[dict[str, int]] = {}
        self._slices: Final[dict[str, dict[str, list[CatalogTool]]]] = {}
        self._ranks: Final[dict[str, int]] = {}
        self._holders: Final[dict[str, set[str]]] = {}
        self._next_rank = count()
        self._next_number = count()
        self._single: Final[dict[int, tuple[int]]] = {}

    def __len__(self) -> int:
        """The number of sources."""
        return len(self._sources)

    @property
    def brands(self) -> Mapping[str, int]:
        """The brand words of every source, each with the number of sources that bear it."""
        return self._brands

    def source(self, number: int) -> Source:
        """The source with this number."""
        return self._by_number[number]

    def named(self, namespace: str) -> Source | None:
        """The source of this namespace, if it is indexed."""
        return self._sources.get(namespace)

    def sources(self) -> list[Source]:
        """All sources, in the order in which the slices first name them."""
        seen: dict[str, None] = {}
        for name in sorted(self._slices, key=self._ranks.__getitem__):
            seen.update(dict.fromkeys(self._slices[name]))
        return [self._sources[namespace] for namespace in seen]

    def document_frequency(self, term: str) -> int:
        """df(t): the number of sources with this term, burned and unscoped ones included.

        Seed: combustion:score:df
        """
        return len(self.postings.get(term, ()))

    def set_slice(self, name: str, tools: Iterable[CatalogTool]) -> None:
        """Replace one slice. An empty one is removed; one that comes back later goes last.

        Costs the tools of the namespaces that changed, not the catalog.
        """
        grouped: dict[str, list[CatalogTool]] = {}
        for tool in tools:
            grouped.setdefault(UNSCOPED if tool.namespace is None else tool.namespace, []).append(tool)
        before = self._slices.pop(name, {})
        if grouped:
            self._slices[name] = grouped
            self._ranks.setdefault(name, next(self._next_rank))
        else:
            self._ranks.pop(name, None)
        with _no_collection():
            for namespace in before.keys() - grouped.keys():
                self._holders[namespace].discard(name)
                self._rebuild(namespace)
            for namespace, listed in grouped.items():
                holders = self._holders.get(namespace)
                if holders is None:
                    self._holders[namespace] = {name}
                else:
                    holders.add(name)
                if before.get(namespace) != listed:
                    self._rebuild(namespace)

    def _rebuild(self, namespace: str) -> None:
        """Index one namespace again, from every slice that names it."""
        old = self._sources.pop(namespace, None)
        if old is not None:
            self._forget(old)
        holders = self._holders[namespace]
        if not holders:
            del self._holders[namespace]
            return
        ordered = sorted(holders, key=self._ranks.__getitem__) if len(holders) > 1 else holders
        prefix = "mcp." if namespace.startswith("mcp:") else "extensions."
        surfaces = [
            Surface(name, description, prefix + name if ref is None else ref, surface_terms(name, description))
            for holder in ordered
            for name, description, _, ref in self._slices[holder][namespace]
        ]
        number = next(self._next_number) if old is None else old.number
        source = Source(number, namespace, label(namespace), brand_tokens(namespace), tuple(surfaces))
        self._sources[namespace] = self._by_number[source.number] = source
        for brand in source.brands:
            self._brands[brand] = self._brands.get(brand, 0) + 1
        self._post(source)

    def _post(self, source: Source) -> None:
        """Enter the terms of `source`; positions are shared tuples, since most terms stand on one tool."""
        number, postings, single = source.number, self.postings, self._single
        if len(source.surfaces) == 1:
            first = single.setdefault(0, (0,))
            for term in source.surfaces[0].terms:
                posting = postings.get(term)
                if posting is None:
                    postings[term] = {number: first}
                else:
                    posting[number] = first
            return
        several: dict[str, list[int]] = {}
        for position, surface in enumerate(source.surfaces):
            alone = single.get(position)
            if alone is None:
                alone = single[position] = (position,)
            for term in surface.terms:
                posting = postings.get(term)
                if posting is None:
                    postings[term] = {number: alone}
                elif number not in posting:
                    posting[number] = alone
                elif term in several:
                    several[term].append(position)
                else:
                    several[term] = [*posting[number], position]
        for term, positions in several.items():
            postings[term][number] = tuple(positions)

    def _forget(self, source: Source) -> None:
        """Take every term and brand of `source` out again."""
        del self._by_number[source.number]
        for surface in source.surfaces:
            for term in surface.terms:
                posting = self.postings.get(term)
                if posting is not None and posting.pop(source.number, None) is not None and not posting:
                    del self.postings[term]
        for brand in source.brands:
            self._brands[brand] -= 1
            if not self._brands[brand]:
                del self._brands[brand]
