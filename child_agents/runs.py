"""One live run as its supervisor holds it, and the handle that programs see; it starts nothing."""

from dataclasses import dataclass, field
from typing import Any

import trio

from child_agents.channel import Channel
from child_agents.conclusion import Counters, Ending, ProcessEnd
from child_agents.inheritance import FromChild
from child_agents.records import RunRecord, now_text
from child_agents.request import AgentResult, Status
from child_agents.resolver import ResolvedRun
from child_agents.runners.port import Outcome, Runner
from child_agents.worker_frames import FromWorker

STDERR_KEPT_BYTES = 64 * 1024


@dataclass(slots=True, eq=False)
class Run:
    """A run between its launch and its result."""

    resolved: ResolvedRun
    runner: Runner
    detached: bool
    execution: str | None
    folder: str
    status: Status = "queued"
    created_at: str = field(default_factory=now_text)
    started_seconds: float | None = None
    """trio's clock, when its process was asked for."""
    ended_seconds: float | None = None
    result: AgentResult | None = None
    done: trio.Event = field(default_factory=trio.Event)
    scope: trio.CancelScope = field(default_factory=lambda: trio.CancelScope(shield=True))
    """The whole run; shielded, because only its own ladder ends it."""
    waiting_for_slot: trio.CancelScope = field(default_factory=trio.CancelScope)
    ending: Ending | None = None
    ended_by: str = "itself"
    worker: Channel[FromWorker] | None = None
    control: Channel[FromChild] | None = None
    outcome: Outcome | None = None
    process: ProcessEnd = field(default_factory=ProcessEnd)
    turns: int = 0
    cost: float = 0.0
    uncounted_cost: float = 0.0
    """The part of it that the ledger has not taken yet: its disk was full."""
    calls: int = 0
    asking: int = 0
    """Questions to a person that are open: the run's time stands still."""
    asking_changed: trio.Event = field(default_factory=trio.Event)
    waiters: int = 0
    waited: bool = False
    last_event: str = ""
    has_logged: bool = False
    stdout: bytearray = field(default_factory=bytearray)
    stdout_bytes: int = 0
    stderr: bytearray = field(default_factory=bytearray)

    @property
    def id(self) -> str:
        """The run's id."""
        return self.resolved.id

    def keep_stderr(self, data: bytes) -> None:
        """Keep the newest part."""
        self.stderr += data
        if len(self.stderr) > STDERR_KEPT_BYTES:
            del self.stderr[: len(self.stderr) - STDERR_KEPT_BYTES]

    def counters(self, now_seconds: float) -> Counters:
        """What was counted so far."""
        end = self.ended_seconds if self.ended_seconds is not None else now_seconds
        wall = 0.0 if self.started_seconds is None else (end - self.started_seconds) * 1000
        return Counters(turns=self.turns, cost=self.cost, calls=self.calls, wall_ms=wall)


def handle_of(run: ResolvedRun, status: Status, created_at: str) -> dict[str, Any]:
    """What `agents.spawn` returns and `agents.status` and `agents.list` build on; absent keys have no value.

    Seed: thinking:child:requested-handle
    """
    handle: dict[str, Any] = {
        "id": run.id,
        "name": run.name,
        "runner": run.runner,
        "status": status,
        "residency": run.residency,
        "depth": run.depth,
        "path": list(run.path),
        "thinking": run.thinking,
        "createdAt": created_at,
    }
    if run.model is not None:
        handle["model"] = run.model
    if run.requested_thinking is not None:
        handle["requestedThinking"] = run.requested_thinking
    if run.thinking_bounds is not None:
        handle["thinkingBounds"] = run.thinking_bounds.to_dict()
    return handle


def live_status(run: Run, now_seconds: float) -> dict[str, Any]:
    """A run of this host, with what was counted."""
    counters = run.counters(now_seconds)
    shown = handle_of(run.resolved, run.status, run.created_at) | {
        "turns": counters.turns,
        "toolCalls": counters.calls,
        "cost": counters.cost,
        "wallMs": round(counters.wall_ms, 1),
        "sources": dict(run.resolved.sources),
    }
    return shown | _ended(run.result)


def record_status(record: RunRecord) -> dict[str, Any]:
    """A run of an earlier or another host, from its record."""
    run = record.request.run
    shown = handle_of(run, record.status, record.request.created_at) | {"sources": dict(run.sources)}
    if record.finished_at is not None:
        shown["finishedAt"] = record.finished_at
    return shown | _ended(record.result)


def _ended(result: AgentResult | None) -> dict[str, Any]:
    if result is None:
        return {}
    shown: dict[str, Any] = {
        "status": result.status,
        "turns": result.turns,
        "toolCalls": result.tool_calls,
        "cost": result.usage.cost,
        "wallMs": result.usage.wall_ms,
    }
    if result.error is not None:
        shown["error"] = {"kind": result.error.kind, "message": result.error.message}
    return shown
