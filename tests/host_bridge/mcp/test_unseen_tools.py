"""Calls of servers that were never seen: denied at once, and nothing started, where no class could let them run."""

from pathlib import Path

import pytest

from host_bridge.approval_prompt import ApprovalDesk
from host_bridge.approvals import ApprovalPolicy, Rule
from host_bridge.mcp.manifest import possible_risks
from host_bridge.mcp.names import may_be_part, ref_parts
from host_bridge.mcp.settings import server_settings
from tests.host_bridge.mcp.calling import OWN, opened
from tests.host_bridge.support import ScriptedApprover

DENIES = {
    "nobody to ask": ApprovalPolicy(),
    "a denied class": ApprovalPolicy(modes={"network": "deny"}),
    "a denying rule": ApprovalPolicy(rules=(Rule("mcp.own.*", "deny"), Rule("*", "allow"))),
    "auto without a classifier": ApprovalPolicy(modes={"network": "auto"}),
}


@pytest.mark.parametrize("policy", DENIES.values(), ids=DENIES)
async def test_a_headless_denial_starts_no_server(tmp_path: Path, policy: ApprovalPolicy) -> None:
    async with opened({"own": OWN}, tmp_path, policy=policy) as calls:
        call = await calls.admitted("mcp.own.add", a=1, b=2)
        assert (call.ok, call.kind, call.decision) == (False, "denied", "denied")
        assert call.message.startswith("mcp.own.add (risk network) ")
        assert call.details["risk"] == "network"
        assert calls.state("own")["starts"] == 0


async def test_the_denial_names_the_rule_that_would_allow_it(tmp_path: Path) -> None:
    async with opened({"own": OWN}, tmp_path, policy=ApprovalPolicy()) as calls:
        kind, message = await calls.refusal("mcp.own.add", a=1, b=2)
        assert kind == "denied"
        assert '--allow network, or the rule {"ref": "mcp.own.add", "action": "allow"}' in message


async def test_an_audit_notes_what_enforce_would_refuse_also_where_the_call_was_denied(tmp_path: Path) -> None:
    async with opened({"own": OWN}, tmp_path, policy=ApprovalPolicy(), schema_mode="audit") as calls:
        call = await calls.admitted("mcp.own.add", a=1, b=2)
        assert (call.decision, call.would_block) == ("denied", True)


MAY_RUN = {
    "a tool declared a read": ({"risks": {"add": "read"}}, ApprovalPolicy()),
    "a server declared a read": ({"risk": "read"}, ApprovalPolicy()),
    "a rule for the tool": ({}, ApprovalPolicy(rules=(Rule("mcp.own.add", "allow"),))),
    "a flag": ({}, ApprovalPolicy(run_allow=frozenset({"network"}))),
}


@pytest.mark.parametrize(("settings", "policy"), MAY_RUN.values(), ids=MAY_RUN)
async def test_what_some_class_would_let_run_starts_its_server(tmp_path: Path, settings: dict, policy) -> None:
    async with opened({"own": {**OWN, **settings}}, tmp_path, policy=policy) as calls:
        assert await calls.value("mcp.own.add", a=1, b=2) == 3


async def test_where_somebody_can_be_asked_the_server_starts_and_the_question_has_the_tools_own_words(
    tmp_path: Path,
) -> None:
    approver = ScriptedApprover("once")
    async with opened({"own": OWN}, tmp_path, policy=ApprovalPolicy(), desk=ApprovalDesk(approver)) as calls:
        assert await calls.value("mcp.own.add", a=1, b=2) == 3
    assert [request.ref for request in approver.requests] == ["mcp.own.add"]
    assert approver.requests[0].description


async def test_a_tool_that_its_servers_hints_may_make_a_read_is_looked_up_first(tmp_path: Path) -> None:
    async with opened({"own": {**OWN, "trustAnnotations": True}}, tmp_path, policy=ApprovalPolicy()) as calls:
        assert await calls.value("mcp.own.add", a=1, b=2) == 3
        assert (await calls.refusal("mcp.own.names"))[0] == "denied"


def test_the_possible_classes_are_those_that_the_settings_could_give_this_tool() -> None:
    entry = {"command": "x", "risks": {"get-issue": "read", "add": "write"}}
    assert possible_risks(server_settings("s", entry), "other") == ("network",)
    assert possible_risks(server_settings("s", entry), "get_issue") == ("read", "network")
    assert possible_risks(server_settings("s", entry), ref_parts(["get-issue", "get_issue"])["get-issue"]) == (
        "read",
        "network",
    )
    assert possible_risks(server_settings("s", {**entry, "risk": "execute"}), "add") == ("write", "execute")
    assert possible_risks(server_settings("s", {"command": "x", "trustAnnotations": True}), "add") == (
        "network",
        "read",
        "write",
    )


@pytest.mark.parametrize("name", ["a", "a-b", "2fa", "x" * 300, "class", "日本", "gi_code", "___", "a b"])
def test_every_part_that_a_name_can_get_is_foreseen(name: str) -> None:
    for others in ([], ["a_b"], ["n2fa", "2-fa"], ["x" * 299], ["class_"], ["___ "], ["a.b", "a_b"]):
        assert may_be_part(name, ref_parts([name, *others])[name])
        assert may_be_part(name, ref_parts([*others, name])[name])
