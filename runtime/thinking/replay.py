"""What a branch says of the override: its latest entry, and whether somebody changed the level after it. Pure.

Only the latest entry counts. A malformed one is an end, never a reason to look for an older one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from runtime.thinking.entry import ENTRY_TYPE, MalformedEntryError, Override, decode
from runtime.thinking.override import Active, State
from runtime.transcript.entries import Entry

LEVEL_CHANGE: Final = "thinking_level_change"
MODEL_CHANGE: Final = "model_change"
UNSET_FIELD: Final = "unset"
"""True in a level change of ours that went back to no choice; Pi keeps and ignores the field."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """The branch's answer."""

    state: State
    malformed: str | None = None
    """Why the latest entry is none of ours; None: it is."""
    entry_id: str | None = None
    foreign: bool = False
    """The latest entry holds an override that somebody ended by changing the level: its null entry is still due."""


def replay(branch: Sequence[Entry]) -> Replayed:
    """The override in force at the end of the branch (root first).

    Seed: thinking:persist:replay-latest, thinking:persist:malformed-never-revives
    """
    index = _latest(branch, len(branch))
    if index is None:
        return Replayed(None)
    entry = branch[index]
    try:
        override = decode(entry.data)
    except MalformedEntryError as error:
        return Replayed(None, malformed=str(error), entry_id=entry.id)
    if override is None:
        return Replayed(None, entry_id=entry.id)
    if _changed_by_others(branch, index, override):
        return Replayed(None, entry_id=entry.id, foreign=True)
    return Replayed(Active(override, _baseline_is_unset(branch, index)), entry_id=entry.id)


def _latest(branch: Sequence[Entry], end: int) -> int | None:
    """Where the last thinking entry before `end` stands."""
    for index in range(end - 1, -1, -1):
        if branch[index].type == "custom" and branch[index].custom_type == ENTRY_TYPE:
            return index
    return None


def _changed_by_others(branch: Sequence[Entry], index: int, override: Override) -> bool:
    """Whether a level change after the entry is somebody else's.

    Every one to another level is, even if the level came back later; only one right behind a model change belongs to
    that. Our own go to the entry's level, or are followed by an entry that says otherwise.
    Seed: thinking:owner:foreign-ends
    """
    previous = branch[index]
    for position in range(index + 1, len(branch)):
        entry = branch[position]
        changed = entry.type == LEVEL_CHANGE and entry.thinking_level != override.level
        if changed and previous.type != MODEL_CHANGE:
            return True
        previous = entry
    return False


def _baseline_is_unset(branch: Sequence[Entry], index: int) -> bool:
    """Whether nobody had chosen a level when the first of these overrides began."""
    first = index
    while (earlier := _latest(branch, first)) is not None and _is_live(branch[earlier]):
        first = earlier
    change = _last_level_change(branch, first)
    return change is None or change.get(UNSET_FIELD) is True


def _is_live(entry: Entry) -> bool:
    try:
        return decode(entry.data) is not None
    except MalformedEntryError:
        return False


def _last_level_change(branch: Sequence[Entry], end: int) -> Entry | None:
    return next(_level_changes_backwards(branch, end), None)


def _level_changes_backwards(branch: Sequence[Entry], end: int) -> Iterator[Entry]:
    for index in range(end - 1, -1, -1):
        if branch[index].type == LEVEL_CHANGE:
            yield branch[index]
