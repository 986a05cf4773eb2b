"""What each word of a prompt weighs, which sources it can concern, and what each source scores. It decides nothing.

The index makes a prompt cost its own words and their postings. Sources that cannot reach the threshold are not looked
at: the commonest words together may weigh less than the threshold, and then a source with none of the rarer words is
out, whatever else it holds.
"""

from collections.abc import Container, Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from runtime.advisor.constants import PHRASE_WINDOW, SCORE_QUANTUM
from runtime.advisor.episodes import Episodes
from runtime.advisor.fingerprint import Fingerprint, Posting
from runtime.advisor.limits import PATH_FACTOR
from runtime.advisor.tokens import PromptWord

_SHARE_SET_ASIDE: Final = 1 / 4
"""The part of the threshold that the commonest words may weigh together without being looked up source by source.
Any part is exact; this one was the fastest on the recorded catalogs: less walks long postings, more lets too many
sources through."""
_ROUNDING_MARGIN: Final = 1e-6
"""Sums in another order differ by less than this; what lies closer to the threshold is summed exactly."""


class Reading(NamedTuple):
    """One indexed term that a surviving word may stand for."""

    position: int
    """The word's index among all survivors, matched or not."""
    key: str
    """The written word in lower case."""
    weight: float
    """w(t) = path factor / (df(t) (1 + e))."""
    term: str
    posting: Posting


WeighedWord: TypeAlias = tuple[Reading, ...]
"""The readings of one word that some source holds, heaviest first; of equals the earliest."""


class SurfaceScore(NamedTuple):
    """What one tool scores."""

    tool: int
    """Position of the tool in its source."""
    score: float
    words: list[Reading]
    """What it holds, each word with its heaviest reading there; in prompt order."""


def weigh(
    words: Sequence[PromptWord], index: Fingerprint, path_terms: Container[str], episodes: Episodes
) -> list[WeighedWord]:
    """The words that some source holds, with the weights of their readings.

    A reading's path factor takes part in the choice of the best reading; the familiar-word factor does not.

    Seed: combustion:score:inverse-df, combustion:path:half, combustion:familiar:formula
    """
    posting_of = index.postings.get
    memory_of = episodes.words.get
    weighed: list[WeighedWord] = []
    for position, (key, terms) in enumerate(words):
        readings = []
        for term in terms:
            posting = posting_of(term)
            if posting is None:
                continue
            weight = SCORE_QUANTUM / len(posting)
            if term in path_terms:
                weight *= PATH_FACTOR
            readings.append(Reading(position, key, weight, term, posting))
        if not readings:
            continue
        if len(readings) > 1:
            readings.sort(key=_heaviest_first)
        memory = memory_of(key)
        if memory is not None and memory.episodes:
            divisor = 1 + memory.episodes
            readings = [reading._replace(weight=reading.weight / divisor) for reading in readings]
        weighed.append(tuple(readings))
    return weighed


def _heaviest_first(reading: Reading) -> float:
    return -reading.weight


def candidates(weighed: Iterable[WeighedWord], threshold: float) -> list[int]:
    """The numbers of the sources whose raw score may reach `threshold`: none that does is missing.

    The commonest words are set aside while all of them together weigh little; only the postings of the others are
    walked, and a source is out if what it holds of them and everything set aside stay below the threshold.
    """
    commonest_first = sorted(weighed, key=_breadth, reverse=True)
    aside = 0.0
    start = 0
    for readings in commonest_first:
        heaviest = readings[0].weight
        if aside + heaviest >= threshold * _SHARE_SET_ASIDE:
            break
        aside += heaviest
        start += 1
    bound: dict[int, float] = {}
    known = bound.get
    for readings in commonest_first[start:]:
        heaviest = readings[0].weight
        for number in readings[0].posting if len(readings) == 1 else _holders(readings):
            bound[number] = known(number, aside) + heaviest
    least = threshold - _ROUNDING_MARGIN
    return [number for number, most in bound.items() if most >= least]


def _holders(readings: WeighedWord) -> set[int]:
    """The sources that hold the word in any reading, each once."""
    return {number for reading in readings for number in reading.posting}


def _breadth(readings: WeighedWord) -> int:
    """How many sources a word may concern."""
    return len(readings[0].posting) if len(readings) == 1 else sum(len(reading.posting) for reading in readings)


def matched_words(weighed: Iterable[WeighedWord], number: int) -> list[Reading]:
    """The words that a source holds, each with its heaviest reading there; in prompt order.

    Seed: combustion:score:sum-max, combustion:score:rarest, combustion:score:one-unit
    """
    matched = []
    for readings in weighed:
        for reading in readings:
            if number in reading.posting:
                matched.append(reading)
                break
    return matched


def total(matched: Iterable[Reading]) -> float:
    """The sum of the weights, in prompt order and in plain doubles (`sum` would compensate from Python 3.12 on).

    Seed: combustion:score:sum-max
    """
    score = 0.0
    for reading in matched:
        score += reading.weight
    return score


def surface_scores(weighed: Iterable[WeighedWord], number: int) -> list[SurfaceScore]:
    """What every tool of a source that holds a word scores, in catalog order; each tool reads the words for itself.

    Seed: combustion:phrase:surface-score
    """
    per_tool: dict[int, list[Reading]] = {}
    for readings in weighed:
        if len(readings) == 1:
            reading = readings[0]
            for tool in reading.posting.get(number, ()):
                if tool in per_tool:
                    per_tool[tool].append(reading)
                else:
                    per_tool[tool] = [reading]
            continue
        read_by: set[int] = set()
        for reading in readings:
            for tool in reading.posting.get(number, ()):
                if tool not in read_by:
                    read_by.add(tool)
                    per_tool.setdefault(tool, []).append(reading)
    return [SurfaceScore(tool, total(words), words) for tool, words in sorted(per_tool.items())]


def holds_phrase(words: Sequence[Reading]) -> bool:
    """Whether two of these words stand close enough: at most 2 tau survivors apart.

    Seed: combustion:phrase:distance
    """
    return any(later.position - earlier.position <= PHRASE_WINDOW for earlier, later in pairwise(words))


def best_phrase(surfaces: Iterable[SurfaceScore], threshold: float) -> SurfaceScore | None:
    """s_phi: the strongest tool that holds a phrase and reaches `threshold` by itself; of equals the first.

    Seed: combustion:score:phrase-surface, combustion:phrase:single-surface
    """
    best: SurfaceScore | None = None
    for surface in surfaces:
        if surface.score >= threshold and (best is None or surface.score > best.score) and holds_phrase(surface.words):
            best = surface
    return best
