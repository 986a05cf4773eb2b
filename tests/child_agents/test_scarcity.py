"""Machines without room (descriptors, processes, disk, rights): one launch fails, the others and their host go on."""

import contextlib
import errno
import os
import resource
import signal
import socket
import subprocess
import sys

import pytest
import trio
import trio.testing

from child_agents import accepting, guardian_forks, kernel, launcher, template
from child_agents import supervisor as supervisor_module
from child_agents.channel import Channel, send_with_descriptors
from child_agents.errors import AgentError
from child_agents.guardian_forks import GuardianForks, ask_for_guardian
from child_agents.inheritance import FROM_CHILD, TO_CHILD, Message, ResidentReply
from child_agents.ledger import Ledger
from child_agents.records import OwnerLock, RunRecords, owner_lives
from child_agents.residency.client import ResidentUnavailableError
from child_agents.residency.host import ResidentHost
from child_agents.residency.protocol import TO_CLIENT, TO_HOST, Reply, Request, reachable, socket_name
from child_agents.settings import AgentFolders
from child_agents.supervisor import Supervisor
from child_agents.sweep import sweep
from host_bridge import strict_json
from runtime import open_host
from runtime.agent_service import result_in
from tests.child_agents.helpers import marked, resolved, supervisor
from tests.child_agents.host_process import HostServer
from tests.child_agents.test_kill_loops import ROOT, Hosted
from tests.child_agents.test_residency import client, request

SAY = "import json; print(json.dumps({'value': %s}))"
SLEEP = "import time; time.sleep(60)"
READY = 'print(\'{"progress": "ready"}\', flush=True)\n'
WAIT = READY + "import sys; sys.stdin.readline(); print('{\"value\": 7}')"


