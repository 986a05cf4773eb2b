"""Thinking control's shell: one lock, the effects of each decision in order, and what of them is not written yet.

It decides nothing itself (`override.py`, `replay.py` do) and knows the session only through its port.
Memory changes after the line is written. Loading never appends: what a replay found due (the null entry of an override
that somebody else ended) waits for the next append.
"""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, assert_never

import trio

from guest_api.bounds import Bounds, NoSupportedLevelError, available, clamp_supported, resolved
from guest_api.levels import Level
from runtime.events import LevelChanged, SessionStarted, TreeNavigated
from runtime.hosts.port import SessionHost
from runtime.models import Model
from runtime.thinking.entry import ENTRY_TYPE, Override, encode
from runtime.thinking.override import (
    Append,
    Apply,
    Decision,
    Facts,
    Restore,
    SetRequest,
    State,
    after_apply,
    decide_agent_end,
    decide_nothing_fits,
    decide_reset,
    decide_set,
    decide_wish_again,
    restored_level,
)
from runtime.thinking.replay import replay

STEP_DEADLINE_SECONDS: Final = 10.0
"""The longest one append-and-apply may take, shielded from cancellation; a local host needs milliseconds."""


class HostUnresponsiveError(Exception):
    """The host neither wrote nor applied in time; what it did of it shows in the next status."""


class LevelOutsideBoundsError(Exception):
    """The host made something of the level that lies outside the bounds; it was set back."""


def epoch_ms() -> int:
    """Wall time as `setAt` has it."""
    return time.time_ns() // 1_000_000


