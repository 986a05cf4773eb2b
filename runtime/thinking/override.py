"""The state machine of an override: a state and what happened become a new state and what to do, in order.

Pure: no clock, no file, no host. `set` appends before it applies, ends restore before they append, so that a crash
between the two leaves a pending revert and never a raised level that nobody owns.
Attacked by `tests/runtime/thinking/test_override_machine.py`.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TypeAlias

from guest_api.bounds import Bounds, NoSupportedLevelError, clamp_supported
from guest_api.levels import Level
from runtime.thinking.entry import Override, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is true of the session while a decision is made."""

    level: Level
    """The host's effective level."""
    level_is_set: bool
    """False: nobody chose it."""
    supported: Collection[Level] | None
    """The active model's levels; None: no model is known."""
    bounds: Bounds
    inherited: bool
    """Whether the bounds were handed down by a parent: then a restored baseline is clamped too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRequest:
    """A program's wish, its arguments checked."""

    level: Level
    scope: Scope = "turn"
    turns: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Active:
    """An override in force."""

    override: Override
    baseline_is_unset: bool = False
    """Nobody had chosen a level when it began: the end goes back to that, not to a choice of the same name."""


State: TypeAlias = Active | None
"""None: no override."""


@dataclass(frozen=True, slots=True)
class Append:
    """Write this to the branch: the override as it is now, or None where it ended."""

    override: Override | None


@dataclass(frozen=True, slots=True)
class Apply:
    """Set the host's level as our own change."""

    level: Level


@dataclass(frozen=True, slots=True)
class Restore:
    """Set the host's level back; None: to unset."""

    level: Level | None


Effect: TypeAlias = Append | Apply | Restore


@dataclass(frozen=True, slots=True)
class Decision:
    """The state once all effects are done, and the effects in their order."""

    state: State
    effects: tuple[Effect, ...] = ()


def decide_set(state: State, request: SetRequest, facts: Facts, *, now_ms: int) -> Decision:
    """A program sets a level. A second set keeps the first one's baseline.

    Raises: NoSupportedLevelError: nothing supported lies inside the bounds; nothing changes.
    Seed: thinking:set:failure-changes-nothing, thinking:status:baseline-second-set
    """
    level = clamp_supported(request.level, facts.bounds, facts.supported)
    override = Override(
        level=level,
        baseline=state.override.baseline if state else facts.level,
        scope=request.scope,
        set_at_ms=now_ms,
        remaining_turns=request.turns,
        reason=request.reason or None,
        requested=None if level == request.level else request.level,
    )
    unset = state.baseline_is_unset if state else not facts.level_is_set
    return Decision(Active(override, unset), (Append(override), Apply(level)))


def after_apply(state: Active, applied: Level) -> Decision:
    """The host applied a level: where it differs from what was written, a second entry says so.

    Seed: thinking:action:set-clamped-by-host
    """
    if applied == state.override.level:
        return Decision(state)
    return _rewritten(state, applied)


def decide_agent_end(state: State, facts: Facts) -> Decision:
    """An agent run ended: `turn` reverts, `turns` counts down and reverts at zero, `session` stays.

    Seed: thinking:scope:turn-reverts, thinking:scope:turns-counts-agent-end, thinking:scope:turns-each-change-written
    """
    if state is None or state.override.scope == "session":
        return Decision(state)
    remaining = state.override.remaining_turns or 1
    if state.override.scope == "turns" and remaining > 1:
        counted = replace(state.override, remaining_turns=remaining - 1)
        return Decision(replace(state, override=counted), (Append(counted),))
    return decide_reset(state, facts)


def decide_reset(state: State, facts: Facts) -> Decision:
    """Go back to the baseline; without an override nothing happens.

    Seed: thinking:api:reset-call, thinking:persist:no-change-no-entry
    """
    if state is None:
        return Decision(None)
    return Decision(None, (Restore(restored_level(state, facts)), Append(None)))


def decide_foreign_change(state: State) -> Decision:
    """Somebody else changed the level: the override is over for good, and nothing is restored.

    Seed: thinking:owner:foreign-ends, thinking:owner:no-restore
    """
    return Decision(None, () if state is None else (Append(None),))


def decide_wish_again(state: Active, facts: Facts) -> Decision:
    """The model or the bounds may be others: the wish goes through the one clamp path again.

    Raises: NoSupportedLevelError: nothing fits; `decide_nothing_fits` says what then.
    """
    level = clamp_supported(state.override.wish, facts.bounds, facts.supported)
    effects: tuple[Effect, ...] = () if level == facts.level else (Apply(level),)
    if level == state.override.level:
        return Decision(state, effects)
    rewritten = _rewritten(state, level)
    return Decision(rewritten.state, (*rewritten.effects, *effects))


def decide_nothing_fits(state: Active, facts: Facts) -> Decision:
    """No supported level lies inside the bounds: the host's own level stays, the wish waits, the end is still due."""
    return Decision(state) if facts.level == state.override.level else _rewritten(state, facts.level)


def restored_level(state: Active, facts: Facts) -> Level | None:
    """What the end of an override sets: the baseline as it was; a session with inherited bounds keeps it inside them.

    Seed: thinking:bounds:caps-child-sessions
    """
    baseline = state.override.baseline
    if facts.inherited:
        try:
            inside = clamp_supported(baseline, facts.bounds, facts.supported)
        except NoSupportedLevelError:
            inside = baseline
        if inside != baseline:
            return inside
    return None if state.baseline_is_unset else baseline


def _rewritten(state: Active, level: Level) -> Decision:
    """The same override at another applied level."""
    wish = state.override.wish
    override = replace(state.override, level=level, requested=None if wish == level else wish)
    return Decision(replace(state, override=override), (Append(override),))
