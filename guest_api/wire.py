"""The frames between a guest and its host: shapes, length prefix and byte caps; it knows no meaning of any call.

A frame is a 4-byte little-endian length and that many bytes of msgpack: an array whose first item is the tag,
so that a call reads `["call", 7, "thinking.set", {"level": "high"}]`.
Invariant: the length is judged before a byte is decoded, and every frame is decoded into a closed set of types.
Attacked by `tests/escapes` (bridge programs) and `tests/properties/test_wire.py`.
"""

from typing import Any, Final, TypeAlias

import msgspec

from guest_api.values import read_extension

LENGTH_BYTES: Final = 4
GUEST_FRAME_LIMIT_BYTES: Final = 1024 * 1024
"""What a guest may send in one frame: 8 MB of empty maps decode to 606 MB, so the cap comes before the decoder."""
HOST_FRAME_LIMIT_BYTES: Final = 32 * 1024 * 1024
"""What a host may send in one frame (a tool's whole result); the guest's own memory limit judges the rest."""
PART_BYTES: Final = 512 * 1024
"""A result that does not fit one frame travels as JSON text in parts of this size."""


class Ready(msgspec.Struct, frozen=True, array_like=True, tag="ready"):
    """The guest is confined and waits for its program."""


class Call(msgspec.Struct, frozen=True, array_like=True, tag="call"):
    """The program called a host action."""

    id: int
    """Rises by at least one with each call or timer of a run."""
    ref: str
    args: Any
    """The named arguments as a dict. Or one text and such a dict in a list, where the program passed a text by
    position: it stands for the action's first required parameter."""


class Timer(msgspec.Struct, frozen=True, array_like=True, tag="timer"):
    """The program sleeps or has set a timeout: reply with null after `seconds`. No host call, never counted as one."""

    id: int
    seconds: float


class Cancel(msgspec.Struct, frozen=True, array_like=True, tag="cancel"):
    """The program no longer waits for this call or timer."""

    id: int


class Log(msgspec.Struct, frozen=True, array_like=True, tag="log"):
    """One `print` of the program, without its newline."""

    text: str


class Part(msgspec.Struct, frozen=True, array_like=True, tag="part"):
    """The next piece of a large result's JSON text (UTF-8)."""

    data: bytes


class Done(msgspec.Struct, frozen=True, array_like=True, tag="done"):
    """The program returned."""

    value: Any
    """The returned value; null when it came in parts."""
    parts: int = 0
    """How many parts carry the value's JSON text instead."""


class Failed(msgspec.Struct, frozen=True, array_like=True, tag="failed"):
    """The program did not return."""

    kind: str
    """`rejected` (refused at compile), `program`, `denied` (an uncaught denial) or `limit`."""
    message: str
    """For `program`: `ValueError: third`; else a sentence."""
    line: int | None = None
    """1-based line of the program."""
    source_line: str | None = None
    frames: list[tuple[int, str]] = []
    """The program's own frames, outermost first: line and function name."""
    limit: str | None = None
    """For `limit`: which one the guest itself noticed (`memory`, `recursion`, `output` …)."""


GuestFrame: TypeAlias = Ready | Call | Timer | Cancel | Log | Part | Done | Failed


class Warm(msgspec.Struct, frozen=True, array_like=True, tag="warm"):
    """Touch what a program will touch; a program follows soon. No answer. Who waits awake already only goes on."""

    awake_ms: int = 0
    """From now on do not sleep for this long: a program that comes meanwhile meets a running processor and caches."""


class Start(msgspec.Struct, frozen=True, array_like=True, tag="start"):
    """The program to run."""

    source: str
    input: Any
    namespaces: list[str]
    """Root names that the program sees as host proxies (`thinking`, `tools`, `mcp` …)."""
    output_limit_bytes: int
    """How much `print` may send in all; the guest adds the marker."""
    frame_limit_bytes: int
    result_limit_bytes: int
    inline_result_bytes: int = GUEST_FRAME_LIMIT_BYTES - 1024
    """Results whose frame is larger travel in parts."""


class Reply(msgspec.Struct, frozen=True, array_like=True, tag="reply"):
    """A call succeeded, or a timer is over."""

    id: int
    value: Any


class Refusal(msgspec.Struct, frozen=True, array_like=True, tag="refusal"):
    """A call did not succeed; `kind` is a `guest_api.errors.RefusalKind`."""

    id: int
    kind: str
    message: str
    details: Any = None


HostFrame: TypeAlias = Warm | Start | Reply | Refusal

_encoder: Final = msgspec.msgpack.Encoder()
_guest_decoder: Final = msgspec.msgpack.Decoder(GuestFrame, ext_hook=read_extension)
_host_decoder: Final = msgspec.msgpack.Decoder(HostFrame, ext_hook=read_extension)


class FrameError(Exception):
    """The peer broke the protocol: too long, undecodable, or no frame of ours."""


def encode(frame: GuestFrame | HostFrame) -> bytes:
    """The frame with its length prefix; values inside must have passed `values.to_wire`."""
    body = _encoder.encode(frame)
    return len(body).to_bytes(LENGTH_BYTES, "little") + body


def body_length(prefix: bytes | bytearray | memoryview, limit_bytes: int) -> int:
    """How many bytes follow this prefix.

    Raises: FrameError: more than `limit_bytes`; nothing of the body should be read.
    """
    length = int.from_bytes(prefix, "little")
    if length > limit_bytes:
        raise FrameError(f"frame of {length} bytes; the limit is {limit_bytes}")
    return length


def decode_guest_frame(body: bytes | bytearray | memoryview) -> GuestFrame:
    """What the guest said.

    Raises: FrameError: not one of the frames a guest may send.
    """
    return _decode(_guest_decoder, body)  # type: ignore[return-value]


def decode_host_frame(body: bytes | bytearray | memoryview) -> HostFrame:
    """What the host said.

    Raises: FrameError: not one of the frames a host may send.
    """
    return _decode(_host_decoder, body)  # type: ignore[return-value]


def _decode(decoder: msgspec.msgpack.Decoder[Any], body: bytes | bytearray | memoryview) -> object:
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, RecursionError, ValueError, OverflowError) as error:
        raise FrameError(f"undecodable frame: {error}") from None
