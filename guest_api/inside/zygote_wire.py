"""What a zygote and its host say to each other, and how descriptors travel with it. It knows no policy and no trio.

Frames are a 4-byte little-endian length and msgpack on a unix stream; each says how many descriptors belong to it, so
that they pair up in order whatever the kernel coalesces. Guests never hold this socket.
"""

from __future__ import annotations

import array
import socket
from collections import deque
from typing import Any, Final, TypeAlias

import msgspec

MAX_DESCRIPTORS: Final = 16
RECEIVE_BYTES: Final = 65536
TEMPLATE_REQUEST: Final = b"zygote"
"""What a host sends to a warm template, with three descriptors: fork a zygote."""


class Configure(msgspec.Struct, frozen=True, tag=True):
    """The first frame: the state of every protection (`host_bridge.confinement_plan`)."""

    states: dict[str, str]


class Fork(msgspec.Struct, frozen=True, tag=True):
    """Fork a guest; the guest's end of its bridge travels with the frame."""

    id: int
    memory_bytes: int
    cpu_seconds: int
    language_layer: bool = True
    descriptors: int = 1


class Kill(msgspec.Struct, frozen=True, tag=True):
    """SIGKILL a guest: only where no pidfd exists; its parent cannot mistake its pid."""

    id: int


class Started(msgspec.Struct, frozen=True, tag=True):
    """The zygote is confined and warm."""

    skipped: dict[str, str]
    """Protection to the reason why it is missing."""


class Refused(msgspec.Struct, frozen=True, tag=True):
    """A strict protection is missing: no guest will be forked."""

    protection: str
    reason: str


class Forked(msgspec.Struct, frozen=True, tag=True):
    """The guest exists; its pidfd travels with the frame where the kernel has one."""

    id: int
    descriptors: int


class NotForked(msgspec.Struct, frozen=True, tag=True):
    """The kernel had no process to give; later requests may succeed."""

    id: int
    reason: str


class Exited(msgspec.Struct, frozen=True, tag=True):
    """The guest ended and was reaped: an exit status, or the signal that ended it."""

    id: int
    status: int | None
    signal: int | None


ToZygote: TypeAlias = Configure | Fork | Kill
FromZygote: TypeAlias = Started | Refused | Forked | NotForked | Exited

_encoder: Final = msgspec.msgpack.Encoder()
to_zygote_decoder: Final = msgspec.msgpack.Decoder(ToZygote)
from_zygote_decoder: Final = msgspec.msgpack.Decoder(FromZygote)


def encode(frame: ToZygote | FromZygote) -> bytes:
    """The frame with its length prefix."""
    body = _encoder.encode(frame)
    return len(body).to_bytes(4, "little") + body


def ancillary(descriptors: list[int]) -> list[tuple[int, int, array.array[int]]]:
    """The control message that carries `descriptors`."""
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []


class FrameBuffer:
    """Bytes and descriptors in, whole frames out."""

    def __init__(self, decoder: msgspec.msgpack.Decoder[Any]) -> None:
        self._decoder = decoder
        self._bytes = bytearray()
        self.descriptors: deque[int] = deque()
        """Received and not yet claimed by a frame; whoever drops the buffer closes them."""

    def feed(self, data: bytes, control: list[tuple[int, int, bytes]]) -> None:
        """What one recvmsg gave."""
        self._bytes += data
        for level, kind, payload in control:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                received = array.array("i")
                received.frombytes(payload[: len(payload) - len(payload) % received.itemsize])
                self.descriptors.extend(received)

    def next_frame(self) -> Any | None:
        """The next whole frame, or None until more is fed."""
        if len(self._bytes) < 4:
            return None
        end = 4 + int.from_bytes(self._bytes[:4], "little")
        if len(self._bytes) < end:
            return None
        frame = self._decoder.decode(bytes(self._bytes[4:end]))
        del self._bytes[:end]
        return frame
