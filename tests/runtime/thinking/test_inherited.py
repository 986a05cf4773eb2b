"""A session whose parent handed bounds down moves its level inside them; a root session leaves the person's alone."""

import pytest

from child_agents.inherited_bounds import read_bounds, write_bounds
from guest_api.bounds import Bounds, NoSupportedLevelError, WiderBoundsError, inherit, narrow
from tests.runtime.thinking.sessions import FULL, LOW_MAX, PLAIN, only, started

LOW_TO_HIGH = Bounds(min="low", max="high")


async def test_a_model_clamp_that_overshoots_the_parents_maximum_is_moved_back_inside(tmp_path):
    """The parent passed high; the model knows off, low and max, so the host made max of it."""
    path = tmp_path / "s.jsonl"
    model = only("gap", "off", "low", "max")
    session = await started(path, model=model)
    await session.person("high")
    assert session.level == "max"
    session.store.close()
    session = await started(path, model=model, bounds=LOW_TO_HIGH, inherited=True)
    assert session.level == "low"
    assert session.kinds() == ["max", "low"]
    await session.end_run()
    assert session.level == "low"
    assert session.kinds() == ["max", "low"]
    assert "override" not in session.status
    assert session.status["baseline"] == "low"


async def test_the_recorded_level_of_a_child_session_is_capped_at_its_start(tmp_path):
    path = tmp_path / "s.jsonl"
    session = await started(path, model=FULL)
    await session.person("xhigh")
    session.store.close()
    session = await started(path, model=FULL, bounds=Bounds(max="medium"), inherited=True)
    assert session.level == "medium"
    assert session.records() == []


async def test_an_unset_level_is_moved_inside_too():
    session = await started(model=FULL, bounds=Bounds(max="low"), inherited=True)
    assert session.level == "low"


async def test_a_level_inside_is_left_alone():
    session = await started(model=FULL, bounds=LOW_TO_HIGH, inherited=True)
    assert session.level == "medium"
    assert session.kinds() == []


async def test_where_nothing_fits_a_child_keeps_the_models_level_warns_once_and_set_fails():
    session = await started(model=only("off-only", "off"), bounds=LOW_TO_HIGH, inherited=True)
    assert session.level == "off"
    assert len(session.warnings) == 1
    with pytest.raises(NoSupportedLevelError):
        await session.set("high")
    assert session.kinds() == []
    assert len(session.warnings) == 1


async def test_a_root_session_keeps_the_persons_level_and_caps_only_what_programs_select():
    session = await started(model=PLAIN, bounds=Bounds(max="low"))
    await session.person("high")
    assert session.level == "high"
    await session.thinking.session_started(
        type("Started", (), {"branch": session.store.branch(), "reason": "reload"})()
    )
    assert session.level == "high"
    result = await session.set("high")
    assert (result["level"], result["clamped"], result["baseline"]) == ("low", True, "high")
    await session.end_run()
    assert session.level == "high", "the person's baseline is restored as it was"


async def test_a_child_that_continues_a_session_replays_its_override_inside_its_own_bounds(tmp_path):
    path, forked = tmp_path / "parent.jsonl", tmp_path / "child.jsonl"
    parent = await started(path, model=FULL)
    await parent.person("xhigh")
    await parent.set("max", "turns", 2)
    parent.store.fork(forked).close()
    before = path.read_bytes()
    child = await started(forked, model=FULL, bounds=Bounds(max="medium"), inherited=True)
    assert child.level == child.status["override"]["level"] == "medium"
    assert child.status["override"]["remainingTurns"] == 2
    await child.end_run()
    await child.end_run()
    assert child.level == "medium", "the baseline xhigh is restored inside the child's bounds"
    assert "override" not in child.status
    assert path.read_bytes() == before
    assert parent.level == "max"


async def test_ranges_that_do_not_overlap_leave_the_parents_whole_range():
    bounds = inherit(Bounds(max="low"), read_bounds('{"min":"high","max":"xhigh"}'))
    session = await started(model=FULL, bounds=bounds, inherited=True)
    assert session.status["bounds"] == {"min": "high", "max": "xhigh"}
    result = await session.set("off")
    assert (result["level"], result["clamped"]) == ("high", True)
    grandchild = narrow(bounds, Bounds(min="high"))
    assert write_bounds(grandchild) == '{"min":"high","max":"xhigh"}'
    with pytest.raises(WiderBoundsError) as refusal:
        narrow(bounds, Bounds(min="low"))
    assert refusal.value.requested == Bounds(min="low")
    assert refusal.value.effective == bounds


async def test_an_explicit_bound_is_shown_as_configured_where_the_model_has_no_such_level():
    session = await started(model=only("off-only", "off"), bounds=Bounds(min="low"))
    assert session.status["bounds"] == {"min": "low", "max": "off"}
    assert session.status["available"] == []


async def test_bounds_and_model_together_choose_the_next_higher_level_inside_then_the_next_lower():
    session = await started(model=LOW_MAX, bounds=Bounds(max="high"))
    assert (await session.set("high"))["level"] == "low"
    session = await started(model=LOW_MAX, bounds=Bounds(min="minimal"))
    assert (await session.set("medium"))["level"] == "max"
