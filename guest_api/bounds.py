"""The algebra of thinking bounds: clamp, narrow, inherit, parse, serialise; pure, and it knows no session or process.

A missing end is open. Invariant: a `Bounds` value is never inverted, and no operation here returns a wider range than
its caller's or parent's. Attacked by `tests/properties/test_bounds_algebra.py`.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from guest_api.levels import LEVELS, RANK, Level, closest_name, in_order, is_level, nearest_supported


class BoundsError(ValueError):
    """No bounds: `path` says where (`thinking.bounds.min`), `got` what stood there, `wanted` what would do."""

    def __init__(self, path: str, got: object, wanted: str) -> None:
        super().__init__(f"{path}: got {shown(got)}, wanted {wanted}")
        self.path = path
        self.got = got
        self.wanted = wanted


class WiderBoundsError(ValueError):
    """A request reaches beyond the caller's effective bounds; nothing was launched."""

    def __init__(self, *, requested: "Bounds", effective: "Bounds") -> None:
        super().__init__(
            f"thinkingBounds {requested.describe()} is wider than the caller's bounds {effective.describe()}; "
            f"each end must lie between {effective.lowest!r} and {effective.highest!r}"
        )
        self.requested = requested
        self.effective = effective


class NoSupportedLevelError(ValueError):
    """Nothing that the model supports lies inside the bounds; the caller changes nothing."""

    def __init__(self, *, wanted: Level, bounds: "Bounds", supported: Collection[Level]) -> None:
        super().__init__(
            f"level {wanted!r}: the model supports {', '.join(in_order(supported)) or 'no level'}, "
            f"and none of these lies inside thinking.bounds {bounds.describe()}"
        )
        self.wanted = wanted
        self.bounds = bounds
        self.supported = in_order(supported)


