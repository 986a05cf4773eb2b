"""Lists of tools as servers really send them, made readable for the SDK, which refuses a whole list for one bad tool.

A list that keeps to the protocol passes untouched. Otherwise a tool loses the fields that have the wrong shape, and one
whose input schema is none stays listed and is refused when it is called.
"""

from collections.abc import Mapping
from typing import Any, Final, Self

import mcp_types
from mcp_types.methods import validate_server_result

_LIST: Final = "tools/list"
_STRICTEST: Final = "2025-11-25"
"""The protocol version whose tools have the narrowest shape."""
UNUSABLE: Final[Mapping[str, Any]] = {
    "type": "object",
    "$ref": "urn:pi-fabric:the-server-gave-no-schema-that-can-be-read",
}
_HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


class MendedStream:
    """The messages of a server, in which lists of tools are mended once that was asked for."""

    def __init__(self, inner: Any) -> None:
        self.mending = False
        self._inner = inner

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *details: object) -> Any:
        return await self._inner.__aexit__(*details)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        return self._mended(await self._inner.__anext__())

    async def receive(self) -> Any:
        """The next message."""
        return self._mended(await self._inner.receive())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def _mended(self, item: Any) -> Any:
        if self.mending:
            answer = getattr(item, "message", None)
            if isinstance(answer, mcp_types.JSONRPCResponse) and isinstance(answer.result.get("tools"), list):
                answer.result["tools"] = mended_tools(answer.result["tools"])
        return item


def mended_tools(tools: list[Any]) -> list[dict[str, Any]]:
    """The tools that can be listed, each in a shape that the protocol allows; what has no name is left out."""
    found = (_mended_tool(tool) for tool in tools)
    return [tool for tool in found if tool is not None]


def _mended_tool(tool: Any) -> dict[str, Any] | None:
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        return None
    if _fits(tool):
        return tool
    plain: dict[str, Any] = {
        key: tool[key] for key in ("name", "title", "description") if isinstance(tool.get(key), str)
    }
    hints = tool.get("annotations")
    if isinstance(hints, dict):
        plain["annotations"] = {key: hints[key] for key in _HINTS if isinstance(hints.get(key), bool)}
    answer = tool.get("outputSchema")
    if isinstance(answer, dict) and _fits({**plain, "inputSchema": UNUSABLE, "outputSchema": answer}):
        plain["outputSchema"] = answer
    schema = tool.get("inputSchema")
    if schema is None:
        schema = {}
    if isinstance(schema, dict):
        # Arguments are always an object, so a schema that leaves this out means the same; so does a null keyword.
        wanted = {"type": "object", **{key: value for key, value in schema.items() if value is not None}}
        if _fits({**plain, "inputSchema": wanted}):
            return {**plain, "inputSchema": wanted}
    return {**plain, "inputSchema": dict(UNUSABLE)}


def _fits(tool: Mapping[str, Any]) -> bool:
    try:
        validate_server_result(_LIST, _STRICTEST, {"tools": [tool]})
    except ValueError:  # of the shape, or too deep to be written again
        return False
    return True
