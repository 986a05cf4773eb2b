"""From sources that fire to the text of a hint and its details. It knows budgets and forms, no heat and no reasons."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any, Literal, TypeAlias

from runtime.advisor.lanes import Verdict
from runtime.advisor.limits import (
    COUNTER_NAMES,
    ELLIPSIS,
    SCORE_DECIMALS,
    TOOLS_PER_HINT,
    TOOLS_PER_SOURCE,
    UNITS_PER_TOKEN,
)
from runtime.advisor.sentences import short_description, utf16_units

Register: TypeAlias = Literal["matched", "might match"]

_STEER = "Steer: prefer these captured tools over re-implementing the capability; skip if irrelevant."


@dataclass(frozen=True, slots=True)
class Match:
    """One source of a hint."""

    namespace: str
    label: str
    score: float
    """s-hat, rounded half up."""
    matched_terms: tuple[str, ...]
    names: tuple[str, ...]
    """The tools that the hint names, best first."""
    refs: tuple[str, ...]
    """What a program calls for each of `names`."""
    descriptions: tuple[str, ...]
    """Full texts of the best tools."""
    omitted_names: tuple[str, ...]
    """The further tools, best first."""

    @property
    def tool_count(self) -> int:
        """How many tools of the source have a name."""
        return len(self.names) + len(self.omitted_names)

    def details(self) -> dict[str, Any]:
        """The match as the transcript keeps it. Seed: combustion:band:details-score"""
        return {
            "namespace": self.namespace,
            "label": self.label,
            "score": int(self.score) if self.score == int(self.score) else self.score,
            "matchedTerms": list(self.matched_terms),
            "names": list(self.names),
            "descriptions": list(self.descriptions),
            "omitted": len(self.omitted_names),
        }


@dataclass(frozen=True, slots=True)
class Hint:
    """What is said to the model."""

    content: str
    display: bool
    """Whether people are shown it too."""
    register: Register
    matches: tuple[Match, ...]

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The sources that it names and that burn with it."""
        return tuple(match.namespace for match in self.matches)

    def details(self) -> dict[str, Any]:
        """The details of the transcript entry. Seed: combustion:store:custom-message"""
        return {"matches": [match.details() for match in self.matches]}


def rounded_score(score: float) -> float:
    """`score` at two decimals, half up. Seed: combustion:score:effective-controls"""
    scale = 10**SCORE_DECIMALS
    scaled = score * scale
    whole = floor(scaled)
    return (whole + (scaled - whole >= 1 / 2)) / scale


def describe_match(verdict: Verdict, places: int) -> Match:
    """What a hint says of one source, naming at most `places` of its tools.

    Tools rank by their own score, then by catalog order. A tool without a name is dropped from the names only.
    """
    source = verdict.source
    own_score = {surface.tool: surface.score for surface in verdict.surfaces}
    ranked = sorted(range(len(source.surfaces)), key=lambda tool: -own_score.get(tool, 0.0))
    named = [surface for tool in ranked if (surface := source.surfaces[tool]).name]
    shown = min(places, TOOLS_PER_SOURCE)
    words = verdict.matched if verdict.surface is None else verdict.surface.words
    by_rarity = sorted(words, key=lambda word: len(word.posting))
    return Match(
        namespace=source.namespace,
        label=source.label,
        score=rounded_score(verdict.effective_score),
        matched_terms=tuple(word.term for word in by_rarity),
        names=tuple(surface.name for surface in named[:shown]),
        refs=tuple(surface.ref for surface in named[:shown]),
        descriptions=tuple(source.surfaces[tool].description for tool in ranked[:shown]),
        omitted_names=tuple(surface.name for surface in named[shown:]),
    )


def render(fired: Sequence[Verdict], *, budget_tokens: int, display: bool) -> Hint:
    """The hint for the sources that fire, best first; the longest of four forms that fits the budget.

    Seed: combustion:band:headline-strong, combustion:band:headline-weak, combustion:config:budget
    """
    matches: list[Match] = []
    places = TOOLS_PER_HINT
    for verdict in fired:
        match = describe_match(verdict, places)
        places -= len(match.names)
        matches.append(match)
    register: Register = "matched" if fired[0].lane == "strong" else "might match"
    count = sum(match.tool_count for match in matches)
    headline = (
        f"{', '.join(match.label for match in matches)} · {count} {'tool' if count == 1 else 'tools'}"
        f" {register} your prompt."
    )
    content = ""
    for lines in _forms(headline, matches):
        content = "\n".join(lines)
        if ceil(utf16_units(content) / UNITS_PER_TOKEN) <= budget_tokens:
            break
    return Hint(content, display, register, tuple(matches))


def _forms(headline: str, matches: Sequence[Match]) -> Iterator[list[str]]:
    """The four forms of a hint, longest first; the last is said whatever the budget."""
    yield [headline, *_bullets(matches, described=True), *_next_step(matches[0]), _STEER]
    yield [headline, *_bullets(matches, described=False), *_next_step(matches[0]), _STEER]
    yield [headline, *[_one_line(match) for match in matches], _STEER]
    yield [headline, _STEER]


def _bullets(matches: Sequence[Match], *, described: bool) -> list[str]:
    """One line per named tool, and one that counts the others."""
    lines = []
    for match in matches:
        tag = f" ({match.label})" if len(matches) > 1 else ""
        for ref, description in zip(match.refs, match.descriptions, strict=False):
            text = f" — {short_description(description)}" if described and description else ""
            lines.append(f"▪ {ref}{tag}{text}")
        if match.omitted_names:
            lines.append(f"  ~ +{len(match.omitted_names)} more in {match.label}: {_counted(match)}")
    return lines


def _one_line(match: Match) -> str:
    """A source on one line."""
    parts = list(match.refs)
    if match.omitted_names:
        parts.append(f"~ +{len(match.omitted_names)} more: {_counted(match)}")
    return f"▪ {match.label} · {', '.join(parts)}"


def _counted(match: Match) -> str:
    """The first names among the tools that are only counted."""
    more = [ELLIPSIS] if len(match.omitted_names) > COUNTER_NAMES else []
    return ", ".join([*match.omitted_names[:COUNTER_NAMES], *more])


def _next_step(match: Match) -> list[str]:
    """How to go on with the best tool."""
    return [
        f'Next: tools.describe({{ref: "{ref}"}}) for its schema, then {ref}({{…}}) inside fabric_exec.'
        for ref in match.refs[:1]
    ]
