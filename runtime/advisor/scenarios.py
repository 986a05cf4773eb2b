"""Runs recorded advisor scenarios and text vectors and names every difference. It reads files, prints nothing.

A scenario is a catalog, a config and a list of steps with the recorded outcome; a text vector is one call of a text
helper. Two groups show accidents of the recorded implementation and may differ on purpose.
"""

import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from zlib import error as DeflateError  # noqa: N812

import msgspec

from runtime.advisor.advisor import AdvisorState, consider, end_turn, fired, tool_use
from runtime.advisor.fingerprint import CatalogTool, Fingerprint, label, surface_text
from runtime.advisor.paths import path_only_terms
from runtime.advisor.rendering import Hint
from runtime.advisor.replay import replay
from runtime.advisor.script import mostly_non_latin
from runtime.advisor.sentences import first_sentence, short_description
from runtime.advisor.settings import AdvisorySettings
from runtime.advisor.tokens import readings, tokens, words

ACCEPTED_GROUPS: Final = frozenset({"restore-throws", "collation-unicode"})
"""Groups whose differences are accepted. Null entries are skipped here instead of failing the replay half-way."""
CATALOG_SLICE: Final = "captured"
_AT: Final = ""


class ScenarioFileError(Exception):
    """A file holds something else than scenarios; the message says where."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a scenario came out differently, at its first differing step."""

    scenario: str
    group: str
    step: int
    expected: Any
    actual: Any

    @property
    def accepted(self) -> bool:
        """Whether this group may differ."""
        return self.group in ACCEPTED_GROUPS


def read_scenarios(path: Path) -> Iterator[dict[str, Any]]:
    """The scenarios and text vectors of a file, plain or gzipped, one a line.

    Raises:
        ScenarioFileError: the file cannot be read, holds nothing, or a line is no scenario.
    """
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        text = data.decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError, DeflateError) as error:
        raise ScenarioFileError(f"{path}: {error}") from error
    if not text.strip():
        raise ScenarioFileError(f"{path}: no scenario in it")
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            scenario = _decode(line)
        except (ValueError, RecursionError) as error:
            raise ScenarioFileError(f"{path}:{number}: {error}") from error
        if not isinstance(scenario, dict) or not ("steps" in scenario or "fn" in scenario):
            raise ScenarioFileError(f"{path}:{number}: neither a scenario (`steps`) nor a text vector (`fn`)")
        yield scenario


def first_difference(scenario: Mapping[str, Any]) -> Difference | None:
    """Run one scenario or text vector; None if everything came out as recorded.

    Raises:
        ScenarioFileError: the scenario has another shape than the format.
    """
    try:
        outcomes = _text_outcome(scenario) if "fn" in scenario else _outcomes(scenario)
        for step, expected, actual in outcomes:
            if expected != actual:
                return Difference(str(scenario.get("id")), str(scenario.get("group", "text")), step, expected, actual)
    except (KeyError, TypeError, AttributeError) as error:
        raise ScenarioFileError(f"scenario {scenario.get('id')!r}: {type(error).__name__}: {error}") from error
    return None


def _decode(line: str) -> Any:
    """One line of JSON; strings may hold half of a surrogate pair, which the fast decoder refuses."""
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError:
        import json

        return json.loads(line)


def settings_of(config: Mapping[str, Any]) -> AdvisorySettings:
    """The settings of a scenario; they go beyond the limits on loading on purpose."""
    return AdvisorySettings(
        mode=config.get("mode", "enabled"),
        threshold=config.get("threshold", AdvisorySettings().threshold),
        max_per_session=config.get("maxPerSession", AdvisorySettings().max_per_session),
        budget_tokens=config.get("budget", AdvisorySettings().budget_tokens),
    )


def catalog_tools(items: Sequence[Mapping[str, Any]]) -> list[CatalogTool]:
    """The tools of a catalog in JSON."""
    return [CatalogTool(item["name"], item.get("description") or "", item.get("namespace")) for item in items]


