"""Shortening text to its head, an explicit marker and its tail; pure, and it knows no file beyond its name."""

from pathlib import Path
from typing import Final

SHOWN_BYTES: Final = 50 * 1024
"""What is shown of one result; Pi's own tools show as much."""
HEAD_SHARE: Final = 0.7
"""The head says what a text is, the tail how it ended."""
_MARKER_BYTES: Final = 512


def cut(data: bytes, limit_bytes: int, path: Path | None, note: str) -> str:
    """`data` as text of at most `limit_bytes`; `path` is where all of it is, `note` is added to the marker."""
    room = max(0, limit_bytes - _MARKER_BYTES)
    head_bytes = int(room * HEAD_SHARE)
    head = whole_characters(data[:head_bytes])
    tail = from_character(data[len(data) - (room - head_bytes) :])
    between = marker(len(data) - len(head) - len(tail), len(data), path, note)
    return head.decode("utf-8", "replace") + between + tail.decode("utf-8", "replace")


def marker(omitted: int, total: int, path: Path | None, note: str) -> str:
    """What stands between head and tail."""
    where = f"; all of it is in {path}" if path is not None else ""
    return f"\n[… {omitted} of {total} bytes are left out here{where}{note} …]\n"


def whole_characters(data: bytes) -> bytes:
    """Without the torn character at the end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            return data
        if byte >= 0xC0:
            width = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data if width == back else data[:-back]
    return data


def from_character(data: bytes) -> bytes:
    """Without the torn character at the start."""
    start = 0
    while start < min(3, len(data)) and 0x80 <= data[start] < 0xC0:
        start += 1
    return data[start:]
