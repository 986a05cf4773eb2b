"""Somebody else changes the level: the override is over, nothing is restored, nobody is fought."""

import pytest

from guest_api.levels import Level
from runtime.hosts.local import LocalHost
from runtime.transcript.store import TranscriptStore
from tests.runtime.thinking.sessions import FULL, GAPS, PLAIN, SILENT, Session, only, started


class CountingHost(LocalHost):
    """Counts our own calls of the setter."""

    calls = 0

    async def set_level(self, level: Level | None, *, replayed: bool = False) -> Level:
        self.calls += 1
        return await super().set_level(level, replayed=replayed)


async def test_a_foreign_change_ends_the_override_with_one_null_entry_and_restores_nothing():
    session = await started(model=PLAIN)
    await session.set("high")
    await session.person("low")
    assert "override" not in session.status
    assert session.kinds() == ["override", "high", "low", "null"]
    await session.end_run()
    assert session.level == "low"
    assert session.kinds() == ["override", "high", "low", "null"]


async def test_another_owner_at_every_run_is_never_fought():
    session = await started(model=PLAIN, host_type=CountingHost)
    await session.set("high", "session")
    calls = session.host.calls
    for _ in range(5):
        await session.person("low")
        await session.end_run()
    assert session.host.calls == calls
    assert session.level == "low"


async def test_our_own_change_does_not_end_the_override():
    session = await started(model=PLAIN)
    await session.set("high")
    assert [event.cause for event in session.changes] == ["fabric"]
    assert session.status["override"]["level"] == "high"


async def test_a_change_away_and_back_ends_it_for_good(tmp_path):
    path = tmp_path / "s.jsonl"
    session = await started(path, model=PLAIN)
    await session.set("high", "session")
    await session.person("low")
    await session.person("high")
    assert "override" not in session.status
    session.store.close()
    session = await started(path, model=PLAIN)
    assert "override" not in session.status
    assert session.level == "high"


async def test_changes_away_and_back_by_another_writer_end_it_at_the_next_open(tmp_path):
    """The file was continued by a program that knows nothing of overrides."""
    path = tmp_path / "s.jsonl"
    session = await started(path, model=PLAIN)
    await session.set("high", "turns", 3)
    session.store.append_thinking_level_change("low")
    session.store.append_thinking_level_change("high")
    session.store.close()
    content = path.read_bytes()
    session = await started(path, model=PLAIN)
    assert "override" not in session.status
    assert path.read_bytes() == content, "loading never appends"
    session.host.append_user_message("go on")
    assert session.kinds() == ["override", "high", "low", "high", "null", "message"]
    await session.end_run()
    assert session.kinds() == ["override", "high", "low", "high", "null", "message"]
    assert session.level == "high"


async def test_a_later_level_change_behind_a_count_down_is_foreign_although_it_is_the_next_line(tmp_path):
    path = tmp_path / "s.jsonl"
    session = await started(path, model=PLAIN)
    await session.set("high", "turns", 3)
    await session.end_run()
    session.store.append_thinking_level_change("low")
    session.store.close()
    session = await started(path, model=PLAIN)
    assert "override" not in session.status
    assert session.level == "low"


async def test_the_null_entry_that_is_due_is_written_at_the_end_of_a_run_at_the_latest(tmp_path):
    path = tmp_path / "s.jsonl"
    session = await started(path, model=PLAIN)
    await session.set("high", "session")
    session.store.append_thinking_level_change("low")
    session.store.close()
    session = await started(path, model=PLAIN)
    await session.end_run()
    await session.end_run()
    assert session.kinds() == ["override", "high", "low", "null"]


async def test_a_set_after_a_foreign_end_takes_the_foreign_level_as_its_baseline(tmp_path):
    path = tmp_path / "s.jsonl"
    session = await started(path, model=PLAIN)
    await session.set("high", "session")
    session.store.append_thinking_level_change("low")
    session.store.close()
    session = await started(path, model=PLAIN)
    assert (await session.set("minimal"))["baseline"] == "low"
    assert session.kinds() == ["override", "high", "low", "null", "override", "minimal"]
    await session.end_run()
    assert session.level == "low"


@pytest.mark.parametrize("level", ["low", "high"])
async def test_a_level_chosen_on_resume_ends_the_override_even_when_it_is_the_same(tmp_path, level):
    path = tmp_path / "s.jsonl"
    session = await started(path, model=PLAIN)
    await session.set("high", "session")
    session.store.close()
    session = await started(path, model=PLAIN)
    await session.person(level)
    assert "override" not in session.status
    assert session.kinds()[-1] == "null"
    await session.end_run()
    assert session.level == level
    assert session.kinds().count("null") == 1


async def test_a_model_change_is_no_foreign_owner_and_the_wish_is_applied_again(tmp_path):
    path = tmp_path / "s.jsonl"
    session = await started(path)
    await session.set_model(GAPS)
    assert (await session.set("minimal", "session"))["level"] == "low"
    await session.set_model(FULL)
    assert session.level == "minimal", "the wish, not what the weaker model made of it"
    await session.set_model(SILENT)
    assert session.level == "off"
    assert session.status["override"]["level"] == "off"
    await session.set_model(PLAIN)
    assert session.level == "minimal"
    session.store.close()
    session = await started(path)
    assert session.host.model == PLAIN
    assert session.status["override"]["level"] == "minimal"
    assert (await session.reset())["level"] == "medium"


