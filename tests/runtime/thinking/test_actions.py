"""`thinking.*` through the real admission: descriptors, arguments, approvals, schema mode."""

import pytest

from guest_api.bounds import UNBOUNDED, Bounds
from guest_api.levels import LEVELS
from host_bridge.admission import Admission, Admitted, RunContext
from host_bridge.approvals import ApprovalPolicy
from host_bridge.registry import Registry
from runtime.thinking.actions import SetArguments, actions
from tests.runtime.thinking.sessions import FULL, GAPS, SILENT, Session, started

WRITE_ALLOWED = {"read": "allow", "write": "allow", "execute": "deny", "network": "deny", "agent": "deny"}


def admission(session: Session, modes: dict = WRITE_ALLOWED, schema_mode: str = "off") -> Admission:
    registry = Registry()
    registry.replace_source("thinking", actions(session.thinking))
    return Admission(registry, policy=ApprovalPolicy(modes=modes), schema_mode=schema_mode)


async def call(gate: Admission, ref: str, **arguments) -> Admitted:
    run = RunContext(run_id="r")
    begun = gate.begin(1, ref, arguments, run)
    if not begun.settled:
        await gate.finish(begun, run)
    return begun


def descriptors() -> dict:
    return {action.descriptor.ref: action.descriptor for action in actions(None)}


def test_status_reads_and_may_be_called_ahead_of_time_and_set_and_reset_write_the_control_plane():
    found = descriptors()
    assert {ref: d.risk for ref, d in found.items()} == {
        "thinking.status": "read",
        "thinking.set": "write",
        "thinking.reset": "write",
    }
    assert {ref: d.speculation_eligible for ref, d in found.items()} == {
        "thinking.status": True,
        "thinking.set": False,
        "thinking.reset": False,
    }
    assert found["thinking.status"].effect is None
    assert found["thinking.set"].effect.kind == found["thinking.reset"].effect.kind == "control-plane"


def test_the_argument_struct_and_the_published_schema_name_the_same_fields():
    schema = descriptors()["thinking.set"].input_schema
    assert tuple(schema["properties"]) == SetArguments.__struct_fields__
    assert schema["properties"]["level"]["enum"] == list(LEVELS)


async def test_set_status_and_reset_work_through_admission():
    session = await started(model=GAPS)
    gate = admission(session)
    done = await call(gate, "thinking.set", level="medium", reason="é" * 256)
    assert done.ok
    assert done.value["clamped"] is True
    assert (await call(gate, "thinking.status")).value["override"]["reason"] == "é" * 256
    assert (await call(gate, "thinking.reset")).value["level"] == "high"
    assert (await call(gate, "thinking.set", level="low", scope="turns", turns=20)).ok
    assert (await call(gate, "thinking.set", level="low", scope="turns", turns=1)).ok


BAD = {
    "nothing": ({}, "level: got nothing, wanted one of 'off'"),
    "a misspelt field": ({"levl": "high"}, "did you mean 'level'?"),
    "an unknown field": ({"level": "high", "colour": "x"}, "colour"),
    "an unknown level": ({"level": "ultra"}, "wanted one of 'off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'"),
    "a misspelt level": ({"level": "hihg"}, "did you mean 'high'?"),
    "a level in capitals": ({"level": "HIGH"}, "did you mean 'high'?"),
    "a number": ({"level": 3}, "got 3"),
    "null": ({"level": None}, "got None"),
    "an unknown scope": ({"level": "high", "scope": "forever"}, "wanted one of 'turn', 'turns', 'session'"),
    "a misspelt scope": ({"level": "high", "scope": "sesion"}, "did you mean 'session'?"),
    "turns missing": ({"level": "high", "scope": "turns"}, "turns: got nothing"),
    "turns with scope turn": ({"level": "high", "turns": 3}, "turns: got 3 with scope 'turn'"),
    "turns with scope session": ({"level": "high", "scope": "session", "turns": 3}, "turns: got 3"),
    "turns 1 with scope turn": ({"level": "high", "scope": "turn", "turns": 1}, "turns: got 1"),
    "turns 0": ({"level": "high", "scope": "turns", "turns": 0}, "turns: got 0, wanted"),
    "turns 21": ({"level": "high", "scope": "turns", "turns": 21}, "turns: got 21, wanted"),
    "turns -1": ({"level": "high", "scope": "turns", "turns": -1}, "turns: got -1, wanted"),
    "turns 1.5": ({"level": "high", "scope": "turns", "turns": 1.5}, "whole number"),
    "turns 3.0": ({"level": "high", "scope": "turns", "turns": 3.0}, "whole number"),
    "turns true": ({"level": "high", "scope": "turns", "turns": True}, "whole number"),
    "turns text": ({"level": "high", "scope": "turns", "turns": "3"}, "whole number"),
    "a long reason": ({"level": "high", "reason": "x" * 257}, "reason"),
    "a long reason of wide characters": ({"level": "high", "reason": "😀" * 257}, "reason"),
    "a reason that is no text": ({"level": "high", "reason": 5}, "wanted text"),
}


