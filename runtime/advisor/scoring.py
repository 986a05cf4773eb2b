"""What each word of a prompt weighs, which sources it can concern, and what each source scores. It decides nothing.

The index makes a prompt cost its own words and their postings. Sources that cannot reach the threshold are not looked
at: the commonest words together may weigh less than the threshold, and then a source with none of the rarer words is
out, whatever else it holds.
"""

from collections.abc import Container, Iterable, Sequence
from typing import Final, NamedTuple

from runtime.advisor.constants import PHRASE_WINDOW, SCORE_QUANTUM
from runtime.advisor.episodes import Episodes
from runtime.advisor.fingerprint import Fingerprint, Posting
from runtime.advisor.limits import PATH_FACTOR
from runtime.advisor.tokens import PromptWord

_ROUNDING_MARGIN: Final = 1e-6
"""Sums in another order differ by less than this; what lies closer to the threshold is summed exactly."""


class Reading(NamedTuple):
    """One indexed term that a word may stand for."""

    weight: float
    """w(t) = path factor / (df(t) (1 + e))."""
    term: str
    posting: Posting


class WeighedWord(NamedTuple):
    """A surviving word with at least one indexed reading."""

    position: int
    """Its index among all survivors, matched or not."""
    key: str
    readings: tuple[Reading, ...]
    """Heaviest first; of equals the earliest reading."""


class MatchedWord(NamedTuple):
    """A word as one source (or one of its tools) reads it."""

    position: int
    key: str
    reading: Reading


class SurfaceScore(NamedTuple):
    """What one tool scores."""

    tool: int
    """Position of the tool in its source."""
    score: float
    words: tuple[MatchedWord, ...]


def weigh(
    words: Sequence[PromptWord], index: Fingerprint, path_terms: Container[str], episodes: Episodes
) -> list[WeighedWord]:
    """The words that some source holds, with the weights of their readings.

    A reading's path factor takes part in the choice of the best reading; the familiar-word factor does not.

    Seed: combustion:score:inverse-df, combustion:path:half, combustion:familiar:formula
    """
    postings = index.postings
    known = episodes.words
    weighed = []
    for position, (key, candidates) in enumerate(words):
        found = [(term, posting) for term in candidates if (posting := postings.get(term)) is not None]
        if not found:
            continue
        memory = known.get(key)
        readings = []
        for term, posting in found:
            weight = SCORE_QUANTUM / len(posting)
            if term in path_terms:
                weight *= PATH_FACTOR
            readings.append(Reading(weight, term, posting))
        if len(readings) > 1:
            readings.sort(key=_heaviest_first)
        if memory is not None and memory.episodes:
            divisor = 1 + memory.episodes
            readings = [Reading(weight / divisor, term, posting) for weight, term, posting in readings]
        weighed.append(WeighedWord(position, key, tuple(readings)))
    return weighed


def _heaviest_first(reading: Reading) -> float:
    return -reading.weight


def candidates(weighed: Iterable[WeighedWord], threshold: float) -> Iterable[int]:
    """The numbers of the sources whose raw score may reach `threshold`: none that does is missing.

    The commonest words are set aside as long as all of them together stay below the threshold; only the postings of
    the others are walked.
    """
    commonest_first = sorted(weighed, key=_breadth, reverse=True)
    aside = 0.0
    start = 0
    for word in commonest_first:
        heaviest = word.readings[0].weight
        if aside + heaviest + _ROUNDING_MARGIN >= threshold:
            break
        aside += heaviest
        start += 1
    bound: dict[int, float] = {}
    known = bound.get
    for word in commonest_first[start:]:
        heaviest = word.readings[0].weight
        if len(word.readings) == 1:
            for number in word.readings[0].posting:
                bound[number] = known(number, aside) + heaviest
        else:
            for number in {number for reading in word.readings for number in reading.posting}:
                bound[number] = known(number, aside) + heaviest
    least = threshold - _ROUNDING_MARGIN
    return [number for number, most in bound.items() if most >= least]


def _breadth(word: WeighedWord) -> int:
    """How many sources a word may concern."""
    return sum(len(reading.posting) for reading in word.readings)


def matched_words(weighed: Iterable[WeighedWord], number: int) -> list[MatchedWord]:
    """The words that a source holds, each with its heaviest reading there; in prompt order.

    Seed: combustion:score:sum-max, combustion:score:rarest, combustion:score:one-unit
    """
    matched = []
    for position, key, readings in weighed:
        for reading in readings:
            if number in reading.posting:
                matched.append(MatchedWord(position, key, reading))
                break
    return matched


def total(matched: Iterable[MatchedWord]) -> float:
    """The sum of the weights, in prompt order.

    Seed: combustion:score:sum-max
    """
    score = 0.0
    for word in matched:
        score += word.reading.weight
    return score


def surface_scores(weighed: Iterable[WeighedWord], number: int) -> list[SurfaceScore]:
    """What every tool of a source that holds a word scores, in catalog order; each tool reads the words for itself.

    Seed: combustion:phrase:surface-score
    """
    per_tool: dict[int, list[MatchedWord]] = {}
    for position, key, readings in weighed:
        read_by: set[int] | None = None
        for reading in readings:
            tools = reading.posting.get(number)
            if tools is None:
                continue
            match = MatchedWord(position, key, reading)
            for tool in tools:
                if read_by is not None and tool in read_by:
                    continue
                if tool in per_tool:
                    per_tool[tool].append(match)
                else:
                    per_tool[tool] = [match]
            if len(readings) > 1:
                read_by = {*(read_by or ()), *tools}
    return [SurfaceScore(tool, total(words), tuple(words)) for tool, words in sorted(per_tool.items())]


def holds_phrase(words: Sequence[MatchedWord]) -> bool:
    """Whether two of these words stand close enough: at most 2 tau survivors apart.

    Seed: combustion:phrase:distance
    """
    return any(
        later.position - earlier.position <= PHRASE_WINDOW
        for earlier, later in zip(words, words[1:], strict=False)
    )


def best_phrase(surfaces: Iterable[SurfaceScore], threshold: float) -> SurfaceScore | None:
    """s_phi: the strongest tool that holds a phrase and reaches `threshold` by itself; of equals the first.

    Seed: combustion:score:phrase-surface, combustion:phrase:single-surface
    """
    best: SurfaceScore | None = None
    for surface in surfaces:
        if (
            surface.score >= threshold
            and (best is None or surface.score > best.score)
            and holds_phrase(surface.words)
        ):
            best = surface
    return best
