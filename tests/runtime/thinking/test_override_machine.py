"""The override over a real session file against a model of a few lines, killed and reloaded at every step."""

import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import trio
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule, run_state_machine_as_test

from guest_api.bounds import Bounds, clamp
from guest_api.levels import LEVELS
from tests.runtime.thinking.sessions import FULL, Session, new_file, reopened

BOUNDS = Bounds(min="minimal", max="xhigh")
levels = st.sampled_from(LEVELS)
scopes = st.one_of(
    st.just(("turn", None)),
    st.just(("session", None)),
    st.tuples(st.just("turns"), st.integers(min_value=1, max_value=3)),
)
kills = st.one_of(st.none(), st.integers(min_value=0, max_value=3))
"""Before which append of the step the process is killed; None: not at all."""


class Killed(BaseException):
    """The process is gone; nothing of ours may catch it."""


@dataclass(frozen=True)
class Wanted:
    """What the specification says of a moment."""

    level: str = "medium"
    override: tuple | None = None
    """Level, baseline, scope and remaining turns."""


class OverrideMachine(RuleBasedStateMachine):
    points = Bundle("points")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp()
        self.path = Path(self.folder) / "s.jsonl"
        new_file(self.path).close()
        self.at: dict[str | None, Wanted] = {None: Wanted()}
        """What a reload finds when this entry is the last line."""
        self.last: str | None = None
        self.now = Wanted()
        self.next = self.now
        self.begun = False
        self.kill_in: int | None = None
        self._open()

    def teardown(self) -> None:
        self.session.store.close()
        shutil.rmtree(self.folder)

    def _open(self) -> None:
        store = reopened(self.path)
        self.session = Session(store, model=FULL, bounds=BOUNDS)
        store.subscribe(self._noted)
        real = store.append

        def append(kind, fields=None):
            if self.kill_in is not None:
                if self.kill_in == 0:
                    raise Killed
                self.kill_in -= 1
            return real(kind, fields)

        store.append = append
        before = self.path.read_bytes()
        trio.run(self.session.start)
        assert self.path.read_bytes() == before, "loading never appends"

    def _noted(self, entry) -> None:
        """What a reload behind this line must find: the step is done as soon as its first own line is written."""
        ended_before = entry.custom_type == "pi-fabric-thinking" and entry.data["override"] is None
        trailing = entry.type == "model_change" or entry.thinking_level == self.now.level
        if not self.begun and (trailing or (ended_before and self.now.override is None)):
            # A line that was due before: the null of an override that somebody ended, the level after a navigation.
            found = self.now
        else:
            found, self.begun = self.next, True
        self.last = entry.id
        self.at[entry.id] = found

    def _seen(self) -> Wanted:
        status = self.session.status
        shown = status.get("override")
        if shown is None:
            return Wanted(status["level"])
        return Wanted(
            status["level"], (shown["level"], status["baseline"], shown["scope"], shown.get("remainingTurns"))
        )

    def _do(self, step, after: Wanted, kill: int | None) -> None:
        """One step that leads to `after`, perhaps killed half-way: then a reload finds what its last line stands for."""
        self.next, self.kill_in, self.begun = after, kill, False
        try:
            trio.run(step)
        except Killed:
            self.kill_in = None
            self.session.store.close()
            self._open()
            self.now = self.at[self.last]
        else:
            self.kill_in = None
            self.now = after

    @rule(target=points, level=levels, scope=scopes, kill=kills)
    def set(self, level, scope, kill):
        applied = clamp(level, BOUNDS)
        baseline = self.now.override[1] if self.now.override else self.now.level
        after = Wanted(applied, (applied, baseline, *scope))
        self._do(lambda: self.session.set(level, *scope), after, kill)
        return self.session.store.leaf_id

    def _ended(self) -> Wanted:
        return Wanted(self.now.override[1]) if self.now.override else self.now

    @rule(target=points, kill=kills)
    def reset(self, kill):
        self._do(self.session.reset, self._ended(), kill)
        return self.session.store.leaf_id

    @rule(target=points, kill=kills)
    def agent_end(self, kill):
        override = self.now.override
        if override is None or override[2] == "session":
            after = self.now
        elif (override[3] or 1) > 1:
            after = replace(self.now, override=(*override[:3], override[3] - 1))
        else:
            after = self._ended()
        self._do(self.session.end_run, after, kill)
        return self.session.store.leaf_id

    @rule(target=points, level=levels, kill=kills)
    def person_chooses(self, level, kill):
        self._do(lambda: self.session.person(level), Wanted(level), kill)
        return self.session.store.leaf_id

    @rule(target=points, kill=kills)
    def message(self, kill):
        async def append():
            self.session.host.append_user_message("go on")

        self._do(append, self.now, kill)
        return self.session.store.leaf_id

    @rule()
    def reload(self):
        self.session.store.close()
        self.now = self.at[self.last]
        self._open()

    @rule(point=points)
    def navigate(self, point):
        there = self.at[point]
        left = self.now.override
        level = self.now.level if left is None else left[1]
        self.now = there if there.override else Wanted(level)
        trio.run(self.session.navigate, point)

    @rule(target=points)
    def begin(self):
        return multiple()

    @invariant()
    def the_session_is_what_the_model_says(self):
        assert self._seen() == self.now

    @invariant()
    def a_raised_level_always_has_an_owner(self):
        """Whatever the level is, either a program's override holds it, or it is the model's level without one."""
        override = self.session.thinking.override
        if override is not None:
            assert override.level == self.session.level


def _run(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        OverrideMachine,
        settings=settings(
            max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


def test_any_history_with_kills_reloads_and_navigation_agrees_with_the_model():
    _run(60, 25)


@pytest.mark.soak
def test_long_histories_with_kills_reloads_and_navigation_agree_with_the_model():
    _run(3000, 60)
