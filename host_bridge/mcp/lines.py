"""JSON-RPC lines, bounded while they arrive: of a line past the limit only the id that it answers is kept.

The answer that was too long then becomes an error for the one request it belongs to; a line that answers nothing is
reported as a breach. Bytes in, messages out; it reads no pipe.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, Final

import mcp_types
import pydantic
import trio
from mcp.shared.message import SessionMessage

PEEK_BYTES: Final = 512
"""How much of an oversized line's head and tail is searched for the id it answers."""
THREAD_BYTES: Final = 1024 * 1024
"""A larger message is decoded in a thread, so that the event loop goes on."""
_HEAD_ID: Final = re.compile(rb'^\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"id"\s*:\s*(\d{1,18}|"[^"\\]{0,64}")')
_TAIL_ID: Final = re.compile(rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{0,64}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


@dataclass(frozen=True, slots=True)
class Oversized:
    """A line that was too long, and the request that it answers."""

    answers: int | str
    limit_bytes: int


class Lines:
    """Bytes in, complete lines out; of a line past the limit only the id that it answers."""

    def __init__(self, limit_bytes: int) -> None:
        self.unanswerable = False
        """True: an oversized line ended whose id nobody knows."""
        self._limit = limit_bytes
        self._line = bytearray()
        self._skipping = False
        self._answered = False

    def feed(self, data: bytes) -> list[bytes | Oversized]:
        """The lines that `data` completes; an oversized one is told as soon as its id is known."""
        out: list[bytes | Oversized] = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._take(data[start:end], out)
            start = end + 1
            self._end(out)
        self._take(data[start:], out)
        return out

    def _take(self, piece: bytes, out: list[bytes | Oversized]) -> None:
        if self._skipping:
            self._line += piece[-PEEK_BYTES:]
            del self._line[:-PEEK_BYTES]
            return
        self._line += piece
        if len(self._line) > self._limit:
            self._skipping = True
            found = _HEAD_ID.match(self._line[:PEEK_BYTES])
            if found is not None:
                self._answered = True
                out.append(Oversized(_id(found[1]), self._limit))
            del self._line[:-PEEK_BYTES]

    def _end(self, out: list[bytes | Oversized]) -> None:
        if self._skipping:
            if not self._answered:
                found = _TAIL_ID.search(self._line)
                if found is not None:
                    out.append(Oversized(_id(found[1]), self._limit))
                else:
                    self.unanswerable = True
        elif self._line.strip():
            out.append(bytes(self._line))
        self._line = bytearray()
        self._skipping = self._answered = False


def _id(text: bytes) -> int | str:
    return text[1:-1].decode("utf-8", "replace") if text.startswith(b'"') else int(text)


async def decoded(item: bytes | Oversized) -> SessionMessage | None:
    """The message of a line; None for what is none: servers print banners and logs on standard output."""
    if isinstance(item, Oversized):
        return _failure(item.answers, f"answered with more than {item.limit_bytes} bytes")
    if not item.lstrip().startswith(b"{"):
        return None  # an error of the parser costs a hundred times as much, and a flood of such lines must cost little
    try:
        if len(item) > THREAD_BYTES:
            return SessionMessage(await trio.to_thread.run_sync(_parse, item))
        return SessionMessage(_parse(item))
    except ValueError as error:
        found = _HEAD_ID.match(item[:PEEK_BYTES]) or _TAIL_ID.search(item[-PEEK_BYTES:])
        return None if found is None else _failure(_id(found[1]), f"answered with malformed JSON{_reason(error)}")


def _parse(line: bytes) -> Any:
    try:
        return mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except pydantic.ValidationError as error:
        if "recursion limit" not in str(error):
            raise
    # The fast parser stops at a depth of 200; ours knows its own limit.
    try:
        return mcp_types.jsonrpc_message_adapter.validate_python(json.loads(line), by_name=False)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _reason(error: ValueError) -> str:
    """What is wrong with a line, as one clause."""
    if not isinstance(error, pydantic.ValidationError):
        return f": {str(error).strip().partition(chr(10))[0][:200]}"
    return "".join(f": {one['msg'][:200]}" for one in error.errors(include_url=False, include_input=False)[:1])


def _failure(answers: int | str, message: str) -> SessionMessage:
    error = mcp_types.ErrorData(code=mcp_types.PARSE_ERROR, message=message)
    return SessionMessage(mcp_types.JSONRPCError(jsonrpc="2.0", id=answers, error=error))
