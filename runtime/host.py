"""The composition root: opens a session and its services, then lets guests in. It decides nothing itself.

The session (store, thinking, advisor) exists first; guests, their zygote and the servers of tools start with the first
program that needs them. Services enclose guests: a guest is dead before what serves it goes away.
"""

import hashlib
import os
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Protocol

import trio

from guest_api.levels import Level
from host_bridge.admission import Admission
from host_bridge.approval_prompt import Answer, ApprovalRequest, Approver, Classifier
from host_bridge.approval_rules import RuleStore
from host_bridge.approvals import ApprovalPolicy, Rule
from host_bridge.confinement_plan import ConfinementPlan, GuestLimits
from host_bridge.descriptor import Action, Risk
from host_bridge.guest_process import RunError, RunOutcome, SilentObserver, run_program
from host_bridge.limits import RunLimits
from host_bridge.registry import Registry
from host_bridge.trace import CallRecord, run_entry
from host_bridge.zygote_client import GuestPool, open_guest_pool
from runtime.advisor.service import AdvisorService
from runtime.advisor.settings import AdvisorySettings
from runtime.config import Config, embedded_defaults, parse_config
from runtime.events import ToolCalled
from runtime.hosts.local import LocalHost
from runtime.models import Model
from runtime.run_result import LevelSpan, RunFailure, RunResult, summarise
from runtime.session import Session
from runtime.thinking.actions import actions as thinking_actions
from runtime.thinking.controller import ThinkingController
from runtime.transcript.entries import RUN_ENTRY
from runtime.transcript.store import TranscriptStore

RECORD_DEADLINE_SECONDS: Final = 5.0
"""Writing a run's record is shielded from cancellation; it takes milliseconds."""
EMBEDDER_SOURCE: Final = "embedder"
STANDARD_ROOTS: Final = ("agents", "extensions", "mcp", "pi", "thinking", "tools")
"""Names that programs know in every host; what is not there (managed, not configured) is an unknown action by name."""

ApproverFunction = Callable[[ApprovalRequest], Awaitable[Answer]]


class RunObserver(Protocol):
    """Who watches a run for people; every method is called synchronously and must return at once."""

    def call_started(self, call_id: int, ref: str) -> None:
        """A host call arrived."""

    def call_finished(self, record: CallRecord) -> None:
        """It is over, however."""

    def log_printed(self, text: str) -> None:
        """The program printed."""

    def approval_waiting(self, request: ApprovalRequest) -> None:
        """A person is about to be asked."""


class Host:
    """One open host: a session, its tools, and the programs that run on it. Made by `open_host`."""

    def __init__(
        self,
        *,
        config: Config,
        session: Session,
        registry: Registry,
        admission: Admission,
        services_nursery: trio.Nursery,
        caller: tuple[str, ...] = (),
        spill: Callable[[str, bytes], Any] | None = None,
    ) -> None:
        self.config = config
        self.session = session
        self.registry = registry
        self.admission = admission
        self.limits = run_limits(config)
        """Of every run that is not given its own."""
        self._caller = caller
        self._spill = spill
        self._services_nursery = services_nursery
        self._pool: GuestPool | None = None
        self._pool_lock = trio.Lock()
        self._scopes: set[trio.CancelScope] = set()

    async def submit(self, text: str) -> None:
        """Hand the session a prompt; the advisor may answer it with a hint on the branch."""
        await self.session.submit(text)

    async def run_program(
        self,
        source: str,
        input: Any = None,  # noqa: A002  the name that programs know it by
        *,
        limits: RunLimits | None = None,
        observer: RunObserver | None = None,
        prompt: str | None = None,
    ) -> RunResult:
        """Run a program (an async function body) as one agent run; never raises for anything it does.

        `prompt` is submitted to the session first, inside the run, so that its turn is the hint's fire turn.

        Cancelling the caller kills the guest, ends the agent run and records it before the cancellation goes on.
        Raises: IsolationUnavailableError: no guest may be started here. ValueRefusedError: `input` is no JSON value.
        """
        pool = await self._open_pool()
        run = _Run(self, observer)
        scope = trio.CancelScope()
        self._scopes.add(scope)
        try:
            return await run.to_result(pool, source, input, limits or self.limits, scope, prompt)
        finally:
            self._scopes.discard(scope)

    def interrupt(self) -> None:
        """End every running program; each of their results says `cancelled`."""
        for scope in self._scopes:
            scope.cancel()

    async def warm(self) -> None:
        """Start the zygote and its first guests now, ahead of the first program.

        Raises: IsolationUnavailableError: no guest may be started here.
        """
        await self._open_pool()

    async def _open_pool(self) -> GuestPool:
        async with self._pool_lock:
            if self._pool is None:
                self._pool = await self._services_nursery.start(self._serve_pool)
            pool: GuestPool = self._pool
            return pool

    async def _serve_pool(self, *, task_status: trio.TaskStatus[GuestPool]) -> None:
        executor = self.config.executor
        async with open_guest_pool(
            ConfinementPlan.for_mode(executor.isolation),
            limits=guest_limits(self.limits),
            pool_size=executor.pool_size,
        ) as pool:
            task_status.started(pool)
            await trio.sleep_forever()


