"""Why a prompt leads to a hint or not, source by source. It decides nothing: it asks the same functions that decide."""

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final

from runtime.advisor.advisor import AdvisorState, Decision, consider
from runtime.advisor.constants import WEAK_BAND_WIDTH, fire_point
from runtime.advisor.envelopes import cut_envelopes
from runtime.advisor.fingerprint import Fingerprint
from runtime.advisor.heat import cooled, warmed
from runtime.advisor.lanes import Verdict, judge
from runtime.advisor.limits import PATH_FACTOR
from runtime.advisor.paths import path_only_terms
from runtime.advisor.scoring import Reading, weigh
from runtime.advisor.script import mostly_non_latin
from runtime.advisor.settings import AdvisorySettings
from runtime.advisor.tokens import surviving_words, written_words

UNLIMITED: Final = 10**9


@dataclass(frozen=True, slots=True)
class WordExplanation:
    """One written word as one source reads it."""

    word: str
    position: int
    readings: tuple[str, ...]
    """Everything the word may stand for, atoms first."""
    term: str
    """The reading that counts here."""
    document_frequency: int
    path_factor: float
    episodes: int
    weight: float

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "word": self.word,
            "position": self.position,
            "readings": list(self.readings),
            "term": self.term,
            "df": self.document_frequency,
            "pathFactor": self.path_factor,
            "episodes": self.episodes,
            "weight": self.weight,
        }


@dataclass(frozen=True, slots=True)
class SourceExplanation:
    """What the prompt means for one source."""

    namespace: str
    words: tuple[WordExplanation, ...]
    raw_score: float
    effective_score: float
    lane: str | None
    surface: str | None
    """The tool whose phrase carries the score."""
    heat_before: float
    """Before the prompt."""
    heat_cooled: float
    """After the cooling that every prompt brings, before this one's score."""
    heat_after: float
    """With this prompt's score; what fires loses it then."""
    fires: bool
    blocked_by: str | None
    """None: it fires."""

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "namespace": self.namespace,
            "words": [word.as_json() for word in self.words],
            "rawScore": self.raw_score,
            "effectiveScore": self.effective_score,
            "lane": self.lane,
            "surface": self.surface,
            "heatBefore": self.heat_before,
            "heatCooled": self.heat_cooled,
            "heatAfter": self.heat_after,
            "fires": self.fires,
            "blockedBy": self.blocked_by,
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """One prompt, explained."""

    decision: Decision
    threshold: float
    strong_bar: float
    fire_point: float
    smoke_streak: int
    spent_hints: int
    max_per_session: int
    survivors: tuple[str, ...]
    """The words that carry evidence, in order."""
    echoed: tuple[str, ...]
    """Words of the prompt that earlier hints had said."""
    path_only: tuple[str, ...]
    mostly_non_latin: bool
    sources: tuple[SourceExplanation, ...] = field(default=())
    """Every source that holds a word or has heat; what fires first, then by score."""

    def as_json(self) -> dict[str, Any]:
        """The object of `--json`: the hint or null, the explanations, and what the whole prompt has in common."""
        hint = self.decision.hint
        return {
            "hint": None
            if hint is None
            else {
                "content": hint.content,
                "display": hint.display,
                "register": hint.register,
                "matches": hint.details()["matches"],
            },
            "silence": self.decision.silence,
            "threshold": self.threshold,
            "strongBar": self.strong_bar,
            "firePoint": self.fire_point,
            "smokeStreak": self.smoke_streak,
            "spentHints": self.spent_hints,
            "maxPerSession": self.max_per_session,
            "words": list(self.survivors),
            "echoedWords": list(self.echoed),
            "pathOnlyTerms": list(self.path_only),
            "mostlyNonLatin": self.mostly_non_latin,
            "sources": [source.as_json() for source in self.sources],
        }


