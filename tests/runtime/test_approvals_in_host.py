"""Approvals and Schema mode in a whole host: real guests, a real session file."""

import json

import pytest
import trio

from host_bridge.actions import action
from host_bridge.approval_rules import RuleStore
from host_bridge.schema_gate import PASSES
from runtime import open_host
from tests.host_bridge.support import ScriptedApprover

LOOP = "for i in range(20):\n    await notes.add(text=str(i))\nreturn 'ok'"


@pytest.fixture(autouse=True)
def own_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))


class Notes:
    def __init__(self):
        self.texts = []

    def actions(self):
        def add(text: str) -> int:
            self.texts.append(text)
            return len(self.texts)

        return [action(add, ref="notes.add", risk="write")]


def run_entries(path):
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    return [entry["data"] for entry in entries if entry.get("customType") == "pi-fabric-run"]


async def test_a_loop_of_writes_needs_one_answer():
    """AP-03."""
    notes, approver = Notes(), ScriptedApprover("session")
    with trio.fail_after(30):
        async with open_host(actions=notes.actions(), approver=approver) as host:
            assert (await host.run_program(LOOP)).value == "ok"
            assert (await host.run_program(LOOP)).ok
    assert len(notes.texts) == 40
    assert len(approver.requests) == 1


async def test_an_approved_call_runs_once_and_not_again_on_resume(tmp_path):
    """AP-07: approve, restart, resume."""
    notes, path = Notes(), tmp_path / "session.jsonl"
    with trio.fail_after(30):
        async with open_host(actions=notes.actions(), approver=ScriptedApprover("once"), session=path) as host:
            assert (await host.run_program("return await notes.add(text='once')")).value == 1
        approver = ScriptedApprover()
        async with open_host(actions=notes.actions(), approver=approver, session=path) as host:
            assert (await host.run_program("return 1")).ok
    assert notes.texts == ["once"]
    assert approver.requests == []
    first, second = run_entries(path)
    assert [(call["ref"], call["decision"], call["approver"]) for call in first["calls"]] == [
        ("notes.add", "approved", "person")
    ]
    assert second["calls"] == []


async def test_a_kept_answer_holds_for_the_next_host_until_it_is_revoked():
    """AP-05."""
    notes = Notes()
    with trio.fail_after(30):
        async with open_host(actions=notes.actions(), approver=ScriptedApprover("stored")) as host:
            assert (await host.run_program("await notes.add(text='a')")).ok
        assert [rule.ref for rule in RuleStore().stored()] == ["notes.add"]
        async with open_host(actions=notes.actions()) as host:
            assert (await host.run_program("await notes.add(text='b')")).ok
        RuleStore().revoke("notes.add")
        async with open_host(actions=notes.actions()) as host:
            result = await host.run_program("await notes.add(text='c')")
    assert (result.error.kind, notes.texts) == ("denied", ["a", "b"])
    assert "--allow write" in result.error.message


async def test_audit_runs_and_the_session_says_what_enforce_would_have_blocked(tmp_path):
    notes, path = Notes(), tmp_path / "session.jsonl"
    with trio.fail_after(30):
        async with open_host(
            {"schema": {"mode": "audit"}}, actions=notes.actions(), allow=["write"], session=path
        ) as host:
            assert (await host.run_program("await thinking.status()\nawait notes.add(text='a')")).ok
    (entry,) = run_entries(path)
    assert entry["schemaMode"] == "audit"
    assert [(call["ref"], call.get("wouldBlock", False)) for call in entry["calls"]] == [
        ("thinking.status", False),
        ("notes.add", True),
    ]
    assert notes.texts == ["a"]


async def test_what_enforce_lets_through_is_exactly_the_hosts_own_reads():
    async with open_host({"mcpServers": {"git": {"command": "mcp-server-git"}}}) as host:
        entries = host.registry.catalog().entries
    reads = {entry.descriptor.ref for entry in entries if entry.descriptor.risk == "read"}
    assert reads - {"mcp.servers", "agents.wait"} == PASSES


async def test_enforce_refuses_to_wait_for_a_child_since_that_is_no_look_at_what_is():
    with trio.fail_after(30):
        async with open_host({"schema": {"mode": "enforce"}}) as host:
            result = await host.run_program("return await agents.wait('x')")
    assert (result.error.kind, [call.decision for call in result.calls]) == ("denied", ["blocked"])


async def test_enforce_blocks_set_and_reset_before_any_prompt_and_lets_status_through():
    """thinking:control:enforce-blocks, thinking:control:enforce-allows-status, card:enforce"""
    approver = ScriptedApprover("session", "session")
    with trio.fail_after(30):
        async with open_host({"schema": {"mode": "enforce"}}, approver=approver, allow=["write"]) as host:
            for source in ("await thinking.set(level='high')", "await thinking.reset()"):
                result = await host.run_program(source)
                assert result.error.kind == "denied"
                assert "schema.mode" in result.error.message
            assert (await host.run_program("return (await thinking.status()).level")).value == "medium"
    assert approver.requests == []


@pytest.mark.parametrize("mode", ["allow", "ask", "deny"])
async def test_set_and_reset_follow_approvals_write_and_no_other_class(mode):
    """thinking:control:approvals-write, card:approvals"""
    config = {"approvals": {"write": mode, "execute": "deny", "network": "deny", "agent": "deny"}}
    approver = ScriptedApprover("once", "once")
    with trio.fail_after(30):
        async with open_host(config, approver=approver) as host:
            result = await host.run_program("await thinking.set(level='high')\nawait thinking.reset()\nreturn 1")
    assert result.ok == (mode != "deny")
    assert [request.ref for request in approver.requests] == (
        ["thinking.set", "thinking.reset"] if mode == "ask" else []
    )
    assert [call.ref for call in result.calls][:1] == ["thinking.set"]


async def test_a_prompt_that_nobody_answers_counts_as_no_after_its_time():
    async def silent(request):
        await trio.sleep_forever()

    with trio.fail_after(30):
        async with open_host({"approvals": {"promptTimeoutMs": 50}}, approver=silent) as host:
            result = await host.run_program("await thinking.set(level='high')")
    assert result.error.kind == "denied"