class _Run(SilentObserver):
    """One program on its way: watches its calls, and writes what it came to."""

    def __init__(self, host: Host, watcher: RunObserver | None) -> None:
        self._host = host
        self._watcher: RunObserver = watcher or SilentObserver()
        self._id = uuid.uuid4().hex
        self._records: list[CallRecord] = []
        self._logs: list[str] = []

    def call_started(self, call_id: int, ref: str) -> None:
        """Pass on."""
        self._watcher.call_started(call_id, ref)

    def call_finished(self, record: CallRecord) -> None:
        """Keep it, tell the session (a call that ran burns its namespace), pass on."""
        self._records.append(record)
        if record.decision in ("allowed", "approved"):
            self._host.session.tool_called(ToolCalled(record.ref, record.namespace))
        self._watcher.call_finished(record)

    def log_printed(self, text: str) -> None:
        """Keep it, pass on."""
        self._logs.append(text)
        self._watcher.log_printed(text)

    def approval_waiting(self, request: ApprovalRequest) -> None:
        """Pass on."""
        self._watcher.approval_waiting(request)

    async def to_result(
        self,
        pool: GuestPool,
        source: str,
        value: Any,
        limits: RunLimits,
        scope: trio.CancelScope,
        prompt: str | None,
    ) -> RunResult:
        session = self._host.session
        before: Level | None = None
        changes: tuple[Any, ...] = ()
        outcome = RunOutcome(ok=False, error=RunError(kind="cancelled", message="the run was interrupted"))
        async with session.agent_run():
            before = session.level
            if prompt is not None:
                await session.submit(prompt)
            started_at_ms, started = time.time_ns() // 1_000_000, trio.current_time()
            try:
                with scope:
                    outcome = await self._in_guest(pool, source, value, limits)
            finally:
                if scope.cancelled_caught or outcome.error is not None:
                    outcome = self._with_what_happened(outcome)
                with trio.move_on_after(RECORD_DEADLINE_SECONDS, shield=True):
                    await session.host.append_custom(
                        RUN_ENTRY,
                        run_entry(
                            run_id=self._id,
                            sha256=hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest(),
                            kind="done" if outcome.error is None else outcome.error.kind,
                            records=outcome.calls,
                            started_at_ms=started_at_ms,
                            ms=(trio.current_time() - started) * 1000,
                            skipped_layers=pool.skipped_layers,
                            schema_mode=self._host.admission.schema_mode,
                        ),
                    )
        changes = tuple(session.level_changes)
        return RunResult(
            ok=outcome.ok,
            value=outcome.value,
            error=_failure(outcome.error),
            calls=summarise(outcome.calls),
            logs=tuple(outcome.logs),
            session=session.path,
            level=LevelSpan(before, session.level, changes),
            skipped_layers=tuple(pool.skipped_layers),
        )

    async def _in_guest(self, pool: GuestPool, source: str, value: Any, limits: RunLimits) -> RunOutcome:
        guest = await pool.checkout(guest_limits(limits))
        try:
            return await run_program(
                guest,
                source,
                value,
                admission=self._host.admission,
                limits=limits,
                run_id=self._id,
                observer=self,
                caller=self._host._caller,  # noqa: SLF001  the host's own half
                namespaces=sorted({*STANDARD_ROOTS, *self._host.registry.namespaces()}),
                spill=self._spill,
            )
        finally:
            await guest.aclose()

    def _spill(self, text: bytes) -> Any:
        from host_bridge.conversation import result_from_text

        keep = self._host._spill  # noqa: SLF001
        return result_from_text(text) if keep is None else keep(self._id, text)

    def _with_what_happened(self, outcome: RunOutcome) -> RunOutcome:
        """An interrupted run lists its calls and prints too."""
        if outcome.calls or outcome.logs:
            return outcome
        return RunOutcome(
            ok=outcome.ok, error=outcome.error, calls=sorted(self._records, key=lambda r: r.id), logs=self._logs
        )