def explain(state: AdvisorState, index: Fingerprint, prompt: str, settings: AdvisorySettings) -> Explanation:
    """What `consider` decides for this prompt, and why. Changes nothing.

    If the mode or the cap keeps the prompt from being read, the sources show what would have happened otherwise.
    """
    decision = consider(state, index, prompt, settings)
    read = decision
    if decision.silence in ("disabled", "cap reached"):
        read = consider(state, index, prompt, replace(settings, mode="enabled", max_per_session=UNLIMITED))
    text = cut_envelopes(prompt)
    survivors = surviving_words(text, state.echoes)
    spoken = dict(survivors)
    path_terms = path_only_terms(text)
    weighed = weigh(survivors, index, path_terms, read.state.episodes)
    non_latin = mostly_non_latin(text)
    numbers = {number for readings in weighed for reading in readings for number in reading.posting}
    numbers |= {source.number for namespace in state.heat if (source := index.named(namespace)) is not None}
    listed = () if read.hint is None else read.hint.namespaces
    cooled_heat = cooled(state.heat)
    point = fire_point(settings.threshold, state.smoke.streak)
    sources = []
    for number in numbers:
        source = index.source(number)
        verdict = judge(
            source,
            weighed,
            settings.threshold,
            mostly_non_latin=cache(lambda: non_latin),
            minimum_surfaces=settings.minimum_surfaces,
            is_burned=source.namespace in state.ash,
        )
        heat = cooled_heat.get(source.namespace, 0.0)
        warm = verdict.lane is not None and not verdict.fires_at_once
        after = warmed(heat, verdict.effective_score) if warm else heat
        fires = source.namespace in listed and decision.hint is not None
        blocked = None if fires else _blocked(verdict, state, decision, after, point)
        if decision is not read:
            heat = after = state.heat.get(source.namespace, 0.0)
        sources.append(
            SourceExplanation(
                namespace=source.namespace,
                words=tuple(_explained(reading, spoken, path_terms, read.state) for reading in verdict.matched),
                raw_score=verdict.raw_score,
                effective_score=verdict.effective_score,
                lane=verdict.lane if verdict.script_check is None else f"script ({verdict.script_check})",
                surface=None if verdict.surface is None else source.surfaces[verdict.surface.tool].name,
                heat_before=state.heat.get(source.namespace, 0.0),
                heat_cooled=heat,
                heat_after=after,
                fires=fires,
                blocked_by=blocked,
            )
        )
    sources.sort(key=lambda one: (not one.fires, -one.effective_score, -one.raw_score, -one.heat_after, one.namespace))
    return Explanation(
        decision=decision,
        threshold=settings.threshold,
        strong_bar=settings.threshold + WEAK_BAND_WIDTH,
        fire_point=point,
        smoke_streak=state.smoke.streak,
        spent_hints=state.spent_hints,
        max_per_session=settings.max_per_session,
        survivors=tuple(word.key for word in survivors),
        echoed=tuple(sorted(written_words(text) & state.echoes)),
        path_only=tuple(sorted(path_terms)),
        mostly_non_latin=non_latin,
        sources=tuple(sources),
    )


def _explained(
    reading: Reading, spoken: dict[str, tuple[str, ...]], path_terms: frozenset[str], state: AdvisorState
) -> WordExplanation:
    return WordExplanation(
        word=reading.key,
        position=reading.position,
        readings=spoken[reading.key],
        term=reading.term,
        document_frequency=len(reading.posting),
        path_factor=PATH_FACTOR if reading.term in path_terms else 1.0,
        episodes=state.episodes.count(reading.key),
        weight=reading.weight,
    )


def _blocked(verdict: Verdict, state: AdvisorState, decision: Decision, heat: float, point: float) -> str:
    """What keeps a source silent, in words."""
    namespace = verdict.source.namespace
    match verdict.blocked_by:
        case "burned":
            origin = state.ash[namespace].origin
            return "burned: a hint named it before" if origin == "fired" else "burned: a tool of it was called before"
        case "below threshold":
            return "raw score below the threshold" if verdict.matched else "no word of the prompt"
        case "one word":
            return "a single word, neither a brand of the source nor at a script boundary"
        case None:
            pass
    if decision.silence == "disabled":
        return "the mode is disabled (capture.advisory.mode)"
    if decision.silence == "cap reached":
        return "the branch's hints are spent (capture.advisory.maxPerSession)"
    if not verdict.fires_at_once and heat < point:
        return f"heat {heat:.4g} below the fire point {point:.4g}"
    return "two sources with a higher score are listed"
