"""The protocol of one guest without any input or output: bytes in, events out; correlation and budgets.

Invariant: whatever bytes arrive, `receive` returns events and never raises; after the first broken rule or the
program's end it yields nothing more. Attacked by `tests/host_bridge/test_hostile_frames.py`.
"""

import math
import struct
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import msgspec

from guest_api import wire
from guest_api.values import JsonValue, ValueRefusedError, from_wire
from host_bridge import strict_json
from host_bridge.limits import RunLimits, human_bytes, limit_message

OUTPUT_SLACK_BYTES: Final = 16 * 1024
"""An honest guest stops at the limit and adds its marker; this is the marker, and how it may count newlines."""
REF_LIMIT_CHARACTERS: Final = 257
"""One more than any ref that exists: a longer one is unknown anyhow, and is not worth remembering whole."""
FAILED_KINDS: Final = frozenset({"rejected", "program", "denied", "limit"})
FRAMES_LIMIT: Final = 1000
"""Program frames of a failure that are kept."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The program returned `value`, or `text`: its JSON, when it was too large for one frame."""

    value: JsonValue
    text: bytes | None = None


@dataclass(frozen=True, slots=True)
class Violation:
    """The guest broke a rule: a limit of the run (`limit` names it) or the protocol."""

    kind: Literal["limit", "protocol"]
    message: str
    limit: str | None = None


Event: TypeAlias = wire.Call | wire.Timer | wire.Cancel | wire.Log | wire.Failed | Finished | Violation


_unpack_length: Final = struct.Struct("<I").unpack_from
_LAST: Final = (wire.Failed, Finished, Violation)


