"""Reload, restart, navigation: the latest entry on the active branch counts, malformed or not."""

import copy
import json
import shutil
from pathlib import Path

import pytest

from guest_api.bounds import Bounds
from guest_api.levels import Level
from runtime.events import SessionStarted
from runtime.hosts.local import LocalHost
from runtime.thinking.entry import MalformedEntryError, decode, encode
from runtime.transcript.store import TranscriptStore
from tests.runtime.thinking.sessions import FULL, PLAIN, Session, started

GOLDEN = Path(__file__).parents[2] / "data" / "pi-sessions" / "09-thinking-overrides-scripted-payloads.jsonl"
"""A session that another program wrote; its payloads were scripted."""
VALID = {"level": "high", "scope": "session", "baseline": "medium", "setAt": 1}


def entry(**changes) -> dict:
    record = {**VALID, **changes}
    return {"version": 1, "override": {key: value for key, value in record.items() if value is not ...}}


MALFORMED = {
    "unknown level": {"version": 1, "override": {"level": "ultra"}},
    "version 2": {"version": 2, "override": None},
    "version true": {"version": True, "override": None},
    "version text": {"version": "1", "override": None},
    "no version": {"override": None},
    "no override": {"version": 1},
    "override is a list": {"version": 1, "override": []},
    "override is text": {"version": 1, "override": "high"},
    "not an object": [],
    "null": None,
    "level upper case": entry(level="High"),
    "no baseline": entry(baseline=...),
    "baseline null": entry(baseline=None),
    "no scope": entry(scope=...),
    "unknown scope": entry(scope="forever"),
    "no setAt": entry(setAt=...),
    "setAt text": entry(setAt="2026-11-30T13:44:34.703Z"),
    "setAt true": entry(setAt=True),
    "setAt negative": entry(setAt=-1),
    "turns without count": entry(scope="turns"),
    "count 0": entry(scope="turns", remainingTurns=0),
    "count 21": entry(scope="turns", remainingTurns=21),
    "count 1.5": entry(scope="turns", remainingTurns=1.5),
    "count true": entry(scope="turns", remainingTurns=True),
    "count text": entry(scope="turns", remainingTurns="3"),
    "count with scope turn": entry(scope="turn", remainingTurns=1),
    "reason too long": entry(reason="x" * 257),
    "reason null": entry(reason=None),
    "requested unknown": entry(requested="ultra"),
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED.keys())
def test_what_is_not_exactly_an_entry_is_malformed(data):
    with pytest.raises(MalformedEntryError):
        decode(data)


@pytest.mark.parametrize(
    "record",
    [
        VALID,
        {**VALID, "reason": "é" * 256},
        {**VALID, "requested": "max", "colour": "blue", "nested": {"a": [1]}},
        {**VALID, "scope": "turns", "remainingTurns": 20},
    ],
)
def test_a_record_decodes_and_encodes_equal_with_unknown_fields_kept(record):
    data = {"version": 1, "override": record}
    assert encode(decode(copy.deepcopy(data))) == data


def test_extra_fields_beside_the_record_are_ignored():
    assert decode({"version": 1, "override": None, "note": 1}) is None


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED.keys())
async def test_a_malformed_latest_entry_ends_the_override_and_never_revives_an_older_one(tmp_path, data):
    path = tmp_path / "s.jsonl"
    session = await started(path, model=PLAIN)
    await session.set("high", "session")
    session.store.append_custom("pi-fabric-thinking", data)
    session.store.close()
    content = path.read_bytes()
    for _ in range(3):
        session = await started(path, model=PLAIN)
        assert "override" not in session.status
        assert session.level == "high"
        assert len(session.warnings) == 1
        assert "malformed" in session.warnings[0]
        await session.end_run()
        assert session.level == "high"
        session.store.close()
        assert path.read_bytes() == content


async def test_a_restart_restores_the_override_exactly(tmp_path):
    path = tmp_path / "s.jsonl"
    session = await started(path, model=PLAIN)
    before = (await session.set("high", "turns", 7, reason="proof"))["override"]
    session.store.close()
    content = path.read_bytes()
    session = await started(path, model=PLAIN)
    assert session.status["override"] == before
    assert session.status["baseline"] == "medium"
    assert path.read_bytes() == content


