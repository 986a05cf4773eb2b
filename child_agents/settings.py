"""The settings of child agents as frozen values; they are decoded and checked elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from child_agents.request import Mode
from guest_api.levels import Level

EMPTY: Final[Mapping[str, "Alias"]] = MappingProxyType({})
NO_MODES: Final[Mapping[str, Mode]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """A named model and level: `agents.aliases.<name>`."""

    model: str | None = None
    thinking: Level | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """`agents.*` of the configuration."""

    runner: str = "program"
    thinking: Level | None = None
    """The level of runs that name none; None: no level is sent."""
    aliases: Mapping[str, Alias] = field(default_factory=lambda: EMPTY)
    max_concurrent: int = 4
    """Children of one host that run at the same time; further ones wait in order."""
    max_per_execution: int = 100
    """Launches of one program run."""
    max_depth: int = 2
    max_descendants: int = 256
    """Runs below one root, over all depths and processes."""
    max_turns: int = 100
    max_cost: float = 10.0
    """US dollars of all descendants of one root together."""
    timeout_ms: int = 3_600_000
    """The run time of a run that names none."""
    stop_grace_seconds: float = 5.0
    """How long a child may take to end after it was asked, and again after TERM."""
    retention_days: float = 14.0
    """Records of finished runs are kept this long."""
    resident_idle_seconds: float = 30.0
    """The resident host ends this long after its last run and client."""
    environment: tuple[str, ...] = ()
    """Further variables that children receive; secrets reach a child only this way."""
    delegation: Mapping[str, Mode] = field(default_factory=lambda: NO_MODES)
    """Risk classes that children may have beyond their caller; only a person's own setting grants it."""
    warm_template: bool = True
    """Whether child hosts are forked from a warm process; False: each is a cold start."""
    pid_namespace: bool = True
    """Whether children live in a pid namespace where the kernel allows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFolders:
    """Where records, ledgers and owner locks lie."""

    root: Path

    @property
    def runs(self) -> Path:
        """One folder a run."""
        return self.root / "runs"

    @property
    def owners(self) -> Path:
        """One locked file per living host."""
        return self.root / "owners"

    @property
    def ledgers(self) -> Path:
        """One file per root."""
        return self.root / "ledgers"

    @property
    def resident(self) -> Path:
        """Socket and lock of resident hosts."""
        return self.root / "resident"

    def make(self) -> None:
        """Create the folders, readable by their owner only."""
        for folder in (self.root, self.runs, self.owners, self.ledgers, self.resident):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
