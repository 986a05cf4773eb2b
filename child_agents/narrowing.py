"""Whether one grant lies inside another: tool patterns, approval modes, rules; pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from child_agents.request import MODES, Mode
from host_bridge.descriptor import RISKS, Risk

RANK: Final[Mapping[str, int]] = {mode: rank for rank, mode in enumerate(MODES)}


def pattern_matches(pattern: str, ref: str) -> bool:
    """Whether `mcp.git.*` or an exact ref means this ref."""
    return ref == pattern or (pattern.endswith(".*") and ref.startswith(pattern[:-1])) or pattern == "*"


def covered(wanted: str, having: Iterable[str]) -> bool:
    """Whether everything that the pattern `wanted` means is also meant by one pattern of `having`."""
    return any(pattern_matches(pattern, wanted) for pattern in having)


def wider_tools(wanted: Sequence[str], having: Sequence[str] | None) -> list[str]:
    """The wanted tools that lie outside; empty: nothing does."""
    return [] if having is None else [tool for tool in wanted if not covered(tool, having)]


def stricter(left: Mode, right: Mode) -> Mode:
    """The mode with less freedom."""
    return left if RANK[left] <= RANK[right] else right


def freer(left: Mode, right: Mode) -> Mode:
    """The mode with more freedom."""
    return left if RANK[left] >= RANK[right] else right


def ceiling(caller: Mapping[str, Mode], delegation: Mapping[str, Mode]) -> dict[str, Mode]:
    """The most that a child may have by risk class: the caller's own mode, or what a person's setting delegates."""
    return {risk: freer(caller.get(risk, "deny"), delegation.get(risk, "deny")) for risk in RISKS}


def child_modes(inherited: Mapping[str, Mode], own: Mapping[str, str]) -> dict[Risk, Mode]:
    """The modes that hold in a child: the inherited ones, and what its own configuration denies stays denied.

    The child's own `ask` does not take back an inherited `allow`: that was granted for this run, and its person is the
    parent's.
    """
    return {risk: "deny" if own.get(risk) == "deny" else inherited.get(risk, "deny") for risk in RISKS}


def child_rules(inherited: Iterable[Mapping[str, Any]], own: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The rules that hold in a child: its own denials, then the inherited rules; its own grants never count."""
    return [*(rule for rule in own if rule.get("action") == "deny"), *inherited]
