"""Every constant derives from q and tau, in sight."""

import ast
from math import log
from pathlib import Path
from types import SimpleNamespace

import pytest

from runtime.advisor import constants
from runtime.advisor.advisor import end_turn, fired
from runtime.advisor.constants import familiar_factor, fire_point
from runtime.advisor.settings import AdvisorySettings
from runtime.advisor.smoke import Smoke
from tests.runtime.advisor.live import machine

SOURCE = Path(constants.__file__).read_text()


def with_tau(tau: int) -> SimpleNamespace:
    names: dict = {}
    exec(SOURCE.replace("MEMORY_SCALE_TURNS: Final = 2", f"MEMORY_SCALE_TURNS: Final = {tau}"), names)
    return SimpleNamespace(**names)


def test_q_tau_and_theta_are_the_only_values_that_derive_from_nothing():
    free, derived = set(), set()
    for node in ast.parse(SOURCE).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            named = {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)} - {"log"}
            (derived if named and named <= free | derived else free).add(node.target.id)
    assert free == {"SCORE_QUANTUM", "MEMORY_SCALE_TURNS", "DEFAULT_THRESHOLD"}
    assert len(derived) == 13


def test_the_two_values_and_the_default_threshold():
    assert constants.SCORE_QUANTUM == 1
    assert constants.MEMORY_SCALE_TURNS == 2
    assert constants.DEFAULT_THRESHOLD == 0.9
    assert AdvisorySettings().threshold == 0.9


def test_the_defaults_of_the_specification_table():
    assert constants.HEAT_RETENTION == 0.5
    assert constants.COOL_HALF_LIFE_TURNS == 1
    assert constants.WEAK_BAND_WIDTH == 1
    assert constants.SMOKE_STEP * 0.9 == 0.225
    assert constants.SMOKE_STREAK_LIMIT == 4
    assert constants.LARGEST_RAISE == 1
    assert constants.DEFAULT_BRANCH_CAP == AdvisorySettings().max_per_session == 3
    assert constants.PHRASE_WINDOW == 4
    assert constants.SCATTER_FEED_LIMIT == 1
    assert constants.TOPIC_SHARE == 0.5
    assert constants.FEEDBACK_WINDOW_TURNS == 2
    assert constants.EPISODE_GAP_TURNS == 4
    assert constants.EPISODE_RESET_TURNS == 8


def test_another_memory_scale_moves_every_derived_constant():
    three = with_tau(3)
    assert three.HEAT_RETENTION == pytest.approx(2 / 3)
    assert three.PHRASE_WINDOW == 6
    assert three.SMOKE_STREAK_LIMIT == 9
    assert three.DEFAULT_BRANCH_CAP == 5
    assert three.EPISODE_GAP_TURNS == 9
    assert three.EPISODE_RESET_TURNS == 27
    assert three.TOPIC_SHARE == pytest.approx(2 / 3)
    assert three.FEEDBACK_WINDOW_TURNS == 3
    assert three.COOL_HALF_LIFE_TURNS == pytest.approx(log(0.5) / log(2 / 3))
    assert with_tau(4).HEAT_RETENTION == 0.75


def test_the_fire_point_rises_with_the_streak_up_to_twice_the_threshold():
    assert [round(fire_point(0.9, streak), 6) for streak in range(5)] == [0.9, 1.125, 1.35, 1.575, 1.8]


def test_the_familiar_word_factor():
    assert [familiar_factor(count) for count in (0, 1, 2, 3)] == [1, 1 / 2, 1 / 3, 1 / 4]


def test_five_unused_hints_leave_a_streak_of_four():
    made = machine()
    hint = made.prompt("check the status of my fal job", AdvisorySettings())
    assert hint is not None
    made.state = made.state.without_transients()
    for _ in range(5):
        made.state = end_turn(end_turn(fired(made.state, hint, "")))
    assert made.state.smoke == Smoke(4)
