"""One MCP session over streams that somebody else opened: requests out, plain values and typed failures in.

This is the only file that speaks the SDK's client; it is imported when the first server starts.
"""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import metadata
from typing import Any, Final

import mcp_types
import pydantic
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter

from host_bridge.mcp.http import FORGOTTEN
from host_bridge.mcp.listing import MendedStream
from host_bridge.mcp.manifest import MANIFEST_BYTES, Manifest, Tool, manifest, tools_of

LIST_PAGES: Final = 200
"""A server that never ends its list must not hold us."""
_call_result: Final[TypeAdapter[Any]] = TypeAdapter(mcp_types.CallToolResult | mcp_types.InputRequiredResult)

# The SDK logs what it also raises; without a handler of the embedder's it must not print to standard error.
logging.getLogger("mcp").addHandler(logging.NullHandler())


class RequestFailedError(Exception):
    """The server answered with an error, or with what is no answer. `closed`: the connection ended instead;
    `forgotten`: the server no longer knows this session and did nothing with the request.
    """

    def __init__(self, message: str, *, closed: bool = False, forgotten: bool = False) -> None:
        super().__init__(message)
        self.closed = closed
        self.forgotten = forgotten


@asynccontextmanager
async def open_client(
    streams: AbstractAsyncContextManager[Any], *, tools_changed: Callable[[], None]
) -> AsyncIterator["McpClient"]:
    """Connect over `streams` and agree on a protocol version; `tools_changed` is told when the server says so."""

    async def on_message(message: Any) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            tools_changed()

    incoming: list[MendedStream] = []

    @asynccontextmanager
    async def readable() -> AsyncIterator[tuple[MendedStream, Any]]:
        async with streams as (read, write):
            incoming.append(MendedStream(read))
            yield incoming[0], write

    client = Client(
        readable(),
        cache=None,
        message_handler=on_message,
        client_info=mcp_types.Implementation(name="pi-fabric", version=_version()),
    )
    async with client:
        yield McpClient(client, incoming[0])


class McpClient:
    """Requests to one connected server. Cancelling a request tells the server to stop working on it."""

    def __init__(self, client: Client, incoming: MendedStream) -> None:
        self._client = client
        self._incoming = incoming

    async def manifest(self) -> Manifest:
        """Every page of the server's tools.

        Raises: RequestFailedError.
        """
        tools: list[Tool] = []
        cursor: str | None = None
        weight = 0
        for _ in range(LIST_PAGES):
            page = await self._page(cursor)
            listed = page.model_dump(by_alias=True, mode="json", exclude_none=True)
            weight += len(page.model_dump_json())
            if weight > MANIFEST_BYTES:
                raise RequestFailedError(f"it lists more than {MANIFEST_BYTES} bytes of tools")
            tools += tools_of(listed)
            cursor = page.next_cursor
            if cursor is None:
                info = self._client.server_info
                return manifest(f"{info.name} {info.version}".strip() if info is not None else "", tools)
        raise RequestFailedError(f"its list of tools did not end after {LIST_PAGES} pages")

    async def _page(self, cursor: str | None) -> Any:
        try:
            return await _answer(self._client.list_tools(cursor=cursor))
        except RequestFailedError as error:
            if self._incoming.mending or not isinstance(error.__cause__, ValueError):
                raise
            # One tool that breaks the protocol must not hide the others.
            self._incoming.mending = True
            return await _answer(self._client.list_tools(cursor=cursor))

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        """The `CallToolResult`; a result that says `isError` is returned as well.

        Raises: RequestFailedError.
        """
        try:
            result = await self._call(name, arguments)
        except RequestFailedError as error:
            if getattr(error.__cause__, "code", None) != mcp_types.HEADER_MISMATCH:
                raise
            # The protocol's own recovery: the listed schema is stale, so list again and send once more.
            await self.manifest()
            result = await self._call(name, arguments)
        if isinstance(result, mcp_types.InputRequiredResult):
            raise RequestFailedError("it asks for further input, which a program cannot give")
        return result

    async def resources(self) -> list[dict[str, Any]]:
        """The server's resources, as it describes them.

        Raises: RequestFailedError.
        """
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(LIST_PAGES):
            page = await _answer(self._client.list_resources(cursor=cursor))
            found += [item.model_dump(by_alias=True, mode="json", exclude_none=True) for item in page.resources]
            cursor = page.next_cursor
            if cursor is None:
                return found
        raise RequestFailedError(f"its list of resources did not end after {LIST_PAGES} pages")

    async def resource(self, uri: str) -> list[Any]:
        """The parts of one resource.

        Raises: RequestFailedError.
        """
        result = await _answer(self._client.read_resource(uri))
        return list(result.contents)

    async def watch_tools(self, changed: Callable[[], None]) -> None:
        """Call `changed` whenever a server of the newer protocol says so; returns when it offers no such events."""
        tools = self._client.server_capabilities.tools
        if tools is None or not tools.list_changed:
            return
        try:
            async with self._client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    changed()
        except Exception:
            # Older servers notify instead, and a lost subscription only means that a change is seen later.
            return

    async def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        # Not `Client.call_tool`: that validates large results on the event loop, item by item in Python.
        request = mcp_types.CallToolRequest(params=mcp_types.CallToolRequestParams(name=name, arguments=arguments))
        return await _answer(self._client.session.send_request(request, _call_result))


async def _answer(request: Any) -> Any:
    """The SDK's many ways to fail as one."""
    try:
        return await request
    except MCPError as error:
        closed = error.code == mcp_types.CONNECTION_CLOSED
        raise RequestFailedError(error.message, closed=closed, forgotten=error.code == FORGOTTEN) from error
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise RequestFailedError(f"its answer breaks the protocol: {where}: {first['msg']}") from error
    except (RuntimeError, ValueError) as error:
        raise RequestFailedError(str(error)) from error


def _version() -> str:
    try:
        return metadata.version("pi-fabric-py")
    except metadata.PackageNotFoundError:
        return "0"
