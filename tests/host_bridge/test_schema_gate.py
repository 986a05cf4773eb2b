"""Schema mode by exact ref."""

import pytest

from host_bridge.actions import action
from host_bridge.schema_gate import PASSES, gate
from tests.host_bridge.support import Counter, ScriptedApprover, admission_of, admit, registry_of


@pytest.mark.parametrize("ref", sorted(PASSES))
def test_host_reads_pass_in_every_mode(ref):
    assert {gate(mode, ref) for mode in ("off", "audit", "enforce")} == {"pass"}


@pytest.mark.parametrize(
    "ref",
    ["thinking.set", "thinking.reset", "agents.run", "agents.spawn", "agents.stop", "pi.write", "pi.bash", "mcp.git.status",
     "thinking.status.x", "xthinking.status", "thinking.", "THINKING.STATUS", "tools.call", "extensions.read"],
)  # fmt: skip
def test_everything_else_is_blocked_whatever_it_is_called(ref):
    assert gate("off", ref) == "pass"
    assert gate("audit", ref) == "would_block"
    assert gate("enforce", ref) == "block"


async def test_enforce_answers_before_any_prompt_and_despite_every_allow():
    counter, approver = Counter(), ScriptedApprover("once")
    from host_bridge.approvals import ApprovalPolicy, Rule

    policy = ApprovalPolicy(modes={"write": "allow"}, rules=(Rule("*", "allow"),), run_allow=frozenset({"write"}))
    registry = registry_of(counter.immediate("thinking.set"))
    admission = admission_of(registry, approver, policy=policy, schema_mode="enforce")
    admission.grants.add("thinking.set", "write")
    call = await admit(admission, "thinking.set", {"path": "x"})
    assert (call.ok, call.kind, call.decision) == (False, "denied", "blocked")
    assert "schema.mode" in call.message
    assert counter.ran == []
    assert approver.requests == []


async def test_enforce_refuses_a_tool_that_calls_itself_a_read():
    read = action(lambda: 1, ref="mcp.files.read", risk="read")
    call = await admit(admission_of(registry_of(read), schema_mode="enforce"), "mcp.files.read")
    assert call.decision == "blocked"


async def test_enforce_lets_status_through():
    status = action(lambda: {"level": "low"}, ref="thinking.status", risk="read")
    assert (await admit(admission_of(registry_of(status), schema_mode="enforce"), "thinking.status")).ok


async def test_audit_runs_and_records_what_enforce_would_block():
    counter = Counter()
    registry = registry_of(counter.immediate("files.write", "read"))
    call = await admit(admission_of(registry, schema_mode="audit"), "files.write")
    assert call.ok
    assert call.would_block


async def test_wrong_arguments_are_told_before_the_gate_speaks():
    registry = registry_of(Counter().immediate("thinking.set"))
    call = await admit(admission_of(registry, schema_mode="enforce"), "thinking.set", {"pth": 1})
    assert call.kind == "rejected"
