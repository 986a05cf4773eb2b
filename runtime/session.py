"""A session and the order in which its services hear what happens; it knows no guest, no tool and no approval.

The order is the semantics: on start and navigation thinking replays before the advisor, a prompt reaches the advisor
before a program runs, and a run's `turn_end` comes before its `agent_end`. The session exists before the rest of the
runtime: a revert that was pending happens at the next `agent_end` even if no program ever ran.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final, Literal

import trio

from guest_api.levels import Level
from runtime.advisor.service import AdvisorService
from runtime.events import (
    AgentEnded,
    AgentStarted,
    Event,
    HintGiven,
    LevelChanged,
    PromptSubmitted,
    SessionStarted,
    ToolCalled,
    TreeNavigated,
    TurnEnded,
    TurnStarted,
)
from runtime.hosts.local import LocalHost
from runtime.models import Model
from runtime.thinking.controller import ThinkingController
from runtime.transcript.entries import Entry

END_DEADLINE_SECONDS: Final = 5.0
"""`agent_end` runs shielded from cancellation; its appends and its revert take milliseconds."""

StartReason = Literal["startup", "resume", "reload", "fork"]


class Session:
    """One session: its host (level, model, branch) and the services that live on its branch."""

    def __init__(self, host: LocalHost, *, thinking: ThinkingController | None, advisor: AdvisorService | None) -> None:
        self.host = host
        self.thinking = thinking
        """None: the session keeps no override; a managed host has one and only does not offer `thinking.*`."""
        self.advisor = advisor
        self.level_changes: list[LevelChanged] = []
        """Every change since the running agent run began, oldest first."""
        self.listeners: list[Callable[[Event], None]] = []
        """Told of every event after the services, synchronously: displays and embedders. They must not raise."""
        self._active_runs = 0
        self._boundary = trio.Lock()

    @property
    def level(self) -> Level:
        """The effective level now."""
        return self.host.level

    @property
    def model(self) -> Model | None:
        """The active model."""
        return self.host.model

    @property
    def path(self) -> str | None:
        """The session file; None without one."""
        return None if self.host.store.path is None else str(self.host.store.path)

    def branch(self) -> Sequence[Entry]:
        """The active branch, root first."""
        return self.host.branch()

    async def start(self, reason: StartReason, *, level: Level | None = None) -> None:
        """Replay the branch into every service. `level`: what a person chose for this start (`--level`).

        A child's level goes inside its inherited bounds before it is set, so that it is recorded once.
        """
        self.host.on_level_changed = self._level_changed
        if level is not None and self.thinking is not None:
            level = self.thinking.level_at_start(level)
        if level is not None and not self.branch():
            await self.host.set_level_by_person(level)
            level = None
        event = SessionStarted(reason, self.branch())
        if self.thinking is not None:
            await self.thinking.session_started(event)
        if level is not None:
            # After the replay: the choice ends an override that the branch holds.
            await self.host.set_level_by_person(level)
        if self.advisor is not None:
            await self.advisor.session_started(event)
        self._tell(event)

    async def navigate(self, entry_id: str | None) -> None:
        """Move the leaf, in memory as Pi does, and replay the branch that it ends.

        Raises: UnknownEntryError: no such entry.
        """
        self.host.store.navigate(entry_id)
        event = TreeNavigated(self.branch())
        if self.thinking is not None:
            await self.thinking.tree_navigated(event)
        if self.advisor is not None:
            await self.advisor.tree_navigated(event)
        self._tell(event)

    async def submit(self, text: str) -> None:
        """Hand the session a prompt: recorded as a user message, then read by the advisor."""
        self.host.append_user_message(text)
        event = PromptSubmitted(text)
        hint = None if self.advisor is None else await self.advisor.prompt_submitted(event)
        self._tell(event)
        if hint is not None:
            self._tell(HintGiven(hint.content, hint.display))

    async def set_level(self, level: Level) -> None:
        """A person chose a level: ends an override that is active, restoring nothing."""
        await self.host.set_level_by_person(level)

    async def set_model(self, model: Model) -> None:
        """Switch the model; an override's wish is applied again, clamped to it."""
        await self.host.set_model(model)
        if self.thinking is not None:
            await self.thinking.model_changed()

    def tool_called(self, event: ToolCalled) -> None:
        """A program called an action: burns its namespace, organically."""
        if self.advisor is not None:
            self.advisor.tool_called(event)
        self._tell(event)

    @asynccontextmanager
    async def agent_run(self) -> AsyncIterator[None]:
        """One agent run around the body: `agent_start`, `turn_start`, body, `turn_end`, `agent_end`.

        However the body ends, `agent_end` is told, shielded and bounded. Runs that overlap are one agent run, which
        ends with the last of them: a `turn` override of one program is not taken away by another one's end.
        """
        async with self._boundary:
            if self._active_runs == 0:
                self.level_changes.clear()
                self._tell(AgentStarted())
                self._tell(TurnStarted())
            self._active_runs += 1
        try:
            yield
        finally:
            with trio.move_on_after(END_DEADLINE_SECONDS, shield=True):
                async with self._boundary:
                    self._active_runs -= 1
                    if self._active_runs == 0:
                        await self._end_run()

    async def _end_run(self) -> None:
        if self.advisor is not None:
            await self.advisor.turn_ended()
        self._tell(TurnEnded())
        if self.thinking is not None:
            await self.thinking.agent_ended()
        self.host.store.sync()
        self._tell(AgentEnded())

    async def _level_changed(self, event: LevelChanged) -> None:
        self.level_changes.append(event)
        if self.thinking is not None:
            await self.thinking.level_changed(event)
        self._tell(event)

    def _tell(self, event: Event) -> None:
        for listener in tuple(self.listeners):
            listener(event)

    def close(self) -> None:
        """Release the session file."""
        self.host.store.close()
