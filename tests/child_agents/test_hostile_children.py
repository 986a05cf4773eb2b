"""Children that lie, shout nonsense, orphan processes and lose their guardians: the host goes on, and keeps nothing."""

import json
import os
import signal
import subprocess
import sys

import pytest
import trio

from child_agents import kernel
from child_agents.records import RunRecords
from child_agents.runners.port import Outcome
from child_agents.runners.program import ProgramRunner
from child_agents.settings import AgentFolders, AgentSettings
from tests.child_agents.helpers import ScriptRunner, marked, resolved, supervisor

SAY = "import json; print(json.dumps({'value': %s}))"


@pytest.mark.parametrize(
    "line",
    [
        b'{"ok":true,"calls":5,"logs":7,"level":"x"}', b'{"ok":false,"error":[1]}', b'{"ok":false,"error":{"kind":5,"message":null}}',
        b'{"ok":"yes"}', b'{"ok":true,"value":1,"level":{"before":{"a":1}}}', b'{"ok":true,"level":{"before":"\\u001b[31mred"}}',
    ],
)  # fmt: skip
def test_whatever_a_child_prints_is_an_outcome_of_the_right_shape(line):
    outcome = ProgramRunner().read(line)
    assert isinstance(outcome, Outcome)
    assert outcome.level is None
    assert outcome.tool_calls == 0


@pytest.mark.parametrize("line", [b"[1]", b"nonsense", b"{" * 100_000, b'"ok"', b"\xff\xfe", b"null"])
def test_what_is_no_result_is_nothing(line):
    assert ProgramRunner().read(line) is None


def test_a_limit_of_the_childs_own_is_named_by_its_setting():
    message = "the program made more than 10000 host calls (setting executor.maxCalls)"
    line = json.dumps({"ok": False, "error": {"kind": "limit", "message": message, "line": None, "source_line": None}})
    assert ProgramRunner().read(line.encode()).error.limit == "executor.maxCalls"
    other = json.dumps({"ok": False, "error": {"kind": "program", "message": message}})
    assert ProgramRunner().read(other.encode()).error.limit is None


async def test_a_runner_that_stumbles_over_its_childs_output_ends_that_run_only(tmp_path):
    class Stumbling(ScriptRunner):
        def read(self, line):
            if b"trap" in line:
                raise KeyError("trap")
            return super().read(line)

    settings = AgentSettings(stop_grace_seconds=0.1)
    async with supervisor(tmp_path, runners={"script": Stumbling()}, settings=settings) as boss:
        fallen = await boss.run(resolved("import time; print('trap', flush=True); time.sleep(60)"))
        assert (fallen.status, fallen.error.kind) == ("failed", "limit")
        assert "cannot be read" in fallen.error.message
        assert (await boss.run(resolved(SAY % 3))).value == 3


async def test_a_watcher_that_fails_loses_no_child(tmp_path):
    def watch(_run):
        raise RuntimeError("the screen is gone")

    async with supervisor(tmp_path, watch=watch) as boss:
        run = resolved(SAY % 3)
        assert (await boss.run(run)).value == 3
        assert "watch_failed" in [event["type"] for event in boss.records.events(run.id)]


def test_an_event_says_neither_when_nor_what_it_was_itself_and_no_data_ends_the_run(tmp_path):
    folders = AgentFolders(root=tmp_path)
    folders.make()
    records = RunRecords(folders)
    run = resolved("x")
    records.create(run, owner="o", detached=True)
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    for data in ({"type": "finished", "at": "never", "n": 1}, {"n": float("nan")}, {"n": deep}, {"n": {1, 2}}):
        records.append_event(run.id, "told", data)
    events = records.events(run.id)
    assert [event["type"] for event in events] == ["told"] * 4
    assert events[0]["n"] == 1
    assert events[0]["at"] != "never"
    assert all("unreadable" in event for event in events[1:3])
    while deep:  # undone by hand: the interpreter would free it recursively
        deep = deep[0]


async def test_a_long_line_without_an_end_is_read_in_time_that_grows_with_it(tmp_path):
    size = 24 * 1024 * 1024
    say = f"import sys; sys.stdout.write('{{\"value\": \"' + 'x' * {size} + '\"}}')"
    async with supervisor(tmp_path) as boss:
        with trio.fail_after(30):
            result = await boss.run(resolved(say))
    assert len(result.value) == size


