"""`pi-fabric run` end to end: real processes, real guests, real session files."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.journeys.command import Desk, Ended

RAISE = 'await thinking.set(level="high", reason="proof step")\nreturn (await thinking.status()).level'


def test_a_program_returns_its_value_as_one_json_object(desk: Desk) -> None:
    ended = desk.run("print('hello')\nreturn {'sum': sum(input), 'big': 2 ** 100}", "--input", "[1, 2, 3]")
    assert ended.status == 0
    assert ended.json == {
        "ok": True,
        "value": {"sum": 6, "big": 2**100},
        "error": None,
        "calls": [],
        "logs": ["hello"],
        "session": None,
        "level": {"before": "medium", "after": "medium", "changes": []},
    }
    assert ended.err == ""


def test_without_input_the_program_sees_none(desk: Desk) -> None:
    assert desk.run("return input is None").json["value"] is True


def test_a_turn_override_lasts_for_the_run_and_is_gone_after_it(desk: Desk) -> None:
    ended = desk.run(RAISE, "--allow", "write").json
    assert ended["value"] == "high"
    assert ended["level"] == {
        "before": "medium",
        "after": "medium",
        "changes": [
            {"from": "medium", "to": "high", "cause": "fabric"},
            {"from": "high", "to": "medium", "cause": "fabric"},
        ],
    }
    assert [call["ref"] for call in ended["calls"]] == ["thinking.set", "thinking.status"]
    assert all(call["ok"] and call["ms"] >= 0 for call in ended["calls"])


def test_without_a_terminal_an_ask_is_denied_at_once_with_the_rule_that_would_allow_it(desk: Desk) -> None:
    ended = desk.run(RAISE)
    assert ended.status == 1
    assert ended.json["error"]["kind"] == "denied"
    assert "--allow write" in ended.json["error"]["message"]
    assert ended.json["calls"][0]["error"]["kind"] == "denied"
    assert ended.json["error"]["line"] == 1


def test_three_turns_cover_this_run_and_the_next_two_on_the_same_session(desk: Desk) -> None:
    first = 'return (await thinking.set(level="high", scope="turns", turns=3)).override.remainingTurns'
    look = "s = await thinking.status()\nreturn [s.level, s.get('override', {}).get('remainingTurns')]"
    assert desk.run(first, "--session", "s.jsonl", "--allow", "write").json["value"] == 3
    assert desk.run(look, "--session", "s.jsonl").json["value"] == ["high", 2]
    third = desk.run(look, "--session", "s.jsonl").json
    assert third["value"] == ["high", 1]
    assert third["level"]["after"] == "medium"
    assert desk.run(look, "--session", "s.jsonl").json["value"] == ["medium", None]
    overrides = [data["override"] for data in desk.custom("s.jsonl", "pi-fabric-thinking")]
    assert [one and one["remainingTurns"] for one in overrides] == [3, 2, 1, None]
    assert len({one["setAt"] for one in overrides if one}) == 1


def test_a_session_override_holds_across_runs_until_reset(desk: Desk) -> None:
    desk.run('await thinking.set(level="xhigh", scope="session")', "--session", "s.jsonl", "--allow", "write")
    assert desk.run("return (await thinking.status()).level", "--session", "s.jsonl").json["value"] == "xhigh"
    after = desk.run("return (await thinking.reset()).level", "--session", "s.jsonl", "--allow", "write").json
    assert after["value"] == "medium"


def test_the_run_is_recorded_on_the_branch(desk: Desk) -> None:
    desk.run(RAISE, "--session", "s.jsonl", "--allow", "write")
    (record,) = desk.custom("s.jsonl", "pi-fabric-run")
    assert record["version"] == 1
    assert record["kind"] == "done"
    assert [call["ref"] for call in record["calls"]] == ["thinking.set", "thinking.status"]
    assert record["skippedLayers"] == []
    assert {"runId", "sha256", "startedAt", "ms"} <= record.keys()


@pytest.mark.parametrize(
    ("source", "kind", "line", "quoted", "said"),
    [
        ("a = 1\nb = 2\nraise ValueError('third')", "program", 3, "raise ValueError('third')", "ValueError: third"),
        ("def f(:\n  pass", "rejected", 1, "def f(:", "SyntaxError"),
        ("x = 1\ndef f():\n    return 1 / 0\nf()", "program", 3, "return 1 / 0", "ZeroDivisionError"),
        (
            "def f():\n    return float('nan')\nif f():\n    return {'rows': [{'score': f()}]}",
            *("program", 4, "return {'rows': [{'score': f()}]}", "$.rows[0].score"),
        ),
        ("return ().__class__", "rejected", 1, "return ().__class__", "__class__"),
        ("a = []\nwhile True:\n    a.append('a' * 10_000_000)", "limit", None, None, "executor.memoryLimitBytes"),
        ("await thinking.set(level='hihg')", "program", 1, "await thinking.set(level='hihg')", "high"),
        ("await nosuch.tool()", "program", 1, "await nosuch.tool()", "nosuch"),
    ],
)
def test_a_failure_names_the_programs_own_line(
    desk: Desk, source: str, kind: str, line: int | None, quoted: str | None, said: str
) -> None:
    ended = desk.run(source, "--allow", "write", "--max-memory", "128M")
    assert ended.status == 1
    error = ended.json["error"]
    assert error["kind"] == kind
    assert said in error["message"]
    if line is not None:
        assert error["line"] == line
        assert error["source_line"].strip() == quoted


def test_a_failure_for_people_shows_the_line_the_calls_before_it_and_no_frame_of_ours(desk: Desk) -> None:
    program = desk.write("p.py", "s = await thinking.status()\ndef inner():\n    raise KeyError('gone')\ninner()\n")
    ended = desk.command("run", str(program), "--no-session")
    assert ended.status == 1
    assert ended.out == ""
    assert "line 3: raise KeyError('gone')" in ended.err
    assert "✓ thinking.status" in ended.err
    assert "guest_api" not in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "missing.py"),
        ("run", "-", "--input", "{'a': 1}"),
        ("run", "-", "--input", "NaN"),
        ("run", "-", "--level", "enormous"),
        ("run", "-", "--allow", "everything"),
        ("run", "-", "--timeout", "soon"),
        ("run", "-", "--timeout", "-1"),
        ("run", "-", "--max-memory", "lots"),
        ("run", "-", "--model", "none/such"),
        ("run", "-", "--continue"),
        ("run", "-", "--no-session", "--session", "s.jsonl"),
        ("run", "-", "--at", "abcd1234"),
        ("run", "-", "--unknown-option"),
        ("run", "-", "--config", "missing.json"),
    ],
)
def test_what_makes_no_sense_is_status_2_and_under_json_the_same_object(desk: Desk, arguments: tuple[str, ...]) -> None:
    ended = desk.command(*arguments, stdin="return 1")
    assert ended.status == 2
    assert ended.err
    assert "Traceback" not in ended.err
    under_json = desk.command(*arguments, "--json", stdin="return 1")
    assert under_json.status == 2
    assert under_json.json["ok"] is False
    assert under_json.json["error"]["kind"] == "config"
    assert under_json.json["calls"] == []


def test_a_malformed_inherited_bound_is_a_configuration_error(desk: Desk) -> None:
    ended = desk.run("return 1", PI_FABRIC_THINKING_BOUNDS='{"min":"high","max":"low"}')
    assert ended.status == 2
    assert "PI_FABRIC_THINKING_BOUNDS" in ended.json["error"]["message"]


def test_an_untrusted_project_file_is_ignored_until_it_is_trusted(desk: Desk) -> None:
    desk.write(".pi/fabric.json", '{"thinking": {"bounds": {"max": "low"}}} // mine')
    ask = "return (await thinking.status()).bounds.max"
    before = desk.run(ask)
    assert before.json["value"] == "max"
    assert "not trusted" in before.err
    assert desk.command("trust").status == 0
    assert desk.run(ask).json["value"] == "low"


def test_an_unknown_key_is_refused_with_the_closest_name(desk: Desk) -> None:
    config = desk.write("c.json", '{"thinking": {"bound": {}}}')
    ended = desk.run("return 1", "--config", str(config))
    assert ended.status == 2
    assert "thinking.bound" in ended.json["error"]["message"]
    assert "'bounds'" in ended.json["error"]["message"]


def test_a_level_is_clamped_to_the_configured_model(desk: Desk) -> None:
    config = desk.write(
        "c.json",
        '{"models": {"providers": {"local": {"models": [{"id": "r1", "reasoning": true, '
        '"thinkingLevelMap": {"medium": null}}]}}}}',
    )
    ended = desk.run(
        "return await thinking.set(level='max')", "--config", str(config), "--model", "local/r1", "--allow", "write"
    ).json["value"]
    assert (ended["level"], ended["clamped"], ended["requested"]) == ("high", True, "max")


def test_schema_enforce_blocks_set_and_lets_status_through(desk: Desk) -> None:
    config = desk.write("c.json", '{"schema": {"mode": "enforce"}}')
    program = (
        "try:\n    await thinking.set(level='high')\nexcept ActionDenied as error:\n"
        "    return [(await thinking.status()).level, error.kind]"
    )
    assert desk.run(program, "--config", str(config), "--allow", "write").json["value"] == ["medium", "denied"]


def test_a_managed_host_has_no_thinking_at_all(desk: Desk) -> None:
    desk.agent_dir.mkdir()
    (desk.agent_dir / "fabric.json").write_text('{"managed": true}')
    ended = desk.run("await thinking.status()", "--allow", "write").json
    assert ended["ok"] is False
    assert ended["calls"][0]["error"]["kind"] == "rejected"


def test_continue_takes_the_newest_session_of_this_folder_and_at_an_entry_of_it(desk: Desk) -> None:
    first = desk.command("run", "-", "--json", stdin="return 1").json["session"]
    again = desk.command("run", "-", "--json", "--continue", stdin="return 2").json["session"]
    assert again == first
    root = desk.entries(first)[1]["id"]
    desk.command("run", "-", "--json", "--continue", "--at", root, stdin="return 3")
    parents = [entry["parentId"] for entry in desk.entries(first)[1:]]
    assert parents == [None, root, root]


def test_a_prompt_is_on_the_branch_before_the_program_runs(desk: Desk) -> None:
    desk.run("return 1", "--session", "s.jsonl", "--prompt", "please show the weather")
    kinds = [entry["type"] for entry in desk.entries("s.jsonl")]
    assert kinds == ["session", "message", "custom"]


def test_an_endless_program_ends_at_its_timeout_and_names_the_setting(desk: Desk) -> None:
    for source in ("while True:\n    pass", "return 10 ** 10 ** 9", "import time\ntime.sleep(3600)"):
        ended = desk.run(source, "--timeout", "0.5")
        assert ended.status == 1
        assert ended.json["error"]["kind"] == "limit"
        assert "executor.timeoutMs" in ended.json["error"]["message"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_ends_leaves_the_session_whole_and_reverts(desk: Desk, number: signal.Signals) -> None:
    program = desk.write("p.py", "await thinking.set(level='high')\nprint('raised')\nwhile True:\n    pass\n")
    process = subprocess.Popen(
        desk.argv("run", str(program), "--session", "s.jsonl", "--allow", "write", "--json"),
        cwd=desk.folder, env=desk.environment, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    session = desk.folder / "s.jsonl"
    deadline = time.monotonic() + 30
    while "thinking_level_change" not in (session.read_text() if session.exists() else ""):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(number)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}[number]
    assert '"kind":"cancelled"' in out
    assert '"ref":"thinking.set","ok":true' in out
    assert desk.custom("s.jsonl", "pi-fabric-thinking")[-1] == {"version": 1, "override": None}
    assert desk.custom("s.jsonl", "pi-fabric-run")[-1]["kind"] == "cancelled"
    assert desk.run("return (await thinking.status()).level", "--session", "s.jsonl").json["value"] == "medium"


def test_a_session_that_another_process_writes_is_refused_by_name_and_can_be_read(desk: Desk, tmp_path: Path) -> None:
    desk.run("return 1", "--session", "s.jsonl")
    program = desk.write("wait.py", "import time\nprint('up')\ntime.sleep(30)\n")
    process = subprocess.Popen(
        desk.argv("run", str(program), "--session", "s.jsonl"),
        cwd=desk.folder, env=desk.environment, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        refused = desk.run("return 2", "--session", "s.jsonl")
        assert refused.status == 2
        assert str(process.pid) in refused.json["error"]["message"]
        assert desk.run("return 3", "--session", "s.jsonl", "--read-only").json["value"] == 3
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)


def test_a_file_that_is_no_session_is_refused_untouched(desk: Desk) -> None:
    path = desk.write("notes.txt", "just text\n")
    ended = desk.run("return 1", "--session", str(path))
    assert ended.status == 2
    assert path.read_text() == "just text\n"


def test_for_people_calls_and_effort_are_shown_and_piped_only_the_result(desk: Desk) -> None:
    program = desk.write("p.py", RAISE)
    shown = desk.command("run", str(program), "--allow", "write", "--no-session", "--progress")
    assert "✓ thinking.set" in shown.err
    assert "effort medium → high" in shown.err
    assert "effort high → medium" in shown.err
    piped = desk.command("run", str(program), "--allow", "write", "--no-session")
    assert (piped.out, piped.err) == ('"high"\n', "")


WITHOUT_A_TABLE = """
import sys
from host_bridge import zygote_launch
entry = "from guest_api.inside.zygote import"
elsewhere = "import os; os.uname = lambda: os.uname_result(('Linux', 'host', '6.1', '1', 'riscv64'))"
zygote_launch.BOOTSTRAP = zygote_launch.BOOTSTRAP.replace(entry, elsewhere + chr(10) + entry)
from runtime.cli import main
sys.argv[0] = "pi-fabric"
main()
"""


@pytest.mark.parametrize("how", [["--session", "new/s.jsonl"], ["--session-dir", "new"], []])
def test_where_nothing_may_run_the_status_is_3_and_no_session_is_left(desk: Desk, how: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_A_TABLE, "run", "-", "--json", *how],
        cwd=desk.folder,
        env=desk.environment,
        input="return 1",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    ended = Ended(done.returncode, done.stdout, done.stderr)
    assert (ended.status, ended.json["error"]["kind"], ended.json["session"]) == (3, "isolation", None)
    left = [*desk.folder.rglob("*"), *desk.agent_dir.rglob("*")]
    assert [path for path in left if path.is_file()] == []


def test_an_existing_session_is_untouched_where_nothing_may_run(desk: Desk) -> None:
    desk.run("return 1", "--session", "s.jsonl")
    before = (desk.folder / "s.jsonl").read_bytes()
    argv = [sys.executable, "-c", WITHOUT_A_TABLE, "run", "-", "--session", "s.jsonl"]
    done = subprocess.run(argv, cwd=desk.folder, env=desk.environment, input=b"return 1", check=False)
    assert done.returncode == 3
    assert (desk.folder / "s.jsonl").read_bytes() == before
