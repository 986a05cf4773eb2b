"""Frames between our own processes: a 4-byte length and msgpack, over sockets; it knows no meaning of any frame.

Both sides are ours, but a child host runs foreign programs: lengths are capped before anything is decoded, and every
frame decodes into a closed set of types or the peer is gone.
"""

import array
import socket
from collections.abc import Sequence
from typing import Final, Generic, TypeVar

import msgspec
import trio

LENGTH_BYTES: Final = 4
FRAME_LIMIT_BYTES: Final = 64 * 1024 * 1024
"""Programs, inputs and outputs travel here; a result of a program is at most half of this."""
RECEIVE_BYTES: Final = 64 * 1024

T = TypeVar("T")
_encoder: Final = msgspec.msgpack.Encoder()


class ChannelError(Exception):
    """The peer sent what is no frame, or too much."""


def encode(frame: msgspec.Struct) -> bytes:
    """The frame with its length prefix."""
    body = _encoder.encode(frame)
    return len(body).to_bytes(LENGTH_BYTES, "little") + body


class Frames(Generic[T]):
    """Bytes in, frames out: a buffer without IO."""

    def __init__(self, decoder: msgspec.msgpack.Decoder[T], limit_bytes: int = FRAME_LIMIT_BYTES) -> None:
        self._decoder = decoder
        self._limit_bytes = limit_bytes
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """What was received."""
        self._buffer += data

    def next(self) -> T | None:
        """The next whole frame; None: more bytes are needed.

        Raises: ChannelError: too long, or none of the frames that the peer may send.
        """
        if len(self._buffer) < LENGTH_BYTES:
            return None
        length = int.from_bytes(self._buffer[:LENGTH_BYTES], "little")
        if length > self._limit_bytes:
            raise ChannelError(f"a frame of {length} bytes; the limit is {self._limit_bytes}")
        if len(self._buffer) < LENGTH_BYTES + length:
            return None
        body = bytes(self._buffer[LENGTH_BYTES : LENGTH_BYTES + length])
        del self._buffer[: LENGTH_BYTES + length]
        try:
            return self._decoder.decode(body)
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            raise ChannelError(f"undecodable frame: {error}") from None


class BlockingChannel(Generic[T]):
    """For the plain processes (worker, child start): sends and receives whole frames, blocking."""

    def __init__(self, sock: socket.socket, decoder: msgspec.msgpack.Decoder[T]) -> None:
        self.sock = sock
        self.frames = Frames(decoder)

    def send(self, frame: msgspec.Struct) -> None:
        """Raises: OSError: the peer is gone."""
        self.sock.sendall(encode(frame))

    def receive(self) -> T | None:
        """The next frame; None: the peer closed.

        Raises: ChannelError, OSError (also a timeout that was set on the socket).
        """
        while True:
            frame = self.frames.next()
            if frame is not None:
                return frame
            data = self.sock.recv(RECEIVE_BYTES)
            if not data:
                return None
            self.frames.feed(data)


class Channel(Generic[T]):
    """For trio: one reader at a time, any number of writers."""

    def __init__(self, sock: socket.socket, decoder: msgspec.msgpack.Decoder[T]) -> None:
        sock.setblocking(False)
        self.stream = trio.SocketStream(trio.socket.from_stdlib_socket(sock))
        self.frames = Frames(decoder)
        self._sending = trio.Lock()
        self._rest = memoryview(b"")

    @classmethod
    def over(cls, stream: trio.SocketStream, decoder: msgspec.msgpack.Decoder[T]) -> "Channel[T]":
        """A channel over a stream that was accepted."""
        channel = object.__new__(cls)
        channel.stream, channel.frames = stream, Frames(decoder)
        channel._sending, channel._rest = trio.Lock(), memoryview(b"")
        return channel

    async def send(self, frame: msgspec.Struct) -> None:
        """Cancelled in the middle, the rest goes before the next frame: a cut one would spoil all that follow.

        Raises: trio.BrokenResourceError, trio.ClosedResourceError: the peer is gone.
        """
        data = memoryview(encode(frame))
        async with self._sending:
            await self._send_rest()
            self._rest = data
            try:
                await self._send_rest()
            except trio.Cancelled:
                if len(self._rest) == len(data):  # nothing of it went out
                    self._rest = memoryview(b"")
                raise

    async def flush(self) -> bool:
        """Send what a cancelled frame left; whether there was anything.

        Raises: trio.BrokenResourceError, trio.ClosedResourceError: the peer is gone.
        """
        async with self._sending:
            was_cut = bool(self._rest)
            await self._send_rest()
        return was_cut

    async def _send_rest(self) -> None:
        sock = self.stream.socket
        try:
            while self._rest:
                self._rest = self._rest[await sock.send(self._rest) :]
        except OSError as error:
            raise trio.BrokenResourceError(f"the peer is gone: {error}") from error

    async def receive(self) -> T | None:
        """The next frame; None: the peer is gone, however it went.

        Raises: ChannelError
        """
        while True:
            frame = self.frames.next()
            if frame is not None:
                return frame
            try:
                data = await self.stream.receive_some(RECEIVE_BYTES)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return None
            if not data:
                return None
            self.frames.feed(bytes(data))

    def close(self) -> None:
        """At once, any number of times; a reader that waits gets None."""
        self.stream.socket.close()


def send_with_descriptors(sock: socket.socket, data: bytes, descriptors: Sequence[int]) -> None:
    """One packet with descriptors, blocking."""
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    sock.sendmsg([data], ancillary)


def descriptors_in(ancillary: Sequence[tuple[int, int, bytes]]) -> list[int]:
    """The descriptors that came with a packet."""
    found: list[int] = []
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            numbers = array.array("i")
            numbers.frombytes(data[: len(data) - len(data) % numbers.itemsize])
            found.extend(numbers)
    return found


def receive_with_descriptors(sock: socket.socket, limit_bytes: int, count: int) -> tuple[bytes, list[int]]:
    """One packet with up to `count` descriptors (close-on-exec), blocking; empty bytes: the peer is gone."""
    data, ancillary, _flags, _address = sock.recvmsg(limit_bytes, socket.CMSG_SPACE(count * 4), socket.MSG_CMSG_CLOEXEC)
    return data, descriptors_in(ancillary)
