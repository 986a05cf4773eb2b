"""The `pi-fabric-thinking` entry: reading what a file says, strictly in its known fields, and writing it.

It knows no session and no level but the written ones. Unknown extra fields are kept and ignored.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, get_args

from guest_api.bounds import shown
from guest_api.levels import LEVELS, Level, is_level
from runtime.transcript.entries import THINKING_ENTRY

Scope: TypeAlias = Literal["turn", "turns", "session"]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
VERSION: Final = 1
ENTRY_TYPE: Final = THINKING_ENTRY
TURNS_MIN: Final = 1
TURNS_MAX: Final = 20
REASON_LIMIT_CHARACTERS: Final = 256
"""Unicode code points."""
_KNOWN: Final = frozenset({"level", "baseline", "scope", "setAt", "remainingTurns", "reason", "requested"})


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


class MalformedEntryError(ValueError):
    """The entry is not one of ours: it ends the override and never revives an older one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """A level that a program asked for, and what it goes back to."""

    level: Level
    """What was applied."""
    baseline: Level
    """The level that was active when the first override began."""
    scope: Scope
    set_at_ms: int
    """Epoch milliseconds of the `set`; counting down does not change it."""
    remaining_turns: int | None = None
    """Agent runs left, the current one included; only for scope `turns`."""
    reason: str | None = None
    requested: Level | None = None
    """What was asked for, where `level` differs: the wish that another model gets to fulfil."""
    extra: Mapping[str, Any] = field(default_factory=_nothing, hash=False)
    """Fields of other writers, kept."""

    @property
    def wish(self) -> Level:
        """What the program asked for."""
        return self.requested or self.level


def encode(override: Override | None) -> dict[str, Any]:
    """The entry's data.

    Seed: thinking:persist:entry-shape, thinking:persist:override-record
    """
    if override is None:
        return {"version": VERSION, "override": None}
    record: dict[str, Any] = {
        "level": override.level,
        "baseline": override.baseline,
        "scope": override.scope,
        "setAt": override.set_at_ms,
    }
    if override.remaining_turns is not None:
        record["remainingTurns"] = override.remaining_turns
    if override.reason is not None:
        record["reason"] = override.reason
    if override.requested is not None and override.requested != override.level:
        record["requested"] = override.requested
    return {"version": VERSION, "override": {**record, **override.extra}}


def decode(data: object) -> Override | None:
    """What an entry's data says; None: no override from here on.

    Raises: MalformedEntryError: another version, an unknown level or scope, a missing field, a bad count or reason.
    Seed: thinking:persist:malformed-ends
    """
    if not isinstance(data, Mapping):
        raise MalformedEntryError(f"got {shown(data)}, wanted an object")
    if type(data.get("version")) is not int or data["version"] != VERSION:
        raise MalformedEntryError(f"version: got {shown(data.get('version'))}, wanted {VERSION}")
    if "override" not in data:
        raise MalformedEntryError("override: missing")
    record = data["override"]
    if record is None:
        return None
    if not isinstance(record, Mapping):
        raise MalformedEntryError(f"override: got {shown(record)}, wanted null or an object")
    level, baseline = _level(record, "level"), _level(record, "baseline")
    scope = record.get("scope")
    if not isinstance(scope, str) or scope not in SCOPES:
        raise MalformedEntryError(f"override.scope: got {shown(scope)}, wanted one of {', '.join(SCOPES)}")
    return Override(
        level=level,
        baseline=baseline,
        scope=scope,
        set_at_ms=_set_at(record),
        remaining_turns=_remaining_turns(record, scope),
        reason=_reason(record),
        requested=_requested(record),
        extra=MappingProxyType({key: value for key, value in record.items() if key not in _KNOWN}),
    )


def _level(record: Mapping[str, Any], name: str) -> Level:
    value = record.get(name)
    if not is_level(value):
        raise MalformedEntryError(f"override.{name}: got {shown(value)}, wanted one of {', '.join(LEVELS)}")
    return value


def _requested(record: Mapping[str, Any]) -> Level | None:
    if "requested" not in record:
        return None
    wish = _level(record, "requested")
    return None if wish == record["level"] else wish


def _set_at(record: Mapping[str, Any]) -> int:
    value = record.get("setAt")
    if isinstance(value, float) and value.is_integer():
        # Another writer's number type; the moment is the same.
        value = int(value)
    if type(value) is not int or value < 0:
        raise MalformedEntryError(f"override.setAt: got {shown(record.get('setAt'))}, wanted epoch milliseconds")
    return value


def _remaining_turns(record: Mapping[str, Any], scope: Scope) -> int | None:
    value = record.get("remainingTurns")
    if scope != "turns":
        if "remainingTurns" in record:
            raise MalformedEntryError(f"override.remainingTurns: got {shown(value)} with scope {scope!r}")
        return None
    if type(value) is not int or not TURNS_MIN <= value <= TURNS_MAX:
        wanted = f"a whole number from {TURNS_MIN} to {TURNS_MAX}"
        raise MalformedEntryError(f"override.remainingTurns: got {shown(value)}, wanted {wanted}")
    return value


def _reason(record: Mapping[str, Any]) -> str | None:
    if "reason" not in record:
        return None
    value = record["reason"]
    if not isinstance(value, str) or len(value) > REASON_LIMIT_CHARACTERS:
        raise MalformedEntryError(
            f"override.reason: got {shown(value)}, wanted text of at most {REASON_LIMIT_CHARACTERS} characters"
        )
    return value or None