def children_with_state() -> dict[int, str]:
    found = {}
    for pid in kernel.children_of_this_process():
        try:
            with open(f"/proc/{pid}/stat") as stream:
                found[pid] = stream.read().rpartition(")")[2].split()[0]
        except OSError:
            continue
    return found


async def test_adopted_processes_are_reaped_and_own_ones_left_to_who_started_them():
    kernel.become_subreaper()
    own = subprocess.Popen([sys.executable, "-S", "-c", "raise SystemExit(3)"])
    orphan = "import os, sys\nif os.fork() == 0:\n    os.setsid(); os._exit(0)\nos._exit(0)"
    mark = "from child_agents import kernel; kernel.mark_as_adoptable()\n"
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    subprocess.run([sys.executable, "-c", mark + orphan], env={"PYTHONPATH": root}, check=True)
    os.waitid(os.P_PID, own.pid, os.WEXITED | os.WNOWAIT)
    with trio.fail_after(10):
        while not (reaped := kernel.reap_adopted()):
            await trio.sleep(0.01)
    assert reaped == 1
    assert own.wait() == 3
    assert kernel.reap_adopted() == 0


ORPHANING = """
import os, signal, sys, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            print('{"progress": "ready"}', flush=True)
            while True:
                time.sleep(60)
        os._exit(0)
time.sleep(60)
"""


@pytest.mark.parametrize("namespace", [True, False])
async def test_what_a_killed_guardian_orphaned_ends_without_another_launch_and_leaves_no_zombie(tmp_path, namespace):
    ready = trio.Event()
    count = 0

    def watch(run):
        nonlocal count
        count += run.last_event == "ready"
        if count >= 3:
            ready.set()

    before = set(children_with_state())
    settings = AgentSettings(stop_grace_seconds=0.1, pid_namespace=namespace)
    async with supervisor(tmp_path, settings=settings, watch=watch) as boss:
        run = boss.launch(resolved(ORPHANING), detached=True)
        with trio.fail_after(20):
            await ready.wait()
            os.kill(boss._launcher.guardian_pid, signal.SIGKILL)
            await run.done.wait()
            while boss._launcher is not None:
                await trio.lowlevel.checkpoint()
        with trio.fail_after(5):
            while marked(boss.options.owner):
                await trio.sleep(0.01)
        assert (run.result.status, run.result.error.kind) == ("failed", "crashed")
        with trio.fail_after(5):
            while left := set(children_with_state()) - before:
                kernel.reap_adopted()
                await trio.sleep(0.01)
        assert not left


async def test_a_worker_reaps_what_its_child_orphans_while_it_runs(tmp_path):
    program = """
import json, os, time
for _ in range(20):
    if os.fork() == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.wait()
def children():
    with open(f"/proc/{os.getppid()}/task/{os.getppid()}/children") as stream:
        return stream.read().split()
end = time.monotonic() + 10
while len(children()) > 1 and time.monotonic() < end:
    time.sleep(0.01)
print(json.dumps({"value": len(children())}))
"""
    async with supervisor(tmp_path) as boss:
        assert (await boss.run(resolved(program))).value == 1


async def test_hosts_leave_no_descriptor_behind(tmp_path):
    def descriptors():
        return {number for number in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{number}")}

    async with supervisor(tmp_path / "warm_up") as boss:  # threads and the event loop open their own once
        await boss.run(resolved(SAY % 1))
    before = descriptors()
    async with supervisor(tmp_path / "counted") as boss:
        await boss.run(resolved(SAY % 1))
        during = descriptors()
        for _ in range(3):
            await boss.run(resolved(SAY % 1))
        assert descriptors() == during
    assert descriptors() == before


def test_a_second_look_at_a_lost_owner_never_takes_the_first_for_its_owner(tmp_path):
    import fcntl

    from child_agents.records import owner_lives

    folders = AgentFolders(root=tmp_path)
    folders.make()
    with (folders.owners / "o-lost.lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_SH)  # as somebody holds it who looks at the same moment
        assert not owner_lives(folders, "o-lost")