class Conversation:
    """What one guest has said so far."""

    __slots__ = (
        "_buffer",
        "_last_id",
        "_limits",
        "_need",
        "_open_calls",
        "_open_timers",
        "_parts",
        "_parts_bytes",
        "call_count",
        "ended",
        "output_bytes",
    )

    def __init__(self, limits: RunLimits) -> None:
        self._limits = limits
        self._buffer = bytearray()
        self._need = wire.LENGTH_BYTES
        self._last_id = 0
        self._open_calls: set[int] = set()
        self._open_timers: set[int] = set()
        self._parts: list[bytes] = []
        self._parts_bytes = 0
        self.call_count = 0
        self.output_bytes = 0
        self.ended = False
        """True after the program's end or the first violation: nothing more is read."""

    @property
    def in_half_frame(self) -> bool:
        """Whether the bytes so far end inside a frame."""
        return bool(self._buffer)

    @property
    def calls_in_flight(self) -> int:
        """Calls that have not been answered."""
        return len(self._open_calls)

    def start(self, source: str, value: Any, namespaces: list[str]) -> bytes:
        """The frame that starts the program; `value` is its input, ready for the wire."""
        return wire.encode(
            wire.Start(
                source=source,
                input=value,
                namespaces=namespaces,
                output_limit_bytes=self._limits.output_bytes,
                frame_limit_bytes=self._limits.frame_bytes,
                result_limit_bytes=self._limits.result_bytes,
                inline_result_bytes=max(self._limits.frame_bytes - 1024, 0),
            )
        )

    def receive(self, data: bytes) -> list[Event]:
        """What these bytes complete, in order."""
        if self.ended:
            return []
        buffer = self._buffer
        if buffer:
            buffer += data
            if len(buffer) < self._need:
                return []
            data = bytes(buffer)
            buffer.clear()
        events: list[Event] = []
        view = memoryview(data)
        position, total = 0, len(data)
        limit = self._limits.frame_bytes
        while total - position >= wire.LENGTH_BYTES:
            (length,) = _unpack_length(view, position)
            if length > limit:
                return self._end(
                    events,
                    _over("frame", f"the program sent a frame of {length} bytes; the limit is {human_bytes(limit)}"),
                )
            end = position + wire.LENGTH_BYTES + length
            if end > total:
                self._need = wire.LENGTH_BYTES + length
                break
            try:
                frame = wire.decode_guest_frame(view[position + wire.LENGTH_BYTES : end])
            except wire.FrameError as error:
                return self._end(events, Violation("protocol", f"{error}"))
            position = end
            event = self._accept(frame)
            if event is not None:
                events.append(event)
                if isinstance(event, _LAST):
                    return events
        else:
            self._need = wire.LENGTH_BYTES
        if position < total:
            buffer += view[position:]
        return events

    def answered(self, call_id: int) -> bool:
        """Note that this call or timer is answered; False when the guest no longer waits for it."""
        if call_id in self._open_calls:
            self._open_calls.remove(call_id)
            return True
        if call_id in self._open_timers:
            self._open_timers.remove(call_id)
            return True
        return False

    # -- one frame -----------------------------------------------------------------------------------------------

    def _accept(self, frame: wire.GuestFrame) -> Event | None:
        match frame:
            case wire.Call():
                return self._call(frame)
            case wire.Log():
                return self._log(frame)
            case wire.Timer():
                return self._timer(frame)
            case wire.Cancel():
                return frame if self.answered(frame.id) else None
            case wire.Part():
                return self._part(frame)
            case wire.Done():
                return self._done(frame)
            case wire.Failed():
                return self._failed(frame)
            case wire.Ready():
                return self._stop(Violation("protocol", "the guest said that it is ready while its program runs"))

    def _call(self, frame: wire.Call) -> Event:
        if frame.id <= self._last_id:
            return self._id_violation(frame.id)
        self._last_id = frame.id
        self.call_count += 1
        if self.call_count > self._limits.calls:
            return self._stop(_over("calls", f"the program made more than {self._limits.calls} host calls"))
        self._open_calls.add(frame.id)
        if len(frame.ref) > REF_LIMIT_CHARACTERS:
            return wire.Call(frame.id, frame.ref[:REF_LIMIT_CHARACTERS], frame.args)
        return frame

    def _timer(self, frame: wire.Timer) -> Event:
        if frame.id <= self._last_id:
            return self._id_violation(frame.id)
        if not math.isfinite(frame.seconds):
            return self._stop(Violation("protocol", f"a timer of {frame.seconds!r} seconds"))
        self._last_id = frame.id
        self._open_timers.add(frame.id)
        most = self._limits.timers_in_flight
        if len(self._open_timers) > most:
            return self._stop(_over("timersInFlight", f"the program waits for more than {most} timers at once"))
        return frame

    def _log(self, frame: wire.Log) -> Event:
        text = frame.text
        self.output_bytes += 1 + (len(text) if text.isascii() else len(text.encode()))
        most = self._limits.output_bytes
        if self.output_bytes > most + OUTPUT_SLACK_BYTES:
            return self._stop(_over("output", f"the program printed more than {human_bytes(most)}"))
        return frame

    def _part(self, frame: wire.Part) -> Event | None:
        if not frame.data:
            return self._stop(Violation("protocol", "an empty part of a result"))
        self._parts_bytes += len(frame.data)
        most = self._limits.result_bytes
        if self._parts_bytes > most:
            return self._stop(_over("result", f"the program's result is larger than {human_bytes(most)}"))
        self._parts.append(bytes(frame.data))
        return None

    def _done(self, frame: wire.Done) -> Event:
        if frame.parts != len(self._parts):
            return self._stop(
                Violation("protocol", f"a result of {frame.parts} parts of which {len(self._parts)} came")
            )
        if frame.parts:
            text = b"".join(self._parts)
            self._parts.clear()
            return self._stop(Finished(None, text))
        try:
            return self._stop(Finished(from_wire(frame.value)))
        except (ValueRefusedError, RecursionError) as error:
            return self._stop(Violation("protocol", f"the guest returned what cannot cross: {error}"))

    def _failed(self, frame: wire.Failed) -> Event:
        if frame.kind not in FAILED_KINDS:
            return self._stop(Violation("protocol", f"a failure of unknown kind {frame.kind!r:.80}"))
        return self._stop(frame)

    def _id_violation(self, call_id: int) -> Event:
        return self._stop(Violation("protocol", f"call id {call_id} after {self._last_id}: ids must rise"))

    def _stop(self, event: Event) -> Event:
        self.ended = True
        self._buffer.clear()
        self._parts.clear()
        return event

    def _end(self, events: list[Event], last: Event) -> list[Event]:
        events.append(self._stop(last))
        return events


def result_from_text(text: bytes) -> JsonValue:
    """The value behind a result that came as JSON text.

    Raises: ValueRefusedError: no strict JSON, or a value that may not cross.
    """
    try:
        value = _decode_json(text)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ValueRefusedError("$", f"no JSON: {error}") from None
    return from_wire(value)


def _decode_json(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.ValidationError:
        # msgspec gives up on some integers that are exact here.
        return strict_json.decode_strict(text)


def _over(limit: str, text: str) -> Violation:
    return Violation("limit", limit_message(limit, text), limit)
