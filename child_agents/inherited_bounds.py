"""Both ends of `PI_FABRIC_THINKING_BOUNDS`: what a parent writes and how strictly a child reads it; no processes."""

from collections.abc import Mapping
from typing import Final

from guest_api.bounds import UNBOUNDED, Bounds, BoundsError, narrow, parse_bounds, serialise_bounds
from host_bridge import strict_json

VARIABLE: Final = "PI_FABRIC_THINKING_BOUNDS"
JSON_WHITESPACE: Final = " \t\r\n"
LONGEST_VALUE_CHARACTERS: Final = 1024
"""The longest honest value has 33; anything far beyond is refused before it is parsed."""


class InheritedBoundsError(ValueError):
    """The variable holds something else than bounds: loading the configuration fails."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"environment variable {VARIABLE}: {reason}")
        self.reason = reason


def write_bounds(bounds: Bounds) -> str | None:
    """The variable's value for a child with these bounds; None: it must not be set at all.

    Seed: thinking:child:export, thinking:child:unbounded-unchanged
    """
    return serialise_bounds(bounds)


def read_bounds(value: str | None) -> Bounds:
    """The bounds a parent handed down; unset, blank and `{}` all mean no bounds.

    Raises: InheritedBoundsError: anything but one JSON object with `min` and `max` at most once each.
    Seed: thinking:child:malformed-env, thinking:child:env-unset
    """
    if value is None or not value.strip(JSON_WHITESPACE):
        return UNBOUNDED
    if len(value) > LONGEST_VALUE_CHARACTERS:
        raise InheritedBoundsError(f"{len(value)} characters; {LONGEST_VALUE_CHARACTERS} is the most that is read")
    try:
        return parse_bounds(strict_json.decode_strict(value), VARIABLE)
    except BoundsError as error:
        raise InheritedBoundsError(str(error).removeprefix(VARIABLE).lstrip(".: ")) from None
    except ValueError as error:
        raise InheritedBoundsError(f'{error}; wanted JSON such as {{"min":"low","max":"high"}}') from None


def inherited_bounds(environment: Mapping[str, str]) -> Bounds:
    """What this process inherited.

    Raises: InheritedBoundsError: the variable is malformed.
    """
    return read_bounds(environment.get(VARIABLE))


def for_child(caller: Bounds, wanted: Bounds | None) -> Bounds:
    """The effective bounds of a child of `caller` that asks for `wanted` (None: all of the caller's).

    Raises: WiderBoundsError: before anything was launched.
    """
    return caller if wanted is None else narrow(caller, wanted)
