"""Version 1 and 2 session files as version 3 bytes. It never touches the old file; `write_migrated` writes a new one.

Version 1 had a flat list without ids; version 2 said `hookMessage` where version 3 says `custom`.
"""

import os
from pathlib import Path
from typing import Any

from runtime.transcript.copies import write_new_file
from runtime.transcript.deep_lines import decode_line
from runtime.transcript.errors import NotASessionError, TranscriptError
from runtime.transcript.header import VERSION, Header
from runtime.transcript.read_back import encode_as_read
from runtime.transcript.scan import read_header
from runtime.transcript.sources import FileSource, LineSource


def converted(source: LineSource, path: Path | None = None) -> bytes:
    """The session as version 3, one line for each line there was; what was no JSON stays what it was.

    Ids of version 1 entries are their line numbers in hex: the same on every load.
    Raises: NotASessionError.
    """
    header = read_header(source, path)
    lines = _all_lines(source)
    decoded = [_decoded(line) for line in lines]
    ids: dict[int, str] = {}
    """Id by position among the decoded values, which is what version 1 counted in `firstKeptEntryIndex`."""
    if header.version < 2:
        values = [(number, value) for number, value in enumerate(decoded) if value]
        ids = {position: f"{number + 1:08x}" for position, (number, _) in enumerate(values)}
    result: list[bytes] = []
    parent: str | None = None
    position = -1
    seen_header = False
    for line, value in zip(lines, decoded, strict=True):
        position += bool(value)
        if not isinstance(value, dict):
            result.append(line)
            continue
        if value.get("type") == "session":
            changed = value if seen_header else {**value, "version": VERSION}
            seen_header = True
        else:
            changed = _third_version(value)
            if header.version < 2:
                changed = {**_first_kept(changed, ids), "id": ids[position], "parentId": parent}
                parent = ids[position]
        result.append(line if changed is value else encode_as_read(changed))
    return b"\n".join(result)


def write_migrated(old: Path, new: Path) -> Header:
    """Write the version 3 form of an old file to a new one and return its header.

    Raises: NotASessionError, FileExistsError. TranscriptError: it is version 3 already, or newer.
    """
    source = FileSource(old)
    try:
        header = read_header(source, old)
        if header.version >= VERSION:
            raise TranscriptError(old, f"version {header.version} needs no migration")
        data = converted(source, old)
    finally:
        source.close()
    lines = [line for line in data.split(b"\n") if line.strip()]
    write_new_file(Path(os.path.abspath(new)), lines, durable=True)  # noqa: PTH100
    after = Header.from_fields(_decoded(lines[0]))
    if after is None:
        raise NotASessionError(old, "no header on its first line")
    return after


def _all_lines(source: LineSource) -> list[bytes]:
    with source.lines() as file:
        return file.read().removeprefix(b"\xef\xbb\xbf").split(b"\n")


def _decoded(line: bytes) -> Any:
    try:
        return decode_line(line) if line.strip() else None
    except ValueError:
        return None


def _third_version(value: dict[str, Any]) -> dict[str, Any]:
    message = value.get("message")
    if value.get("type") == "message" and isinstance(message, dict) and message.get("role") == "hookMessage":
        return {**value, "message": {**message, "role": "custom"}}
    return value


def _first_kept(value: dict[str, Any], ids: dict[int, str]) -> dict[str, Any]:
    index = value.get("firstKeptEntryIndex")
    if value.get("type") != "compaction" or not isinstance(index, int) or isinstance(index, bool):
        return value
    rest = {name: item for name, item in value.items() if name != "firstKeptEntryIndex"}
    return {**rest, "firstKeptEntryId": ids[index]} if index > 0 and index in ids else rest
