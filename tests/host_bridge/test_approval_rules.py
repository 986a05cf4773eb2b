"""Kept answers: narrow, listed, revocable, and lost by nobody."""

import threading

import pytest

from host_bridge.admission import Admission
from host_bridge.approval_rules import RuleStore, default_rules_path
from host_bridge.errors import RuleFileError
from tests.host_bridge.support import Counter, ScriptedApprover, admission_of, admit, registry_of


def test_rules_are_kept_and_revoked(tmp_path):
    store = RuleStore(tmp_path / "deep" / "rules.json")
    assert store.stored() == []
    store.allow("mcp.git.status", "read")
    store.allow("mcp.git.status", "read")
    store.allow("mcp.git.push", "write")
    assert [(rule.ref, rule.risk) for rule in RuleStore(store.path).stored()] == [
        ("mcp.git.status", "read"),
        ("mcp.git.push", "write"),
    ]
    assert [rule.ref for rule in store.revoke("mcp.git.status")] == ["mcp.git.status"]
    assert store.revoke("mcp.git.status") == []
    assert [rule.ref for rule in store.stored()] == ["mcp.git.push"]
    assert store.path.stat().st_mode & 0o077 == 0
    assert sorted(path.name for path in store.path.parent.iterdir()) == ["rules.json", "rules.lock"]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"version":2,"rules":[]}', '{"version":1,"rules":[{"ref":"a.b","action":"maybe","risk":"read"}]}',
     '{"version":1,"rules":[{"ref":"a.b","action":"allow","risk":"all"}]}', '{"version":1,"rules":[],"more":1}',
     '{"version":1,"rules":[{"ref":"a*","action":"allow","risk":"read"}]}', "\xff"],
)  # fmt: skip
def test_a_damaged_file_gives_no_rule_and_stays_as_it_is(tmp_path, text):
    path = tmp_path / "rules.json"
    path.write_bytes(text.encode("latin-1"))
    for act in (
        RuleStore(path).stored,
        lambda: RuleStore(path).allow("a.b", "read"),
        lambda: RuleStore(path).revoke("a.b"),
    ):
        with pytest.raises(RuleFileError, match=r"rules\.json"):
            act()
    assert path.read_bytes() == text.encode("latin-1")
    with pytest.raises(RuleFileError):
        Admission(registry_of(), rules=RuleStore(path))


def test_hosts_that_keep_rules_at_once_lose_none(tmp_path):
    path = tmp_path / "rules.json"
    workers = [
        threading.Thread(target=lambda n=n: [RuleStore(path).allow(f"a.t{n}_{i}", "read") for i in range(10)])
        for n in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(RuleStore(path).stored()) == 40


def test_the_file_lies_beside_the_global_configuration(monkeypatch, tmp_path):
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path))
    assert default_rules_path().parent == tmp_path
    monkeypatch.delenv("PI_CODING_AGENT_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_rules_path().parent == tmp_path / ".pi" / "agent"


async def test_always_sticks_narrowly_and_can_be_taken_back(tmp_path):
    """AP-05: stored narrowly and listed; the next run does not ask; revocable."""
    counter, approver, store = Counter(), ScriptedApprover("stored", "deny"), RuleStore(tmp_path / "rules.json")
    registry = registry_of(counter.immediate("mcp.git.status", "write"), counter.immediate("mcp.git.push", "write"))
    assert (await admit(admission_of(registry, approver, rules=store), "mcp.git.status")).ok
    next_run = admission_of(registry, None, rules=RuleStore(store.path))
    allowed = await admit(next_run, "mcp.git.status")
    assert allowed.ok
    assert allowed.approver == "stored rule mcp.git.status = allow"
    assert not (await admit(next_run, "mcp.git.push")).ok
    store.revoke("mcp.git.status")
    assert not (await admit(admission_of(registry, None, rules=RuleStore(store.path)), "mcp.git.status")).ok


async def test_a_kept_answer_does_not_cover_a_risk_that_grew(tmp_path):
    store = RuleStore(tmp_path / "rules.json")
    store.allow("mcp.git.status", "write")
    registry = registry_of(Counter().immediate("mcp.git.status", "execute"))
    assert not (await admit(admission_of(registry, None, rules=store), "mcp.git.status")).ok
