"""`pi-fabric doctor`: what it prints and its exit status."""

import json

from click.testing import CliRunner

from runtime.command_group import cli
from tests.host_bridge.raw_guests import zygote_prelude


def doctor(*arguments):
    return CliRunner().invoke(cli, ["doctor", *arguments])


def test_doctor_prints_plain_lines_when_piped():
    result = doctor()
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.output
    for text in ("seccomp (strict)", "failed as it must: open a TCP socket", "fork a process", "execute /bin/sh"):
        assert text in result.output
    assert result.output.rstrip().splitlines()[-1].startswith("Isolated")


def test_doctor_prints_one_json_object():
    result = doctor("--json")
    report = json.loads(result.output)
    assert result.exit_code == 0
    assert report["ok"] is True
    assert {layer["name"] for layer in report["layers"]} >= {"process_boundary", "seccomp", "landlock", "namespaces"}
    assert {row["name"] for row in report["selfTest"]} == {"file", "file-write", "socket", "fork", "exec"}
    assert all(row["contained"] for row in report["selfTest"])


def test_doctor_ends_with_three_where_a_machine_has_no_table(monkeypatch):
    prelude = "import os; os.uname = lambda: os.uname_result(('Linux', 'host', '6.1', '1', 'riscv64'))"
    with zygote_prelude(monkeypatch, prelude):
        plain, as_json = doctor(), doctor("--json")
        weaker = doctor("--mode", "trusted-process-only")
    assert plain.exit_code == as_json.exit_code == 3
    assert "MISSING seccomp" in plain.output
    assert "to get it:" in plain.output
    assert "trusted-process-only" in plain.output
    assert json.loads(as_json.output)["missing"] == ["seccomp"]
    assert weaker.exit_code == 0
    assert "NOT CONTAINED (trusted-process-only): open a TCP socket" in weaker.output


def test_an_unknown_mode_is_a_usage_error():
    assert doctor("--mode", "off").exit_code == 2
