"""Connecting to one configured server over its transport, and hanging up; it knows no states and no calls.

The SDK is loaded here, at the first connection.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import trio

from host_bridge.errors import HandlerError
from host_bridge.mcp.settings import McpSettingsError, ServerSettings, environment, http_headers

if TYPE_CHECKING:
    from host_bridge.mcp.client import McpClient


@asynccontextmanager
async def connected(
    name: str,
    settings: ServerSettings,
    host_environment: Mapping[str, str],
    *,
    tools_changed: Callable[[], None],
    closed: Callable[[], None],
    died: Callable[[str], None],
) -> AsyncIterator["McpClient"]:
    """A client of the server until the block ends; a server over stdio is started and ended with it.

    `closed` is told at once when a server's output ends, `died` how it ended, once that is known, or what it printed
    in place of messages.

    Raises: McpSettingsError: a variable is not set. OSError: it cannot be started. What the SDK raises of a handshake.
    """
    from host_bridge.mcp.client import open_client

    streams = _streams(name, settings, host_environment, closed=closed, died=died)
    try:
        async with open_client(streams, tools_changed=tools_changed) as client:
            yield client
    except McpSettingsError:
        raise
    except OSError as error:
        raise OSError(error.errno, f"{settings.command or settings.url}: {error.strerror}") from None


@asynccontextmanager
async def _streams(
    name: str,
    settings: ServerSettings,
    host_environment: Mapping[str, str],
    *,
    closed: Callable[[], None],
    died: Callable[[str], None],
) -> AsyncIterator[tuple[Any, Any]]:
    if settings.url is not None:
        from host_bridge.mcp.http import open_http

        headers = http_headers(name, settings, host_environment)
        async with open_http(settings.url, headers=headers, limit_bytes=settings.max_result_bytes) as streams:
            yield streams
        return
    from host_bridge.mcp.stdio import open_stdio

    if settings.cwd is not None and not await trio.Path(settings.cwd).is_dir():
        raise McpSettingsError(f"mcpServers.{name}.cwd: {settings.cwd!r} is no folder")
    async with open_stdio(
        [settings.command or "", *settings.args],
        environment=environment(name, settings, host_environment),
        cwd=settings.cwd,
        limit_bytes=settings.max_result_bytes,
        on_closed=closed,
    ) as (incoming, outgoing, server):
        try:
            yield incoming, outgoing
        finally:
            if server.closed:
                died(server.obituary())
            elif server.chatter:
                died(server.complaint())


def load_sdk() -> None:
    """The SDK takes most of a second to import; in a thread, so that the event loop goes on."""
    try:
        import host_bridge.mcp.client
        import host_bridge.mcp.http
        import host_bridge.mcp.stdio  # noqa: F401
    except ImportError as error:
        raise HandlerError(f"MCP servers need the extra `mcp`: pip install 'pi-fabric-py[mcp]' ({error})") from None
