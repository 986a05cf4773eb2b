"""The seven thinking levels, their order and the nearest supported one; it knows no bounds, model or session."""

import difflib
from collections.abc import Collection, Iterable
from typing import Final, Literal, TypeAlias, TypeGuard, get_args

Level: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]

LEVELS: Final[tuple[Level, ...]] = get_args(Level)
"""In rising order of effort."""
RANK: Final[dict[Level, int]] = {level: rank for rank, level in enumerate(LEVELS)}
"""`off` is 0, `max` is 6."""
DEFAULT_LEVEL: Final[Level] = "medium"
"""What a session runs at while nobody chose a level, as in Pi."""


def is_level(value: object) -> TypeGuard[Level]:
    """Whether this is exactly one of the seven names; `High` and `HIGH` are none.

    Seed: thinking:bounds:names-validated
    """
    return isinstance(value, str) and value in RANK


def in_order(levels: Iterable[Level]) -> tuple[Level, ...]:
    """The levels without repeats, lowest first."""
    return tuple(sorted(set(levels), key=RANK.__getitem__))


def nearest_supported(
    wanted: Level, supported: Collection[Level], *, lowest: Level = "off", highest: Level = "max"
) -> Level | None:
    """The supported level for `wanted` from `lowest` to `highest`: itself, else the next higher, else the next lower.

    Distance does not matter: everything above is tried before anything below. None: nothing supported lies there.
    Seed: thinking:set:clamp-higher-first
    """
    start = min(max(RANK[wanted], RANK[lowest]), RANK[highest])
    for level in (*LEVELS[start : RANK[highest] + 1], *reversed(LEVELS[RANK[lowest] : start])):
        if level in supported:
            return level
    return None


def closest_name(got: object, names: Iterable[str]) -> str | None:
    """The name that a typing error most likely meant; None when nothing comes near."""
    if not isinstance(got, str):
        return None
    by_folded = {name.casefold(): name for name in names}
    found = difflib.get_close_matches(got[:100].strip().casefold(), by_folded, n=1, cutoff=0.5)
    return by_folded[found[0]] if found else None