@asynccontextmanager
async def open_host(
    config: Config | Mapping[str, Any] | None = None,
    *,
    session: TranscriptStore | Path | str | None = None,
    actions: Iterable[Action] = (),
    managed: bool = False,
    approver: Approver | ApproverFunction | None = None,
    classifier: Classifier | None = None,
    level: Level | None = None,
    model: Model | str | None = None,
    at: str | None = None,
    allow: Iterable[Risk] = (),
    deny: Iterable[Risk] = (),
    cwd: Path | str | None = None,
    warn: Callable[[str], None] | None = None,
) -> AsyncIterator[Host]:
    """Open a session and everything a program needs: `async with open_host() as host: …`.

    `config`: a `fabric.json` object or a loaded `Config`; None: the defaults, and no file is read.
    `session`: a file to create or resume; None: a session in memory. `actions`: your own functions (`action`).
    `approver`: an object with `ask`, or an async function from `ApprovalRequest` to `once`, `session`, `stored` or
    `deny`; without one, whatever would be asked is denied. `managed`: no `thinking.*` at all.
    `allow`, `deny`: risk classes for this host only. `at`: continue the session from this entry.

    Raises: ConfigError, SessionLockedError and the other transcript errors, UnknownModelError.
    """
    settings = config if isinstance(config, Config) else parse_config(config) if config else embedded_defaults()
    folder = Path.cwd() if cwd is None else Path(cwd)
    store, resumed = _open_store(session, settings, folder)
    try:
        if at is not None:
            store.navigate(at)
        local = LocalHost(
            store,
            catalog=settings.catalog,
            model=settings.catalog.find(model) if isinstance(model, str) else model,
            warn=warn,
        )
        thinking = (
            None
            if managed or settings.managed
            else ThinkingController(local, settings.bounds, inherited=settings.inherited)
        )
        local.due = thinking
        advisor = AdvisorService(local, advisory_settings(settings))
        live = Session(local, thinking=thinking, advisor=advisor)
        registry = Registry()
        if thinking is not None:
            registry.replace_source("thinking", thinking_actions(thinking))
        registry.replace_source(EMBEDDER_SOURCE, actions)
        admission = Admission(
            registry,
            policy=ApprovalPolicy(
                modes=approval_modes(settings),
                rules=tuple(Rule(rule.ref, rule.action) for rule in settings.approvals.rules),
                run_allow=frozenset(allow),
                run_deny=frozenset(deny),
            ),
            schema_mode=settings.schema.mode,
            approver=_as_approver(approver),
            classifier=classifier,
            rules=RuleStore(),
        )
        _feed_advisor(registry, advisor)
        await live.start("resume" if resumed else "startup")
        if level is not None:
            await live.set_level(level)
        async with _services() as services:
            yield Host(config=settings, session=live, registry=registry, admission=admission, services_nursery=services)
    finally:
        store.close()


