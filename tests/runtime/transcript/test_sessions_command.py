"""`pi-fabric sessions`: exit statuses, JSON shapes, and a tree a person can read."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import trio
from click.testing import CliRunner

from runtime import long_output, open_host
from runtime.command_group import cli
from runtime.transcript.folder import newest_session
from runtime.transcript.store import TranscriptStore
from tests.runtime.transcript.lines import HEADER, line, session

ROOT = Path(__file__).parents[3]
GOLDEN = Path(__file__).parents[2] / "data" / "pi-sessions"


def run(*words: object):
    return CliRunner().invoke(cli, ["sessions", *map(str, words)])


def test_show_json_has_leaf_and_branch_root_first():
    expected = json.loads((GOLDEN / "expected.json").read_text())["files"]
    for name, values in expected.items():
        done = run("show", GOLDEN / name, "--json")
        shown = json.loads(done.stdout)
        assert done.exit_code == 0
        assert (shown["leaf"], shown["branch"]) == (values["leaf"], values["branch"])


def test_check_exits_0_1_or_2_and_every_finding_has_its_line(tmp_path):
    good = session(tmp_path / "good.jsonl", line("a"))
    bad = session(tmp_path / "bad.jsonl", line("a"), b"{broken\n", line("o", "gone"), b'{"torn')
    log = tmp_path / "log.txt"
    log.write_text("just a log\n")
    before = bad.read_bytes()
    assert run("check", good, "--json").exit_code == 0
    assert json.loads(run("check", good, "--json").stdout)["findings"] == []
    done = run("check", bad, "--json")
    assert done.exit_code == 1
    report = json.loads(done.stdout)
    assert [(finding["line"], finding["kind"]) for finding in report["findings"]] == [
        (3, "malformed"),
        (4, "orphan"),
        (5, "torn"),
    ]
    assert report["skipped"] == [3, 5]
    plain = run("check", bad)
    assert plain.exit_code == 1
    assert "line 4: orphan" in plain.stdout
    for refused in (log, tmp_path / "nowhere.jsonl", tmp_path):
        for command in ("check", "show", "tree"):
            assert run(command, refused).exit_code == 2
    assert bad.read_bytes() == before
    assert not list(tmp_path.glob("*.lock"))


def test_the_tree_shows_branches_leaf_overrides_hints_and_the_calls_of_runs(tmp_path):
    path = tmp_path / "s.jsonl"
    with TranscriptStore.create(path) as store:
        first = store.append_message({"role": "user", "content": "do it\x1b[31m"})
        override = {
            "level": "high",
            "baseline": "low",
            "scope": "turns",
            "setAt": 1,
            "remainingTurns": 2,
            "reason": "proof",
        }
        store.append_custom("pi-fabric-thinking", {"version": 1, "override": override})
        store.append_custom_message(
            "pi-fabric-capability", "weather", display=False, details={"matches": [{"namespace": "mcp:w"}]}
        )
        calls = [
            {"ref": "thinking.set", "ok": True, "would_block": True},
            {"ref": "pi.bash", "error": {"kind": "denied"}},
        ]
        store.append_custom("pi-fabric-run", {"ok": True, "calls": calls})
        store.navigate(first.id)
        store.append_custom("pi-fabric-thinking", {"version": 1, "override": None})
        last = store.append_label(first.id, "start")
    text = run("tree", path).stdout
    assert "override high, scope turns, 2 turns left, baseline low, reason 'proof'" in text
    assert "hint (mcp:w): weather" in text
    assert "call thinking.set: ok  (schema audit: would block)" in text
    assert "call pi.bash: denied" in text
    assert "override ends" in text
    assert "[start]" in text
    assert "\x1b" not in text
    leaf = next(row for row in text.splitlines() if "<- leaf" in row)
    assert leaf.startswith("*")
    assert last.id in leaf
    assert len([row for row in text.splitlines() if row.startswith("*")]) == 3
    nodes = json.loads(run("tree", path, "--json").stdout)["nodes"]
    assert len(nodes) == 6


def test_a_deep_session_is_shown_without_depth_on_the_screen_or_the_stack(tmp_path):
    lines = [line(f"n{n}", f"n{n - 1}" if n else None) for n in range(5_000)]
    done = run("tree", session(tmp_path / "s.jsonl", *lines))
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) < 80


def test_list_shows_damaged_files_beside_the_others(tmp_path):
    session(tmp_path / "good.jsonl", line("a"))
    (tmp_path / "bad.jsonl").write_bytes(b"no session")
    done = run("list", tmp_path)
    assert done.exit_code == 0
    assert "bad.jsonl  damaged: " in done.stdout
    rows = json.loads(run("list", tmp_path, "--json").stdout)["sessions"]
    assert {Path(row["path"]).name: bool(row["damaged"]) for row in rows} == {"good.jsonl": False, "bad.jsonl": True}
    assert "no sessions" in run("list", tmp_path / "nowhere").stdout


def test_migrate_writes_beside_the_old_file_and_replaces_nothing(tmp_path):
    old = session(
        tmp_path / "old.jsonl",
        b'{"type":"message","message":{"role":"user","content":"x"}}\n',
        header=HEADER.replace(b',"version":3', b""),
    )
    before = old.read_bytes()
    done = run("migrate", old)
    assert done.exit_code == 0
    assert done.stdout.strip() == str(tmp_path / "old.v3.jsonl")
    assert run("check", tmp_path / "old.v3.jsonl").exit_code == 0
    assert run("migrate", old).exit_code == 2
    assert run("migrate", tmp_path / "old.v3.jsonl").exit_code == 2
    assert old.read_bytes() == before


@pytest.mark.parametrize("command", ["list", "show", "tree", "check", "migrate"])
def test_each_help_page_has_an_example(command):
    assert f"pi-fabric sessions {command}" in run(command, "--help").stdout


def test_a_fifo_is_refused_and_never_waited_for(tmp_path):
    fifo = tmp_path / "x.jsonl"
    os.mkfifo(fifo)
    good = session(tmp_path / "good.jsonl", line("a"))
    for command in ("check", "show", "tree", "migrate"):
        done = run(command, fifo)
        assert (done.exit_code, "no regular file" in done.stderr) == (2, True)
        assert run(command, tmp_path).exit_code == 2
    assert "x.jsonl  damaged: no regular file" in run("list", tmp_path).stdout
    assert newest_session(tmp_path) == good


def test_show_gives_the_override_in_force_and_never_a_malformed_or_ended_one(tmp_path):
    override = {"level": "high", "baseline": "low", "scope": "turns", "setAt": 1, "remainingTurns": 1}
    path = tmp_path / "s.jsonl"
    with TranscriptStore.create(path) as store:
        first = store.append_custom("pi-fabric-thinking", {"version": 1, "override": override})
        store.append_custom("pi-fabric-thinking", {"version": 1, "override": {"level": "ultra"}})
        store.navigate(first.id)
        store.append_custom("other")
        assert json.loads(run("show", path, "--json").stdout)["override"] == override
        store.append_thinking_level_change("minimal")
    shown = json.loads(run("show", path, "--json").stdout)
    assert (shown["override"], shown["overrideMalformed"]) == (None, None)
    with TranscriptStore.open(path) as store:
        store.append_custom("pi-fabric-thinking", {"version": 1, "override": {"level": "ultra"}})
    shown = json.loads(run("show", path, "--json").stdout)
    assert shown["override"] is None
    assert "ultra" in shown["overrideMalformed"]
    text = run("tree", path).stdout
    assert "1 turn left" in text
    assert text.count("override entry, malformed; ends the override: override.level") == 2


def test_a_reader_that_has_seen_enough_ends_the_command_quietly(tmp_path):
    path = session(tmp_path / "s.jsonl", *(line(f"n{n}", f"n{n - 1}" if n else None) for n in range(20_000)))
    command = [sys.executable, "-c", "from runtime.cli import main; main()", "sessions", "show", str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


def test_the_tree_is_depth_first_in_file_order_whatever_the_order_of_the_lines(tmp_path):
    lines = [
        line("b", "a"),  # before its parent
        line("a"),
        line("c", "b"),
        line("x", "a"),
        line("y", "x"),
        line("o", "gone"),
        line("d", "c"),
        line("b", "a", data={"later": 1}),
        line("e", "d"),
    ]
    rows = run("tree", session(tmp_path / "s.jsonl", *lines)).stdout.splitlines()
    assert [row.split("  custom")[0] for row in rows] == [
        "* a",
        "*   b",
        "*   c",
        "*   d",
        "*   e",
        "    x",
        "    y",
        "  o",
    ]
    nodes = json.loads(run("tree", tmp_path / "s.jsonl", "--json").stdout)["nodes"]
    assert [(node["id"], node["line"], node["active"]) for node in nodes] == [
        ("b", 9, True),
        ("a", 3, True),
        ("c", 4, True),
        ("x", 5, False),
        ("y", 6, False),
        ("o", 7, False),
        ("d", 8, True),
        ("e", 10, True),
    ]


def test_branches_within_branches_do_not_make_the_lines_longer_and_longer(tmp_path):
    lines = []
    for number in range(3_000):
        parent = f"n{number - 1}" if number else None
        lines += [line(f"s{number}", parent), line(f"n{number}", parent)]
    done = run("tree", session(tmp_path / "s.jsonl", *lines))
    assert len(done.stdout.splitlines()) == 6_000
    assert max(map(len, done.stdout.splitlines())) < 120


def test_messages_of_unusual_shape_are_shown_all_the_same(tmp_path):
    messages = [
        {"role": "user", "content": None},
        {"role": "user", "content": [{"type": "text", "text": 5}, "x", {"type": "text", "text": "seen"}]},
        {"role": "toolResult", "toolName": 7, "isError": "yes", "content": "broke"},
        {"role": None, "content": {}},
        [],
        "text",
        None,
    ]
    lines = [line(f"m{number}", None, type="message", message=message) for number, message in enumerate(messages)]
    path = session(tmp_path / "s.jsonl", *lines)
    rows = run("tree", path).stdout.replace("  <- leaf", "").splitlines()
    assert [row.partition("m")[2][1:].strip() for row in rows] == [
        "user:",
        "user: seen",
        "result of 7 (error): broke",
        "None:",
        "message:",
        "message:",
        "message:",
    ]
    assert run("check", path).exit_code == 0
    assert len(json.loads(run("tree", path, "--json").stdout)["nodes"]) == len(messages)


@pytest.mark.parametrize("words", [["tree"], ["tree", "--json"], ["show", "--json"], ["check"], ["list"]])
def test_output_that_nobody_takes_ends_quietly_and_a_full_one_is_named(tmp_path, words):
    many = [line(f"n{n}", f"n{n - 1}" if n else None) for n in range(5_000)]
    bad = session(tmp_path / "s.jsonl", *many, b"{broken\n")
    command = [sys.executable, "-m", "runtime", "sessions", *words, str(tmp_path if words == ["list"] else bad)]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (1, "pi-fabric: No space left on device\n")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_check_on_a_terminal_shows_that_it_is_at_work_and_leaves_nothing_of_it(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(long_output, "_QUIET_SECONDS", 0.0)
    assert list(long_output.with_progress(range(10_000), 10_000, "checking")) == list(range(10_000))
    shown = capsys.readouterr().err
    assert shown.startswith("\rchecking 0 %")
    assert shown.endswith("\r\x1b[K")


def strange(value: str) -> list[bytes]:
    """Entries of every kind with one value where another kind of value belongs."""
    v = value
    bodies = [
        f'"type":"model_change","provider":{v},"modelId":{v}',
        f'"type":"thinking_level_change","thinkingLevel":{v}',
        f'"type":"label","targetId":{v},"label":{v}',
        f'"type":"session_info","name":{v}',
        f'"type":"compaction","summary":{v}',
        f'"type":"message","message":{{"role":{v},"content":[{{"type":{v},"name":{v}}}]}}',
        f'"type":"message","message":{{"role":"assistant","content":[{{"type":"toolCall","id":{v},"name":{v}}}]}}',
        f'"type":"message","message":{{"role":"toolResult","toolCallId":{v},"toolName":{v},"isError":{v}}}',
        f'"type":"message","message":{v}',
        f'"type":"custom","customType":{v},"data":{v}',
        (
            f'"type":"custom","customType":"pi-fabric-run","data":{{"runId":{v},"kind":{v},"callCount":{v},"calls":'
            f'[{{"ref":{v},"error":{{"kind":{v}}}}}],"omittedCalls":{v},"wouldBlock":{{"a":{v}}}}}'
        ),
        f'"type":"custom","customType":"pi-fabric-thinking","data":{{"version":1,"override":{v}}}',
        f'"type":"custom_message","customType":"pi-fabric-capability","details":{{"namespaces":[{v}]}},"content":{v}',
        f'"type":"custom_message","customType":"pi-fabric-capability","details":{{"matches":[{{"namespace":{v}}}]}}',
    ]
    lines = [
        f'{{"id":"n{n}","parentId":{f"{chr(34)}n{n - 1}{chr(34)}" if n else "null"},{b}}}' for n, b in enumerate(bodies)
    ]
    return [text.encode("utf-8", "surrogatepass") + b"\n" for text in lines]


@pytest.mark.parametrize(
    "value", ["9" * 5000, "1e999", "-1e999", '"\\ud800"', "null", "[[]]", "{}", "true", '["' + "9" * 5000 + '"]']
)
def test_a_value_of_another_kind_anywhere_stops_no_command_and_no_run(tmp_path, value):
    lines = strange(value)
    child = f'{{"type":"custom","id":"odd","parentId":{value},"customType":"x"}}\n'.encode()
    path = session(tmp_path / "s.jsonl", child, *lines)
    for words in (["check"], ["check", "--json"], ["show"], ["show", "--json"], ["tree"], ["tree", "--json"]):
        done = run(words[0], path, *words[1:])
        assert done.exit_code in (0, 1), (words, done.exception)
        if words == ["tree"]:
            assert len([row for row in done.stdout.splitlines() if row.startswith("*")]) == len(lines)

    async def opened() -> None:
        async with open_host({}, session=path, warn=lambda _: None) as host:
            await host.submit("go on")

    trio.run(opened)
    assert path.read_bytes().startswith(HEADER + child)


def test_numbers_out_of_range_come_out_of_json_as_they_went_in(tmp_path):
    run_line = line("a", customType="pi-fabric-run", data={"n": 1}).replace(b'"n": 1', b'"n": [1e999, -1e999]')
    done = run("show", session(tmp_path / "s.jsonl", run_line), "--json")
    assert '"data":{"n":[1e999,-1e999]}' in done.stdout


def test_a_leaf_with_half_a_character_for_an_id_is_shown(tmp_path):
    path = session(tmp_path / "s.jsonl", b'{"type":"custom","id":"\\ud800x","parentId":null}\n')
    for words in (["show"], ["tree"], ["show", "--json"], ["tree", "--json"], ["check", "--json"]):
        done = run(words[0], path, *words[1:])
        assert (done.exit_code, done.exception) == (0, None)


def test_the_circle_that_a_fork_opens_may_hold_what_strict_json_does_not(tmp_path):
    circle = [line("a", "b", data="X").replace(b'"X"', b'["\\ud800", 1e999]'), line("b", "a")]
    with TranscriptStore.open(session(tmp_path / "s.jsonl", *circle), read_only=True) as store:
        with store.fork(tmp_path / "fork.jsonl") as fork:
            assert fork.branch_ids() == ["a", "b"]
            assert list(fork.damage) == []
            assert b'"data":["\\ud800",1e999]' in fork.entry("a").raw