@pytest.mark.parametrize(("arguments", "expected"), BAD.values(), ids=BAD.keys())
async def test_a_bad_argument_is_refused_in_plain_words_and_nothing_changes(tmp_path, arguments, expected):
    path = tmp_path / "s.jsonl"
    session = await started(path, model=FULL)
    await session.set("low", "turns", 2)
    before, content = session.status, path.read_bytes()
    # Writes would be asked about: the argument check comes first, so nobody is asked.
    refused = await call(admission(session, {**WRITE_ALLOWED, "write": "ask"}), "thinking.set", **arguments)
    assert (refused.ok, refused.kind) == (False, "rejected")
    assert expected in refused.message
    assert session.status == before
    assert path.read_bytes() == content


@pytest.mark.parametrize("ref", ["thinking.status", "thinking.reset"])
async def test_status_and_reset_take_nothing(ref):
    assert (await call(admission(await started()), ref, level="high")).kind == "rejected"


async def test_no_supported_level_is_a_failure_of_the_action():
    session = await started(model=SILENT, bounds=Bounds(min="low"))
    refused = await call(admission(session), "thinking.set", level="high")
    assert (refused.ok, refused.kind) == (False, "host")
    assert "thinking.bounds" in refused.message
    assert "nothing was changed" in refused.message
    assert session.kinds() == []


@pytest.mark.parametrize("ref", ["thinking.set", "thinking.reset"])
async def test_denied_writes_change_nothing_and_status_still_answers(tmp_path, ref):
    path = tmp_path / "s.jsonl"
    session = await started(path, model=FULL)
    await session.set("low", "turns", 2)
    before, content = session.status, path.read_bytes()
    for modes in ({**WRITE_ALLOWED, "write": "deny"}, {**WRITE_ALLOWED, "write": "ask"}):
        gate = admission(session, modes)
        refused = await call(gate, ref, **({"level": "high"} if ref == "thinking.set" else {}))
        assert (refused.ok, refused.kind) == (False, "denied")
        assert (await call(gate, "thinking.status")).value == before
    assert path.read_bytes() == content


async def test_other_risk_classes_do_not_move_thinking():
    session = await started(model=FULL)
    modes = {**dict.fromkeys(WRITE_ALLOWED, "deny"), "write": "allow", "read": "allow"}
    assert (await call(admission(session, modes), "thinking.set", level="high")).ok


@pytest.mark.parametrize("ref", ["thinking.set", "thinking.reset"])
async def test_enforce_blocks_before_any_question_and_lets_status_through(tmp_path, ref):
    path = tmp_path / "s.jsonl"
    session = await started(path, model=FULL)
    await session.set("low", "session")
    content = path.read_bytes()
    gate = admission(session, schema_mode="enforce")
    refused = await call(gate, ref, **({"level": "high"} if ref == "thinking.set" else {}))
    assert (refused.ok, refused.kind) == (False, "denied")
    assert (await call(gate, "thinking.status")).ok
    assert path.read_bytes() == content


async def test_a_full_disk_is_named_and_nothing_is_applied(tmp_path):
    session = await started(tmp_path / "s.jsonl", model=FULL)
    session.store.close()
    refused = await call(admission(session), "thinking.set", level="high")
    assert (refused.ok, refused.kind) == (False, "host")
    assert "could not be written" in refused.message
    assert session.level == "medium"
    assert "override" not in session.status


def test_the_default_is_unbounded():
    assert UNBOUNDED.describe() == "off..max"
