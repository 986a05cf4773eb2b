"""The resident host: runs durable children, outlives their session, ends itself when idle. It never writes sessions.

`python -P -m child_agents.residency.host OPTIONS_JSON READY_FD`. It takes requests with everything decided inside them
and enforces that itself: bounds, depth, environment are judged again, whoever sent them. A request is claimed before it
is started, once; a crash after the claim reads as indeterminate and is never run again.
"""

import contextlib
import fcntl
import importlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import trio

from child_agents import kernel
from child_agents.accepting import accept, listening
from child_agents.channel import Channel, ChannelError
from child_agents.conclusion import Ending
from child_agents.errors import AgentError
from child_agents.request import FINAL_STATUSES, result_to_wire
from child_agents.residency.protocol import TO_HOST, Finished, Reply, Request, lock_path, reachable, socket_name
from child_agents.resolver import ResolvedRun, enforce
from child_agents.runs import Run
from child_agents.settings import AgentFolders, AgentSettings
from child_agents.supervisor import Supervisor, SupervisorOptions, open_supervisor
from host_bridge import strict_json

READY: Final = b"ready"
BUSY: Final = b"busy"
CLIENTS_WAITING: Final = 64


class ResidentOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What its starter tells it."""

    folder: str
    key: str
    max_concurrent: int
    stop_grace_seconds: float
    retention_days: float
    resident_idle_seconds: float
    warm_template: bool
    pid_namespace: bool
    runners: str
    """`module:function` that makes the runners by name; a name, so that this package imports none of the host."""
    preload: list[str] = []
    entries: list[str] = []


class ResidentHost:
    """One resident host over its supervisor."""

    def __init__(self, supervisor: Supervisor, nursery: trio.Nursery, idle_seconds: float) -> None:
        self.supervisor = supervisor
        self._nursery = nursery
        self._idle_seconds = idle_seconds
        self._clients: dict[Channel[Request], set[str]] = {}
        self._changed = trio.Event()

    def change(self, _run: Run | None = None) -> None:
        """Something happened that may begin or end idleness."""
        self._changed.set()
        self._changed = trio.Event()

    async def serve(self, listener: trio.SocketListener) -> None:
        """Take clients until idle for long enough."""
        self._nursery.start_soon(self._accept, listener)
        while True:
            changed = self._changed
            if self._clients or self._live():
                await changed.wait()
                continue
            with trio.move_on_after(self._idle_seconds) as scope:
                await changed.wait()
            if scope.cancelled_caught and not self._clients and not self._live():
                return

    def _live(self) -> bool:
        return any(run.status not in FINAL_STATUSES for run in self.supervisor.runs.values())

    async def _accept(self, listener: trio.SocketListener) -> None:
        while True:
            stream = await accept(listener)
            channel = Channel.over(stream, TO_HOST)
            self._clients[channel] = set()
            self.change()
            self._nursery.start_soon(self._serve_client, channel)

    async def _serve_client(self, channel: Channel[Request]) -> None:
        try:
            while True:
                request = await channel.receive()
                if request is None:
                    return
                self._nursery.start_soon(self._answer, channel, request)
        except ChannelError:
            return  # not one of ours
        finally:
            channel.close()
            del self._clients[channel]
            self.change()

    async def _answer(self, channel: Channel[Request], request: Request) -> None:
        try:
            body = await self._do(channel, request)
            reply = Reply(request.id, None, body)
        except (AgentError, ValueError, OSError, msgspec.MsgspecError) as error:
            reply = Reply(request.id, str(error))
        except Exception as error:
            # Sessions of other versions talk to this host too: no request of one may end the runs of all.
            reply = Reply(request.id, f"a fault of the resident host: {error!r:.200}")
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await channel.send(reply)

    async def _do(self, channel: Channel[Request], request: Request) -> bytes:
        if request.operation == "subscribe":
            if (sessions := self._clients.get(channel)) is not None:  # it may have gone by now
                sessions.add(request.run_id)
            return b""
        if request.operation == "launch":
            self._launch(request)
            return b""
        run = self.supervisor.find(request.run_id)
        if request.operation == "wait":
            # Not the supervisor's `wait`: the client may have given up by then, and only it knows that somebody waited.
            await run.done.wait()
        elif request.operation == "stop":
            self.supervisor.begin_stop(run, Ending("stopped", request.body.decode() or "stopped"))
            await run.done.wait()
        elif request.operation == "message":
            kind, _, text = request.body.decode().partition("\n")
            await self.supervisor.message(run, kind, text)
        told = self.supervisor.status(run)
        if run.result is not None:  # the record has it too, but for a disk that was full
            told["result"] = result_to_wire(run.result)
        return strict_json.encode(told, lone_surrogates=True)

    def _launch(self, request: Request) -> None:
        """Claim, take responsibility, enforce, start.

        Raises: AgentError: claimed already, or it asks for more than it may have.
        """
        run = msgspec.convert(strict_json.decode_strict(request.body), ResolvedRun)
        if run.id != request.run_id:
            raise AgentError("the request names another run")
        if run.runner not in self.supervisor.options.runners:
            raise AgentError(f"runner: got {run.runner!r:.80}, which this resident host does not know")
        records, owner = self.supervisor.records, self.supervisor.options.owner
        if not records.mark(run.id, "claim", owner):
            raise AgentError(f"{run.id} was claimed before: it is not started twice")
        try:
            records.take_over(run.id, owner)
            started = self.supervisor.adopt(enforce(run))
        except (AgentError, OSError, ValueError) as error:
            # Nothing was started, so nothing was claimed: whoever sent it may take its record back.
            records.unmark(run.id, "claim")
            raise AgentError(f"{run.id} was not started: {error}") from None
        self._nursery.start_soon(self._report, started)
        self.change()

    async def _report(self, run: Run) -> None:
        """Tell the clients of its session when it is over."""
        await run.done.wait()
        session = run.resolved.owner_session
        for channel, sessions in list(self._clients.items()):
            if session is not None and session in sessions:
                with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                    await channel.send(Finished(run.id))
        self.change()


async def run_host(options: ResidentOptions, ready: int) -> None:
    """Hold the lock, listen, serve, go."""
    folders = AgentFolders(root=Path(options.folder))
    folders.make()
    lock = os.open(lock_path(folders, options.key), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.write(ready, BUSY)
        return
    folder = os.open(folders.resident, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    address = reachable(folder, socket_name(options.key))
    with contextlib.suppress(FileNotFoundError):
        os.unlink(socket_name(options.key), dir_fd=folder)
    listener = listening(address, CLIENTS_WAITING)
    settings = AgentSettings(
        max_concurrent=options.max_concurrent,
        stop_grace_seconds=options.stop_grace_seconds,
        retention_days=options.retention_days,
        resident_idle_seconds=options.resident_idle_seconds,
        warm_template=options.warm_template,
        pid_namespace=options.pid_namespace,
    )
    module, _, function = options.runners.partition(":")
    host: list[ResidentHost] = []
    supervised = SupervisorOptions(
        settings=settings,
        folders=folders,
        runners=getattr(importlib.import_module(module), function)(),
        environment=dict(os.environ),
        preload=options.preload,
        entries=options.entries,
        person=False,
        watch=lambda run: host[0].change(run) if host else None,
    )
    async with open_supervisor(supervised) as supervisor, trio.open_nursery() as nursery:
        resident = ResidentHost(supervisor, nursery, options.resident_idle_seconds)
        host.append(resident)
        os.write(ready, READY)
        os.close(ready)
        await resident.serve(listener)
        # From here on a client that connects is refused and starts another one.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(socket_name(options.key), dir_fd=folder)
        await listener.aclose()
        nursery.cancel_scope.cancel()
    os.close(folder)
    os.close(lock)


def main(arguments: Sequence[str]) -> None:
    """The process."""
    kernel.mark_as_adoptable()  # should it be killed while its starter lives, what guarded its children ends there
    options: Any = msgspec.convert(json.loads(arguments[0]), ResidentOptions)
    trio.run(run_host, options, int(arguments[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