@asynccontextmanager
async def _services() -> AsyncIterator[trio.Nursery]:
    """The service nursery around the body; what the body raises comes out as itself, in no group."""
    raised: BaseException | None = None
    try:
        async with trio.open_nursery() as services:
            try:
                yield services
            except BaseException as error:
                raised = error
                raise
            finally:
                services.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        if raised is not None and group.exceptions == (raised,):
            raise raised from raised.__cause__
        raise


def run_limits(config: Config) -> RunLimits:
    """The section `executor` as limits of a run."""
    executor = config.executor
    return RunLimits(
        source_bytes=executor.source_limit_bytes,
        timeout_seconds=executor.timeout_ms / 1000,
        calls=executor.max_calls,
        calls_in_flight=executor.max_calls_in_flight,
        timers_in_flight=executor.max_timers_in_flight,
        output_bytes=executor.output_limit_bytes,
        result_bytes=executor.result_limit_bytes,
        frame_bytes=executor.frame_limit_bytes,
        reply_buffer_bytes=executor.reply_buffer_bytes,
        memory_bytes=executor.memory_limit_bytes,
        cpu_seconds=executor.cpu_seconds,
    )


def guest_limits(limits: RunLimits) -> GuestLimits:
    """What of a run's limits the kernel enforces."""
    default = GuestLimits()
    return GuestLimits(memory_bytes=limits.memory_bytes, cpu_seconds=limits.cpu_seconds or default.cpu_seconds)


def advisory_settings(config: Config) -> AdvisorySettings:
    """The section `capture.advisory` as the advisor takes it."""
    section = config.capture.advisory
    return AdvisorySettings(
        mode=section.mode,
        threshold=section.threshold,
        max_per_session=section.max_per_session,
        budget_tokens=section.budget,
        minimum_surfaces=section.minimum_surfaces,
    )


def approval_modes(config: Config) -> dict[Risk, Any]:
    """Risk class to mode."""
    section = config.approvals
    return {
        "read": section.read,
        "write": section.write,
        "execute": section.execute,
        "network": section.network,
        "agent": section.agent,
    }


def _open_store(
    session: TranscriptStore | Path | str | None, config: Config, cwd: Path
) -> tuple[TranscriptStore, bool]:
    if isinstance(session, TranscriptStore):
        return session, session.leaf_id is not None
    if session is None:
        return TranscriptStore.in_memory(cwd=cwd), False
    store = TranscriptStore.open_or_create(session, cwd=cwd, durability=config.session.durability)
    return store, store.leaf_id is not None


def _feed_advisor(registry: Registry, advisor: AdvisorService) -> None:
    """Keep the advisor's sources those of the registry, one source at a time."""

    def refresh(source: str) -> None:
        advisor.set_source(source, [entry.descriptor for entry in registry.catalog().entries if entry.source == source])

    for source in registry.source_names():
        refresh(source)
    registry.subscribe(refresh)


class _FunctionApprover:
    def __init__(self, function: ApproverFunction) -> None:
        self._function = function

    async def ask(self, request: ApprovalRequest) -> Answer:
        return await self._function(request)


def _as_approver(approver: Approver | ApproverFunction | None) -> Approver | None:
    if approver is None or hasattr(approver, "ask"):
        return approver
    return _FunctionApprover(approver)


def _failure(error: RunError | None) -> RunFailure | None:
    if error is None:
        return None
    return RunFailure(error.kind, error.message, error.line, error.source_line, tuple(error.frames))


def default_results_folder(env: Mapping[str, str] | None = None) -> Path:
    """Where results too large to show are kept, privately, for a week."""
    from runtime.trust import agent_dir

    return agent_dir(os.environ if env is None else env) / "fabric" / "results"


__all__: Sequence[str] = ["Host", "RunObserver", "open_host"]
