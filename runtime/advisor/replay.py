"""From a branch to the durable state: ash, echoes and spent hints. It reads entries as plain JSON and knows no store.

The whole branch counts, through compactions. Malformed entries are skipped: a branch never fails to replay.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from runtime.advisor.advisor import AdvisorState
from runtime.advisor.ash import Ash, burned
from runtime.advisor.echoes import with_echoes
from runtime.advisor.sentences import WHITESPACE

HINT_TYPE: Final = "pi-fabric-capability"
"""Custom type of the messages that carry hints."""
RUN_TYPE: Final = "pi-fabric-run"
"""Custom type of the entries that carry the trace of a run."""
UNKNOWN_ACTION: Final = frozenset({"rejected", "limited", "denied", "blocked"})
"""Decisions on a call that may have named no action at all, or one that nobody has looked up; then its trace has no
risk.
"""

_MCP_USE: Final = re.compile(rf"(?<![A-Za-z0-9_])mcp\.([A-Za-z_$][A-Za-z0-9_$]*)[{WHITESPACE}]*\.")

ToolResolver = Callable[[str], Sequence[str] | None]
"""The namespaces of a recorded tool by its name; None: a tool that is not known."""
RefResolver = Callable[[str], str | None]
"""The namespace of an action by its ref; None: it belongs to no source."""


def replay(
    entries: Iterable[Any],
    *,
    namespaces_of_tool: ToolResolver,
    exec_tool: str | None = None,
    namespace_of_ref: RefResolver = lambda _ref: None,
) -> AdvisorState:
    """The state of a machine that lived through this branch (root first), without what is transient.

    `exec_tool` names Pi's tool whose recorded code is searched for `mcp.<server>.`; programs of our own sessions
    leave the refs they called in the trace of their run, and only those burn.

    Seed: combustion:store:durable, combustion:store:replay-swaps, combustion:cap:replay-counts
    """
    ash: Ash = {}
    echoes: frozenset[str] = frozenset()
    spent = 0
    for entry in entries:
        if not isinstance(entry, Mapping):
            continue
        at = _text(entry.get("timestamp")) or ""
        match entry.get("type"):
            case "custom_message" if entry.get("customType") == HINT_TYPE:
                spent += 1
                echoes = with_echoes(echoes, message_text(entry.get("content")))
                ash = burned(ash, hinted_namespaces(entry.get("details")), "fired", at)
            case "message":
                ash = burned(ash, called_namespaces(entry.get("message"), namespaces_of_tool, exec_tool), "organic", at)
            case "custom" if entry.get("customType") == RUN_TYPE:
                ash = burned(ash, traced_namespaces(entry.get("data"), namespace_of_ref), "organic", at)
            case _:
                pass
    return AdvisorState(ash=ash, echoes=echoes, spent_hints=spent)


def message_text(content: Any) -> str:
    """The text of a message: a string, or the text blocks of a list joined by line feeds.

    Seed: combustion:store:content-words
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(
        block["text"]
        for block in content
        if isinstance(block, Mapping) and block.get("type") == "text" and isinstance(block.get("text"), str)
    )


def hinted_namespaces(details: Any) -> list[str]:
    """The namespaces that the details of a hint name; anything else in them is skipped."""
    matches = details.get("matches") if isinstance(details, Mapping) else None
    if not isinstance(matches, list):
        return []
    return [
        namespace for match in matches if isinstance(match, Mapping) and (namespace := _text(match.get("namespace")))
    ]


def traced_namespaces(data: Any, namespace_of_ref: RefResolver) -> list[str]:
    """The namespaces of the refs that one of our own runs called, whatever became of the calls.

    A program that calls a tool has found it, even if the call failed or was denied. A ref that is no action belongs to
    no source, and burns nothing: live neither.
    """
    calls = data.get("calls") if isinstance(data, Mapping) else None
    if not isinstance(calls, list):
        return []
    found = []
    for call in calls:
        if not isinstance(call, Mapping) or _is_no_action(call):
            continue
        namespace = _text(call.get("namespace"))
        if namespace is None and (ref := _text(call.get("ref"))) is not None:
            namespace = namespace_of_ref(ref)
        if namespace:
            found.append(namespace)
    return found


def _is_no_action(call: Mapping[str, Any]) -> bool:
    """Whether a traced call named something that does not exist: the trace knows the risk of every action."""
    return call.get("decision") in UNKNOWN_ACTION and "risk" not in call


def called_namespaces(message: Any, namespaces_of_tool: ToolResolver, exec_tool: str | None) -> list[str]:
    """The namespaces of the tool calls in one recorded assistant message."""
    if not isinstance(message, Mapping) or message.get("role") != "assistant":
        return []
    content = message.get("content")
    if not isinstance(content, list):
        return []
    found: list[str] = []
    for block in content:
        if not isinstance(block, Mapping) or block.get("type") != "toolCall":
            continue
        name = block.get("name")
        if not isinstance(name, str):
            continue
        listed = namespaces_of_tool(name)
        if listed is not None:
            found.extend(namespace for namespace in listed if namespace)
        elif name == exec_tool:
            found.extend(code_namespaces(_input(block).get("code")))
    return found


def _input(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of a recorded call, under whichever of its three names they stand."""
    for key in ("input", "arguments", "args"):
        value = block.get(key)
        if value is not None:
            return value if isinstance(value, Mapping) else {}
    return {}


def code_namespaces(code: Any) -> list[str]:
    """The MCP servers that recorded code names, first seen first: `mcp.git.status()` is `mcp:git`."""
    return [] if not isinstance(code, str) else [f"mcp:{name}" for name in dict.fromkeys(_MCP_USE.findall(code))]


def _text(value: Any) -> str | None:
    """`value` if it is a string."""
    return value if isinstance(value, str) else None
