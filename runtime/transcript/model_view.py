"""The messages of a branch as a model may be shown them. Pure: it reads entries and changes no file.

A crash between two parallel tool results leaves a call without its result, and providers refuse such a history.
Here every orphan call gets a synthetic error result, right behind the results its message has.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from runtime.transcript.entries import Entry, spelled


class _Block(msgspec.Struct, gc=False):
    """What of a content block says whether it is a call, and which."""

    type: str = ""
    id: str = "None"


class _Message(msgspec.Struct, gc=False, rename="camel"):
    role: str = ""
    tool_call_id: str = "None"
    content: str | list[_Block] = ""


class _Line(msgspec.Struct, gc=False):
    message: _Message


_decode_message: Final = msgspec.json.Decoder(_Line).decode
MISSING_RESULT_TEXT: Final = "No result was recorded for this call: the session ended before it finished."


def model_messages(branch: Iterable[Entry]) -> list[Mapping[str, Any]]:
    """The messages of a branch, root first, every tool call answered."""
    return with_missing_results([message for entry in branch if (message := entry.message) is not None])


def with_missing_results(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The same messages; a tool call that no later result answers gets an error result."""
    answered = {_key(message.get("toolCallId")) for message in messages if message.get("role") == "toolResult"}
    repaired: list[Mapping[str, Any]] = []
    waiting: list[Mapping[str, Any]] = []
    for message in messages:
        if message.get("role") != "toolResult":
            repaired += waiting
            waiting = []
        repaired.append(message)
        if message.get("role") == "assistant":
            calls = tool_calls(message)
            waiting = [_error_result(call, message) for call in calls if _key(call.get("id")) not in answered]
    return repaired + waiting


def missing_results(lines: Iterable[bytes]) -> list[str]:
    """Ids of the tool calls in the message lines of a branch that have no result; no line is kept or built whole."""
    answered: set[str] = set()
    called: list[str] = []
    for line in lines:
        # JSON spells a word of letters as it is, or with \u escapes: nothing is missed.
        if b"toolCall" not in line and b"toolResult" not in line and b"\\u" not in line:
            continue
        message = _call_message(line)
        if message.role == "toolResult":
            answered.add(message.tool_call_id)
        elif message.role == "assistant" and not isinstance(message.content, str):
            called += [block.id for block in message.content if block.type == "toolCall"]
    return [call_id for call_id in called if call_id not in answered]


def _call_message(line: bytes) -> "_Message":
    try:
        return _decode_message(line).message
    except (msgspec.MsgspecError, RecursionError, ValueError):
        pass
    # Not of the usual shape: looked at value by value.
    message = Entry.parse(line).message or {}
    blocks = [_Block(type="toolCall", id=_key(call.get("id"))) for call in tool_calls(message)]
    return _Message(role=spelled(message.get("role")), tool_call_id=_key(message.get("toolCallId")), content=blocks)


def tool_calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The tool calls in a message."""
    content = message.get("content")
    if not isinstance(content, list):
        return []
    return [block for block in content if isinstance(block, dict) and block.get("type") == "toolCall"]


def _key(call_id: object) -> str:
    """Calls and results meet by id; one that is no text, which others may write, is taken by its spelling."""
    return spelled(call_id)


def _error_result(call: Mapping[str, Any], message: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "role": "toolResult",
        "toolCallId": call.get("id"),
        "toolName": call.get("name"),
        "content": [{"type": "text", "text": MISSING_RESULT_TEXT}],
        "isError": True,
        "timestamp": message.get("timestamp"),
    }
