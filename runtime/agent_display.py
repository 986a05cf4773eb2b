"""Live lines for running children while a program runs: one each, collapsed when they are many; quiet when piped."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.text import Text

from child_agents.request import FINAL_STATUSES
from child_agents.runs import Run
from host_bridge.approval_prompt import Answer, ApprovalRequest, Approver
from host_bridge.neutral_text import neutralise

LINES_SHOWN: Final = 8
"""Running children with a line of their own; the others are counted in one."""
REFRESH_SECONDS: Final = 0.05
"""Redraws for mere progress come at most this often; a change of status is drawn at once, so that none is missed."""
MARKS: Final = {
    "completed": ("✓", "green"),
    "failed": ("✗", "red"),
    "timed_out": ("✗", "red"),
    "stopped": ("■", "yellow"),
}


class UndisturbedApprover:
    """Asks as another approver does, with the lines of children out of the way meanwhile."""

    def __init__(self, approver: Approver, progress: "AgentProgress") -> None:
        self._approver = approver
        self._progress = progress

    async def ask(self, request: ApprovalRequest) -> Answer:
        """The other approver's answer."""
        with self._progress.held():
            return await self._approver.ask(request)


class AgentProgress:
    """Told of every change of every child. Prints nothing unless it is enabled on a terminal."""

    def __init__(self, console: Console, *, enabled: bool) -> None:
        self._console = console
        self._enabled = enabled and console.is_terminal
        self._running: dict[str, Run] = {}
        self._drawn: dict[str, str] = {}
        """The status that each line shows."""
        self._counts: dict[str, int] = {}
        self._live: Live | None = None
        self._drawn_at = 0.0
        self._holds = 0
        self._unsaid: list[Text] = []

    def __call__(self, run: Run) -> None:
        """A child was launched, did something, or is over."""
        if not self._enabled:
            return
        changed = self._drawn.get(run.id) != run.status
        self._drawn[run.id] = run.status
        if run.status in FINAL_STATUSES:
            self._drawn.pop(run.id)
            if self._running.pop(run.id, None) is not None:
                self._counts[run.status] = self._counts.get(run.status, 0) + 1
                if len(self._running) < LINES_SHOWN:
                    self._say(self._ended(run))
        else:
            self._running[run.id] = run
        self._draw(always=changed)

    @contextmanager
    def held(self) -> Iterator[None]:
        """A person is asked: the lines go away, and nothing is drawn over the question until it is answered."""
        self.pause()
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            if not self._holds:
                unsaid, self._unsaid = self._unsaid, []
                for text in unsaid:
                    self._console.print(text)
                if self._enabled:
                    self._draw(always=True)

    def pause(self) -> None:
        """The lines go away until something happens again."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _say(self, text: Text) -> None:
        if self._holds:
            self._unsaid.append(text)
        else:
            self._console.print(text)

    def close(self) -> None:
        """The program is over."""
        self.pause()
        self._enabled = False

    def _draw(self, *, always: bool) -> None:
        if self._holds:
            return
        now = time.monotonic()
        if not self._running:
            self.pause()
            return
        if not always and now - self._drawn_at < REFRESH_SECONDS:
            return
        self._drawn_at = now
        if self._live is None:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        self._live.update(self.lines(), refresh=True)

    def lines(self) -> Text:
        """What is shown now."""
        shown = list(self._running.values())[:LINES_SHOWN]
        lines = [self._line(run) for run in shown]
        rest = len(self._running) - len(shown)
        over = ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in sorted(self._counts.items()))
        if rest or over:
            parts = [f"{rest} more"] * bool(rest) + [over] * bool(over)
            lines.append(Text(f"  … {', '.join(parts)}", style="dim"))
        return Text("\n").join(lines)

    def _line(self, run: Run) -> Text:
        level = f" at {run.resolved.thinking}" if run.resolved.thinking else ""
        calls = f", {run.calls} call{'s' * (run.calls != 1)}" if run.calls else ""
        return Text(f"  ◦ {'/'.join(run.resolved.path)}: {run.status}{level}{calls}", style="dim")

    def _ended(self, run: Run) -> Text:
        mark, colour = MARKS.get(run.status, ("?", "yellow"))
        text = Text(f"  {mark} ", style=colour)
        text.append(f"agent {'/'.join(run.resolved.path)} {run.status.replace('_', ' ')}", style="default")
        if run.result is not None:
            text.append(f"  {run.result.usage.wall_ms / 1000:.2f} s", style="dim")
            if run.result.error is not None:
                first = run.result.error.message.partition("\n")[0] or run.result.error.kind
                text.append(f"\n      {neutralise(first)}", style="red")
        return text
