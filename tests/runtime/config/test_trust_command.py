"""`pi-fabric trust`: record, take back, list; for people and for programs."""

import json

import pytest
from click.testing import CliRunner

from runtime.commands.trust import command


@pytest.fixture
def trust(tmp_path, monkeypatch):
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return lambda *arguments: CliRunner().invoke(command, arguments)


def test_this_folder_is_trusted_by_default_and_listed(trust, tmp_path):
    assert "is trusted" in trust().output
    assert json.loads(trust("--list", "--json").output)["projects"] == [str(tmp_path / "project")]
    assert "trusted already" in trust(".").output
    assert trust("--list").output.strip() == str(tmp_path / "project")


def test_trust_is_taken_back_also_for_a_folder_that_is_gone(trust, tmp_path):
    trust()
    answer = json.loads(trust("--revoke", "--json").output)
    assert (answer["trusted"], answer["changed"]) == (False, True)
    assert "was not trusted" in trust("--revoke").output
    trust(str(tmp_path / "project"))
    assert trust("--revoke", str(tmp_path / "project")).exit_code == 0
    assert "No project is trusted" in trust("--list").output


def test_a_missing_folder_and_a_broken_record_end_with_status_2(trust, tmp_path):
    assert trust(str(tmp_path / "nowhere")).exit_code == 2
    trust()
    (tmp_path / "agent" / "pi-fabric-trust.json").write_text("{")
    assert trust().exit_code == 2
    assert json.loads(trust("--list", "--json").stdout)["error"]["kind"] == "config"
