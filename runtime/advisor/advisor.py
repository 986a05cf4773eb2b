"""The pure turn of the advisor: state and event in, new state and perhaps a hint out. It awaits and appends nothing.

`consider` proposes a hint; `fired` burns it. They are two steps because a hint burns only once its line is durable.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import Literal, TypeAlias

from runtime.advisor.ash import Ash, burned
from runtime.advisor.collation import CollationKey, collation_key
from runtime.advisor.constants import fire_point
from runtime.advisor.echoes import with_echoes
from runtime.advisor.envelopes import cut_envelopes
from runtime.advisor.episodes import Episodes
from runtime.advisor.fingerprint import Fingerprint
from runtime.advisor.heat import Heat, cooled, warmed
from runtime.advisor.lanes import Verdict, judge
from runtime.advisor.limits import LISTED_SOURCES
from runtime.advisor.paths import path_only_terms
from runtime.advisor.rendering import Hint, render
from runtime.advisor.scoring import WeighedWord, candidates, weigh
from runtime.advisor.script import mostly_non_latin
from runtime.advisor.settings import AdvisorySettings
from runtime.advisor.smoke import Smoke
from runtime.advisor.tokens import surviving_words

_NOTHING: MappingProxyType[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class AdvisorState:
    """All that the advisor remembers of a branch."""

    ash: Ash = field(default_factory=lambda: MappingProxyType({}))
    echoes: frozenset[str] = frozenset()
    spent_hints: int = 0
    heat: Heat = field(default_factory=lambda: _NOTHING)
    smoke: Smoke = field(default_factory=Smoke)
    episodes: Episodes = field(default_factory=Episodes)

    def without_transients(self) -> "AdvisorState":
        """The state at a session or tree boundary: only the ash is left, until the branch is replayed.

        Seed: combustion:store:transient, combustion:store:clear-before-replay
        """
        return AdvisorState(ash=self.ash)


Silence: TypeAlias = Literal["disabled", "cap reached", "no words", "no catalog"]
"""Why a prompt was not scored at all."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What one prompt leads to."""

    state: AdvisorState
    """The state after the prompt, as long as the hint is not said."""
    hint: Hint | None
    silence: Silence | None = None


def consider(state: AdvisorState, index: Fingerprint, prompt: str, settings: AdvisorySettings) -> Decision:
    """Score one prompt and propose a hint for the sources that fire.

    Mode and cap come first and freeze everything. Then all heat cools, whatever the prompt holds. Only a prompt with
    a surviving word and a catalog moves the turn count and is scored.

    Seed: combustion:intro:enough-evidence, combustion:intro:branch-budget, combustion:heat:halve-each-prompt
    """
    if settings.mode == "disabled":
        return Decision(state, None, "disabled")
    if state.spent_hints >= settings.max_per_session:
        return Decision(state, None, "cap reached")
    heat = cooled(state.heat) if state.heat else {}
    text = cut_envelopes(prompt)
    words = surviving_words(text, state.echoes)
    if not words or not len(index):
        return Decision(replace(state, heat=heat), None, "no catalog" if words else "no words")
    episodes = state.episodes.noted([word.key for word in words], index.brands)
    weighed = weigh(words, index, path_only_terms(text), episodes)
    firing = []
    for verdict in _open_verdicts(weighed, index, state.ash, settings, cache(lambda: mostly_non_latin(text))):
        if not verdict.fires_at_once:
            namespace = verdict.source.namespace
            heat[namespace] = warmed(heat.get(namespace, 0.0), verdict.effective_score)
            if heat[namespace] < fire_point(settings.threshold, state.smoke.streak):
                continue
        firing.append(verdict)
    hint = None
    if firing:
        listed = sorted(firing, key=_rank)[:LISTED_SOURCES]
        hint = render(
            listed,
            budget_tokens=settings.budget_tokens,
            display=settings.mode == "enabled",
        )
    return Decision(replace(state, heat=heat, episodes=episodes), hint)


def _open_verdicts(
    weighed: list[WeighedWord],
    index: Fingerprint,
    ash: Ash,
    settings: AdvisorySettings,
    non_latin: Callable[[], bool],
) -> Iterable[Verdict]:
    """The verdicts of all unburned sources that enter a lane.

    Seed: combustion:score:unburned-only, combustion:band:unburned
    """
    for number in candidates(weighed, settings.threshold):
        source = index.source(number)
        if source.namespace in ash:
            continue
        verdict = judge(
            source,
            weighed,
            settings.threshold,
            mostly_non_latin=non_latin,
            minimum_surfaces=settings.minimum_surfaces,
            is_burned=False,
        )
        if verdict.lane is not None:
            yield verdict


def _rank(verdict: Verdict) -> tuple[float, CollationKey]:
    """Highest effective score first, then by name."""
    return -verdict.effective_score, collation_key(verdict.source.namespace)


def fired(state: AdvisorState, hint: Hint, at: str) -> AdvisorState:
    """The state once `hint` is said: its sources burn and cool, one hint is spent, the feedback window opens.

    Seed: combustion:intro:fire-burns, combustion:store:spends-one, combustion:echo:every-word
    """
    named = hint.namespaces
    return replace(
        state,
        ash=burned(state.ash, named, "fired", at),
        echoes=with_echoes(state.echoes, hint.content),
        spent_hints=state.spent_hints + 1,
        heat={namespace: value for namespace, value in state.heat.items() if namespace not in named},
        smoke=state.smoke.fired(named),
    )


def tool_use(state: AdvisorState, namespace: str, at: str) -> AdvisorState:
    """The state after a tool of `namespace` was called: open hints that name it count as used, and it burns.

    Seed: combustion:store:organic, combustion:smoke:late-organic
    """
    return replace(state, ash=burned(state.ash, [namespace], "organic", at), smoke=state.smoke.tool_used(namespace))


def end_turn(state: AdvisorState) -> AdvisorState:
    """The state after a turn ended. Seed: combustion:smoke:unused-adds"""
    smoke = state.smoke.turn_ended()
    return state if smoke is state.smoke else replace(state, smoke=smoke)
