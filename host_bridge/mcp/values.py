"""A tool's result as a value: exact JSON for the program, binary content as private files; it knows no connection.

Structured content is the value. Without it one text is a string, several texts are a list of strings. Whatever else
comes (images, audio, resources) makes the value `{"content": [blocks]}`, with files in place of base64.
"""

import base64
import binascii
import json
import mimetypes
from collections.abc import Mapping, Sequence
from typing import Any, Final

from host_bridge.errors import HandlerError
from host_bridge.results import ResultFolder, ResultTooLargeError

ERROR_CHARACTERS: Final = 2000
"""How much of a server's error text a program sees."""


def tool_value(result: Any, *, ref: str, files: ResultFolder | None) -> Any:
    """What the program gets for a `CallToolResult`.

    Raises: HandlerError: the tool failed (its own words), or a file could not be kept.
    """
    blocks = list(result.content or [])
    if result.is_error:
        raise HandlerError(f"{ref} failed: {_error_text(blocks, result.structured_content)}")
    structured = result.structured_content
    others = [block for block in blocks if block.type != "text"]
    texts = [block.text for block in blocks if block.type == "text"]
    if structured is not None:
        value = _unwrapped(structured, texts)
        return value if not others else {"value": value, "content": _blocks(others, ref, files)}
    if others:
        return {"content": _blocks(blocks, ref, files)}
    if len(texts) == 1:
        return texts[0]
    return texts


def resource_value(contents: Sequence[Any], *, ref: str, files: ResultFolder | None) -> list[dict[str, Any]]:
    """What the program gets for a resource: one entry a part, text as text, binary as a private file.

    Raises: HandlerError: a file could not be kept.
    """
    return [_resource(content, ref, files) for content in contents]


def _unwrapped(structured: Any, texts: list[str]) -> Any:
    """Servers must wrap what is no object into `{"result": …}`; the text beside it tells a wrapper from a real field.

    A wrapper's text is the bare value (a list's texts are its items), an honest object's text is the object.
    """
    if not isinstance(structured, dict) or list(structured) != ["result"]:
        return structured
    inner = structured["result"]
    if isinstance(inner, list):
        return structured if len(texts) == 1 and _parsed(texts[0]) == structured else inner
    if not texts:
        return inner if inner is None else structured
    return inner if len(texts) == 1 and (texts[0] == inner or _parsed(texts[0]) == inner) else structured


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _error_text(blocks: Sequence[Any], structured: Any) -> str:
    text = "\n".join(block.text for block in blocks if block.type == "text").strip()
    if not text and structured is not None:
        text = json.dumps(structured, ensure_ascii=False)
    if len(text) > ERROR_CHARACTERS:
        return f"{text[:ERROR_CHARACTERS]} […]"
    return text or "the server gave no reason"


def _blocks(blocks: Sequence[Any], ref: str, files: ResultFolder | None) -> list[dict[str, Any]]:
    return [_block(block, ref, files) for block in blocks]


def _block(block: Any, ref: str, files: ResultFolder | None) -> dict[str, Any]:
    match block.type:
        case "text":
            return {"type": "text", "text": block.text}
        case "image" | "audio":
            return {"type": block.type, **_file(block.data, block.mime_type, ref, files)}
        case "resource":
            return {"type": "resource", **_resource(block.resource, ref, files)}
        case "resource_link":
            link = {"type": "resource_link", "uri": str(block.uri), "name": block.name}
            extra = {"mimeType": block.mime_type, "description": block.description, "bytes": block.size}
            return link | {key: value for key, value in extra.items() if value is not None}
        case _:
            dumped: Mapping[str, Any] = block.model_dump(by_alias=True, mode="json", exclude_none=True)
            return dict(dumped)


def _resource(resource: Any, ref: str, files: ResultFolder | None) -> dict[str, Any]:
    uri = str(resource.uri)
    if getattr(resource, "text", None) is not None:
        found = {"uri": uri, "text": resource.text}
        return found | ({"mimeType": resource.mime_type} if resource.mime_type else {})
    return {"uri": uri, **_file(resource.blob, resource.mime_type or "application/octet-stream", ref, files)}


def _file(encoded: str, mime_type: str, ref: str, files: ResultFolder | None) -> dict[str, Any]:
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise HandlerError(f"{ref} answered with content that is no base64") from None
    if files is None:
        raise HandlerError(f"{ref} answered with a file of {len(data)} bytes and there is no folder to keep it in")
    suffix = mimetypes.guess_extension(mime_type.partition(";")[0].strip()) or ".bin"
    try:
        path = files.keep_bytes(data, ref, suffix)
    except (OSError, ResultTooLargeError) as error:
        raise HandlerError(f"{ref} answered with a file that could not be kept: {error}") from None
    return {"mimeType": mime_type, "path": str(path), "bytes": len(data)}