def full(*_arguments, **_options):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextlib.contextmanager
def no_descriptors(pid: int = 0):
    """The process may open nothing more; what it has open it keeps."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    lowest = 3 if pid else min(set(range(1000)) - {int(name) for name in os.listdir("/proc/self/fd")})
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (lowest, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


@contextlib.asynccontextmanager
async def waiting_child(folder, **more):
    """A supervisor with one child that waits for a line and then says 7."""
    ready = trio.Event()
    async with supervisor(folder, watch=lambda run: run.last_event == "ready" and ready.set(), **more) as boss:
        run = boss.launch(resolved(WAIT), detached=True)
        with trio.fail_after(30):
            await ready.wait()
        yield boss, run


async def goes_on(boss, run):
    """The waiting child is still there, and a further one can be started."""
    with trio.fail_after(30):
        assert (await boss.run(resolved(SAY % 8))).value == 8
        await boss.message(run, "steer", "go")
        assert (await boss.wait(run)).value == 7


def template_of(boss) -> int:
    (found,) = [pid for pid in marked(boss.options.owner) if b"child_agents.template" in command_line(pid)]
    return found


def command_line(pid: int) -> bytes:
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read()


# -- processes and descriptors -------------------------------------------------------------------------------------


async def test_a_template_without_descriptors_costs_one_launch_and_no_running_child(tmp_path):
    async with waiting_child(tmp_path) as (boss, run):
        with no_descriptors(template_of(boss)), trio.fail_after(30):
            refused = await boss.run(resolved(SAY % 1))
        assert (refused.status, refused.error.kind) == ("failed", "host")
        assert refused.error.message == "no process could be started: Too many open files"
        await goes_on(boss, run)


async def test_a_host_without_descriptors_loses_one_launch_and_no_running_child(tmp_path):
    async with waiting_child(tmp_path) as (boss, run):
        later = resolved(SAY % 1)
        folder = boss.reserve(later, detached=False)
        with no_descriptors(), trio.fail_after(30):
            refused = boss._start(later, folder, detached=False, execution=None)
            await refused.done.wait()
        assert (refused.status, refused.result.error.kind) == ("failed", "host")
        assert refused.result.error.message == "no process could be started: Too many open files"
        await goes_on(boss, run)


async def test_a_workers_descriptor_for_which_there_is_no_room_costs_one_launch_and_no_running_child(
    tmp_path, monkeypatch
):
    async with waiting_child(tmp_path) as (boss, run):
        receive = launcher.Launcher._receive

        async def truncated(self):
            said, descriptors = await receive(self)
            for descriptor in descriptors:
                os.close(descriptor)
            return said, []

        with monkeypatch.context() as patch, trio.fail_after(30):
            patch.setattr(launcher.Launcher, "_receive", truncated)
            refused = await boss.run(resolved(SAY % 1))
        assert refused.error.message == "no process could be started: Too many open files"
        await goes_on(boss, run)


def test_a_template_that_cannot_fork_says_so_and_serves_on(monkeypatch):
    def no_process():
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    given = [os.open(os.devnull, os.O_RDONLY) for _ in range(2)]
    monkeypatch.setattr(os, "fork", no_process)
    with ours, theirs:
        template._serve_request(theirs, "r1", given, [], None)
        assert ours.recv(200) == template.NOT_STARTED + b"Resource temporarily unavailable"
    for descriptor in given:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


def test_a_launcher_that_cannot_be_started_leaves_no_descriptor(monkeypatch):
    def no_pidfd(*_arguments):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    options = launcher.LaunchOptions(owner="o-scarce", environment={"PATH": os.environ["PATH"]}, pid_namespace=False)
    before = os.listdir("/proc/self/fd")
    with monkeypatch.context() as patch:
        patch.setattr(os, "pidfd_open", no_pidfd)
        with pytest.raises(AgentError, match="could not be started"):
            launcher.start_launcher(options)
    assert os.listdir("/proc/self/fd") == before
    assert marked("o-scarce") == []


@pytest.mark.parametrize("answer", ["late", "never", "closed"])
def test_a_worker_that_does_not_answer_in_time_is_not_asked_again(monkeypatch, answer):
    monkeypatch.setattr(guardian_forks, "ANSWER_SECONDS", 0.05)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs, open(os.devnull) as null:
        if answer == "closed":
            theirs.shutdown(socket.SHUT_RDWR)
        assert ask_for_guardian(ours, null.fileno(), null.fileno(), "{}", {}) is None
        if answer == "late":
            with contextlib.suppress(OSError):
                send_with_descriptors(theirs, b"77", [null.fileno()])
        assert ask_for_guardian(ours, null.fileno(), null.fileno(), "{}", {}) is None


def test_a_worker_that_cannot_fork_a_guardian_lets_its_child_know_at_once(monkeypatch):
    def no_process():
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs, open(os.devnull) as null:
        send_with_descriptors(ours, b'{"options": "{}", "environment": {}}', [null.fileno(), null.fileno()])
        monkeypatch.setattr(os, "fork", no_process)
        assert GuardianForks(theirs, None).serve() is False
        assert ours.recv(10) == b""


async def test_who_connects_while_a_host_has_no_descriptors_is_served_once_it_has(tmp_path, monkeypatch):
    monkeypatch.setattr(accepting, "LOOK_AGAIN_SECONDS", 0.01)
    async with waiting_child(tmp_path) as (boss, run):
        order = (
            "import sys; from pathlib import Path; from child_agents.owner_socket import end_run\n"
            "from child_agents.settings import AgentFolders\n"
            "print(end_run(AgentFolders(root=Path(sys.argv[1])), sys.argv[2], sys.argv[3], 'enough'))"
        )
        with subprocess.Popen(
            [sys.executable, "-c", order, str(tmp_path), boss.options.owner, run.id], stdout=subprocess.PIPE
        ) as asking:
            accepted = trio.SocketListener.accept
            refused = trio.Event()

            async def noticed(self):
                try:
                    return await accepted(self)
                except OSError:
                    refused.set()
                    raise

            monkeypatch.setattr(trio.SocketListener, "accept", noticed)
            with no_descriptors(), trio.fail_after(30):
                await refused.wait()
            with trio.fail_after(30):
                assert (await boss.wait(run)).error.message.startswith("enough")
                assert await trio.to_thread.run_sync(asking.stdout.read) == b"None\n"


def test_thousands_of_processes_are_reaped_with_a_handful_of_descriptors():
    script = (
        "import os, resource, signal\n"
        "from child_agents import kernel\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))\n"
        "for _ in range(120):\n"
        "    if os.fork() == 0:\n"
        "        signal.pause()\n"
        "print(kernel.kill_and_reap_children(30))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_what_took_another_users_rights_stops_no_guardian(monkeypatch):
    def forbidden(*_arguments):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    with subprocess.Popen(["/bin/sleep", "60"]) as sleeper:
        pidfd = os.pidfd_open(sleeper.pid)
        with monkeypatch.context() as patch:
            patch.setattr(os, "kill", forbidden)
            patch.setattr(signal, "pidfd_send_signal", forbidden)
            kernel.kill_child(sleeper.pid)
            assert kernel.signal_pidfd(pidfd, signal.SIGKILL) is False
        assert sleeper.poll() is None
        os.close(pidfd)
        sleeper.kill()


async def test_what_a_killed_guardian_orphaned_ends_although_no_thread_can_be_started(tmp_path, monkeypatch):
    async def no_thread(*_arguments, **_options):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(trio.to_thread, "run_sync", no_thread)
    async with waiting_child(tmp_path) as (boss, run):
        os.kill(boss._launcher.guardian_pid, signal.SIGKILL)
        with trio.fail_after(30):
            await run.done.wait()
            assert (await boss.run(resolved(SAY % 8))).value == 8
    assert marked(boss.options.owner) == []


async def test_a_worker_that_was_stopped_is_killed_once_its_ladder_is_overdue(tmp_path, monkeypatch):
    monkeypatch.setattr(supervisor_module, "WORKER_SECONDS", 0.2)
    async with waiting_child(tmp_path) as (boss, run):
        (worker,) = [pid for pid in marked(boss.options.owner) if run.id.encode() in command_line(pid)]
        os.kill(worker, signal.SIGSTOP)
        with trio.fail_after(20):
            result = await boss.stop(run)
        assert (result.status, result.error.kind) == ("stopped", "cancelled")
        with trio.fail_after(20):
            while len(marked(boss.options.owner)) > 3:  # guardian, its inner half, template: nothing of the child
                await trio.sleep(0.01)


async def test_a_host_that_closes_starts_no_second_guardian_for_a_launch_that_lost_the_first(tmp_path, monkeypatch):
    monkeypatch.setattr(supervisor_module, "CLOSE_SECONDS", 0.2)
    started = []

    def counted(options):
        started.append(launcher.start_launcher(options))
        return started[-1]

    monkeypatch.setattr(supervisor_module, "start_launcher", counted)
    async with supervisor(tmp_path) as boss:
        await boss.run(resolved(SAY % 1))
        os.kill(template_of(boss), signal.SIGSTOP)
        late = boss.launch(resolved(SAY % 2), detached=True)
        await trio.testing.wait_all_tasks_blocked(0.05)
    assert (late.result.status, late.result.error.kind) == ("stopped", "cancelled")
    assert len(started) == 1
    assert marked(boss.options.owner) == []


@pytest.mark.parametrize("ending", ["closes", "is killed"])
def test_a_guardian_that_was_stopped_ends_all_the_same_when_its_host(tmp_path, ending):
    server = HostServer(ROOT)
    host = Hosted(server, tmp_path, "plain")
    try:
        host.wait_up()
        (guardian,) = host.by_role()["guardian"]
        os.kill(guardian, signal.SIGSTOP)
        if ending == "closes":
            host.process.stdin.close()
        else:
            host.process.kill()
        assert host.wait_gone() == []
    finally:
        host.process.kill()
        host.end()
        kernel.kill_marked(host.marker, 5)
        server.close()


# -- disks ---------------------------------------------------------------------------------------------------------


async def test_a_cost_that_cannot_be_counted_ends_its_run_by_name_and_is_counted_at_its_end(tmp_path, monkeypatch):
    dear = 'import time\nprint(\'{"progress": "usage", "cost": 1.5}\', flush=True)\ntime.sleep(60)'
    spend, refusals = Ledger.spend, iter([full])

    def once_full(self, *arguments, **options):
        return next(refusals, spend)(self, *arguments, **options)

    async with waiting_child(tmp_path) as (boss, run):
        monkeypatch.setattr(Ledger, "spend", once_full)
        with trio.fail_after(30):
            ended = await boss.run(resolved(dear))
        assert (ended.status, ended.error.limit, ended.usage.cost) == ("failed", "agents.maxCost", 1.5)
        assert "cannot be counted: No space left on device" in ended.error.message
        assert boss.ledger("root1").totals().cost == 1.5
        await goes_on(boss, run)


@pytest.mark.parametrize(
    ("owner", "method", "words"), [(Ledger, "reserve", "counted"), (RunRecords, "create", "recorded")]
)
async def test_a_launch_that_the_disk_does_not_take_is_refused_and_leaves_nothing(
    tmp_path, monkeypatch, owner, method, words
):
    async with waiting_child(tmp_path) as (boss, run):
        refused = resolved(SAY % 1)
        with monkeypatch.context() as patch:
            patch.setattr(owner, method, full)
            with pytest.raises(AgentError, match=f"cannot be {words}: No space left on device"):
                boss.launch(refused, detached=False, execution="e1")
        assert not boss.records.folder(refused.id).exists()
        assert boss.ledger("root1").totals().live == 1
        await goes_on(boss, run)


async def test_a_resident_host_that_cannot_be_started_for_a_child_is_that_childs_problem(tmp_path):
    async def provide():
        full()

    async with supervisor(tmp_path, ensure_resident=provide) as boss:
        ours, theirs = socket.socketpair()
        child, parent = Channel(ours, TO_CHILD), Channel(theirs, FROM_CHILD)
        await boss._provide_resident(parent, 5)
        assert await child.receive() == ResidentReply(5, "[Errno 28] No space left on device")
        child.close()
        parent.close()


async def test_a_result_that_cannot_be_judged_is_a_failure_and_not_a_wait_without_end(tmp_path, monkeypatch):
    async with supervisor(tmp_path) as boss:
        monkeypatch.setattr(boss._validator, "problems", lambda *_: {}["missing"])
        with trio.fail_after(30):
            result = await boss.run(resolved(SAY % 1, schema={"type": "integer"}))
    assert (result.status, result.error.kind) == ("failed", "host")
    assert "cannot be judged: KeyError('missing')" in result.error.message


def test_a_sweep_that_meets_a_full_disk_lets_the_host_start_and_leaves_the_rest_to_the_next(tmp_path, monkeypatch):
    folders = AgentFolders(root=tmp_path)
    folders.make()
    lost = OwnerLock(folders, "o-lost")
    run = resolved(SAY % 1)
    RunRecords(folders).create(run, owner="o-lost", detached=True)
    os.close(lost._descriptor)
    with monkeypatch.context() as patch:
        patch.setattr(RunRecords, "finish", full)
        assert sweep(folders, 14).records == ()
    assert lost.path.exists()
    assert sweep(folders, 14).records == (run.id,)
    assert not lost.path.exists()


def test_an_owner_lock_that_the_disk_does_not_take_leaves_neither_file_nor_descriptor(tmp_path, monkeypatch):
    folders = AgentFolders(root=tmp_path)
    folders.make()
    before = os.listdir("/proc/self/fd")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left"):
            OwnerLock(folders, "o-full")
    assert os.listdir("/proc/self/fd") == before
    assert list(folders.owners.iterdir()) == []


async def test_what_the_resident_host_could_not_start_is_not_claimed(tmp_path, monkeypatch):
    folders = AgentFolders(root=tmp_path)
    folders.make()
    records = RunRecords(folders)
    run = request(records, SAY % 1)
    async with supervisor(tmp_path) as boss, trio.open_nursery() as nursery:
        resident = ResidentHost(boss, nursery, 1)
        order = Request(1, "launch", run.id, strict_json.encode(run))
        with monkeypatch.context() as patch:
            patch.setattr(RunRecords, "take_over", full)
            with pytest.raises(AgentError, match=r"was not started: .*No space left on device"):
                resident._launch(order)
        assert not records.is_marked(run.id, "claim")
        resident._launch(order)
        with trio.fail_after(30):
            await boss.runs[run.id].done.wait()
    assert records.read(run.id).result.value == 1


async def test_a_resident_host_tells_the_result_that_the_disk_did_not_take(tmp_path, monkeypatch):
    AgentFolders(root=tmp_path).make()
    run = request(RunRecords(AgentFolders(root=tmp_path)), SAY % "{'n': 10**40}")
    monkeypatch.setattr(RunRecords, "finish", full)
    async with supervisor(tmp_path) as boss, trio.open_nursery() as nursery:
        resident = ResidentHost(boss, nursery, 1)
        resident._launch(Request(1, "launch", run.id, strict_json.encode(run)))
        with trio.fail_after(30):
            body = await resident._do(None, Request(2, "wait", run.id))
    assert result_in(body).value == {"n": 10**40}
    assert result_in(b"{}") is None


async def test_a_session_that_leaves_while_it_subscribes_ends_no_resident_host(tmp_path):
    async with supervisor(tmp_path) as boss, trio.open_nursery() as nursery:
        resident = ResidentHost(boss, nursery, 1)
        ours, theirs = socket.socketpair()
        session, gone = Channel(ours, TO_CLIENT), Channel(theirs, TO_HOST)
        await resident._answer(gone, Request(1, "subscribe", "a-session"))
        assert await session.receive() == Reply(1)
        session.close()
        gone.close()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"runner": "of-a-newer-version"}, "runner: got 'of-a-newer-version', which this resident host does not know"),
        ({"path": 5}, "Expected `array`, got `int` - at `$.path`"),
    ],
)
async def test_a_request_of_another_version_is_refused_and_ends_no_resident_host(tmp_path, body, words):
    import msgspec

    AgentFolders(root=tmp_path).make()
    records = RunRecords(AgentFolders(root=tmp_path))
    run = request(records, SAY % 1)
    async with supervisor(tmp_path) as boss, trio.open_nursery() as nursery:
        resident = ResidentHost(boss, nursery, 1)
        ours, theirs = socket.socketpair()
        session, connection = Channel(ours, TO_CLIENT), Channel(theirs, TO_HOST)
        odd = strict_json.encode(msgspec.to_builtins(run) | body)
        await resident._answer(connection, Request(1, "launch", run.id, odd))
        assert await session.receive() == Reply(1, words)
        session.close()
        connection.close()
    assert not records.is_marked(run.id, "claim")


def test_without_a_descriptor_to_look_with_nobody_is_taken_for_gone(tmp_path):
    folders = AgentFolders(root=tmp_path)
    folders.make()
    lock = OwnerLock(folders, "o-lives")
    with no_descriptors():
        assert owner_lives(folders, "o-lives")
    assert owner_lives(folders, "o-lives")
    lock.release()
    assert not owner_lives(folders, "o-lives")


async def test_a_message_that_the_session_does_not_take_ends_no_host_and_is_told_later(tmp_path, monkeypatch):
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    config = {"approvals": {"read": "allow", "agent": "allow"}, "agents": {"residentIdleSeconds": 0.3}}
    source = """
