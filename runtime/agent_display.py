"""Live lines for running children while a program runs: one each, collapsed when they are many; quiet when piped."""

import time
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.text import Text

from child_agents.request import FINAL_STATUSES
from child_agents.runs import Run

LINES_SHOWN: Final = 8
"""Running children with a line of their own; the others are counted in one."""
REFRESH_SECONDS: Final = 0.05
"""Redraws follow events, at most this often; nothing is redrawn while nothing happens."""
MARKS: Final = {
    "completed": ("✓", "green"),
    "failed": ("✗", "red"),
    "timed_out": ("✗", "red"),
    "stopped": ("■", "yellow"),
}


class AgentProgress:
    """Told of every change of every child. Prints nothing unless it is enabled on a terminal."""

    def __init__(self, console: Console, *, enabled: bool) -> None:
        self._console = console
        self._enabled = enabled and console.is_terminal
        self._running: dict[str, Run] = {}
        self._counts: dict[str, int] = {}
        self._live: Live | None = None
        self._drawn_at = 0.0

    def __call__(self, run: Run) -> None:
        """A child was launched, did something, or is over."""
        if not self._enabled:
            return
        if run.status in FINAL_STATUSES:
            if self._running.pop(run.id, None) is not None:
                self._counts[run.status] = self._counts.get(run.status, 0) + 1
                if len(self._running) < LINES_SHOWN:
                    self._console.print(self._ended(run))
        else:
            self._running[run.id] = run
        self._draw(always=run.status in FINAL_STATUSES)

    def pause(self) -> None:
        """A person is asked: the lines go away until something happens again."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def close(self) -> None:
        """The program is over."""
        self.pause()
        self._enabled = False

    def _draw(self, *, always: bool) -> None:
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
        calls = f", {run.calls} calls" if run.calls else ""
        return Text(f"  ◦ {'/'.join(run.resolved.path)}: {run.status}{level}{calls}", style="dim")

    def _ended(self, run: Run) -> Text:
        mark, colour = MARKS.get(run.status, ("?", "yellow"))
        text = Text(f"  {mark} ", style=colour)
        text.append(f"agent {'/'.join(run.resolved.path)} {run.status.replace('_', ' ')}", style="default")
        if run.result is not None:
            text.append(f"  {run.result.usage.wall_ms / 1000:.2f} s", style="dim")
            if run.result.error is not None:
                text.append(f"\n      {run.result.error.message.splitlines()[0]}", style="red")
        return text
