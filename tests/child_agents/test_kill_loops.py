"""SIGKILL of host, guardian, template, worker, child at random moments: no process is left and no record is torn."""

import contextlib
import json
import os
import random
import signal
import time
from pathlib import Path

import pytest

from child_agents import kernel
from child_agents.records import RunRecords, new_id
from child_agents.settings import AgentFolders
from child_agents.sweep import sweep
from host_bridge import strict_json
from tests.child_agents.host_process import HostServer

ROOT = Path(__file__).parents[2]
GONE_SECONDS = 5.0
"""What is promised for the host's own death."""


class Hosted:
    """A host process and everything that belongs to it."""

    def __init__(self, server: HostServer, folder: Path, kind: str) -> None:
        self.owner = new_id("o")
        # What a child host starts carries its own owner; the folder of this test they all have.
        self.marker = f"PI_CODING_AGENT_DIR={folder}" if kind == "nested" else f"PI_FABRIC_OWNER={self.owner}"
        self.folders = AgentFolders(root=folder)
        self.sessions: set[int] = set()
        self.process = server.start(str(folder), self.owner, kind)

    def wait_up(self) -> None:
        assert self.process.stdout.readline() == b"up\n"

    def marked(self) -> list[int]:
        """Processes that carry the marker, and whatever shares a session with one that ever did (guests carry nothing)."""
        found = set(kernel.marked_processes(self.marker))
        sessions = {pid: session_of(pid) for pid in all_pids()}
        # A guardian that has only just started is still in our own session.
        self.sessions |= {sessions[pid] for pid in found if sessions.get(pid)} - {os.getsid(0)}
        return sorted(found | {pid for pid, session in sessions.items() if session in self.sessions})

    def by_role(self) -> dict[str, list[int]]:
        roles: dict[str, list[int]] = {
            "host": [self.process.pid],
            "guardian": [],
            "template": [],
            "worker": [],
            "child": [],
        }
        for pid in self.marked():
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            for role in ("guardian", "template", "worker"):
                if f"child_agents.{role}".encode() in command:
                    roles[role].append(pid)
                    break
            else:
                roles["child"].append(pid)
        return roles

    def wait_gone(self) -> list[int]:
        """What is left after the promised time; returns at once when nothing is."""
        end = time.monotonic() + GONE_SECONDS
        while (left := self.marked()) and time.monotonic() < end:
            time.sleep(0.005)
        return left

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait(20)
        self.process.close()


def all_pids() -> list[int]:
    return [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdecimal()]


def session_of(pid: int) -> int:
    try:
        state, _parent, _group, session = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:4]
    except (OSError, ValueError):
        return 0
    return 0 if state in "ZX" else int(session)


def check_records(folders: AgentFolders) -> None:
    """Every file of every record is whole, and after a sweep every run has an end."""
    folders.make()  # a host that died early had not
    sweep(folders, 14)
    for record in RunRecords(folders).all():
        assert record.result is not None, record.id
        for name in ("request.json", "result.json"):
            strict_json.decode_strict((record.folder / name).read_bytes())
        for line in (
            (record.folder / "events.jsonl").read_bytes().splitlines()
            if (record.folder / "events.jsonl").exists()
            else []
        ):
            json.loads(line)
    assert len(list(folders.runs.iterdir())) == len(list(RunRecords(folders).all()))


@pytest.fixture(scope="module")
def hosts():
    server = HostServer(ROOT)
    yield server
    server.close()


def kill_once(hosts: HostServer, folder: Path, role: str, kind: str, chance: random.Random) -> None:
    hosted = Hosted(hosts, folder, kind)
    try:
        if chance.random() < 0.7:
            hosted.wait_up()
        else:
            time.sleep(chance.uniform(0, 0.5))  # in the middle of starting: the moment is the point
        victims = hosted.by_role()[role]
        if victims:
            try:
                os.kill(chance.choice(victims), signal.SIGKILL)
            except ProcessLookupError:
                pass
        if role != "host":
            hosted.process.stdin.close()
            hosted.process.wait(20)
        left = hosted.wait_gone()
        assert left == [], [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in left]
        check_records(hosted.folders)
    finally:
        hosted.process.kill()
        hosted.end()
        kernel.kill_marked(hosted.marker, 5)


ROLES = ("host", "guardian", "template", "worker", "child")


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", ["namespace", "plain"])
def test_nothing_is_left_after_a_random_kill(role, kind, tmp_path, hosts):
    for number in range(2):
        kill_once(hosts, tmp_path / str(number), role, kind, random.Random(f"{role}{kind}{number}"))


@pytest.mark.parametrize(("kind", "processes"), [("program", 5), ("nested", 9)])
def test_guests_of_a_child_die_with_the_host_although_they_compute(tmp_path, hosts, kind, processes):
    hosted = Hosted(hosts, tmp_path, kind)
    try:
        hosted.wait_up()
        before = hosted.marked()
        assert len(before) > processes
        hosted.process.kill()
        assert hosted.wait_gone() == []
    finally:
        hosted.process.kill()
        hosted.end()


@pytest.mark.parametrize("kind", ["program", "nested"])
def test_guests_die_with_their_child_host_although_they_compute(tmp_path, hosts, kind):
    hosted = Hosted(hosts, tmp_path, kind)
    try:
        hosted.wait_up()
        run_id, *inner = RunRecords(hosted.folders).ids()
        assert len(inner) == (kind == "nested")
        killed = 0
        for pid in hosted.by_role()["child"]:
            # A short-lived process of the same role may be gone by now.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if f"{run_id}/session.jsonl".encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
        assert killed > 0
        end = time.monotonic() + 10
        while not (hosted.folders.runs / run_id / "result.json").exists() and time.monotonic() < end:
            time.sleep(0.01)
        hosted.process.stdin.close()
        hosted.process.wait(20)
        assert hosted.wait_gone() == []
        record = RunRecords(hosted.folders).read(run_id)
        assert record.status == "failed"
        assert "signal 9" in record.result.error.message
    finally:
        hosted.process.kill()
        hosted.end()


@pytest.mark.soak
def test_nothing_is_left_after_two_hundred_random_kills(tmp_path, hosts):
    chance = random.Random(20261130)
    for number in range(200):
        kind = chance.choice(["namespace", "plain", "program", "nested"])
        kill_once(hosts, tmp_path / str(number), chance.choice(ROLES), kind, chance)
