"""`pi-fabric approvals`."""

import json

import pytest
from click.testing import CliRunner

from host_bridge.approval_rules import RuleStore
from runtime.command_group import cli


@pytest.fixture
def store(monkeypatch, tmp_path):
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path))
    return RuleStore()


def run(*words):
    return CliRunner().invoke(cli, ["approvals", *words])


def test_nothing_stored_is_said(store):
    result = run("list")
    assert result.exit_code == 0
    assert "no stored rules" in result.output
    assert json.loads(run("list", "--json").output) == {"path": str(store.path), "rules": []}


def test_rules_are_listed_and_revoked(store):
    store.allow("mcp.git.status", "read")
    store.allow("pi.bash", "execute")
    text = run("list").output
    assert "mcp.git.status" in text
    assert "risk execute" in text
    listed = json.loads(run("list", "--json").output)["rules"]
    assert [(rule["ref"], rule["action"], rule["risk"]) for rule in listed] == [
        ("mcp.git.status", "allow", "read"),
        ("pi.bash", "allow", "execute"),
    ]
    assert "revoked pi.bash" in run("revoke", "pi.bash").output
    assert [rule.ref for rule in store.stored()] == ["mcp.git.status"]
    done = run("revoke", "--all", "--json")
    assert json.loads(done.output)["revoked"][0]["ref"] == "mcp.git.status"
    assert store.stored() == []


def test_revoking_what_is_not_there_is_a_failure(store):
    result = run("revoke", "mcp.git.status")
    assert result.exit_code == 1
    assert "no stored rule for mcp.git.status" in result.output
    assert run("revoke").exit_code == 2


def test_a_damaged_file_is_a_configuration_error(store):
    store.path.write_text("{")
    for words in (["list"], ["revoke", "a.b"], ["revoke", "--all"]):
        result = run(*words)
        assert result.exit_code == 2
        assert str(store.path) in result.output
    assert store.path.read_text() == "{"
