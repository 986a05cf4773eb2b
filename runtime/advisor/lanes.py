"""Which lane a source enters for one prompt, or what keeps it out. It knows no heat: the furnace is `advisor.py`.

The order of the gates is the order in which the words below are tested: burned, raw score, script boundary, two written
words, surfaces.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from runtime.advisor.constants import SCATTER_FEED_LIMIT, TOPIC_SHARE, WEAK_BAND_WIDTH
from runtime.advisor.fingerprint import Source
from runtime.advisor.scoring import (
    Reading,
    SurfaceScore,
    WeighedWord,
    best_phrase,
    matched_words,
    surface_scores,
    total,
)

Lane: TypeAlias = Literal["strong", "weak", "scatter", "brand", "script"]
Block: TypeAlias = Literal["burned", "below threshold", "one word"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a prompt means for one source."""

    source: Source
    matched: Sequence[Reading]
    """In prompt order."""
    raw_score: float
    """s: over all tools of the source."""
    lane: Lane | None
    """None: kept out."""
    blocked_by: Block | None = None
    effective_score: float = 0.0
    """s-hat: what feeds the heat, ranks and is shown."""
    surface: SurfaceScore | None = None
    """The tool whose phrase carries the score, in the strong and the weak lane."""
    surfaces: Sequence[SurfaceScore] = ()
    """What the tools score each, in catalog order; only of sources that enter a lane."""
    script_check: Literal["brand", "topic"] | None = None
    """Which check opened the script lane."""

    @property
    def fires_at_once(self) -> bool:
        """Strong surfaces and script boundaries need no heat."""
        return self.lane in ("strong", "script")


def judge(
    source: Source,
    weighed: Sequence[WeighedWord],
    threshold: float,
    *,
    mostly_non_latin: Callable[[], bool],
    minimum_surfaces: int,
    is_burned: bool,
) -> Verdict:
    """The lane of one source.

    Seed: combustion:score:effective, combustion:gate:two-words, combustion:band:strong, combustion:band:weak,
    combustion:band:scatter
    """
    matched = matched_words(weighed, source.number)
    raw = total(matched)
    if is_burned:
        return Verdict(source, matched, raw, None, "burned")
    if raw < threshold or not matched:
        return Verdict(source, matched, raw, None, "below threshold")
    if len(matched) == 1:
        surfaces = surface_scores(weighed, source.number)
        return _lone_word(source, matched, raw, surfaces, mostly_non_latin, minimum_surfaces)
    surfaces = surface_scores(weighed, source.number)
    best = best_phrase(surfaces, threshold)
    if best is None:
        return Verdict(source, matched, raw, "scatter", None, min(raw, SCATTER_FEED_LIMIT), None, surfaces)
    lane: Lane = "strong" if best.score >= threshold + WEAK_BAND_WIDTH else "weak"
    return Verdict(source, matched, raw, lane, None, best.score, best, surfaces)


def _lone_word(
    source: Source,
    matched: Sequence[Reading],
    raw: float,
    surfaces: Sequence[SurfaceScore],
    mostly_non_latin: Callable[[], bool],
    minimum_surfaces: int,
) -> Verdict:
    """The two exceptions to the gate of two written words.

    Seed: combustion:gate:brand-exception, combustion:script:first-turn, combustion:script:topic-share
    """
    reading = matched[0]
    effective = min(raw, SCATTER_FEED_LIMIT)
    is_brand = reading.term in source.brands
    if (
        len(reading.posting) == 1
        and (is_brand or _is_topic(source, matched[0], minimum_surfaces))
        and mostly_non_latin()
    ):
        check: Literal["brand", "topic"] = "brand" if is_brand else "topic"
        return Verdict(source, matched, raw, "script", None, effective, None, surfaces, check)
    if is_brand:
        return Verdict(source, matched, raw, "brand", None, effective, None, surfaces)
    return Verdict(source, matched, raw, None, "one word")


def _is_topic(source: Source, word: Reading, minimum_surfaces: int) -> bool:
    """Whether enough of the source's tools hold the word; tools of the same name count each."""
    tools = len(source.surfaces)
    return tools >= minimum_surfaces and len(word.posting[source.number]) / tools >= TOPIC_SHARE
