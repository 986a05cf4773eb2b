"""The guest's end of the bridge: frames queued and written together, replies read one blocking receive at a time.

It knows no calls and no tasks. The socket is blocking and has no timeout, because `poll` is not among the
allowed system calls.
"""

import math
import os
import socket
import time
from collections.abc import Callable
from typing import Final, NoReturn, Protocol

from guest_api import wire

_RECEIVE_BYTES: Final = 64 * 1024
_FLUSH_ABOVE_BYTES: Final = 4 * 1024
"""Queued frames are written at the latest when they reach this size: the host begins with a hundred gathered calls
while the next are made, and a flood cannot fill the guest's memory."""
_PATIENCE_SECONDS: Final = 0.0002
"""One turn of waiting takes 2 µs; a gap this long means that another process ran."""

_AWAKE_SECONDS: Final = 0.00006
"""How long a reply is looked for before the guest sleeps over it: waking a sleeping core costs as much again."""
_MOST_CREDIT: Final = 8.0
_REGAINED_CREDIT: Final = 1 / 8
"""Where replies do not come that fast, they are soon no longer looked for, and tried again once in a while."""


class ByteStream(Protocol):
    """What the channel needs of a socket."""

    def sendall(self, data: bytes | bytearray, /) -> None:
        """Write all of it or raise."""

    def recv_into(self, buffer: bytearray, nbytes: int = ..., flags: int = ..., /) -> int:
        """Read what is there, at least one byte; 0 at the end."""


class Channel:
    """Frames out, frames in."""

    __slots__ = ("_awake_credit", "_incoming", "_outgoing", "_scratch", "_stream", "flush_count")

    def __init__(self, stream: ByteStream, receive_bytes: int = _RECEIVE_BYTES) -> None:
        self._stream = stream
        self._outgoing = bytearray()
        self._incoming = bytearray()
        self._scratch = bytearray(receive_bytes)
        self.flush_count = 0
        self._awake_credit = _MOST_CREDIT / 2 if isinstance(stream, socket.socket) else -math.inf

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("the bridge cannot be copied")

    def queue(self, encoded: bytes) -> None:
        """Send this frame with the next flush."""
        self._outgoing += encoded
        if len(self._outgoing) >= _FLUSH_ABOVE_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write everything that is queued."""
        if self._outgoing:
            outgoing = self._outgoing
            self._outgoing = bytearray()
            self.flush_count += 1
            self._send(outgoing)

    def read(self) -> list[wire.HostFrame]:
        """Flush, then wait until the host has sent at least one whole frame."""
        asked = bool(self._outgoing)
        self.flush()
        if asked and not self._incoming:
            self._look_awake()
        if self._incoming:
            frames = self._take_buffered()
            if frames:
                return frames
        while True:
            count = self._receive()
            if not self._incoming:
                frames, rest = _split(memoryview(self._scratch)[:count])
                if rest:
                    self._incoming += rest
            else:
                self._incoming += memoryview(self._scratch)[:count]
                frames = self._take_buffered()
            if frames:
                return frames

    def _look_awake(self) -> None:
        if self._awake_credit <= 0.0:
            self._awake_credit += _REGAINED_CREDIT
            return
        found = self.wait_awake(_AWAKE_SECONDS, patience_seconds=_PATIENCE_SECONDS)
        self._awake_credit = min(self._awake_credit + 1.0, _MOST_CREDIT) if found else self._awake_credit - 1.0

    def wait_awake(
        self,
        seconds: float,
        *,
        patience_seconds: float,
        work: Callable[[], object] | None = None,
        interval_seconds: float = math.inf,
    ) -> bool:
        """Whether the host sent something within `seconds`: ask again and again, and do `work` now and then.

        It gives up where others had the processor for longer than `patience_seconds` at a time: who waits awake for
        long has lost its turn when the frame comes.
        """
        now = time.monotonic()
        end = now + seconds
        next_work = now + interval_seconds
        while now < end:
            try:
                count = self._stream.recv_into(self._scratch, 0, socket.MSG_DONTWAIT)
            except BlockingIOError:
                before, now = now, time.monotonic()
                if now - before > patience_seconds:
                    return False
                if work is not None and now >= next_work:
                    work()
                    now = time.monotonic()
                    next_work = now + interval_seconds
                continue
            if count == 0:
                os._exit(0)
            self._incoming += memoryview(self._scratch)[:count]
            return True
        return False

    def wait_let_go(self) -> NoReturn:
        """Until the host closes this run; then the process ends.

        A kernel takes a millisecond to end a process, during which nobody else gets its processor: the host is waiting
        for what was just said, and may be waiting for this very processor.
        """
        while True:
            self._receive()

    def _take_buffered(self) -> list[wire.HostFrame]:
        # A large reply arrives in many pieces; looking at its prefix first keeps that linear.
        incoming = self._incoming
        if len(incoming) < wire.LENGTH_BYTES:
            return []
        if len(incoming) < wire.LENGTH_BYTES + wire.body_length(incoming[:4], wire.HOST_FRAME_LIMIT_BYTES):
            return []
        self._incoming = bytearray()
        frames, rest = _split(memoryview(incoming))
        self._incoming += rest
        return frames

    def _receive(self) -> int:
        try:
            count = self._stream.recv_into(self._scratch)
        except OSError:
            count = 0
        if count == 0:
            # The host is gone or has closed this run. A program could swallow any exception, so the process
            # ends here.
            os._exit(0)
        return count

    def _send(self, data: bytearray) -> None:
        try:
            self._stream.sendall(data)
        except OSError:
            os._exit(0)


def _split(data: memoryview) -> tuple[list[wire.HostFrame], memoryview]:
    frames: list[wire.HostFrame] = []
    position = 0
    total = len(data)
    while total - position >= wire.LENGTH_BYTES:
        start = position + wire.LENGTH_BYTES
        end = start + wire.body_length(data[position:start], wire.HOST_FRAME_LIMIT_BYTES)
        if end > total:
            break
        frames.append(wire.decode_host_frame(data[start:end]))
        position = end
    return frames, data[position:]