class ThinkingController:
    """The override of one session. All methods but `status` take the lock; one change is made at a time."""

    def __init__(
        self, host: SessionHost, bounds: Bounds, *, inherited: bool = False, clock: Callable[[], int] = epoch_ms
    ) -> None:
        self._host = host
        self._bounds = bounds
        self._inherited = inherited
        self._clock = clock
        self._lock = trio.Lock()
        self._state: State = None
        self._unwritten = False
        """The branch's latest entry says something else than `_state`; the next append comes after ours."""
        self._foreign_changes = 0
        """Changes by others that were told, whether or not the lock let us act on them yet."""
        self._answered_changes = 0
        """How many of them were acted on, or are older than what we did since."""
        self._model: Model | None = host.model
        """The model for which the state holds; another one means that its wish must be applied again."""

    @property
    def bounds(self) -> Bounds:
        """The effective bounds, as configured and inherited."""
        return self._bounds

    @property
    def override(self) -> Override | None:
        """The override in force."""
        return self._state.override if self._state else None

    def status(self) -> dict[str, Any]:
        """`{level, available, bounds: {min, max}, baseline, override?}`; changes nothing.

        Seed: thinking:api:status-call, thinking:action:status-no-effect, thinking:status:baseline-without-override
        """
        supported = self._supported()
        level = self._host.level
        shown: dict[str, Any] = {
            "level": level,
            "available": list(available(self._bounds, supported)),
            "bounds": resolved(self._bounds, supported),
            "baseline": self._state.override.baseline if self._state else level,
        }
        if self._state:
            shown["override"] = _shown_override(self._state.override)
        return shown

    async def set(self, request: SetRequest) -> dict[str, Any]:
        """Write the override, apply its level, and return the status; `clamped` and `requested` where they differ.

        Raises: NoSupportedLevelError, LevelOutsideBoundsError: nothing has changed. Whatever the host raises when it
            cannot write: nothing was applied.
        Seed: thinking:action:set-returns-status, thinking:action:set-clamped-when-differs
        """
        async with self._step():
            # Before anything is noticed or written: a set that fails changes nothing.
            clamp_supported(request.level, self._bounds, self._supported())
            await self._notice_others()
            await self._write_due()
            before = self._state
            try:
                await self._write_and_apply(request)
            except Exception:
                await self._take_back(before)
                raise
            if self._host.level not in self._bounds:
                applied = self._host.level
                await self._take_back(before)
                raise LevelOutsideBoundsError(f"the host made {applied!r} of it, outside {self._bounds.describe()}")
            result = self.status()
        if result["level"] != request.level:
            result |= {"clamped": True, "requested": request.level}
        return result

    async def reset(self) -> dict[str, Any]:
        """Go back to the baseline and return the status after it; without an override only the status.

        Seed: thinking:action:reset-status-after
        """
        async with self._step():
            await self._notice_others()
            await self._perform(decide_reset(self._state, self._facts()))
            return self.status()

    async def agent_ended(self) -> None:
        """The agent run is over: revert or count down. A host that fails is warned about and asked again next time.

        Seed: thinking:persist:agent-end-before-activation
        """
        async with self._step():
            try:
                await self._notice_others()
                await self._write_due()
                await self._perform(decide_agent_end(self._state, self._facts()))
            except Exception as error:
                self._host.warn(f"thinking: the end of the run could not be recorded or reverted: {error}")

    async def level_changed(self, event: LevelChanged) -> None:
        """The host's level changed: unless we or a model switch did it, the override is over and nothing is restored.

        Seed: thinking:owner:foreign-ends, thinking:owner:own-change-not-foreign
        """
        if event.cause != "foreign":
            return
        self._foreign_changes += 1
        number = self._foreign_changes
        async with self._step():
            if number > self._answered_changes:
                self._answered_changes = number
                await self._end_without_restoring()

    async def model_changed(self) -> None:
        """Another model: the wish is applied again, clamped to it; the override goes on.

        Seed: thinking:owner:own-change-not-foreign
        """
        async with self._step():
            await self._apply_wish_again(quiet=False)

    async def session_started(self, event: SessionStarted) -> None:
        """Replay the branch; then, only with inherited bounds, move a level outside of them back inside.

        Nothing changes when the host fails half-way.
        Seed: thinking:persist:replay-latest, thinking:child:session-start-moves
        """
        async with self._step():
            await self._adopt(event, left=None)
            if self._inherited and self._state is None:
                await self._move_inside()

    async def tree_navigated(self, event: TreeNavigated) -> None:
        """Replay the new branch; one without an override gets back the baseline of the one that was left.

        Seed: thinking:persist:navigation-replays, thinking:persist:navigation-none
        """
        async with self._step():
            await self._adopt(event, left=self._state)

    def level_at_start(self, level: Level) -> Level:
        """What a level given at the start may be: in a session with inherited bounds the nearest one inside them.

        It covers a model clamp that would overshoot the parent's maximum. A root session's level is the person's.
        Seed: thinking:child:session-start-moves
        """
        if not self._inherited:
            return level
        try:
            return clamp_supported(level, self._bounds, self._supported())
        except NoSupportedLevelError:
            return level

    def take_due(self) -> tuple[str, dict[str, Any]] | None:
        """For a host that is about to append: the entry that must stand before it. Taken means written.

        Seed: thinking:persist:every-change
        """
        if not self._unwritten:
            return None
        self._unwritten = False
        return ENTRY_TYPE, encode(self.override)

    def due_may_follow_a_level(self) -> bool:
        """For that host: whether a level change may stand before the entry of `take_due`.

        It may where the branch shows already that somebody ended the override: no later level takes that back.
        An end that only memory knows (a person chose the override's own level) must be written first: a kill behind
        the level would revive the override. So must an override that was clamped anew: it would read as ended.
        """
        return self._unwritten and self._state is None and replay(self._host.branch()).foreign

    def give_back(self) -> None:
        """The entry of `take_due` could not be written: it is still due."""
        self._unwritten = True

    # --- shell

    @asynccontextmanager
    async def _step(self) -> AsyncIterator[None]:
        """The lock, and a shield with a deadline: an append and what belongs to it are never half-cancelled."""
        async with self._lock:
            with trio.move_on_after(STEP_DEADLINE_SECONDS, shield=True) as scope:
                yield
            if scope.cancelled_caught:
                raise HostUnresponsiveError(f"the host did not answer within {STEP_DEADLINE_SECONDS:g} seconds")

    async def _perform(self, decision: Decision) -> None:
        for effect in decision.effects:
            match effect:
                case Append(override):
                    await self._append(override, decision.state)
                case Apply(level):
                    await self._apply(level, quiet=False)
                case Restore(level):
                    await self._host.set_level(level)
                    # Restored is ended, written or not: a second restore could take a person's choice away.
                    self._state, self._unwritten = None, True
                case _:
                    assert_never(effect)

    async def _append(self, override: Override | None, state: State) -> None:
        due, self._unwritten = self._unwritten, False
        try:
            await self._host.append_custom(ENTRY_TYPE, encode(override))
        except Exception:
            self._unwritten = due
            raise
        except BaseException:
            # The deadline: nobody knows whether the line was written, so the next append says what holds.
            self._unwritten = True
            raise
        self._state = state

    async def _apply(self, level: Level, *, quiet: bool) -> None:
        applied = await self._host.set_level(level, replayed=quiet)
        state = self._state
        if state is None:
            return
        corrected = after_apply(state, applied)
        if quiet and corrected.effects:
            self._state, self._unwritten = corrected.state, True
        elif not quiet:
            await self._perform(corrected)

    async def _write_and_apply(self, request: SetRequest) -> None:
        """Append, then apply. Who changes the level in between is the owner of the baseline: decide again."""
        while True:
            self._answered_changes = self._foreign_changes
            decision = decide_set(self._state, request, self._facts(), now_ms=self._clock())
            written, *rest = decision.effects
            await self._perform(Decision(decision.state, (written,)))
            if self._answered_changes == self._foreign_changes:
                break
            self._state, self._unwritten = None, True
        await self._perform(Decision(decision.state, tuple(rest)))
        if self._state is not None and self._host.level == self._state.override.level:
            # Told while we applied, and ours came last.
            self._answered_changes = self._foreign_changes

    async def _take_back(self, before: State) -> None:
        """A set failed after its entry was written: the level goes back, and then a second entry says what still holds.

        Where the level cannot be set back, the override stays: its revert is tried again when the run ends.
        """
        failed = self._state
        if failed is None or failed is before:
            return
        level = before.override.level if before else restored_level(failed, self._facts())
        try:
            if before is not None or self._host.level != level:
                await self._host.set_level(level)
            self._state, self._unwritten = before, True
            await self._write_due()
        except Exception as error:
            self._host.warn(f"thinking: a set failed and could not be taken back: {error}")

    async def _write_due(self) -> None:
        due = self.take_due()
        if due is None:
            return
        try:
            await self._host.append_custom(*due)
        except BaseException:
            self._unwritten = True
            raise

    async def _end_without_restoring(self) -> None:
        if self._state is None:
            return
        self._state, self._unwritten = None, True
        try:
            await self._write_due()
        except Exception as error:
            self._host.warn(f"thinking: the end of an override could not be recorded: {error}")

    async def _notice_others(self) -> None:
        """What no event told us: another model, or a level that is not the override's."""
        others, self._answered_changes = self._foreign_changes - self._answered_changes, self._foreign_changes
        if self._state is None:
            return
        if others:
            await self._end_without_restoring()
        elif self._host.model != self._model:
            await self._apply_wish_again(quiet=False)
        elif self._host.level != self._state.override.level:
            await self._end_without_restoring()

    async def _apply_wish_again(self, *, quiet: bool) -> None:
        self._model = self._host.model
        state = self._state
        if state is None:
            return
        try:
            decision = decide_wish_again(state, self._facts())
        except NoSupportedLevelError as error:
            self._host.warn(f"thinking: {error}; the override waits for a model that fits")
            decision = decide_nothing_fits(state, self._facts())
        if not quiet:
            await self._perform(decision)
            return
        level = next((effect.level for effect in decision.effects if isinstance(effect, Apply)), None)
        if level is not None:
            await self._host.set_level(level, replayed=True)
        new = decision.state
        if new is not None and self._host.level != new.override.level:
            new = after_apply(new, self._host.level).state
        self._state, self._unwritten = new, self._unwritten or new != state

    async def _adopt(self, event: SessionStarted | TreeNavigated, *, left: State) -> None:
        """Take over what the branch says, or keep everything as it was when the host fails."""
        kept = (self._state, self._unwritten, self._model)
        found = replay(event.branch)
        try:
            self._state, self._unwritten = found.state, found.foreign
            if found.state is not None:
                await self._apply_wish_again(quiet=True)
            elif left is not None:
                await self._host.set_level(restored_level(left, self._facts()), replayed=True)
            self._model = self._host.model
        except BaseException:
            self._state, self._unwritten, self._model = kept
            raise
        if found.malformed is not None:
            self._host.warn(
                f"thinking: the latest {ENTRY_TYPE} entry ({found.entry_id}) is malformed and ends the override: "
                f"{found.malformed}"
            )

    async def _move_inside(self) -> None:
        """A child's level goes inside the inherited bounds; no override, no baseline, and nothing to revert.

        Seed: thinking:child:move-is-no-override
        """
        level = self._host.level
        if level in self._bounds:
            return
        try:
            inside = clamp_supported(level, self._bounds, self._supported())
        except NoSupportedLevelError as error:
            self._host.warn(f"thinking: {error}; the session stays at {level!r}")
            return
        await self._host.set_level(inside)

    def _supported(self) -> tuple[Level, ...] | None:
        return self._host.model.supported_levels if self._host.model else None

    def _facts(self) -> Facts:
        return Facts(
            level=self._host.level,
            level_is_set=self._host.level_is_set,
            supported=self._supported(),
            bounds=self._bounds,
            inherited=self._inherited,
        )


def _shown_override(override: Override) -> dict[str, Any]:
    """The override as a status shows it: no baseline and no wish inside.

    Seed: thinking:action:status-override-shape
    """
    shown: dict[str, Any] = {"level": override.level, "scope": override.scope}
    if override.remaining_turns is not None:
        shown["remainingTurns"] = override.remaining_turns
    if override.reason is not None:
        shown["reason"] = override.reason
    shown["setAt"] = override.set_at_ms
    return shown
