"""Errors of child agents that some caller handles differently."""

from typing import Any


class AgentError(Exception):
    """Base of what this package raises."""


class RequestError(AgentError, ValueError):
    """The request itself is wrong: field, what was given, what is wanted. Nothing was launched."""


class LaunchRefusedError(AgentError):
    """The request asks for more than its caller has, or a limit is reached. Nothing was launched."""

    def __init__(self, message: str, *, setting: str, requested: Any = None, effective: Any = None) -> None:
        super().__init__(message)
        self.setting = setting
        """The setting that would change the answer: `agents.maxDepth`."""
        self.requested = requested
        self.effective = effective


class UnknownRunError(AgentError):
    """No run of that id is known here."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"no agent run has the id {run_id!r:.80}; agents.list() names the runs of this session")
        self.run_id = run_id


class InheritanceError(AgentError):
    """What a parent handed down is malformed: the child must not start."""


class NoWorkerError(AgentError):
    """This machine has no room for a further process; those that run go on."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"no process could be started: {reason}")


class LauncherLostError(AgentError):
    """The processes that start and guard children could not be started, or are gone."""
