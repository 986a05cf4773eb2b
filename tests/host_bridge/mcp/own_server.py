"""Our own MCP server for tests, made with the official SDK: `own_server.py` speaks stdio, `own_server.py http PORT` HTTP."""

import os
import sys
from pathlib import Path
from typing import Any

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.utilities.types import Image
from mcp_types import CallToolResult, EmbeddedResource, ResourceLink, TextContent, TextResourceContents, ToolAnnotations

server = MCPServer("own")
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c63606060f80f0001040100605f8a2e0000000049454e44ae426082"
)


@server.tool()
def echo(text: str, times: int = 1) -> str:
    """Say it again. The second sentence is no part of a summary."""
    return text * times


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


@server.tool()
def record(kind: str) -> dict[str, Any]:
    """A structured record of one kind."""
    return {"kind": kind, "big": 2**80, "rows": [{"score": 0.1}], "none": None}


@server.tool()
def wrapped() -> dict[str, Any]:
    """An honest object whose only field is called result."""
    return {"result": "kept"}


@server.tool()
def names() -> list[str]:
    """A list of two names."""
    return ["ada", "grace"]


@server.tool()
def dump(count: int) -> str:
    """Text of so many bytes."""
    return "x" * count


@server.tool()
def fail(reason: str) -> str:
    """Fail with a reason."""
    raise ValueError(reason)


@server.tool()
def environment() -> list[str]:
    """The names of all environment variables of this process."""
    return sorted(os.environ)


@server.tool()
def die() -> str:
    """Die in the middle of a call."""
    print("own server: dying on request", file=sys.stderr, flush=True)
    os._exit(7)


@server.tool()
async def wait(file: str) -> str:
    """Wait until cancelled, and write down that it was."""
    path = Path(file)
    path.write_text("started")
    try:
        await anyio.sleep_forever()
    except BaseException:
        path.write_text("cancelled")
        raise
    return "never"


@server.tool()
def picture() -> Image:
    """One pixel."""
    return Image(data=PIXEL, format="png")


@server.tool(name="get-issue")
def get_issue(number: int) -> CallToolResult:
    """A link and an embedded resource."""
    return CallToolResult(
        content=[
            TextContent(type="text", text=f"issue {number}"),
            ResourceLink(type="resource_link", uri=f"issue://{number}", name="issue"),
            EmbeddedResource(type="resource", resource=TextResourceContents(uri="note://1", text="a note")),
        ]
    )


@server.tool(name="get_issue")
def get_issue_exact() -> str:
    """The tool whose name needs no change."""
    return "exact"


@server.resource("note://hello")
def hello() -> str:
    """A greeting."""
    return "hello"


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run("stdio")