class Machine:
    """An advisor without a host: what it would say is said at once."""

    def __init__(self, catalog: Sequence[Mapping[str, Any]] = ()) -> None:
        self.index = Fingerprint()
        self.state = AdvisorState()
        if catalog:
            self.index.set_slice(CATALOG_SLICE, catalog_tools(catalog))

    def prompt(self, text: str, settings: AdvisorySettings) -> Hint | None:
        """Consider one prompt, and fire if a hint comes of it."""
        decision = consider(self.state, self.index, text, settings)
        self.state = decision.state
        if decision.hint is not None:
            self.state = fired(self.state, decision.hint, _AT)
        return decision.hint

    def tool_use(self, namespace: str) -> bool:
        """A tool was called; whether ash was added."""
        before = self.state.ash
        self.state = tool_use(self.state, namespace, _AT)
        return self.state.ash is not before

    def restore(self, entries: Sequence[Any], tool_namespaces: Mapping[str, Any], exec_tool: str | None) -> None:
        """Replay a branch; what is transient stays."""
        durable = replay(entries, namespaces_of_tool=_resolver(tool_namespaces), exec_tool=exec_tool)
        self.state = replace(self.state, ash=durable.ash, echoes=durable.echoes, spent_hints=durable.spent_hints)

    def ash(self) -> list[dict[str, str]]:
        """What burned, in burn order."""
        return [{"namespace": record.namespace, "origin": record.origin} for record in self.state.ash.values()]


def _resolver(tool_namespaces: Mapping[str, Any]) -> Callable[[str], Sequence[str] | None]:
    def namespaces_of_tool(name: str) -> Sequence[str] | None:
        if name not in tool_namespaces:
            return None
        listed = tool_namespaces[name]
        return [listed] if isinstance(listed, str) else listed or []

    return namespaces_of_tool


def _outcomes(scenario: Mapping[str, Any]) -> Iterator[tuple[int, Any, Any]]:
    """Every step of a scenario that has an outcome: its number, what was recorded, what came out."""
    machine = Machine(scenario.get("catalog") or ())
    config = scenario.get("config") or {}
    for number, step in enumerate(scenario["steps"]):
        expected = step.get("expect")
        match step["op"]:
            case "prompt":
                settings = settings_of({**config, **(step.get("config") or {})})
                yield number, expected, hint_view(machine.prompt(step["text"], settings))
            case "end_turn":
                machine.state = end_turn(machine.state)
            case "tool_use":
                yield number, expected, {"changed": machine.tool_use(step["namespace"])}
            case "reset":
                machine.state = machine.state.without_transients()
            case "restore":
                machine.restore(step["entries"], step.get("toolNamespaces") or {}, step.get("execTool"))
                yield number, expected, {"ash": machine.ash()}
            case "set_source":
                machine.index.set_slice(step["source"], catalog_tools(step["descriptors"]))
                yield number, expected, {"hasSources": len(machine.index) > 0}
            case "ash":
                yield number, expected, machine.ash()
            case op:
                raise ScenarioFileError(f"scenario {scenario.get('id')!r}: unknown step {op!r}")


def hint_view(hint: Hint | None) -> dict[str, Any] | None:
    """A hint in the shape of the recorded outcome."""
    if hint is None:
        return None
    return {
        "content": hint.content,
        "display": hint.display,
        "matches": hint.details()["matches"],
        "register": hint.register,
    }


def _index_view(items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The index over a catalog in the shape of the recorded outcome."""
    index = Fingerprint()
    index.set_slice(CATALOG_SLICE, catalog_tools(items))
    sources = []
    for source in index.sources():
        counts: dict[str, int] = {}
        for surface in source.surfaces:
            for term in tokens(surface_text(surface.name, surface.description)):
                counts[term] = counts.get(term, 0) + 1
        sources.append(
            {
                "namespace": source.namespace,
                "label": source.label,
                "tools": [surface.name for surface in source.surfaces],
                "termCounts": counts,
                "toolTerms": [sorted(surface.terms) for surface in source.surfaces],
            }
        )
    return {
        "sources": sources,
        "documentFrequency": {term: len(posting) for term, posting in index.postings.items()},
    }


_TEXT_HELPERS: Final[dict[str, Callable[[Any], Any]]] = {
    "tokens": tokens,
    "words": words,
    "readings": lambda word: list(readings(word)),
    "path_only_terms": lambda text: sorted(path_only_terms(text)),
    "mostly_non_latin": mostly_non_latin,
    "first_sentence": first_sentence,
    "short_description": short_description,
    "label": label,
    "index": _index_view,
}


def _text_outcome(vector: Mapping[str, Any]) -> Iterator[tuple[int, Any, Any]]:
    """The one outcome of a text vector."""
    helper = _TEXT_HELPERS.get(vector["fn"])
    if helper is None:
        raise ScenarioFileError(f"text vector {vector.get('id')!r}: unknown function {vector['fn']!r}")
    yield 0, vector["expect"], helper(vector["input"])
