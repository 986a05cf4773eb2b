"""Line one of a session file. It knows the header's fields, and which versions are read, appended to or refused."""

import os
import re
import secrets
import time
from dataclasses import dataclass, field
from typing import Any, Final

from guest_api.bounds import shown
from host_bridge import strict_json
from runtime.transcript.entries import now_timestamp

VERSION: Final = 3
"""The version that is written; Pi 1.6 writes the same."""
_LARGEST_VERSION: Final = 2**53
"""Up to here a number is the same in Pi."""
_SESSION_ID: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


class UnknownVersionError(ValueError):
    """A header whose version is no number: nobody can say how its entries are meant."""

    def __init__(self, version: object) -> None:
        super().__init__(f"version {shown(version)} is no version number")


@dataclass(frozen=True, slots=True)
class Header:
    """Who the session is."""

    id: str
    version: int
    timestamp: str
    cwd: str | None
    """Folder the session works in; Pi's RPC mode refuses a session without it."""
    parent_session: str | None
    """The file this one was forked or cloned from."""
    fields: dict[str, Any] = field(default_factory=dict, repr=False)
    """The header as it is on disk, unknown fields included."""

    @classmethod
    def from_fields(cls, fields: object) -> "Header | None":
        """The header in a decoded line; None where it is something else.

        Raises: UnknownVersionError.
        """
        if not isinstance(fields, dict) or fields.get("type") != "session" or not isinstance(fields.get("id"), str):
            return None
        return cls(
            id=fields["id"],
            version=_version(fields.get("version")),
            timestamp=_text(fields.get("timestamp")) or "",
            cwd=_text(fields.get("cwd")),
            parent_session=_text(fields.get("parentSession")),
            fields=fields,
        )

    @classmethod
    def new(cls, *, cwd: str, session_id: str | None = None, parent_session: str | None = None) -> "Header":
        """A header for a new session.

        Raises: ValueError: an id that Pi would refuse.
        """
        if session_id is not None and not _SESSION_ID.fullmatch(session_id):
            raise ValueError(f"session id {session_id!r}: letters, digits, '.', '_', '-', and no sign at either end")
        fields: dict[str, Any] = {
            "type": "session",
            "version": VERSION,
            "id": session_id or new_session_id(),
            "timestamp": now_timestamp(),
            "cwd": cwd,
        }
        if parent_session is not None:
            fields["parentSession"] = parent_session
        header = cls.from_fields(fields)
        assert header is not None  # noqa: S101  the fields were written three lines above
        return header

    def encode(self) -> bytes:
        """The header's line without its newline."""
        # A folder's name need be no text: the header keeps it as Python spells it.
        return strict_json.encode(self.fields, lone_surrogates=True)


def new_session_id() -> str:
    """A uuidv7: sorts by time of birth, as Pi's ids do."""
    stamp = time.time_ns() // 1_000_000
    digits = f"{(stamp << 80) | (0x7 << 76) | (secrets.randbits(12) << 64) | (0b10 << 62) | secrets.randbits(62):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def new_entry_id() -> str:
    """Eight hex digits, as Pi's entry ids; the caller checks for a collision."""
    return os.urandom(4).hex()


def _version(value: object) -> int:
    if value is None:
        return 1  # the first version had no such field; Pi takes null for none
    # "3" and true are numbers to JavaScript alone, and an infinity to nobody.
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST_VERSION:
        raise UnknownVersionError(value)
    return int(value)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
