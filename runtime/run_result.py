"""What a run came to, for embedders and for `--json`: one shape for every way a run can end."""

from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from guest_api.levels import Level
from host_bridge.trace import CallRecord
from runtime.events import LevelChanged

ErrorKind: TypeAlias = Literal[
    "rejected", "program", "denied", "limit", "crashed", "protocol", "host", "cancelled", "config", "isolation"
]
EXIT_STATUS: Final[dict[str, int]] = {"config": 2, "isolation": 3, "cancelled": 130}
"""Exit status of `pi-fabric run` by error kind; every other kind is 1."""


@dataclass(frozen=True, slots=True)
class RunFailure:
    """Why a run did not return a value."""

    kind: ErrorKind
    message: str
    line: int | None = None
    """1-based line of the program; None where no line is to blame."""
    source_line: str | None = None
    """That line as the program has it."""
    frames: tuple[tuple[int, str], ...] = ()
    """The program's own frames, outermost first: line and function."""


@dataclass(frozen=True, slots=True)
class LevelSpan:
    """The session's level around one run."""

    before: Level | None = None
    """Read at `agent_start`."""
    after: Level | None = None
    """Read after `agent_end`."""
    changes: tuple[LevelChanged, ...] = ()


@dataclass(frozen=True, slots=True)
class RunResult:
    """One finished run."""

    ok: bool
    value: Any = None
    error: RunFailure | None = None
    calls: tuple[CallRecord, ...] = ()
    logs: tuple[str, ...] = ()
    """One string per `print`."""
    session: str | None = None
    level: LevelSpan = LevelSpan()
    skipped_layers: tuple[str, ...] = ()
    """Isolation layers that do not work on this machine and were allowed to be missing."""

    @property
    def exit_status(self) -> int:
        """The status of `pi-fabric run` for this result."""
        return 0 if self.error is None else EXIT_STATUS.get(self.error.kind, 1)

    def to_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        error = self.error
        return {
            "ok": self.ok,
            "value": self.value,
            "error": None
            if error is None
            else {
                "kind": error.kind,
                "message": error.message,
                "line": error.line,
                "source_line": error.source_line,
            },
            "calls": [call.brief() for call in self.calls],
            "logs": list(self.logs),
            "session": self.session,
            "level": {
                "before": self.level.before,
                "after": self.level.after,
                "changes": [
                    {"from": change.previous, "to": change.level, "cause": change.cause}
                    for change in self.level.changes
                ],
            },
        }


def failed_before_start(kind: ErrorKind, message: str, *, session: str | None = None) -> RunResult:
    """The result of a run that never reached a guest (`config`, `isolation`)."""
    return RunResult(ok=False, error=RunFailure(kind, message), session=session)


def failed_with(result: RunResult, error: RunFailure) -> RunResult:
    """The same run, which failed after all; its calls and prints stay."""
    return replace(result, ok=False, value=None, error=error)
