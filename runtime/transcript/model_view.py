"""The messages of a branch as a model may be shown them. Pure: it reads entries and changes no file.

A crash between two parallel tool results leaves a call without its result, and providers refuse such a history.
Here every orphan call gets a synthetic error result, right behind the results its message has.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from runtime.transcript.entries import Entry

MISSING_RESULT_TEXT: Final = "No result was recorded for this call: the session ended before it finished."


def model_messages(branch: Iterable[Entry]) -> list[Mapping[str, Any]]:
    """The messages of a branch, root first, every tool call answered."""
    return with_missing_results([message for entry in branch if (message := entry.message) is not None])


def with_missing_results(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The same messages; a tool call that no later result answers gets an error result."""
    answered = {message.get("toolCallId") for message in messages if message.get("role") == "toolResult"}
    repaired: list[Mapping[str, Any]] = []
    waiting: list[Mapping[str, Any]] = []
    for message in messages:
        if message.get("role") != "toolResult":
            repaired += waiting
            waiting = []
        repaired.append(message)
        if message.get("role") == "assistant":
            waiting = [_error_result(call, message) for call in tool_calls(message) if call.get("id") not in answered]
    return repaired + waiting


def missing_results(branch: Iterable[Entry]) -> list[str]:
    """Ids of the tool calls on a branch that have no result."""
    messages = [message for entry in branch if (message := entry.message) is not None]
    answered = {message.get("toolCallId") for message in messages if message.get("role") == "toolResult"}
    return [
        str(call.get("id"))
        for message in messages
        if message.get("role") == "assistant"
        for call in tool_calls(message)
        if call.get("id") not in answered
    ]


def tool_calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The tool calls in a message."""
    content = message.get("content")
    if not isinstance(content, list):
        return []
    return [block for block in content if isinstance(block, dict) and block.get("type") == "toolCall"]


def _error_result(call: Mapping[str, Any], message: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "role": "toolResult",
        "toolCallId": call.get("id"),
        "toolName": call.get("name"),
        "content": [{"type": "text", "text": MISSING_RESULT_TEXT}],
        "isError": True,
        "timestamp": message.get("timestamp"),
    }
