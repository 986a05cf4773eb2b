"""`thinking.*` as a program sees it: the calls and the shape of their answer; the host decides everything.

A program writes `await thinking.set(level="high", scope="turn")` or `await thinking.set({"level": "high"})`.
"""

from typing import Final, Literal, NotRequired, TypedDict

from guest_api.levels import Level

Scope = Literal["turn", "turns", "session"]


class BoundsShape(TypedDict):
    """The effective range, both ends resolved."""

    min: Level
    max: Level


class OverrideShape(TypedDict):
    """An override in force."""

    level: Level
    scope: Scope
    remainingTurns: NotRequired[int]
    """With scope `turns`: what is left, the current run included."""
    reason: NotRequired[str]
    setAt: int
    """Wall time, milliseconds."""


class StatusShape(TypedDict):
    """The answer of `thinking.status`, `thinking.set` and `thinking.reset`."""

    level: Level
    available: list[Level]
    bounds: BoundsShape
    baseline: Level
    override: NotRequired[OverrideShape]
    clamped: NotRequired[Literal[True]]
    requested: NotRequired[Level]


ROOT: Final = "thinking"
ACTIONS: Final = ("thinking.status", "thinking.set", "thinking.reset")
