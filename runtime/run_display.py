"""What a person sees while a program runs, on standard error: each call with its time, the level moving, the end.

Plain lines, one per event, so that a terminal, a log and a screen reader all can follow. It decides nothing.
"""

import errno
import os
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.pretty import Pretty

from host_bridge.approval_prompt import ApprovalRequest, Approver
from host_bridge.neutral_text import neutralise
from host_bridge.trace import CallRecord
from runtime.agent_display import AgentProgress, UndisturbedApprover
from runtime.events import Event, HintGiven, LevelChanged
from runtime.run_result import RunResult

ARGUMENTS_SHOWN: Final = 72
CAUSES: Final = {"fabric": "thinking", "model": "the model", "foreign": "you"}


class QuietConsole(Console):
    """A console that falls silent when nobody takes its output: a run does not end where its reader leaves."""

    error: OSError | None = None
    """Why it fell silent."""

    def on_broken_pipe(self) -> None:
        """Nothing more is written."""
        self._fall_silent(BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)))

    def print(self, *objects: Any, **options: Any) -> None:
        """As a console prints, until writing fails."""
        try:
            super().print(*objects, **options)
        except OSError as error:
            self._fall_silent(error)

    def _fall_silent(self, error: OSError) -> None:
        self.error = self.error or error
        self.quiet = True


class RunDisplay:
    """Watches one run for a person; with `enabled` False it prints nothing but failures and warnings."""

    def __init__(self, *, enabled: bool, console: Console | None = None, output: Console | None = None) -> None:
        self.enabled = enabled
        self._console = console or QuietConsole(stderr=True, highlight=False, soft_wrap=True)
        self._output = output or QuietConsole(highlight=False, soft_wrap=True)
        self.agents = AgentProgress(self._console, enabled=enabled)
        """Told of every change of a child agent."""

    @property
    def output_error(self) -> OSError | None:
        """Why standard output takes no more; None while it does."""
        return getattr(self._output, "error", None)

    def begins(self, name: str, *, session: str | None, level: str, model: str | None) -> None:
        """The first line: what runs, where, at which level."""
        if not self.enabled:
            return
        parts = [f"level {level}"]
        if model:
            parts.append(f"model {escape(model)}")
        if session:
            parts.append(f"session {escape(session)}")
        self._console.print(f"[bold]▶ {escape(name)}[/bold]  [dim]{'  '.join(parts)}[/dim]")

    def event(self, event: Event) -> None:
        """A session event: changes of level and hints that people may see are worth a line."""
        if not self.enabled:
            return
        if isinstance(event, HintGiven) and event.display:
            self.hint(event.text)
        if isinstance(event, LevelChanged) and event.level != event.previous:
            self._console.print(
                f"  [cyan]↕ effort {event.previous} → {event.level}[/cyan] [dim]by {CAUSES[event.cause]}[/dim]"
            )

    def hint(self, text: str) -> None:
        """The advisor's hint, as it went onto the branch."""
        if self.enabled:
            self._console.print(f"  [magenta]✦ {_safe(text.partition(chr(10))[0])}[/magenta]")

    def call_started(self, call_id: int, ref: str) -> None:
        """Nothing yet: a line appears when the call is over."""

    def call_finished(self, record: CallRecord) -> None:
        """One line: how it went, what it was, how long it took."""
        if not self.enabled:
            return
        mark = "[green]✓[/green]" if record.ok else "[red]✗[/red]"
        arguments = "" if record.args_preview in ("", "{}") else f" {escape(_shorten(record.args_preview))}"
        line = f"  {mark} {_safe(record.ref)}[dim]{arguments}[/dim]  {record.ms:.1f} ms"
        if record.approver == "person" and record.decision == "approved":
            line += " [dim](you allowed it)[/dim]"
        if record.error is not None:
            line += f"\n      [red]{_safe(record.error.message).partition(chr(10))[0]}[/red]"
        self._console.print(line)

    def log_printed(self, text: str) -> None:
        """A `print` of the program: its own output, so on standard output, as it happens."""
        # On a terminal no print may move the cursor, hide a line or draw over a question; a pipe gets it as it is.
        shown = neutralise(text.expandtabs(), keep_newlines=True) if self._output.is_terminal else text
        self._output.print(shown, markup=False)

    def approval_waiting(self, request: ApprovalRequest) -> None:
        """The approver shows the question itself."""

    def undisturbed(self, approver: Approver | None) -> Approver | None:
        """The approver, with the live lines out of its way; a child's question comes over the same one."""
        return None if approver is None else UndisturbedApprover(approver, self.agents)

    def warning(self, message: str) -> None:
        """Something a person should know, whatever the mode."""
        self._console.print(f"[yellow]warning:[/yellow] {escape(message)}")

    def ends(self, result: RunResult, *, seconds: float) -> None:
        """The last lines: the value, or what failed, where, and what had already happened."""
        self.agents.close()
        if result.error is not None:
            self._failure(result)
            return
        if self.enabled:
            calls = f"{len(result.calls)} call{'s' * (len(result.calls) != 1)}"
            self._console.print(f"[bold green]✔ done[/bold green] [dim]in {seconds:.2f} s, {calls}[/dim]")
            if result.skipped_layers:
                self._console.print(f"[yellow]  without {', '.join(result.skipped_layers)}[/yellow] (see doctor)")

    def value(self, value: Any) -> None:
        """The returned value, pretty for people."""
        self._output.print(Pretty(value, expand_all=False))

    def _failure(self, result: RunResult) -> None:
        error = result.error
        if error is None:
            return
        self._console.print(f"[bold red]✘ {error.kind}[/bold red] {_safe(error.message)}")
        if error.line is not None:
            for line, name in error.frames[:-1]:
                self._console.print(f"    [dim]line {line}, in {_safe(name)}[/dim]")
            self._console.print(f"  line {error.line}: {_safe((error.source_line or '').strip())}")
        if result.calls:
            self._console.print("  [dim]host calls before the failure:[/dim]")
            for call in result.calls[:50]:
                self._console.print(f"    {_safe(_call_line(call))}")
            if len(result.calls) > 50:
                self._console.print(f"    … and {len(result.calls) - 50} more")


def _safe(text: str) -> str:
    """A guest's or server's text for a terminal: no markup, no control or invisible characters."""
    return escape(neutralise(text.expandtabs(), keep_newlines=True))


def _call_line(call: CallRecord) -> str:
    if call.ok:
        return f"✓ {call.ref} ({call.ms:.1f} ms)"
    return f"✗ {call.ref}: {call.error.kind if call.error else 'host'}"


def _shorten(text: str) -> str:
    return text if len(text) <= ARGUMENTS_SHOWN else text[: ARGUMENTS_SHOWN - 1] + "…"
