"""One program as one agent run: session events around it, its record on the branch, its result; it opens no host."""

import hashlib
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import trio

from guest_api.levels import Level
from host_bridge.admission import Admission
from host_bridge.approval_prompt import ApprovalRequest
from host_bridge.confinement_plan import GuestLimits
from host_bridge.conversation import result_from_text
from host_bridge.guest_process import Observer, SilentObserver, run_program
from host_bridge.limits import RunLimits
from host_bridge.results import ResultFolders, shown
from host_bridge.run_outcome import RunError, RunOutcome
from host_bridge.trace import CallRecord, run_entry
from host_bridge.zygote_client import GuestPool
from runtime.events import LevelChanged, ToolCalled
from runtime.run_result import LevelSpan, RunFailure, RunResult
from runtime.session import Session
from runtime.transcript.entries import RUN_ENTRY
from runtime.transcript.errors import TranscriptError

RECORD_DEADLINE_SECONDS: Final = 5.0
"""Writing a run's record is shielded from cancellation; it takes milliseconds."""
STANDARD_ROOTS: Final = ("agents", "extensions", "mcp", "pi", "thinking", "tools")
"""Names that programs know in every host; what is not there (managed, not configured) is an unknown action by name."""


class FinishingObserver(Observer, Protocol):
    """An observer that wants to know the end as well: spans."""

    def finish(self, kind: str) -> None:
        """The run is over: `done` or the error's kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """What a run needs of its host."""

    session: Session
    admission: Admission
    results: ResultFolders
    caller: tuple[str, ...] = ()
    """The child's path in questions; empty: the host's own program."""
    spans: Callable[[str], FinishingObserver] | None = None
    """Run id to telemetry."""


class ProgramRun(SilentObserver):
    """One program on its way: watches its calls, and writes what it came to."""

    def __init__(self, context: RunContext, *watchers: Observer | None) -> None:
        self.id: Final = uuid.uuid4().hex
        self._context = context
        self._spans = context.spans(self.id) if context.spans is not None else None
        self._watchers: list[Observer] = [one for one in (*watchers, self._spans) if one is not None]
        self._records: list[CallRecord] = []
        self._logs: list[str] = []

    def call_started(self, call_id: int, ref: str) -> None:
        """Pass on."""
        for watcher in self._watchers:
            watcher.call_started(call_id, ref)

    def call_finished(self, record: CallRecord) -> None:
        """Keep it, tell the session (a call of an action burns its namespace), pass on."""
        self._records.append(record)
        if record.risk is not None:
            self._context.session.tool_called(ToolCalled(record.ref, record.namespace))
        for watcher in self._watchers:
            watcher.call_finished(record)

    def log_printed(self, text: str) -> None:
        """Keep it, pass on."""
        self._logs.append(text)
        for watcher in self._watchers:
            watcher.log_printed(text)

    def approval_waiting(self, request: ApprovalRequest) -> None:
        """Pass on."""
        for watcher in self._watchers:
            watcher.approval_waiting(request)

    async def to_result(
        self,
        pool: GuestPool | None,
        source: str,
        value: Any,
        *,
        limits: RunLimits,
        scope: trio.CancelScope,
        prompt: str | None,
    ) -> RunResult:
        """The program inside its agent run. Cancelling `scope` ends it as `cancelled`; cancelling the caller too,
        after `agent_end` and the record. No `pool`: the run was interrupted while it was being opened.
        A session that takes no more entries (disk full) makes a run that did well one that failed, kind `host`.
        """
        session = self._context.session
        before: Level | None = None
        outcome = self._interrupted()
        unwritten: TranscriptError | None = None
        try:
            async with session.agent_run():
                before = session.level
                started_at_ms, started = time.time_ns() // 1_000_000, trio.current_time()
                try:
                    with scope:
                        if prompt is not None:
                            await session.submit(prompt)
                        if pool is not None:
                            outcome = await self._in_guest(pool, source, value, limits)
                    if scope.cancelled_caught:
                        outcome = self._interrupted()
                except BaseException:
                    outcome = self._interrupted()
                    raise
                finally:
                    kind = "done" if outcome.error is None else outcome.error.kind
                    if self._spans is not None:
                        self._spans.finish(kind)
                    self._context.results.forget(self.id)
                    with trio.move_on_after(RECORD_DEADLINE_SECONDS, shield=True):
                        entry = run_entry(
                            run_id=self.id,
                            sha256=hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest(),
                            kind=kind,
                            records=outcome.calls,
                            started_at_ms=started_at_ms,
                            ms=(trio.current_time() - started) * 1000,
                            skipped_layers=() if pool is None else pool.skipped_layers,
                            schema_mode=self._context.admission.schema_mode,
                        )
                        try:
                            await session.host.append_custom(RUN_ENTRY, entry)
                        except TranscriptError as error:
                            unwritten = error
        except TranscriptError as error:
            unwritten = error
        if unwritten is not None and outcome.ok:
            error_text = f"the program is done, but the session does not hold it: {unwritten}"
            outcome = replace(outcome, ok=False, value=None, error=RunError(kind="host", message=error_text))
        changes: tuple[LevelChanged, ...] = tuple(session.level_changes)
        return RunResult(
            ok=outcome.ok,
            value=outcome.value,
            error=_failure(outcome.error),
            calls=tuple(outcome.calls),
            logs=tuple(outcome.logs),
            session=session.path,
            level=LevelSpan(before, session.level, changes),
            skipped_layers=() if pool is None else tuple(pool.skipped_layers),
        )

    async def _in_guest(self, pool: GuestPool, source: str, value: Any, limits: RunLimits) -> RunOutcome:
        admission = self._context.admission
        guest = await pool.checkout(guest_limits(limits))
        try:
            return await run_program(
                guest,
                source,
                value,
                admission=admission,
                limits=limits,
                run_id=self.id,
                observer=self,
                caller=self._context.caller,
                namespaces=sorted({*STANDARD_ROOTS, *admission.registry.namespaces()}),
                spill=self._spilled,
            )
        finally:
            await guest.aclose()

    def _spilled(self, text: bytes) -> Any:
        """A result too large for one frame: kept whole in a private file, shown as head, marker and tail.

        The text is the guest's own word: it is only decoded as a JSON value where that is one string.
        """
        value = result_from_text(text) if text[:1] == b'"' else text.decode("utf-8", "replace")
        return shown(value, self._context.results.of(self.id)).value

    def _interrupted(self) -> RunOutcome:
        """An interrupted run lists its calls and prints too."""
        return RunOutcome(
            ok=False,
            error=RunError(kind="cancelled", message="the run was interrupted"),
            calls=sorted(self._records, key=lambda record: record.id),
            logs=self._logs,
        )


def guest_limits(limits: RunLimits) -> GuestLimits:
    """What of a run's limits the kernel enforces."""
    default = GuestLimits()
    return GuestLimits(memory_bytes=limits.memory_bytes, cpu_seconds=limits.cpu_seconds or default.cpu_seconds)


def _failure(error: RunError | None) -> RunFailure | None:
    if error is None:
        return None
    return RunFailure(error.kind, error.message, error.line, error.source_line, tuple(error.frames))
