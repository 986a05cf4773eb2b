"""A guest in memory for tests: the real frames over a real socket pair, spoken by a script instead of a program."""

import math
import signal
import socket as stdlib_socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeAlias

import trio

from guest_api import wire
from host_bridge.run_outcome import GuestExit

_RECEIVE_BYTES: Final = 64 * 1024


class Peer:
    """The guest's end: what a script speaks with."""

    def __init__(self, sock: trio.socket.SocketType) -> None:
        self._socket = sock
        self._buffer = bytearray()
        self.start: wire.Start | None = None
        """The program it was given, once `started` has returned."""

    async def started(self) -> wire.Start:
        """Wait for the program."""
        frame = await self.receive()
        assert isinstance(frame, wire.Start), frame  # noqa: S101  a test's own expectation
        self.start = frame
        return frame

    async def send(self, *frames: wire.GuestFrame) -> None:
        """Send frames in one write."""
        await self.send_raw(b"".join(wire.encode(frame) for frame in frames))

    async def send_raw(self, data: bytes) -> None:
        """Send any bytes at all."""
        while data:
            data = data[await self._socket.send(data) :]

    async def receive(self) -> wire.HostFrame:
        """The host's next frame.

        Raises: trio.EndOfChannel: the host has hung up.
        """
        while True:
            if len(self._buffer) >= wire.LENGTH_BYTES:
                end = wire.LENGTH_BYTES + int.from_bytes(self._buffer[: wire.LENGTH_BYTES], "little")
                if len(self._buffer) >= end:
                    body = bytes(self._buffer[wire.LENGTH_BYTES : end])
                    del self._buffer[:end]
                    return wire.decode_host_frame(body)
            data = await self._socket.recv(_RECEIVE_BYTES)
            if not data:
                raise trio.EndOfChannel
            self._buffer += data

    async def call(self, call_id: int, ref: str, args: Any = None) -> wire.HostFrame:
        """Make one call and return what the host answers next."""
        await self.send(wire.Call(call_id, ref, {} if args is None else args))
        return await self.receive()

    def hang_up(self) -> None:
        """Close the guest's end."""
        self._socket.close()


Script: TypeAlias = Callable[[Peer], Awaitable[None]]


class ScriptedGuest:
    """What `run_program` and its callers need of a guest."""

    def __init__(self, sock: trio.socket.SocketType, peer: Peer) -> None:
        self.socket = sock
        self.skipped_layers: tuple[str, ...] = ()
        self.host_pid: int | None = None
        self.waits_apart = False
        self.killed = False
        self._peer = peer
        self._exit: GuestExit | None = None
        self._ended = trio.Event()
        self._scope = trio.CancelScope()

    def let_move(self) -> None:
        """It has no processor."""

    def kill(self) -> None:
        """End the script as SIGKILL ends a process; a script that has ended stays ended its own way."""
        self.killed = True
        self.end(GuestExit(signal=signal.SIGKILL))

    def end(self, how: GuestExit) -> None:
        """End as a process that died: descriptors closed, exit known."""
        if self._exit is None:
            self._exit = how
            self._peer.hang_up()
            self._scope.cancel()
            self._ended.set()

    async def wait(self) -> GuestExit:
        """How it ended, once it has."""
        await self._ended.wait()
        return self._exit or GuestExit()

    async def aclose(self) -> None:
        """Kill and close."""
        self.kill()
        self.socket.close()
        await trio.lowlevel.checkpoint()

    async def run(self, script: Script) -> None:
        """Play the script; when it returns, the guest has exited with status 0."""
        hung_up = (trio.EndOfChannel, BrokenPipeError, ConnectionResetError, trio.ClosedResourceError)
        with self._scope, suppress(*hung_up):
            await script(self._peer)
        self.end(GuestExit(status=0))


@asynccontextmanager
async def scripted_guest(script: Script) -> AsyncIterator[ScriptedGuest]:
    """A guest whose program is `script`: `async def script(peer): await peer.started(); …`."""
    host_end, guest_end = stdlib_socket.socketpair()
    sock = trio.socket.from_stdlib_socket(host_end)
    guest = ScriptedGuest(sock, Peer(trio.socket.from_stdlib_socket(guest_end)))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(guest.run, script)
        try:
            yield guest
        finally:
            with trio.CancelScope(deadline=math.inf, shield=True):
                await guest.aclose()
            nursery.cancel_scope.cancel()
