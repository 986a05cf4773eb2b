"""One entry of a session file: its envelope decoded, everything else kept as the line's own bytes until asked for.

It knows Pi's field names; it knows no file, no tree and no other entry.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from host_bridge import strict_json
from runtime.transcript.deep_lines import decode_line

THINKING_ENTRY: Final = "pi-fabric-thinking"
"""Custom entry that records a thinking override; null ends it."""
CAPABILITY_ENTRY: Final = "pi-fabric-capability"
"""Custom message that carries an advisor's hint."""
RUN_ENTRY: Final = "pi-fabric-run"
"""Custom entry that records one program run with its calls."""


class Entry:
    """A frozen entry. Two entries are equal when their lines are equal byte for byte."""

    __slots__ = ("_fields", "id", "parent_id", "raw", "type")

    id: str
    """Unique in its session; eight hex digits where we or Pi made it."""
    parent_id: str | None
    """The entry it follows; None: a root."""
    type: str
    """`message`, `custom`, `custom_message`, `label`, … or any word of another writer."""
    raw: bytes
    """The line without its newline, exactly as it is on disk."""
    _fields: Mapping[str, Any] | None

    def __init__(self, *, id: str, parent_id: str | None, type: str, raw: bytes) -> None:  # noqa: A002
        # The slots' own setters: a frozen entry is made millions of times.
        _put_id(self, id)
        _put_parent_id(self, parent_id)
        _put_type(self, type)
        _put_raw(self, raw)
        _put_fields(self, None)

    @classmethod
    def parse(cls, line: bytes) -> "Entry":
        """The entry that a line holds.

        Raises: ValueError: the line is no JSON object with an id and a type.
        """
        fields = decode_line(line)
        if not isinstance(fields, dict):
            raise ValueError("a line that is no JSON object")  # noqa: TRY004  damage, not a caller's type error
        entry_id, kind, parent_id = fields.get("id"), fields.get("type"), fields.get("parentId")
        if not isinstance(entry_id, str) or not isinstance(kind, str):
            raise ValueError("an entry without an id or a type")  # noqa: TRY004
        entry = cls(id=entry_id, parent_id=parent_id if isinstance(parent_id, str) else None, type=kind, raw=line)
        object.__setattr__(entry, "_fields", fields)
        return entry

    @classmethod
    def make(
        cls,
        type: str,  # noqa: A002
        fields: Mapping[str, Any] | None = None,
        *,
        id: str,  # noqa: A002
        parent_id: str | None = None,
        timestamp: str | None = None,
    ) -> "Entry":
        """A new entry encoded once, in Pi's field order: envelope first, then `fields`.

        Raises: strict_json.NotJsonError: a field that JSON cannot carry, with its path.
        """
        envelope: dict[str, Any] = {
            "type": type,
            "id": id,
            "parentId": parent_id,
            "timestamp": timestamp or now_timestamp(),
        }
        taken = envelope.keys() & (fields or {}).keys()
        if taken:
            raise ValueError(f"the envelope owns {', '.join(sorted(taken))}")
        return cls(id=id, parent_id=parent_id, type=type, raw=strict_json.encode({**envelope, **(fields or {})}))

    @property
    def fields(self) -> Mapping[str, Any]:
        """The whole entry as decoded JSON, unknown fields included; do not change it.

        A field nested deeper than the decoders go is `msgspec.Raw`.
        """
        if self._fields is None:
            decoded = decode_line(self.raw)
            object.__setattr__(self, "_fields", decoded if isinstance(decoded, dict) else {})
        fields: Mapping[str, Any] = self._fields  # type: ignore[assignment]
        return fields

    def get(self, name: str, default: Any = None) -> Any:
        """A field by its name on disk."""
        return self.fields.get(name, default)

    @property
    def timestamp(self) -> str:
        """ISO time with milliseconds and Z, as written; empty where the writer left it out."""
        value = self.get("timestamp")
        return value if isinstance(value, str) else ""

    @property
    def custom_type(self) -> str | None:
        """The writer's word of a `custom` or `custom_message` entry; None for the others."""
        if self.type not in {"custom", "custom_message"}:
            return None
        value = self.get("customType")
        return value if isinstance(value, str) else None

    @property
    def data(self) -> Any:
        """Payload of a `custom` entry."""
        return self.get("data")

    @property
    def details(self) -> Any:
        """Details of a `custom_message`, a compaction or a summary."""
        return self.get("details")

    @property
    def content(self) -> Any:
        """Content of a `custom_message`: text or a list of blocks."""
        return self.get("content")

    @property
    def message(self) -> Mapping[str, Any] | None:
        """The message of a `message` entry; None for the others and for a message that is no object."""
        value = self.get("message") if self.type == "message" else None
        return value if isinstance(value, dict) else None

    @property
    def thinking_level(self) -> str | None:
        """The level of a `thinking_level_change`, by the name on disk; None for the others."""
        value = self.get("thinkingLevel") if self.type == "thinking_level_change" else None
        return value if isinstance(value, str) else None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an entry is frozen; {name} was not set to {value!r:.40}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"an entry is frozen; {name} stays")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(self.raw)

    def __repr__(self) -> str:
        return f"<Entry {self.type} {self.id} after {self.parent_id}>"


_put_id, _put_parent_id, _put_type, _put_raw, _put_fields = (
    vars(Entry)[name].__set__ for name in ("id", "parent_id", "type", "raw", "_fields")
)


def spelled(value: object) -> str:
    """A field of any type as text: Python refuses to spell an integer of thousands of digits, which JSON may hold."""
    if isinstance(value, str):
        return value
    try:
        return str(value)
    except (ValueError, RecursionError):
        return f"a very large {type(value).__name__}"


def now_timestamp() -> str:
    """Wall time as Pi writes it: ISO, milliseconds, Z."""
    return format_timestamp(datetime.now(UTC))


def format_timestamp(moment: datetime) -> str:
    """A moment in Pi's form."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
