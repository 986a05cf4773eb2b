"""A session's side of the resident host: find or start it, send narrowed requests, hear what finished."""

import contextlib
import json
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec
import trio

from child_agents.channel import Channel, ChannelError
from child_agents.environment import clean
from child_agents.errors import AgentError
from child_agents.process import MODULE_ARGUMENTS
from child_agents.records import RunRecords
from child_agents.residency.host import READY, ResidentOptions
from child_agents.residency.protocol import (
    TO_CLIENT,
    Finished,
    Operation,
    Reply,
    Request,
    ToClient,
    reachable,
    socket_name,
)
from child_agents.resolver import ResolvedRun
from child_agents.settings import AgentFolders
from host_bridge import strict_json

START_SECONDS: Final = 30.0
CONNECT_ATTEMPTS: Final = 5
BUSY_SECONDS: Final = 0.05
"""Another starter won: its resident host listens within this, times the attempts."""


class ResidentUnavailableError(AgentError):
    """No resident host can be reached or started here."""


class ResidentClient:
    """One connection at a time to the resident host of a project."""

    def __init__(
        self,
        options: ResidentOptions,
        *,
        environment: Mapping[str, str],
        nursery: trio.Nursery,
        finished: Callable[[str], Awaitable[None]],
        start: Callable[[], Awaitable[str | None]] | None = None,
        lost: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`start`: how a resident host is started from here; None: as a process of this host's user session.
        `lost`: told when the connection broke, so that nobody waits for news of runs that ended with their host.
        """
        self._options = options
        self._folders = AgentFolders(root=Path(options.folder))
        self._environment = environment
        self._nursery = nursery
        self._finished = finished
        self._start = start or self.start_resident
        self._channel: Channel[ToClient] | None = None
        self._connecting = trio.Lock()
        self._waiting: dict[int, tuple[trio.Event, list[Reply]]] = {}
        self._next_id = 0
        self._sessions: set[str] = set()
        self.resident_pid: int | None = None
        """The resident host that was started from here last."""
        self._lost = lost

    async def launch(self, run: ResolvedRun, records: RunRecords) -> None:
        """Hand over a run whose record exists already.

        Raises: AgentError: refused, or no resident host; the run was not started, or its claim tells that it was.
        """
        body = strict_json.encode(run, lone_surrogates=True)
        for last in (False, True):
            try:
                await self.call("launch", run.id, body)
            except ResidentUnavailableError:
                # Unclaimed: nobody has started it, and asking once more is safe. Claimed: its record tells the rest.
                if records.is_marked(run.id, "claim"):
                    return
                if last:
                    raise
            else:
                return

    async def subscribe(self, session: str, *, may_start: bool = True) -> None:
        """Hear of runs of this session that finish.

        Raises: ResidentUnavailableError
        """
        self._sessions.add(session)
        await self.call("subscribe", session, may_start=may_start)

    async def call(self, operation: Operation, run_id: str, body: bytes = b"", *, may_start: bool = True) -> bytes:
        """One request.

        Raises: AgentError: the resident host refused. ResidentUnavailableError: it is not there, or was lost meanwhile.
        """
        channel = await self._connected(may_start=may_start)
        self._next_id += 1
        number = self._next_id
        event, replies = self._waiting[number] = (trio.Event(), [])
        try:
            await channel.send(Request(number, operation, run_id, body))
            await event.wait()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise ResidentUnavailableError("the resident host is gone") from None
        finally:
            del self._waiting[number]
        if not replies:
            raise ResidentUnavailableError("the resident host ended before it answered")
        if replies[0].problem is not None:
            raise AgentError(replies[0].problem)
        return replies[0].body

    def is_there(self) -> bool:
        """Whether a resident host has been listening; it may have crashed since."""
        return (self._folders.resident / socket_name(self._options.key)).exists()

    async def _connected(self, *, may_start: bool) -> Channel[ToClient]:
        async with self._connecting:
            if self._channel is not None:
                return self._channel
            problem: str | None = "no resident host runs here"
            for attempt in range(CONNECT_ATTEMPTS):
                sock = await self._connect()
                if sock is not None:
                    self._channel = Channel(sock, TO_CLIENT)
                    self._nursery.start_soon(self._listen, self._channel)
                    for session in self._sessions:
                        self._nursery.start_soon(self._subscribe_again, session)
                    return self._channel
                if not may_start:
                    break
                if attempt:
                    await trio.sleep(BUSY_SECONDS * attempt)
                problem = await self._start()
                if problem is not None:
                    break
            raise ResidentUnavailableError(problem or "the resident host does not answer")

    async def _subscribe_again(self, session: str) -> None:
        with contextlib.suppress(AgentError):
            await self.call("subscribe", session, may_start=False)

    async def _connect(self) -> socket.socket | None:
        try:
            folder = os.open(self._folders.resident, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ResidentUnavailableError(f"the resident host cannot be reached: {error.strerror}") from None
        try:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        except OSError as error:
            os.close(folder)
            raise ResidentUnavailableError(f"the resident host cannot be reached: {error.strerror}") from None
        sock.setblocking(False)  # one that hangs, with as many waiting as there is room for, must not hang this host
        try:
            sock.connect(reachable(folder, socket_name(self._options.key)))
        except OSError:
            sock.close()
            return None
        finally:
            os.close(folder)
        return sock

    async def _listen(self, channel: Channel[ToClient]) -> None:
        try:
            while (frame := await channel.receive()) is not None:
                if isinstance(frame, Finished):
                    self._nursery.start_soon(self._finished, frame.run_id)
                elif frame.id in self._waiting:
                    event, replies = self._waiting[frame.id]
                    replies.append(frame)
                    event.set()
        except ChannelError:
            pass  # no resident host of ours
        finally:
            self._channel = None
            channel.close()
            for event, _replies in self._waiting.values():
                event.set()
            if self._lost is not None:
                self._nursery.start_soon(self._lost)

    async def start_resident(self) -> str | None:
        """Start a resident host and wait until it listens; the problem, or None.

        It leads a session of its own and is told nothing but names: whatever ends this host does not end it.
        """
        try:
            ready = self._spawn()
        except OSError as error:
            return f"the resident host could not be started: {error.strerror}"
        os.set_blocking(ready, False)
        said = b""
        stream = trio.lowlevel.FdStream(ready)
        async with stream:
            with trio.move_on_after(START_SECONDS):
                said = bytes(await stream.receive_some(64))
        if said == READY:
            return None
        return None if said else "the resident host ended at once; its log lies beside its socket"

    def _spawn(self) -> int:
        """Start the process; where it says that it listens.

        Raises: OSError
        """
        self._folders.make()
        options = json.dumps(msgspec.to_builtins(self._options))
        argv = [sys.executable, *MODULE_ARGUMENTS, "child_agents.residency.host", options, "3"]
        with contextlib.ExitStack() as ends, contextlib.ExitStack() as kept:
            ready, theirs = os.pipe()
            kept.callback(os.close, ready)
            ends.callback(os.close, theirs)
            log = os.open(
                self._folders.resident / f"{self._options.key}.log",
                os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC,
                0o600,
            )
            ends.callback(os.close, log)
            null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
            ends.callback(os.close, null)
            os.set_inheritable(theirs, True)
            actions = [
                (os.POSIX_SPAWN_DUP2, null, 0),
                (os.POSIX_SPAWN_DUP2, log, 1),
                (os.POSIX_SPAWN_DUP2, log, 2),
                (os.POSIX_SPAWN_DUP2, theirs, 3),
            ]
            # Not trio's way: it would wait for the process, and this one shall outlive us.
            pid = os.posix_spawn(
                sys.executable, argv, clean(self._environment, "program"), file_actions=actions, setsid=True
            )
            kept.pop_all()
        self.resident_pid = pid
        self._nursery.start_soon(_reap, pid)
        return ready


async def _reap(pid: int) -> None:
    """Wait for a resident host that ends while its starter lives, so that it leaves no zombie."""
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        return  # reaped already, as something adopted; or no descriptor is left, and init will
    try:
        await trio.lowlevel.wait_readable(pidfd)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)  # noqa: ASYNC222  it has ended
    finally:
        os.close(pidfd)
