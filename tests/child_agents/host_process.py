"""Hosts in processes of their own, to be killed. `python -m tests.child_agents.host_process REQUESTS_FD` forks one for
each packet `FOLDER OWNER KIND` with its standard input and output; everything is imported once, and nothing is run here.

It launches three children that resist (new sessions, double forks, TERM ignored), or one real program child whose
guest, or whose child's guest, computes, prints `up` once all run, and ends when its standard input does.
"""

import contextlib
import importlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import trio

from child_agents import kernel
from child_agents.channel import receive_with_descriptors, send_with_descriptors
from child_agents.process import close_all_but, reset_signals
from child_agents.settings import AgentFolders, AgentSettings
from child_agents.supervisor import SupervisorOptions, open_supervisor
from runtime.agent_runners import runners
from runtime.agent_service import PRELOAD
from tests.child_agents.helpers import ScriptRunner, caller, environment, resolved

RESISTING = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            print('{"progress": "ready"}', flush=True)
            while True:
                time.sleep(60)
        os._exit(0)
print('{"progress": "ready"}', flush=True)
time.sleep(60)
"""
COMPUTING = "print('computing')\nwhile True:\n    pass"


NESTED = f"""
h = await agents.spawn(program={COMPUTING!r})
while "computing" not in (await agents.log(h)).logs:
    await asyncio.sleep(0.02)
print("both")
await agents.wait(h)
"""


async def main(folder: str, owner: str, kind: str) -> None:
    ready = trio.Event()

    def watch(run) -> None:
        if run.last_event in ("ready", "log"):
            running.add(run.id)
            if len(running) == wanted:
                ready.set()

    preload: tuple[str, ...] = ("trio", "msgspec")
    kinds = {"script": ScriptRunner()}
    real = {"program": COMPUTING, "nested": NESTED}.get(kind)
    if real is not None:
        preload = PRELOAD
        kinds |= runners()
    running: set[str] = set()
    wanted = 1 if real is not None else 3
    options = SupervisorOptions(
        settings=AgentSettings(stop_grace_seconds=0.2, pid_namespace=kind != "plain"),
        folders=AgentFolders(root=Path(folder)),
        runners=kinds,
        environment=environment(PI_CODING_AGENT_DIR=folder, PYTHONPATH=os.environ.get("PYTHONPATH", "")),
        preload=preload,
        watch=watch,
        owner=owner,
    )
    who = caller(environment=dict(options.environment))
    async with open_supervisor(options) as boss:
        for _ in range(wanted):
            if real is not None:
                boss.launch(resolved(real, runner="program", who=who, recursive=kind == "nested"), detached=True)
            else:
                boss.launch(resolved(RESISTING, who=who), detached=True)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(announce, ready)
            await trio.lowlevel.wait_readable(0)
            nursery.cancel_scope.cancel()


async def announce(ready: trio.Event) -> None:
    await ready.wait()
    print("up", flush=True)


def serve(requests: socket.socket) -> None:
    """Fork hosts until the other end is closed."""
    for module in PRELOAD:
        importlib.import_module(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the hosts are known by their pidfds; nobody wants their status
    while True:
        data, descriptors = receive_with_descriptors(requests, 4096, 2)
        if not data:
            return
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.dup2(descriptors[0], 0)
                os.dup2(descriptors[1], 1)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                close_all_but({0, 1, 2})
                reset_signals()
                trio.run(main, *data.decode().split("\n"))
                status = 0
            finally:
                os._exit(status)
        with contextlib.suppress(ProcessLookupError):
            pidfd = os.pidfd_open(pid)
            send_with_descriptors(requests, str(pid).encode(), [pidfd])
            os.close(pidfd)
        for descriptor in descriptors:
            os.close(descriptor)


class HostServer:
    """The process that forks hosts, as the tests use it."""

    def __init__(self, root: Path) -> None:
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.child_agents.host_process", str(theirs.fileno())],
                cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, pass_fds=[theirs.fileno()],
            )  # fmt: skip

    def start(self, *arguments: str) -> "ForkedHost":
        """A fresh host."""
        stdin, ours_in = os.pipe()
        ours_out, stdout = os.pipe()
        send_with_descriptors(self._requests, "\n".join(arguments).encode(), [stdin, stdout])
        os.close(stdin)
        os.close(stdout)
        data, (pidfd,) = receive_with_descriptors(self._requests, 64, 1)
        return ForkedHost(int(data), pidfd, os.fdopen(ours_in, "wb"), os.fdopen(ours_out, "rb"))

    def close(self) -> None:
        """End it."""
        self._requests.close()
        self._process.wait(20)


class ForkedHost:
    """What these tests need of a `Popen`."""

    def __init__(self, pid: int, pidfd: int, stdin, stdout) -> None:
        self.pid, self._pidfd, self.stdin, self.stdout = pid, pidfd, stdin, stdout

    def kill(self) -> None:
        kernel.signal_pidfd(self._pidfd, signal.SIGKILL)

    def wait(self, seconds: float) -> None:
        trio.run(self._wait, seconds)

    async def _wait(self, seconds: float) -> None:
        with trio.fail_after(seconds):
            await trio.lowlevel.wait_readable(self._pidfd)

    def close(self) -> None:
        for one in (self.stdin, self.stdout):
            one.close()
        os.close(self._pidfd)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
