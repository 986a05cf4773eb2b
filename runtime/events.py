"""What happened in a session, in the past tense. The session tells its services in turn, awaited, in order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from guest_api.levels import Level
from runtime.transcript.entries import Entry


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """The session is open; services drop what was in memory and replay `branch` (root first)."""

    reason: Literal["startup", "resume", "reload", "fork"]
    branch: Sequence[Entry]


@dataclass(frozen=True, slots=True)
class TreeNavigated:
    """The leaf moved; services replay the new branch (root first)."""

    branch: Sequence[Entry]


@dataclass(frozen=True, slots=True)
class PromptSubmitted:
    """A person or program handed the session a prompt."""

    text: str


@dataclass(frozen=True, slots=True)
class HintGiven:
    """The advisor put a hint onto the branch."""

    text: str
    display: bool
    """Whether people are shown it, too."""


@dataclass(frozen=True, slots=True)
class AgentStarted:
    """An agent run began."""


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn of the run began."""


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A program called an action that belongs to an advisor source, or to none (`namespace` None)."""

    ref: str
    namespace: str | None


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A turn of the run ended."""


@dataclass(frozen=True, slots=True)
class AgentEnded:
    """The agent run is over, however it ended."""


@dataclass(frozen=True, slots=True)
class LevelChanged:
    """The session's effective level changed, or a person chose the level that was in force (`level == previous`)."""

    level: Level
    previous: Level
    cause: Literal["fabric", "model", "foreign"]
    """`fabric`: our controller did it. `model`: a model switch did. `foreign`: a person or another extension."""


Event: TypeAlias = (
    SessionStarted
    | TreeNavigated
    | PromptSubmitted
    | HintGiven
    | AgentStarted
    | TurnStarted
    | ToolCalled
    | TurnEnded
    | AgentEnded
    | LevelChanged
)