class Bounds(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A closed range of levels; an end that is `UNSET` is open. `lowest` and `highest` are always levels."""

    min: Level | msgspec.UnsetType = msgspec.UNSET
    max: Level | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        """Refuse what is no range, however it was made.

        Raises: BoundsError: an unknown level name, or `min` above `max`.
        """
        for name, end in (("min", self.min), ("max", self.max)):
            if end is not msgspec.UNSET and not is_level(end):
                raise BoundsError(name, end, _WANTED_LEVEL)
        if RANK[self.lowest] > RANK[self.highest]:
            raise BoundsError("min", self.min, f"a level not above max ({self.highest!r})")

    @property
    def lowest(self) -> Level:
        """The lower end; `off` when it is open."""
        return "off" if self.min is msgspec.UNSET else self.min

    @property
    def highest(self) -> Level:
        """The upper end; `max` when it is open."""
        return "max" if self.max is msgspec.UNSET else self.max

    @property
    def is_open(self) -> bool:
        """Whether no end is stated: the same as having no bounds at all."""
        return self.min is msgspec.UNSET and self.max is msgspec.UNSET

    def __contains__(self, level: Level) -> bool:
        """Whether the level lies inside, ends included."""
        return RANK[self.lowest] <= RANK[level] <= RANK[self.highest]

    def covers(self, other: "Bounds") -> bool:
        """Whether no level of `other` lies outside of this range."""
        return RANK[self.lowest] <= RANK[other.lowest] and RANK[other.highest] <= RANK[self.highest]

    def to_dict(self) -> dict[str, Level]:
        """Only the stated ends, `min` before `max`."""
        return {name: end for name, end in (("min", self.min), ("max", self.max)) if end is not msgspec.UNSET}

    def describe(self) -> str:
        """For people: `low..high`."""
        return f"{self.lowest}..{self.highest}"


UNBOUNDED: Final = Bounds()
"""The default: every level is inside.

Seed: thinking:bounds:default-unbounded
"""
_WANTED_LEVEL: Final = f"one of {', '.join(LEVELS)}"


def clamp(level: Level, bounds: Bounds) -> Level:
    """The level itself when it lies inside, else the nearer end; it knows nothing of models."""
    return LEVELS[min(max(RANK[level], RANK[bounds.lowest]), RANK[bounds.highest])]


def clamp_supported(level: Level, bounds: Bounds, supported: Collection[Level] | None) -> Level:
    """Clamp `level` into the bounds, then to the nearest supported level inside them (next higher first, then lower).

    `supported` None: no model is known and every level counts.
    Raises: NoSupportedLevelError: nothing supported lies inside the bounds; the caller changes nothing.
    Seed: thinking:set:clamp-order
    """
    known = LEVELS if supported is None else supported
    found = nearest_supported(level, known, lowest=bounds.lowest, highest=bounds.highest)
    if found is None:
        raise NoSupportedLevelError(wanted=level, bounds=bounds, supported=known)
    return found


def available(bounds: Bounds, supported: Collection[Level] | None) -> tuple[Level, ...]:
    """The supported levels inside the bounds, lowest first; without a model every level inside them.

    Seed: thinking:status:available
    """
    return tuple(level for level in LEVELS if level in bounds and (supported is None or level in supported))


def resolved(bounds: Bounds, supported: Collection[Level] | None) -> dict[str, Level]:
    """The bounds as a status shows them: open ends become the model's lowest and highest level.

    A stated end is shown as configured even where the model supports nothing there, so the view can look inverted.
    Seed: thinking:status:bounds-resolved
    """
    ends = in_order(LEVELS if supported is None else supported) or LEVELS
    return {
        "min": ends[0] if bounds.min is msgspec.UNSET else bounds.min,
        "max": ends[-1] if bounds.max is msgspec.UNSET else bounds.max,
    }


def narrow(effective: Bounds, requested: Bounds) -> Bounds:
    """A child's bounds: every stated end must lie inside the caller's effective range, a missing end is the caller's.

    Raises: WiderBoundsError: an end of `requested` lies outside; nothing may be launched.
    Seed: thinking:child:explicit-inside
    """
    ends = [end for end in (requested.min, requested.max) if end is not msgspec.UNSET]
    if any(end not in effective for end in ends):
        raise WiderBoundsError(requested=requested, effective=effective)
    return Bounds(
        min=effective.min if requested.min is msgspec.UNSET else requested.min,
        max=effective.max if requested.max is msgspec.UNSET else requested.max,
    )


def inherit(own: Bounds, parent: Bounds) -> Bounds:
    """A child's effective bounds: its own range cut by its parent's; without overlap the parent's whole range.

    Seed: thinking:child:intersects, thinking:child:never-widens, thinking:child:disjoint
    """
    lowest = max((own.min, parent.min), key=_lower_rank)
    highest = min((own.max, parent.max), key=_upper_rank)
    if _lower_rank(lowest) > _upper_rank(highest):
        return parent
    return Bounds(min=lowest, max=highest)


def parse_bounds(value: object, path: str = "thinkingBounds") -> Bounds:
    """Read `{min?, max?}` from decoded JSON, naming exactly what is wrong with anything else.

    Raises: BoundsError: not an object, an unknown key, no level name (null too), or `min` above `max`.
    Seed: thinking:bounds:malformed-fails, thinking:bounds:inverted-fails
    """
    if isinstance(value, Bounds):
        return value
    if not isinstance(value, Mapping):
        raise BoundsError(path, value, "an object with min and max, both optional")
    for key in value:
        if key not in ("min", "max"):
            near = closest_name(key, ("min", "max"))
            raise BoundsError(
                f"{path}.{key}", key, "only the keys min and max" + (f"; did you mean {near}?" * bool(near))
            )
    ends: dict[str, Any] = {}
    for key in ("min", "max"):
        if key in value:
            end = value[key]
            if not is_level(end):
                near = closest_name(end, LEVELS)
                raise BoundsError(f"{path}.{key}", end, _WANTED_LEVEL + (f"; did you mean {near!r}?" * bool(near)))
            ends[key] = end
    if len(ends) == 2 and RANK[ends["min"]] > RANK[ends["max"]]:
        raise BoundsError(f"{path}.min", ends["min"], f"a level not above {path}.max ({ends['max']!r})")
    return Bounds(**ends)


def serialise_bounds(bounds: Bounds) -> str | None:
    """Compact JSON of the stated ends, `min` before `max`; None without bounds, which is then not written at all."""
    return None if bounds.is_open else msgspec.json.encode(bounds.to_dict()).decode()


def shown(value: object) -> str:
    """A value inside an error message: JSON's spelling, at most 80 characters."""
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        try:
            text = repr(value)
        except ValueError:  # an integer past the interpreter's limit for decimal text
            text = f"a very large {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:79]}…"


def _lower_rank(end: Level | msgspec.UnsetType) -> int:
    return -1 if end is msgspec.UNSET else RANK[end]


def _upper_rank(end: Level | msgspec.UnsetType) -> int:
    return len(LEVELS) if end is msgspec.UNSET else RANK[end]
