"""The port behind which every kind of child stands: a request to a command line, an output line to an event; pure.

A runner names the host by its command line, never by import. The worker and the supervisor know nothing else of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

from child_agents.request import Failure, Usage
from child_agents.resolver import ResolvedRun
from host_bridge import strict_json

NO_USAGE: Final = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSpec:
    """What process a child is."""

    argv: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    """Beyond the resolved environment; wins over it."""
    stdin: bytes = b""
    keep_stdin_open: bool = False
    """True: the child reads commands there until it is done."""
    speaks_control: bool = True
    """Whether the child reads the control channel: then it is asked to stop there."""
    stop_input: bytes = b""
    """What asks a child to stop that reads commands from its standard input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Something happened in the child."""

    kind: str
    data: Mapping[str, Any]
    turns: int = 0
    """Turns that this event adds."""
    cost: float = 0.0
    """US dollars that this event adds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The child said how it ended; the last one counts."""

    ok: bool
    value: Any = None
    text: str = ""
    error: Failure | None = None
    usage: Usage = NO_USAGE
    turns: int = 0
    tool_calls: int = 0
    level: str | None = None
    """The level at which the child really ran, where it says so."""
    logs: Sequence[str] = ()


RunnerEvent: TypeAlias = Progress | Outcome


class Runner(Protocol):
    """One kind of child."""

    @property
    def name(self) -> str:
        """What `runner=` calls it."""

    @property
    def takes_messages(self) -> bool:
        """Whether `agents.steer` and `agents.followUp` reach it."""

    def launch(self, run: ResolvedRun, folder: str) -> LaunchSpec:
        """The process for this run; `folder` is its record's folder."""

    def read(self, line: bytes) -> RunnerEvent | None:
        """What one line of the child's standard output means; None: nothing."""

    def message(self, kind: str, text: str) -> bytes | None:
        """A steer or follow-up message for the child's standard input; None: it goes over the control channel."""


def text_of(value: Any) -> str:
    """A value as the text of a result: text itself, nothing for None, JSON for everything else."""
    if value is None:
        return ""
    return value if isinstance(value, str) else strict_json.encode(value, lone_surrogates=True).decode()