async def test_killed_after_the_entry_before_the_level_the_revert_is_pending_and_loading_writes_nothing(tmp_path):
    path = tmp_path / "s.jsonl"
    session = await started(path, model=PLAIN)
    session.store.append_custom("pi-fabric-thinking", entry(scope="turn"))
    session.store.close()
    content = path.read_bytes()
    session = await started(path, model=PLAIN)
    assert session.level == "high"
    assert path.read_bytes() == content
    await session.end_run()
    assert session.level == "medium"
    assert "override" not in session.status
    session.store.close()
    session = await started(path, model=PLAIN)
    assert session.level == "medium"
    assert "override" not in session.status


async def test_killed_after_the_restored_level_before_the_null_entry_nothing_is_raised_again(tmp_path):
    path = tmp_path / "s.jsonl"
    session = await started(path, model=PLAIN)
    await session.set("high")
    session.store.append_thinking_level_change("medium")
    session.store.close()
    session = await started(path, model=PLAIN)
    assert session.level == "medium"
    assert "override" not in session.status
    await session.end_run()
    assert session.kinds()[-1] == "null"


async def test_a_pending_revert_needs_nothing_but_the_session(tmp_path):
    path = tmp_path / "s.jsonl"
    session = await started(path, model=PLAIN)
    await session.set("high")
    session.store.close()
    session = await started(path, model=PLAIN)
    await session.end_run()
    assert session.level == "medium"


async def test_the_latest_entry_on_the_branch_counts_not_the_latest_in_the_file():
    session = await started(model=FULL)
    root = session.store.append_message({"role": "user", "content": "a"}).id
    await session.set("high", "session")
    leaf = session.store.leaf_id
    await session.navigate(root)
    await session.set("low", "session")
    await session.navigate(leaf)
    assert session.status["override"]["level"] == session.level == "high"


async def test_leaving_a_branch_with_an_override_for_one_without_goes_back_to_its_baseline():
    """The full story: two branches, three runs, one count-down that only its own branch's runs move."""
    session = await started(model=FULL)
    point_a = session.store.append_message({"role": "user", "content": "a"}).id
    session.store.append_message({"role": "user", "content": "b"})
    await session.set("xhigh", "turns", 3)
    await session.end_run()
    leaf_b = session.store.leaf_id
    await session.navigate(point_a)
    assert "override" not in session.status
    assert session.level == "medium"
    await session.end_run()
    assert session.records() == []
    await session.navigate(leaf_b)
    assert session.level == "xhigh"
    assert session.status["override"]["remainingTurns"] == 2
    await session.end_run()
    assert session.status["override"]["remainingTurns"] == 1
    await session.end_run()
    assert "override" not in session.status
    assert session.level == "medium"


async def test_navigation_alone_writes_nothing(tmp_path):
    path = tmp_path / "s.jsonl"
    session = await started(path, model=FULL)
    root = session.store.append_message({"role": "user", "content": "a"}).id
    await session.set("xhigh", "session")
    leaf, content = session.store.leaf_id, path.read_bytes()
    await session.navigate(root)
    await session.navigate(leaf)
    await session.navigate(None)
    assert path.read_bytes() == content


async def test_a_level_that_followed_from_navigation_is_recorded_before_the_next_entry():
    session = await started(model=FULL)
    await session.set("high", "session")
    raised = session.store.append_message({"role": "user", "content": "a"}).id
    await session.reset()
    await session.navigate(raised)
    assert session.level == "high"
    session.host.append_user_message("here")
    assert session.kinds() == ["override", "high", "message", "message"]
    await session.reset()
    assert session.kinds() == ["override", "high", "message", "message", "medium", "null"]


async def test_between_two_branches_with_overrides_each_brings_its_own():
    session = await started(model=FULL)
    root = session.store.append_message({"role": "user", "content": "a"}).id
    await session.set("high", "session")
    high = session.store.leaf_id
    await session.navigate(root)
    await session.set("low", "turn")
    low = session.store.leaf_id
    await session.navigate(high)
    assert (session.level, session.status["override"]["scope"]) == ("high", "session")
    await session.navigate(low)
    assert (session.level, session.status["override"]["scope"]) == ("low", "turn")
    await session.end_run()
    assert session.level == "medium"


