"""A tool's result as a value: exact, unwrapped only where it was wrapped, binary parts as private files."""

import base64
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.server.mcpserver import MCPServer
from mcp_types import AudioContent, BlobResourceContents, CallToolResult, EmbeddedResource, ImageContent, TextContent

from host_bridge.errors import HandlerError
from host_bridge.mcp.values import tool_value
from host_bridge.results import ResultFolder


def value(*texts: str, structured: Any = None) -> Any:
    content = [TextContent(type="text", text=text) for text in texts]
    return tool_value(CallToolResult(content=content, structured_content=structured), ref="mcp.a.b", files=None)


def test_one_text_is_a_string_and_several_are_a_list() -> None:
    assert value("one") == "one"
    assert value("one", "two") == ["one", "two"]
    assert value() == []


@pytest.mark.parametrize(
    ("texts", "structured", "expected"),
    [
        (["5"], {"result": 5}, 5),
        (["text"], {"result": "text"}, "text"),
        (["a", "b"], {"result": ["a", "b"]}, ["a", "b"]),
        ([], {"result": []}, []),
        ([], {"result": None}, None),
        (['{"result": 5}'], {"result": 5}, {"result": 5}),
        (['{"result": ["a"]}'], {"result": ["a"]}, {"result": ["a"]}),
        (["done"], {"result": "other"}, {"result": "other"}),
        (["x"], {"result": 1, "more": 2}, {"result": 1, "more": 2}),
    ],
)
def test_structured_content_is_the_value_and_a_wrapper_is_taken_off(
    texts: list[str], structured: Any, expected: Any
) -> None:
    assert value(*texts, structured=structured) == expected


scalars = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.floats(allow_nan=False, allow_infinity=False)
)


@given(scalars | st.lists(scalars, max_size=4) | st.dictionaries(st.text(max_size=5), scalars, max_size=3))
async def test_what_a_python_server_returns_is_what_a_program_gets(returned: Any) -> None:
    """Through the real SDK server's own conversion, for every kind of JSON value."""
    server = MCPServer("own")

    def tool() -> Any:
        return returned

    tool.__annotations__["return"] = dict[str, Any] if isinstance(returned, dict) else type(returned)
    if returned is None:
        tool.__annotations__["return"] = None
    elif isinstance(returned, list):
        tool.__annotations__["return"] = list[Any]
    server.add_tool(tool)
    result: Any = await server.call_tool("tool", {})
    assert tool_value(result, ref="mcp.own.tool", files=None) == returned


def test_a_failed_tool_raises_its_own_words() -> None:
    failed = CallToolResult(content=[TextContent(type="text", text="no such repository")], is_error=True)
    with pytest.raises(HandlerError, match=r"mcp\.a\.b failed: no such repository"):
        tool_value(failed, ref="mcp.a.b", files=None)
    endless = CallToolResult(content=[TextContent(type="text", text="x" * 1_000_000)], is_error=True)
    with pytest.raises(HandlerError) as caught:
        tool_value(endless, ref="mcp.a.b", files=None)
    assert len(str(caught.value)) < 2100


def test_binary_parts_become_private_files_with_their_type(tmp_path: Path) -> None:
    data = b"\x89PNG\r\n\x1a\n rest"
    encoded = base64.b64encode(data).decode()
    content = [
        TextContent(type="text", text="see"),
        ImageContent(type="image", data=encoded, mime_type="image/png"),
        AudioContent(type="audio", data=encoded, mime_type="audio/wav"),
        EmbeddedResource(type="resource", resource=BlobResourceContents(uri="file:///x", blob=encoded)),
    ]
    found = tool_value(CallToolResult(content=content), ref="mcp.a.b", files=ResultFolder(tmp_path, "run"))
    kinds = [block["type"] for block in found["content"]]
    assert kinds == ["text", "image", "audio", "resource"]
    path = Path(found["content"][1]["path"])
    assert path.read_bytes() == data
    assert path.suffix == ".png"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert found["content"][1]["bytes"] == len(data)
    assert found["content"][3]["uri"] == "file:///x"


def test_content_that_is_no_base64_is_a_failure(tmp_path: Path) -> None:
    content = [ImageContent(type="image", data="***", mime_type="image/png")]
    with pytest.raises(HandlerError, match="no base64"):
        tool_value(CallToolResult(content=content), ref="mcp.a.b", files=ResultFolder(tmp_path, "run"))


def test_structured_content_beside_a_picture_keeps_both(tmp_path: Path) -> None:
    content = [ImageContent(type="image", data=base64.b64encode(b"x").decode(), mime_type="image/png")]
    result = CallToolResult(content=content, structured_content={"a": 1})
    found = tool_value(result, ref="mcp.a.b", files=ResultFolder(tmp_path, "run"))
    assert found["value"] == {"a": 1}
    assert found["content"][0]["type"] == "image"