async def test_a_level_change_right_behind_a_model_change_does_not_end_it_at_the_next_open(tmp_path):
    """Killed after the model was switched, before the wish was applied again."""
    path = tmp_path / "s.jsonl"
    session = await started(path)
    await session.set_model(FULL)
    await session.set("xhigh", "session")
    session.store.append_model_change("t", "plain")
    session.store.append_thinking_level_change("high")
    session.store.close()
    session = await started(path)
    assert session.level == "high"
    assert session.status["override"]["level"] == "high"
    await session.set_model(FULL)
    assert session.level == "xhigh"


async def test_the_baseline_is_not_rewritten_by_a_weaker_model():
    session = await started()
    await session.set_model(FULL)
    await session.person("xhigh")
    await session.set("low", "session")
    await session.set_model(PLAIN)
    assert session.status["baseline"] == "xhigh"
    assert (await session.reset())["level"] == "high"
    await session.set_model(FULL)
    assert session.level == "xhigh"


async def test_a_level_that_a_weak_model_cannot_reach_comes_back_with_a_stronger_one(tmp_path):
    path = tmp_path / "s.jsonl"
    session = await started(path)
    await session.set_model(FULL)
    await session.person("xhigh")
    await session.set_model(PLAIN)
    assert session.level == "high"
    session.store.close()
    session = await started(path)
    await session.set_model(FULL)
    assert session.level == "xhigh"


async def test_a_set_and_revert_on_a_weaker_model_do_not_lower_the_persons_wish():
    session = await started()
    await session.set_model(FULL)
    await session.person("xhigh")
    await session.set_model(PLAIN)
    await session.set("low")
    await session.end_run()
    assert session.level == "high"
    await session.set_model(FULL)
    assert session.level == "xhigh"


async def test_a_model_change_that_no_event_told_is_noticed_at_the_end_of_the_run():
    session = await started(model=FULL)
    await session.set("xhigh", "turns", 2)
    await session.host.set_model(PLAIN)
    await session.end_run()
    assert session.status["override"]["remainingTurns"] == 1
    await session.end_run()
    assert session.level == "medium"


class LoweringHost(LocalHost):
    """A host that turns xhigh into high although the catalog says that the model supports it."""

    async def set_level(self, level: Level | None, *, replayed: bool = False) -> Level:
        return await super().set_level("high" if level == "xhigh" else level, replayed=replayed)


async def test_clamped_compares_the_request_with_what_the_host_applied():
    session = await started(model=FULL, host_type=LoweringHost)
    result = await session.set("xhigh")
    assert (result["level"], result["clamped"], result["requested"]) == ("high", True, "xhigh")
    assert [record["level"] for record in session.records()] == ["xhigh", "high"]
    assert session.records()[-1]["requested"] == "xhigh"
    assert session.status["override"]["level"] == "high"
    result = await session.set("high")
    assert not {"clamped", "requested"} & result.keys()
    await session.end_run()
    assert session.level == "medium"


async def test_a_level_change_right_behind_an_entry_that_was_never_applied_is_a_persons(tmp_path):
    """Killed between entry and level; then somebody chose a level with a program that knows nothing of overrides."""
    path = tmp_path / "s.jsonl"
    session = await started(path, model=FULL)
    await session.person("medium")
    session.store.append_custom(
        "pi-fabric-thinking",
        {"version": 1, "override": {"level": "high", "baseline": "medium", "scope": "turn", "setAt": 5}},
    )
    session.store.append_thinking_level_change("low")
    session.store.close()
    session = await started(path, model=FULL)
    assert (session.level, "override" in session.status) == ("low", False)
    await session.end_run()
    assert session.level == "low"
    assert session.kinds() == ["medium", "override", "low", "null"]


async def test_a_foreign_change_that_is_older_than_a_set_does_not_end_it():
    session = Session(TranscriptStore.in_memory(cwd="/project"), model=only("m", "off", "low", "high"))
    await session.start()
    await session.person("low")
    await session.set("high")
    assert session.status["override"]["level"] == "high"


async def test_a_model_chosen_at_the_start_is_recorded_with_the_next_entry_and_names_the_model_later(tmp_path):
    path = tmp_path / "s.jsonl"
    session = await started(path, model=FULL)
    await session.person("xhigh")
    session.store.close()
    content = path.read_bytes()
    session = await started(path, model=PLAIN)
    assert session.level == "high"
    assert path.read_bytes() == content
    session.host.append_user_message("on")
    session.store.close()
    session = await started(path)
    assert (session.host.model, session.level) == (PLAIN, "high")
    await session.set_model(FULL)
    assert session.level == "xhigh"


async def test_an_override_survives_a_resume_under_another_model(tmp_path):
    path = tmp_path / "s.jsonl"
    session = await started(path, model=FULL)
    await session.set("max", "turns", 2)
    session.store.close()
    session = await started(path, model=PLAIN)
    assert session.status["override"]["level"] == session.level == "high"
    await session.end_run()
    session.store.close()
    session = await started(path)
    assert session.status["override"]["remainingTurns"] == 1
    assert session.level == "high"
    await session.end_run()
    assert session.level == "medium"


async def test_a_model_that_is_not_configured_is_named_once_and_every_level_is_listed(tmp_path):
    path = tmp_path / "s.jsonl"
    session = await started(path)
    session.store.append_model_change("gone", "m1")
    session.store.close()
    session = await started(path)
    assert session.host.model is None
    assert len(session.status["available"]) == 7
    assert len(session.warnings) == 1
    assert "gone/m1" in session.warnings[0]
