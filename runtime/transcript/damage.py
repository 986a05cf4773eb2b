"""What is wrong with a session file, as values with line numbers; it decides nothing and repairs nothing."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

DamageKind: TypeAlias = Literal[
    "torn", "malformed", "nul", "not-an-entry", "extra-header", "duplicate", "orphan", "cycle", "bom"
]

SKIPPED_KINDS: Final[frozenset[DamageKind]] = frozenset({"torn", "malformed", "nul", "not-an-entry", "extra-header"})
"""Kinds whose line gave no entry at all; the other kinds name entries that are still usable."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One damaged place."""

    line: int
    """Line number in the file, from 1; the header of a sound file is line 1."""
    kind: DamageKind
    message: str
    """What is wrong and what became of it, in a sentence."""
    entry_id: str | None = None

    @property
    def skipped(self) -> bool:
        """True where the line gave no entry."""
        return self.kind in SKIPPED_KINDS

    def as_json(self) -> dict[str, object]:
        """The finding for `--json`."""
        shape: dict[str, object] = {
            "line": self.line,
            "kind": self.kind,
            "message": self.message,
            "skipped": self.skipped,
        }
        if self.entry_id is not None:
            shape["id"] = self.entry_id
        return shape