async def test_a_tighter_configuration_clamps_a_replayed_override_and_says_so_at_the_next_append(tmp_path):
    path = tmp_path / "s.jsonl"
    session = await started(path, model=FULL)
    await session.set("xhigh", "session")
    session.store.close()
    content = path.read_bytes()
    session = await started(path, model=FULL, bounds=Bounds(max="medium"))
    assert session.level == session.status["override"]["level"] == "medium"
    assert path.read_bytes() == content
    session.host.append_user_message("on")
    assert session.kinds() == ["override", "xhigh", "override", "medium", "message"]
    assert session.records()[-1]["requested"] == "xhigh"
    session.store.close()
    session = await started(path, model=FULL)
    assert session.level == "xhigh", "the wish is still there"


class FailingHost(LocalHost):
    """Refuses to change the level while `fail` is true."""

    fail = False

    async def set_level(self, level: Level | None, *, replayed: bool = False) -> Level:
        if self.fail:
            raise OSError("no answer")
        return await super().set_level(level, replayed=replayed)


async def test_a_replay_that_fails_half_way_leaves_level_override_and_count_as_they_were():
    session = await started(model=FULL, host_type=FailingHost)
    root = session.store.append_message({"role": "user", "content": "a"}).id
    await session.set("low", "session")
    other = session.store.leaf_id
    await session.navigate(root)
    await session.set("high", "turns", 4)
    before = session.status
    session.host.fail = True
    with pytest.raises(OSError, match="no answer"):
        await session.thinking.session_started(SessionStarted("resume", session.store.branch(other)))
    assert session.status == before


async def test_a_set_whose_level_cannot_be_applied_is_taken_back_by_a_second_entry():
    session = await started(model=FULL, host_type=FailingHost)
    await session.set("low", "session")
    before = session.status
    real = FailingHost.set_level
    answers = iter([True, False])

    async def once_failing(self, level, *, replayed=False):
        self.fail = next(answers)
        return await real(self, level, replayed=replayed)

    FailingHost.set_level = once_failing
    try:
        with pytest.raises(OSError, match="no answer"):
            await session.set("high")
    finally:
        FailingHost.set_level = real
    assert session.status == before
    assert [record["level"] for record in session.records()] == ["low", "high", "low"]


async def test_a_revert_that_the_host_refuses_is_tried_again_at_the_next_end():
    session = await started(model=FULL, host_type=FailingHost)
    await session.set("high")
    session.host.fail = True
    await session.end_run()
    assert session.status["override"]["level"] == "high"
    assert len(session.warnings) == 1
    session.host.fail = False
    await session.end_run()
    assert session.level == "medium"


@pytest.fixture
def golden(tmp_path):
    path = tmp_path / "golden.jsonl"
    shutil.copy(GOLDEN, path)
    path.chmod(0o600)
    return path


async def test_a_recorded_session_of_another_writer_replays_at_a_node_and_reverts_there(golden):
    session = await started(golden, model=FULL)
    await session.navigate("bf6c17b9")
    override = session.status["override"]
    assert (override["level"], override["scope"], override["remainingTurns"]) == ("xhigh", "turns", 1)
    assert session.level == "xhigh"
    await session.end_run()
    assert session.level == "medium"
    assert session.records()[-1] is None


async def test_the_other_writers_records_decode_and_encode_equal(golden):
    lines = [json.loads(line) for line in golden.read_text().splitlines()]
    payloads = [line["data"] for line in lines if line.get("customType") == "pi-fabric-thinking"]
    assert len(payloads) > 8
    for data in payloads:
        if data["override"] != {"level": "ultra"}:
            assert encode(decode(data)) == data


async def test_without_entries_there_is_no_override_and_nothing_to_end():
    session = Session(TranscriptStore.in_memory(cwd="/project"), model=PLAIN)
    await session.start()
    await session.end_run()
    assert session.kinds() == []
