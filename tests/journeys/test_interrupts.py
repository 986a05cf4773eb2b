"""Ctrl-C at every stage of a run, and a host that dies: one object, status 130, a whole session, the level reverted."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.journeys.command import Desk

ENDLESS = "await thinking.set(level='high')\nprint('raised')\nwhile True:\n    pass\n"
ASKING = "await thinking.set(level='high')\n"


class Started:
    """A run in the background, watched from outside."""

    def __init__(self, desk: Desk, source: str, *options: str) -> None:
        self.session = desk.folder / "s.jsonl"
        self.process = subprocess.Popen(
            desk.argv("run", str(desk.write("p.py", source)), "--session", "s.jsonl", "--json", *options),
            cwd=desk.folder,
            env=desk.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_until(self, condition: Callable[["Started"], bool]) -> None:
        deadline = time.monotonic() + 30
        while not condition(self):
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.002)

    def text(self) -> str:
        return self.session.read_text() if self.session.exists() else ""

    def maps(self) -> str:
        return Path(f"/proc/{self.process.pid}/maps").read_text()


MOMENTS: dict[str, Callable[[Started], bool]] = {
    "while it imports": lambda run: "msgspec" in run.maps(),
    "when the session is made": lambda run: run.session.exists(),
    "when the header is written": lambda run: "session" in run.text(),
    "between the entry and the change": lambda run: "pi-fabric-thinking" in run.text(),
    "in a loop": lambda run: "thinking_level_change" in run.text(),
}


@pytest.fixture(params=MOMENTS)
def moment(request: pytest.FixtureRequest) -> Iterator[Callable[[Started], bool]]:
    yield MOMENTS[request.param]


def test_ctrl_c_ends_the_run_with_one_object_and_a_whole_session(desk: Desk, moment: Callable[[Started], bool]) -> None:
    run = Started(desk, ENDLESS, "--allow", "write")
    run.wait_until(moment)
    run.process.send_signal(signal.SIGINT)
    out, err = run.process.communicate(timeout=20)
    assert run.process.returncode == 130
    assert json.loads(out)["error"]["kind"] == "cancelled"
    assert "Traceback" not in err
    after = desk.run("return (await thinking.status()).level", "--session", "s.jsonl")
    assert (after.json["value"], after.err) == ("medium", "")
    kinds = [data["kind"] for data in desk.custom("s.jsonl", "pi-fabric-run")]
    assert kinds in (["done"], ["cancelled", "done"])


def test_a_second_ctrl_c_is_no_second_story(desk: Desk) -> None:
    run = Started(desk, ENDLESS, "--allow", "write")
    run.wait_until(MOMENTS["in a loop"])
    for _ in range(3):
        run.process.send_signal(signal.SIGINT)
    out, err = run.process.communicate(timeout=20)
    assert run.process.returncode == 130
    assert json.loads(out)["error"]["kind"] == "cancelled"
    assert "Traceback" not in err
    assert desk.custom("s.jsonl", "pi-fabric-thinking")[-1]["override"] is None


def test_a_killed_host_leaves_a_pending_revert_that_the_next_run_does(desk: Desk) -> None:
    run = Started(desk, ENDLESS, "--allow", "write")
    run.wait_until(MOMENTS["in a loop"])
    run.process.kill()
    run.process.communicate(timeout=20)
    first = desk.run("return (await thinking.status()).level", "--session", "s.jsonl").json
    assert (first["value"], first["level"]["before"], first["level"]["after"]) == ("high", "high", "medium")
    assert desk.run("return (await thinking.status()).level", "--session", "s.jsonl").json["value"] == "medium"


def test_ctrl_c_at_a_question_withdraws_it(desk: Desk) -> None:
    """A real terminal: the child's standard input and error are a pty of its own session."""
    program = desk.write("p.py", ASKING)
    pid, terminal = os.forkpty()
    if pid == 0:
        os.chdir(desk.folder)
        argv = desk.argv("run", str(program), "--session", "s.jsonl")
        os.execve(argv[0], argv, desk.environment)
    shown = b""
    try:
        while b"anything else denies" not in shown:
            shown += os.read(terminal, 4096)
        os.write(terminal, b"\x03")
        while True:
            try:
                shown += os.read(terminal, 4096)
            except OSError:
                break
    finally:
        _, status = os.waitpid(pid, 0)
        os.close(terminal)
    text = shown.decode()
    assert os.waitstatus_to_exitcode(status) == 130
    assert "withdrawn" in text
    assert "Traceback" not in text
    assert desk.custom("s.jsonl", "pi-fabric-run")[-1]["kind"] == "cancelled"
    assert desk.custom("s.jsonl", "pi-fabric-thinking") == []