program = "import asyncio\\nawait asyncio.sleep(0.3)\\nreturn 'found it'"
return (await agents.spawn(program=program, residency="durable")).id
"""

    def told(host):
        return [str(entry.get("content")) for entry in host.session.branch() if entry.type == "custom_message"]

    async with open_host(config, session=tmp_path / "s.jsonl", cwd=tmp_path) as host:
        run_id = (await host.run_program(source)).value
        with monkeypatch.context() as patch, trio.fail_after(60):
            patch.setattr(type(host.agents.host.session), "append_custom_message", full)
            records = host.agents.records
            while "follow_up_failed" not in [event["type"] for event in records.events(run_id)]:
                await trio.sleep(0.02)
            assert told(host) == []
        assert (await host.run_program("return 1")).value == 1  # at its end, what nobody was told of is told
        (message,) = told(host)
    assert "completed: found it" in message


async def test_what_a_child_said_last_is_heard_once_however_late_its_host_comes_to_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    hear = Supervisor._hear_child

    class Late:
        """The control channel of a child whose host first hears how the run ended."""

        def __init__(self, run, channel):
            self.run, self.channel, self.send = run, channel, channel.send

        async def receive(self):
            while self.run.outcome is None:
                await trio.sleep(0.01)
            return await self.channel.receive()

    monkeypatch.setattr(
        Supervisor,
        "_hear_child",
        lambda self, run, control, nursery: hear(self, run, Late(run, control), nursery),
    )
    source = """
