"""What a branch says of the override: its latest entry, and whether somebody changed the level after it. Pure.

Only the latest entry counts. A malformed one is an end, never a reason to look for an older one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from runtime.thinking.entry import ENTRY_TYPE, MalformedEntryError, Override, decode
from runtime.thinking.override import Active, State
from runtime.transcript.branch import Branch
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
    own = positions(branch, "custom", ENTRY_TYPE)
    if not own:
        return Replayed(None)
    entry = branch[own[-1]]
    try:
        override = decode(entry.data)
    except MalformedEntryError as error:
        return Replayed(None, malformed=str(error), entry_id=entry.id)
    if override is None:
        return Replayed(None, entry_id=entry.id)
    changes = positions(branch, LEVEL_CHANGE)
    if _changed_by_others(branch, [index for index in changes if index > own[-1]], override):
        return Replayed(None, entry_id=entry.id, foreign=True)
    return Replayed(Active(override, _baseline_is_unset(branch, own, changes)), entry_id=entry.id)


def positions(branch: Sequence[Entry], kind: str, custom_type: str | None = None) -> list[int]:
    """Where entries of a kind stand on the branch; a branch of the store answers without reading a line."""
    if isinstance(branch, Branch):
        return branch.positions(kind, custom_type)
    return [
        index
        for index, entry in enumerate(branch)
        if entry.type == kind and (custom_type is None or entry.custom_type == custom_type)
    ]


def _changed_by_others(branch: Sequence[Entry], later_changes: list[int], override: Override) -> bool:
    """Whether a level change after the entry is somebody else's.

    Every one to another level is, even if the level came back later; only one right behind a model change belongs to
    that. Our own go to the entry's level, or are followed by an entry that says otherwise.
    Seed: thinking:owner:foreign-ends
    """
    return any(
        branch[index].thinking_level != override.level and branch[index - 1].type != MODEL_CHANGE
        for index in later_changes
    )


def _baseline_is_unset(branch: Sequence[Entry], own: list[int], changes: list[int]) -> bool:
    """Whether nobody had chosen a level when the first of the overrides that follow on each other began."""
    if not changes or changes[0] > own[-1]:
        return True  # whichever of them was the first; a long row of overrides is not walked for it
    first = len(own) - 1
    while first > 0 and _is_live(branch[own[first - 1]]):
        first -= 1
    before = [index for index in changes if index < own[first]]
    return not before or branch[before[-1]].get(UNSET_FIELD) is True


def _is_live(entry: Entry) -> bool:
    try:
        return decode(entry.data) is not None
    except MalformedEntryError:
        return False
