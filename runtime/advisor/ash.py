"""Burned namespaces of a branch, and the one way in which something burns. It knows no transcript and no prompts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Origin: TypeAlias = Literal["fired", "organic"]
"""`fired`: a hint named it. `organic`: a tool of it was called."""


@dataclass(frozen=True, slots=True)
class AshRecord:
    """One burned namespace.

    Seed: combustion:store:ash-record
    """

    namespace: str
    origin: Origin
    at: str
    """When, in ISO 8601 with milliseconds and `Z`."""


Ash: TypeAlias = Mapping[str, AshRecord]
"""Namespace to its record, in burn order."""


def burned(ash: Ash, namespaces: Iterable[str], origin: Origin, at: str) -> Ash:
    """The ash after these namespaces burn. What is burned keeps its first origin and place.

    Live and on replay, hints and tool calls burn through here.

    Seed: combustion:intro:fire-burns, combustion:store:organic
    """
    fresh = {namespace: AshRecord(namespace, origin, at) for namespace in namespaces if namespace not in ash}
    return {**ash, **fresh} if fresh else ash
