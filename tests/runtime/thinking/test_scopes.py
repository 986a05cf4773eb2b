"""How long an override lasts, what a status shows, and what the file says of it."""

import json

import pytest

from guest_api.bounds import Bounds, NoSupportedLevelError
from tests.runtime.thinking.sessions import FULL, GAPS, PLAIN, SILENT, started


async def test_status_without_override_has_exactly_four_keys():
    session = await started(model=PLAIN)
    assert session.status == {
        "level": "medium",
        "available": ["off", "minimal", "low", "medium", "high"],
        "bounds": {"min": "off", "max": "high"},
        "baseline": "medium",
    }


async def test_without_a_model_every_level_is_listed():
    assert len((await started()).status["available"]) == 7
    assert (await started(bounds=Bounds(max="low"))).status["available"] == ["off", "minimal", "low"]


async def test_a_hundred_statuses_write_nothing_and_change_nothing(tmp_path):
    session = await started(tmp_path / "s.jsonl", model=PLAIN)
    await session.set("high")
    before = (tmp_path / "s.jsonl").read_bytes()
    assert all(session.status == session.status for _ in range(100))
    assert (tmp_path / "s.jsonl").read_bytes() == before


async def test_a_set_lasts_for_the_rest_of_the_run_and_reverts_at_its_end():
    session = await started(model=PLAIN)
    result = await session.set("high", reason="proof step")
    assert result["override"] == {"level": "high", "scope": "turn", "reason": "proof step", "setAt": 1_800_000_000_000}
    assert result["level"] == session.level == "high"
    assert result["baseline"] == "medium"
    await session.end_run()
    assert session.level == "medium"
    assert "override" not in session.status
    assert session.kinds() == ["override", "high", "medium", "null"]


async def test_a_set_between_runs_lasts_through_the_next_run():
    session = await started(model=PLAIN)
    await session.end_run()
    await session.set("high")
    assert session.level == "high"
    await session.end_run()
    assert session.level == "medium"


async def test_without_a_reason_the_key_is_absent():
    assert "reason" not in (await (await started()).set("high"))["override"]
    assert "reason" not in (await (await started()).set("high", reason=""))["override"]


async def test_turns_count_the_current_run_and_every_count_is_written(tmp_path):
    path = tmp_path / "s.jsonl"
    session = await started(path, model=PLAIN)
    await session.set("high", "turns", 3)
    assert session.status["override"]["remainingTurns"] == 3
    session.now_ms += 60_000
    await session.end_run()
    assert session.status["override"]["remainingTurns"] == 2
    # The process is gone; another one goes on.
    session.store.close()
    session = await started(path, model=PLAIN)
    assert session.status["override"]["remainingTurns"] == 2
    assert session.level == "high"
    await session.end_run()
    assert session.status["override"]["remainingTurns"] == 1
    await session.end_run()
    assert session.level == "medium"
    assert "override" not in session.status
    records = session.records()
    assert [record and record["remainingTurns"] for record in records] == [3, 2, 1, None]
    assert len({record["setAt"] for record in records if record}) == 1
    await session.end_run()
    assert len(session.records()) == 4


async def test_one_turn_reverts_at_the_end_of_the_run_that_set_it():
    session = await started(model=PLAIN)
    await session.set("high", "turns", 1)
    await session.end_run()
    assert session.level == "medium"


async def test_a_session_override_survives_restarts_and_runs_until_reset(tmp_path):
    path = tmp_path / "s.jsonl"
    session = await started(path, model=FULL)
    await session.set("xhigh", "session")
    before = session.status["override"]
    for _ in range(3):
        for _ in range(8):
            await session.end_run()
        assert session.level == "xhigh"
        session.store.close()
        session = await started(path, model=FULL)
    assert session.status["override"] == before
    result = await session.reset()
    assert result["level"] == "medium"
    assert "override" not in result


async def test_a_second_set_keeps_the_first_ones_baseline():
    session = await started(model=FULL)
    await session.set("low", "session")
    assert (await session.set("xhigh"))["baseline"] == "medium"
    await session.end_run()
    assert session.level == "medium"
    assert "override" not in session.status


