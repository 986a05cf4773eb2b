"""Streams that are closed, full or left by their reader: the run ends as a run, never with a traceback of ours."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.journeys.command import Desk, Ended

MANY = "for i in range(3000):\n    print('line', i)\nawait thinking.set(level='high')\nreturn 5"


def shell(desk: Desk, line: str, stdin: str = "") -> Ended:
    """A line of shell with `$RUN` as the command."""
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=desk.folder,
        env=desk.environment | {"RUN": " ".join(desk.argv("run"))},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return Ended(done.returncode, done.stdout, done.stderr)


def test_closed_standard_input_is_a_usage_error(desk: Desk) -> None:
    ended = shell(desk, "$RUN - --json --no-session <&-")
    assert ended.status == 2
    assert "standard input is closed" in ended.json["error"]["message"]


@pytest.mark.parametrize("how", ["", "--json"])
def test_closed_standard_output_costs_the_output_only(desk: Desk, how: str) -> None:
    program = desk.write("p.py", MANY)
    assert shell(desk, f"$RUN {program} {how} --session s.jsonl --allow write >&-").status == 0
    # No line of the session, no lock and no print went where another file should be.
    assert desk.entries("s.jsonl")[0]["type"] == "session"
    assert desk.custom("s.jsonl", "pi-fabric-run")[-1]["kind"] == "done"


def test_all_streams_closed_is_still_a_run(desk: Desk) -> None:
    program = desk.write("p.py", MANY)
    assert shell(desk, f"$RUN {program} --session s.jsonl --allow write <&- >&- 2>&-").status == 0
    assert desk.custom("s.jsonl", "pi-fabric-run")[-1]["kind"] == "done"


@pytest.mark.parametrize("how", ["", "--json"])
def test_a_reader_that_leaves_does_not_end_the_run_halfway(desk: Desk, how: str) -> None:
    program = desk.write("p.py", MANY)
    ended = shell(desk, f"$RUN {program} {how} --session s.jsonl --allow write | true; exit ${{PIPESTATUS[0]}}")
    assert (ended.status, ended.err) == (1, "")
    assert desk.custom("s.jsonl", "pi-fabric-run")[-1]["kind"] == "done"
    assert desk.custom("s.jsonl", "pi-fabric-thinking")[-1]["override"] is None


@pytest.mark.parametrize("how", ["", "--json"])
def test_a_full_output_is_said_on_standard_error(desk: Desk, how: str) -> None:
    program = desk.write("p.py", MANY)
    ended = shell(desk, f"$RUN {program} {how} --no-session --allow write > /dev/full")
    assert ended.status == 1
    assert "standard output: No space left on device" in ended.err


def test_a_session_that_takes_no_more_fails_the_run_as_the_hosts_and_keeps_what_happened(desk: Desk) -> None:
    """`ulimit -f` stands for the full disk: the file ends in the middle of the run."""
    desk.run("return 1", "--session", "s.jsonl")
    program = desk.write(
        "p.py",
        "print('begun')\nwhile True:\n    await thinking.status()\n    await thinking.set(level='high')\n"
        "    await thinking.set(level='low')\n",
    )
    ended = shell(desk, f"ulimit -f 4; $RUN {program} --json --session s.jsonl --allow write")
    assert ended.status == 1
    assert ended.json["logs"] == ["begun"]
    assert ended.json["calls"][0] | {"ms": 0} == {"ref": "thinking.status", "ok": True, "ms": 0}
    assert "s.jsonl" in ended.json["error"]["message"]
    assert all(line.endswith("}") for line in (desk.folder / "s.jsonl").read_text().splitlines())
    after = desk.run("return 1", "--session", "s.jsonl", "--allow", "write")
    assert (after.status, after.err) == (0, "")


def test_a_run_that_cannot_be_recorded_says_so(desk: Desk) -> None:
    desk.run("return 1", "--session", "s.jsonl")
    padding = 1024 - os.stat(desk.folder / "s.jsonl").st_size % 1024
    with (desk.folder / "s.jsonl").open("a") as file:
        file.write(" " * (padding - 1) + "\n")
    blocks = os.stat(desk.folder / "s.jsonl").st_size // 1024
    program = desk.write("p.py", "print('begun')\nreturn 1\n")
    ended = shell(desk, f"ulimit -f {blocks}; $RUN {program} --json --session s.jsonl")
    assert ended.status == 1
    error = ended.json["error"]
    assert error["kind"] == "host"
    assert "the session does not hold it" in error["message"]
    assert ended.json["logs"] == ["begun"]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("file/x/s.jsonl", "Not a directory"),
        ("/proc/nowhere/s.jsonl", "No such file"),
        ("/dev/null", "no regular file"),
    ],
)
def test_a_place_that_takes_no_session_is_named(desk: Desk, target: str, said: str) -> None:
    desk.write("file", "")
    ended = desk.run("return 1", "--session", target)
    assert ended.status == 2
    assert said in ended.json["error"]["message"]
    assert target.rpartition("/")[0].rpartition("/")[0] in ended.json["error"]["message"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("1e400", "inf is not in JSON"),
        ('"\\ud800"', "lone surrogate"),
        ("[" * 200 + "]" * 200, "nested deeper"),
        ("[" * 30000 + "]" * 30000, "nested too deeply"),
        ('{"a": 1, "a": 2}', "stands twice"),
        ("1" + "0" * 30000, "--input"),
        ("", "--input"),
    ],
)
def test_an_input_that_cannot_cross_is_a_usage_error(desk: Desk, given: str, said: str) -> None:
    ended = desk.run("return input", "--input", given)
    assert ended.status == 2
    assert said in ended.json["error"]["message"]
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("data", "status", "said"),
    [
        (b"return 1\xff", 2, "not UTF-8"),
        (b"", 0, None),
        (b"\xef\xbb\xbfx = 1\r\nreturn x\r\n", 0, None),
        (b"x = 1\n" * 20000, 1, "executor.sourceLimitBytes"),
        (b"return 1\x00", 1, "null bytes"),
    ],
)
def test_odd_program_files_are_read_or_refused_by_name(desk: Desk, data: bytes, status: int, said: str | None) -> None:
    (desk.folder / "p.py").write_bytes(data)
    ended = desk.command("run", "p.py", "--json", "--no-session")
    assert ended.status == status
    if said is None:
        assert ended.json["ok"] is True
    else:
        assert said in ended.json["error"]["message"]


def test_windows_line_ends_tabs_and_form_feeds_keep_their_line_numbers(desk: Desk) -> None:
    for text in ("x = 1\r\nif x:\r\n\traise ValueError('a')\r\n", "\f\nx = 1\n\fraise ValueError('a')\n"):
        (desk.folder / "p.py").write_bytes(text.encode())
        error = desk.command("run", "p.py", "--json", "--no-session").json["error"]
        assert error["line"] == 3
        assert error["source_line"].strip() == "raise ValueError('a')"


def test_a_folder_is_no_program(desk: Desk, tmp_path: Path) -> None:
    ended = desk.command("run", str(tmp_path), "--json")
    assert ended.status == 2
    assert "Is a directory" in ended.json["error"]["message"]


FOREIGN = "print('h\u00e9llo \u6f22 \U0001f600')\nreturn 'na\u00efve \U0001f600'"


@pytest.mark.parametrize("how", ["", "--json"])
def test_an_output_without_the_characters_gets_escapes_that_json_reads_back(desk: Desk, how: str) -> None:
    program = desk.write("p.py", FOREIGN)
    ended = shell(desk, f"PYTHONIOENCODING=ascii $RUN {program} {how} --session s.jsonl")
    assert ended.status == 0
    if how:
        assert (ended.json["value"], ended.json["logs"]) == ("na\u00efve \U0001f600", ["h\u00e9llo \u6f22 \U0001f600"])
    else:
        assert ended.out.splitlines() == ["h\\u00e9llo \\u6f22 \\ud83d\\ude00", '"na\\u00efve \\ud83d\\ude00"']


def test_an_argument_that_is_no_text_does_not_stop_a_run(desk: Desk) -> None:
    program = desk.write("p.py", "return 1")
    ended = shell(desk, f"$RUN {program} --session $'s\\xff.jsonl' --json")
    assert (ended.status, ended.json["value"]) == (0, 1)
    assert [path.suffix for path in sorted(desk.folder.glob("s*"))] == [".jsonl", ".lock"]


def test_a_folder_whose_name_is_no_text_is_a_folder_to_work_in(desk: Desk) -> None:
    program = desk.write("p.py", "return 1")
    ended = shell(desk, f"mkdir $'d\\xff' && cd $'d\\xff' && $RUN {program} --json && $RUN {program} --json --continue")
    assert ended.status == 0
    assert len(ended.out.splitlines()) == 2
