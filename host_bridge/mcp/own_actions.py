"""`mcp.servers`, `mcp.resources` and `mcp.resource`: what the source `mcp` offers beside its servers' tools."""

from collections.abc import Callable, Mapping
from typing import Any

from host_bridge.descriptor import Action, CallContext, Descriptor
from host_bridge.mcp.connection import ServerConnection
from host_bridge.mcp.values import resource_value
from host_bridge.results import ResultFolder


def own_actions(
    connections: Mapping[str, ServerConnection],
    states: Callable[[], list[dict[str, Any]]],
    folder: Callable[[CallContext], ResultFolder | None],
) -> list[Action]:
    """The actions; none where no server is configured."""
    if not connections:
        return []
    server = {"type": "string", "enum": list(connections), "description": "A name out of `mcpServers`."}
    uri = {"type": "string", "description": "As `mcp.resources` lists it."}

    def servers(arguments: dict[str, Any], context: CallContext) -> Any:  # noqa: ARG001
        return states()

    async def resources(arguments: dict[str, Any], context: CallContext) -> Any:
        connection = connections[arguments["server"]]
        return await connection.request(lambda client: client.resources(), ref=context.ref)

    async def resource(arguments: dict[str, Any], context: CallContext) -> Any:
        connection = connections[arguments["server"]]
        parts = await connection.request(lambda client: client.resource(arguments["uri"]), ref=context.ref)
        return resource_value(parts, ref=context.ref, files=folder(context))

    return [
        Action(
            descriptor=Descriptor(
                ref="mcp.servers",
                risk="read",
                description="Every configured MCP server with its state and how many tools are known of it.",
                input_schema=_object({}),
                tool_name="servers",
            ),
            handler=servers,
            waits=False,
        ),
        Action(
            descriptor=Descriptor(
                ref="mcp.resources",
                risk="network",
                description="The resources that one MCP server offers.",
                input_schema=_object({"server": server}),
                tool_name="resources",
            ),
            handler=resources,
            waits=True,
        ),
        Action(
            descriptor=Descriptor(
                ref="mcp.resource",
                risk="network",
                description="One resource of an MCP server: text as text, binary parts as private files.",
                input_schema=_object({"server": server, "uri": uri}),
                tool_name="resource",
            ),
            handler=resource,
            waits=True,
        ),
    ]


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
