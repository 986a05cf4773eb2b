"""What a run shows when nobody watches: the program's prints into a pipe, warnings, and a failure; nothing else.

It loads no terminal library until a failure is to be told: a piped run starts sooner without one.
"""

import sys
from typing import TYPE_CHECKING, Any, Final

from host_bridge.neutral_text import neutralise

if TYPE_CHECKING:
    from host_bridge.approval_prompt import ApprovalRequest, Approver
    from host_bridge.trace import CallRecord
    from runtime.events import Event
    from runtime.run_display import RunDisplay
    from runtime.run_result import RunResult


def display_for(*, enabled: bool) -> "PlainDisplay | RunDisplay":
    """The display of a run: the full one on a terminal or on request."""
    if not enabled and not sys.stdout.isatty():
        return PlainDisplay()
    from runtime.run_display import RunDisplay

    return RunDisplay(enabled=enabled)


class PlainDisplay:
    """A `RunDisplay` that is not enabled and has no terminal."""

    enabled: Final = False
    agents: Final = None
    """Children are not watched."""

    def __init__(self) -> None:
        self.output_error: OSError | None = None
        """Why standard output takes no more; None while it does."""

    def begins(self, name: str, *, session: str | None, level: str, model: str | None) -> None:
        """Nothing."""

    def event(self, event: "Event") -> None:
        """Nothing."""

    def call_started(self, call_id: int, ref: str) -> None:
        """Nothing."""

    def call_finished(self, record: "CallRecord") -> None:
        """Nothing."""

    def approval_waiting(self, request: "ApprovalRequest") -> None:
        """Nothing: the approver shows the question itself."""

    def undisturbed(self, approver: "Approver | None") -> "Approver | None":
        """The approver: there are no lines that could be in its way."""
        return approver

    def log_printed(self, text: str) -> None:
        """A `print` of the program, at once; a reader that left is remembered, and the run goes on."""
        if self.output_error is None:
            try:
                sys.stdout.write(text + "\n")
                sys.stdout.flush()
            except OSError as error:
                self.output_error = error

    def warning(self, message: str) -> None:
        """Something a person should know, whatever the mode."""
        print(f"warning: {neutralise(message)}", file=sys.stderr)

    def ends(self, result: "RunResult", *, seconds: float) -> None:
        """What failed, where, and what had already happened."""
        if result.error is not None:
            from runtime.run_display import RunDisplay

            RunDisplay(enabled=False).ends(result, seconds=seconds)

    def value(self, value: Any) -> None:
        """A piped result is one line of JSON, which the command prints."""