async def test_raise_and_drop_inside_one_run_writes_three_entries_for_set_set_reset():
    session = await started(model=PLAIN)
    await session.set("high")
    await session.set("low")
    assert (await session.reset())["level"] == "medium"
    assert [bool(record) for record in session.records()] == [True, True, False]


async def test_reset_without_an_override_writes_nothing():
    session = await started(model=PLAIN)
    assert (await session.reset()) == session.status
    assert session.kinds() == []


async def test_a_clamped_set_says_so_and_an_exact_one_does_not():
    session = await started(model=GAPS)
    result = await session.set("medium")
    assert (result["level"], result["clamped"], result["requested"]) == ("high", True, "medium")
    assert session.records()[-1]["requested"] == "medium"
    assert "requested" not in result["override"]
    result = await session.set("low")
    assert not {"clamped", "requested"} & result.keys()
    assert "requested" not in session.records()[-1]


async def test_bounds_cap_a_set_and_the_request_is_compared_not_the_bounded_one():
    session = await started(model=PLAIN, bounds=Bounds(max="medium"))
    result = await session.set("high")
    assert (result["level"], result["clamped"], result["requested"]) == ("medium", True, "high")


async def test_the_entry_holds_exactly_what_the_format_says(tmp_path):
    session = await started(tmp_path / "s.jsonl", model=PLAIN)
    await session.set("high", "turns", 2, reason="why")
    line = json.loads((tmp_path / "s.jsonl").read_text().splitlines()[2])
    assert (line["type"], line["customType"]) == ("custom", "pi-fabric-thinking")
    assert line["data"] == {
        "version": 1,
        "override": {
            "level": "high",
            "baseline": "medium",
            "scope": "turns",
            "setAt": 1_800_000_000_000,
            "remainingTurns": 2,
            "reason": "why",
        },
    }


@pytest.mark.parametrize(("model", "bounds"), [(SILENT, Bounds(min="low")), (PLAIN, Bounds(min="xhigh"))])
async def test_where_no_level_fits_a_set_fails_and_not_a_byte_changes(tmp_path, model, bounds):
    path = tmp_path / "s.jsonl"
    session = await started(path, model=PLAIN)
    await session.set("low", "turns", 2)
    session.store.close()
    session = await started(path, model=model, bounds=bounds)
    status, content = session.status, path.read_bytes()
    with pytest.raises(NoSupportedLevelError, match=r"none of these lies inside"):
        await session.set("high")
    assert session.status == status
    assert path.read_bytes() == content
    assert session.status["override"]["remainingTurns"] == 2


async def test_an_unset_level_goes_back_to_unset_and_off_goes_back_to_off(tmp_path):
    path = tmp_path / "s.jsonl"
    session = await started(path, model=PLAIN)
    assert not session.host.level_is_set
    await session.set("high", "turns", 2)
    assert session.host.level_is_set
    session.store.close()
    session = await started(path, model=PLAIN)
    await session.end_run()
    await session.end_run()
    assert (session.level, session.host.level_is_set) == ("medium", False)
    session.store.close()
    session = await started(path, model=PLAIN)
    assert (session.level, session.host.level_is_set) == ("medium", False)
    await session.person("off")
    await session.set("high")
    assert session.status["baseline"] == "off"
    await session.end_run()
    assert (session.level, session.host.level_is_set) == ("off", True)


async def test_a_change_touches_nothing_but_its_own_session(tmp_path, monkeypatch):
    """No default of the person's changes: a second session that starts meanwhile runs at the default."""
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    first = await started(tmp_path / "a.jsonl", model=PLAIN)
    await first.set("high", "session")
    second = await started(tmp_path / "b.jsonl", model=PLAIN)
    assert second.level == "medium"
    assert {path.name for path in tmp_path.iterdir() if path.suffix != ".lock"} == {"a.jsonl", "b.jsonl"}