r = await agents.run(program="print('first')\\nawait tools.search('x')\\nprint('last')\\nreturn 1")
log = await agents.log(r.id)
return [r.status, log.logs, [event.type for event in log.events if event.type.startswith("call")]]
"""
    config = {"approvals": {"read": "allow", "agent": "allow"}}
    async with open_host(config, session=None, cwd=tmp_path) as host:
        result = await host.run_program(source)
    assert result.value == ["completed", ["first", "last"], ["call_started", "call_finished"]]


# -- what travels --------------------------------------------------------------------------------------------------


async def test_a_frame_that_was_cancelled_in_the_middle_spoils_none_that_follow():
    ours, theirs = socket.socketpair()
    sender, receiver = Channel(ours, FROM_CHILD), Channel(theirs, TO_CHILD)
    async with trio.open_nursery() as given_up:
        given_up.start_soon(sender.send, Message("steer", "x" * 4_000_000))
        await trio.testing.wait_all_tasks_blocked()  # as much of it went out as there is room for
        given_up.cancel_scope.cancel()
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sender.send, Message("steer", "next"))
            first, second = await receiver.receive(), await receiver.receive()
    assert (len(first.text), second.text) == (4_000_000, "next")
    sender.close()
    receiver.close()


async def test_a_frame_of_which_nothing_went_out_is_not_sent_later():
    ours, theirs = socket.socketpair()
    sender, receiver = Channel(ours, FROM_CHILD), Channel(theirs, TO_CHILD)
    with trio.CancelScope() as scope:
        scope.cancel()
        await sender.send(Message("steer", "withdrawn"))
    await sender.send(Message("steer", "meant"))
    assert (await receiver.receive()).text == "meant"
    sender.close()
    receiver.close()


async def test_variables_and_folders_that_are_not_utf8_reach_a_child_as_they_are(tmp_path):
    import msgspec

    folder = tmp_path / "odd\udcff"
    folder.mkdir()
    show = "import json, os; print(json.dumps({'value': [os.environ['ODD'], os.getcwd()]}))"
    run = resolved(show)
    run = msgspec.structs.replace(run, cwd=str(folder), environment=run.environment | {"ODD": "v\udcfe"})
    async with supervisor(tmp_path / "records\udcff") as boss:
        result = await boss.run(run)
    assert result.error is None
    assert result.value == ["v\udcfe", str(folder)]


async def test_a_resident_host_that_hangs_with_a_full_queue_hangs_nobody_else(tmp_path):
    folders = AgentFolders(root=tmp_path)
    folders.make()
    folder = os.open(folders.resident, os.O_PATH | os.O_DIRECTORY)
    address = reachable(folder, socket_name("k"))
    with socket.socket(socket.AF_UNIX) as hung, contextlib.ExitStack() as waiting:
        hung.bind(address)
        hung.listen(0)
        with contextlib.suppress(BlockingIOError):
            while True:
                one = waiting.enter_context(socket.socket(socket.AF_UNIX))
                one.setblocking(False)
                one.connect(address)
        async with client(tmp_path) as asked:
            with trio.fail_after(10), pytest.raises(ResidentUnavailableError, match="no resident host"):
                await asked.call("status", "r1", may_start=False)
    os.close(folder)
