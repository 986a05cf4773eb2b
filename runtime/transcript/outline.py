"""A session's tree as lines of text for people. Pure: it knows entries and where branches part, and prints nothing."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from runtime.thinking.entry import MalformedEntryError, decode
from runtime.transcript.branch import Branch
from runtime.transcript.entries import CAPABILITY_ENTRY, RUN_ENTRY, THINKING_ENTRY, Entry, spelled
from runtime.transcript.store import TranscriptStore

_PREVIEW_CHARACTERS: Final = 72
_DEEPEST_INDENT: Final = 40
"""Branches within branches are indented up to here, and numbered from here on: the output stays linear."""


class _Block(msgspec.Struct, gc=False):
    """What is shown of a content block."""

    type: str = ""
    text: str | None = None
    name: str | None = None


class _Message(msgspec.Struct, gc=False, rename="camel"):
    """What is shown of a message: a million of them are read where a person asks for the tree."""

    role: str = "message"
    content: str | list[_Block] = ""
    tool_name: str | None = None
    is_error: bool = False


class _Line(msgspec.Struct, gc=False):
    message: _Message


_decode_shown: Final = msgspec.json.Decoder(_Line).decode


def outline(store: TranscriptStore) -> Iterator[str]:
    """One line for each entry: a chain stays at one depth, and only where branches part it is indented.

    `*` marks the active branch, `<- leaf` its end; run records list their calls below.
    """
    tree = store.tree
    active = tree.marks(tree.leaf)
    labels = store.labels
    for nodes, depth in tree.chains():
        indent = "  " * depth if depth <= _DEEPEST_INDENT else "  " * _DEEPEST_INDENT + f"({depth}) "
        for node, entry in zip(nodes, Branch(store, nodes), strict=True):
            mark = "*" if active[node] else " "
            tail = f"  [{labels[entry.id]}]" if entry.id in labels else ""
            tail += "  <- leaf" if node == tree.leaf else ""
            yield plain(f"{mark} {indent}{entry.id}  {describe(entry)}{tail}")
            for detail in details(entry):
                yield plain(f"  {indent}  {detail}")


def describe(entry: Entry) -> str:
    """What an entry is, in a few words."""
    if entry.type == "message":
        return _describe_message(_glance(entry))
    if entry.type == "thinking_level_change":
        return f"thinking level {entry.thinking_level}"
    if entry.type == "model_change":
        return f"model {spelled(entry.get('provider'))}/{spelled(entry.get('modelId'))}"
    if entry.type == "label":
        return f"label {_quoted(entry.get('label'))} on {spelled(entry.get('targetId'))}"
    if entry.type == "session_info":
        return f"session name {_quoted(entry.get('name'))}"
    if entry.type in {"compaction", "branch_summary"}:
        return f"{entry.type.replace('_', ' ')}: {_preview(spelled(entry.get('summary', '')))}"
    custom_type = entry.custom_type
    if custom_type == THINKING_ENTRY:
        return describe_override(entry.data)
    if custom_type == CAPABILITY_ENTRY:
        return f"hint ({', '.join(hinted_namespaces(entry)) or 'no namespace'}): {_preview(_text(entry.content))}"
    if custom_type == RUN_ENTRY:
        return _describe_run(entry.data)
    return " ".join(filter(None, (entry.type or "entry without a type", custom_type)))


def details(entry: Entry) -> list[str]:
    """Lines below an entry: the calls of a run, with what an auditing schema gate would have blocked."""
    data = entry.data if entry.custom_type == RUN_ENTRY else None
    if not isinstance(data, dict) or not isinstance(data.get("calls"), list):
        return []
    lines: list[str] = []
    for call in data["calls"]:
        if isinstance(call, dict):
            error = call.get("error")
            kind = error.get("kind") if isinstance(error, dict) else error
            outcome = "ok" if call.get("ok", kind is None) else spelled(kind or "failed")
            blocked = call.get("would_block", call.get("wouldBlock"))
            audit = (
                ""
                if not blocked
                else "  (schema audit: would block" + (f": {blocked})" if isinstance(blocked, str) else ")")
            )
            if call.get("decision") == "blocked":
                audit = "  (schema enforce: blocked)"
            lines.append(f"call {spelled(call.get('ref', '?'))}: {outcome}{audit}")
    if (omitted := data.get("omittedCalls")) and isinstance(omitted, int):
        lines.append(f"{spelled(omitted)} more calls")
    counts = data.get("wouldBlock")
    if isinstance(counts, dict) and counts:
        lines.append(
            "schema audit would block: " + ", ".join(f"{ref} {spelled(count)}×" for ref, count in counts.items())
        )
    return lines


def describe_override(data: object) -> str:
    """A thinking override, or its end, as its entry says it."""
    try:
        override = decode(data)
    except MalformedEntryError as error:
        return f"override entry, malformed; ends the override: {error}"
    if override is None:
        return "override ends"
    words = [f"override {override.level}", f"scope {override.scope}"]
    if override.remaining_turns is not None:
        words.append(f"{override.remaining_turns} turn{'s' * (override.remaining_turns != 1)} left")
    if override.requested is not None:
        words.append(f"requested {override.requested}")
    words.append(f"baseline {override.baseline}")
    if override.reason is not None:
        words.append(f"reason {override.reason!r}")
    return ", ".join(words)


def hinted_namespaces(entry: Entry) -> list[str]:
    """Namespaces a hint names in its details, in either shape that is found on disk."""
    found = entry.details if isinstance(entry.details, dict) else {}
    matches = found.get("matches")
    if isinstance(matches, list):
        return [spelled(match["namespace"]) for match in matches if isinstance(match, dict) and "namespace" in match]
    namespaces = found.get("namespaces")
    return [spelled(name) for name in namespaces] if isinstance(namespaces, list) else []


def message_text(message: Mapping[str, Any]) -> str:
    """The text of a message, its blocks joined."""
    return _text(message.get("content"))


def _glance(entry: Entry) -> "_Message":
    """What is shown of a message; the rest of its line is stepped over."""
    try:
        return _decode_shown(entry.raw).message
    except (msgspec.MsgspecError, RecursionError, ValueError):
        pass
    # Not of the usual shape: looked at value by value.
    message = entry.message or {}
    content = message.get("content")
    blocks = [
        _Block(
            type=spelled(block.get("type")),
            text=block["text"] if isinstance(block.get("text"), str) else None,
            name=spelled(block.get("name")),
        )
        for block in (content if isinstance(content, list) else [])
        if isinstance(block, dict)
    ]
    return _Message(
        role=spelled(message.get("role", "message")),
        content=content if isinstance(content, str) else blocks,
        tool_name=spelled(message.get("toolName")),
        is_error=bool(message.get("isError")),
    )


def _describe_message(message: "_Message") -> str:
    content = message.content
    if isinstance(content, str):
        text, calls = content, []
    else:
        text = " ".join([block.text for block in content if block.text is not None and block.type == "text"])
        calls = [str(block.name) for block in content if block.type == "toolCall"]
    if message.role == "toolResult":
        return f"result of {message.tool_name}{' (error)' if message.is_error else ''}: {_preview(text)}"
    called = f" -> calls {', '.join(calls)}" if calls else ""
    return f"{message.role}: {_preview(text)}{called}"


def _describe_run(data: object) -> str:
    if not isinstance(data, dict):
        return "run record"
    kind = data.get("kind")
    outcome = "done" if kind == "done" else f"failed ({kind})" if isinstance(kind, str) else "outcome unknown"
    calls = data.get("calls")
    total = data.get("callCount")
    number = total if isinstance(total, int) else len(calls) if isinstance(calls, list) else None
    count = f", {spelled(number)} calls" if number is not None else ""
    mode = data.get("schemaMode")
    count += f", schema {mode}" if mode in ("audit", "enforce") else ""
    name = data.get("runId") or data.get("run_id") or data.get("id")
    return f"run{f' {spelled(name)}' if name else ''}: {outcome}{count}"


def _quoted(value: object) -> str:
    return repr(value) if isinstance(value, str) else spelled(value)


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text")
    return " ".join(text for text in texts if isinstance(text, str))


def plain(text: str) -> str:
    """Text without control characters: what a session holds must not steer the terminal it is shown on."""
    return text if text.isprintable() else "".join(char if char.isprintable() else " " for char in text)


def _preview(text: str) -> str:
    line = " ".join(text[: 4 * _PREVIEW_CHARACTERS].split())
    return line if len(line) <= _PREVIEW_CHARACTERS else line[: _PREVIEW_CHARACTERS - 1] + "…"
