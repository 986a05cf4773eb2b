"""Session lines for tests, written by hand rather than by the store."""

import json
from pathlib import Path

HEADER = b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/project"}\n'


def line(entry_id: str, parent_id: str | None = None, **fields) -> bytes:
    """One custom entry with its newline."""
    entry = {"type": "custom", "customType": "t", "data": {}, "id": entry_id, "parentId": parent_id}
    return json.dumps({**entry, "timestamp": "2026-01-01T00:00:00.000Z", **fields}).encode() + b"\n"


def session(path: Path, *lines: bytes, header: bytes = HEADER) -> Path:
    """A session file of these lines."""
    path.write_bytes(header + b"".join(lines))
    return path
