"""What the asking side has, and therefore the most that a child may get; frozen values without behaviour."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from child_agents.request import Mode
from guest_api.bounds import UNBOUNDED, Bounds

ASK_ALL: Final[Mapping[str, Mode]] = MappingProxyType(
    {"read": "allow", "write": "ask", "execute": "ask", "network": "ask", "agent": "ask"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerContext:
    """The caller of `agents.*`: a root host, or a child host that has inherited."""

    root_id: str
    """Names the tree of runs that share one ledger."""
    depth: int = 0
    """0 in a root host, 1 in its children."""
    path: tuple[str, ...] = ()
    """Names from the first child down to the caller itself; empty in a root host."""
    run_id: str | None = None
    """The caller's own agent run; None in a root host."""
    bounds: Bounds = UNBOUNDED
    """The configured effective bounds, never the view that a model resolves them to."""
    risks: Mapping[str, Mode] = field(default_factory=lambda: ASK_ALL)
    """Effective approval mode by risk class."""
    rules: tuple[Mapping[str, Any], ...] = ()
    """Approval rules by ref, in order."""
    tools: tuple[str, ...] | None = None
    """Refs and prefixes that the caller itself may use; None: no limit."""
    schema_mode: Literal["off", "audit", "enforce"] = "off"
    may_launch: bool = True
    """False in a child that was not started `recursive`."""
    max_depth: int | None = None
    """The deepest level that its own parent allows; None in a root host."""
    max_turns: int | None = None
    max_cost: float | None = None
    model: str | None = None
    cwd: Path = field(default_factory=Path.cwd)
    config_file: Path | None = None
    """A configuration file named on the command line; children read the same."""
    session_id: str | None = None
    session_file: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    """The caller's own environment; only an allow-list of it reaches a child."""
