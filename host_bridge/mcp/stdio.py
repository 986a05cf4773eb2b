"""A server as a child process: newline-delimited JSON-RPC over its pipes, bounded while it arrives; no protocol here.

The SDK's own pipe client reads a line of any length; this one stops keeping at `limit_bytes`, answers the request that
the line belonged to with an error, and reads the rest away.
Invariant: however the body ends, and however this host does, the process and all it started are gone, within
`STOP_SECONDS`.
"""

import math
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

import anyio
import trio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from host_bridge.kept_process import KeptProcess, open_kept
from host_bridge.mcp.lines import Lines, decoded
from host_bridge.process_tree import signal_tree

EXIT_SECONDS: Final = 0.6
"""After its input is closed, as the protocol asks."""
TERMINATE_SECONDS: Final = 0.5
"""After SIGTERM, before SIGKILL."""
HURRY: Final = 0.4
"""The share of these times when the host was cancelled: somebody pressed Ctrl-C and waits."""
STOP_SECONDS: Final = EXIT_SECONDS + TERMINATE_SECONDS + 1.0
LAST_WORDS_SECONDS: Final = 0.5
"""From the end of a server's output, or input, to its own end."""
READ_BYTES: Final = 64 * 1024
STDERR_BYTES: Final = 4096
"""The end of what the server said on standard error, for the message when it dies."""

CHATTER_BYTES: Final = 120
CHATTER_LINES: Final = 20_000
"""Lines in a row that are no messages: banners and logs are read over, a flood of them is no server."""

Incoming = SessionMessage | Exception


@dataclass(slots=True)
class ServerProcess:
    """A running server and how it ended."""

    kept: KeptProcess
    on_closed: Callable[[], None]
    """Told once the server's output has ended."""
    closed: bool = False
    breach: str = ""
    """What it did that made us give up on it."""
    chatter: str = ""
    """The beginning of the first line, where it was no message and none has come since."""
    has_spoken: bool = False
    """Whether any message has come."""
    stderr_tail: bytearray = field(default_factory=bytearray)

    @property
    def process(self) -> trio.Process:
        """Its pipes and its status."""
        return self.kept.process

    def obituary(self) -> str:
        """Why it is gone, in one sentence."""
        if self.breach:
            return self.breach
        status = self.process.returncode
        if status is None:
            how = "its output ended"
        elif status < 0:
            how = f"it was killed by {signal.Signals(-status).name}"
        else:
            how = f"it exited with status {status}"
        said = self.stderr_tail.decode("utf-8", "replace").strip().splitlines()
        how += f"; it said: {said[-1][:300]}" if said else ""
        return f"{how}; {self.complaint()}" if self.chatter else how

    def complaint(self) -> str:
        """What it printed where a message belongs; empty: nothing of the kind."""
        return f"it printed {self.chatter!r} where a message of the protocol belongs" if self.chatter else ""


@asynccontextmanager
async def open_stdio(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    cwd: str | None,
    limit_bytes: int,
    on_closed: Callable[[], None],
) -> AsyncIterator[tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage], ServerProcess]]:
    """Start the server and connect to it; `on_closed` is told when its output ends.

    Raises: OSError: it cannot be started.
    """
    kept = await open_kept(
        command,
        environment=environment,
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    # Nothing is awaited from here until the block that stops the process is entered.
    server = ServerProcess(kept, on_closed)
    to_session, from_server = anyio.create_memory_object_stream[Incoming](0)
    from_session, to_write = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_read, server, to_session, limit_bytes)
            nursery.start_soon(_write, server, to_write, to_session)
            nursery.start_soon(_read_stderr, server)
            try:
                yield from_server, from_session, server
            finally:
                hurried = trio.current_effective_deadline() == -math.inf
                with trio.CancelScope(shield=True):
                    await _stop(server, HURRY if hurried else 1.0)
                nursery.cancel_scope.cancel()
    finally:
        for stream in (to_session, from_server, from_session, to_write):
            stream.close()


async def _read(server: ServerProcess, to_session: MemoryObjectSendStream[Incoming], limit_bytes: int) -> None:
    lines = Lines(limit_bytes)
    chatter = 0
    # Closed at the very end: once the session sees the end of its messages, `closed` and the status must be known.
    async with to_session:
        try:
            while data := await _receive(server):
                for item in lines.feed(data):
                    message = await decoded(item)
                    if message is not None:
                        chatter, server.chatter, server.has_spoken = 0, "", True
                        await to_session.send(message)
                        continue
                    if not (server.chatter or server.has_spoken) and isinstance(item, bytes):
                        server.chatter = item[:CHATTER_BYTES].decode("utf-8", "replace").strip()
                    chatter += 1
                if chatter > CHATTER_LINES:
                    server.breach = server.complaint() or f"it printed {chatter} lines in a row that are no messages"
                    break
                if lines.unanswerable:
                    server.breach = f"it sent a message of more than {limit_bytes} bytes that answers no call"
                    break
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass
        finally:
            await _last_words(server)
            server.closed = True
            server.on_closed()
    # A server that floods its output could not read that its input is closed.
    while await _receive(server):
        pass


async def _last_words(server: ServerProcess) -> None:
    """It seems to be gone: give it a moment to say how it died, for the message."""
    if server.process.returncode is None:
        with trio.move_on_after(LAST_WORDS_SECONDS):
            await server.process.wait()


async def _receive(server: ServerProcess) -> bytes:
    assert server.process.stdout is not None  # noqa: S101  opened with pipes
    try:
        return bytes(await server.process.stdout.receive_some(READ_BYTES))
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        return b""


async def _write(
    server: ServerProcess,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    to_session: MemoryObjectSendStream[Incoming],
) -> None:
    assert server.process.stdin is not None  # noqa: S101  opened with pipes
    try:
        async with outgoing:
            async for message in outgoing:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await server.process.stdin.send_all(text.encode() + b"\n")
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        # The server may still be alive; the session must see the end instead of waiting for an answer.
        await _last_words(server)
        if server.process.returncode is None:
            server.breach = server.breach or "it no longer reads its input"
        server.closed = True
        await to_session.aclose()


async def _read_stderr(server: ServerProcess) -> None:
    assert server.process.stderr is not None  # noqa: S101  opened with pipes
    with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        while data := await server.process.stderr.receive_some(READ_BYTES):
            server.stderr_tail += data
            del server.stderr_tail[:-STDERR_BYTES]


async def _stop(server: ServerProcess, share: float) -> None:
    """Close its input, wait, SIGTERM to its session, wait, SIGKILL to all that it started."""
    process = server.process
    assert process.stdin is not None  # noqa: S101  opened with pipes
    with trio.move_on_after(STOP_SECONDS):
        await process.stdin.aclose()
        with trio.move_on_after(EXIT_SECONDS * share):
            await process.wait()
        if process.returncode is None:
            signal_tree(process.pid, signal.SIGTERM)
            with trio.move_on_after(TERMINATE_SECONDS * share):
                await process.wait()
    # Also when it ended well: what it started ends with it.
    await server.kept.reap(1.0)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            with trio.move_on_after(0.1):
                await stream.aclose()
