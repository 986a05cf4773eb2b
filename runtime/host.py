"""The composition root: opens a session and its services, then lets guests in. It decides nothing itself.

The session (store, thinking, advisor) exists first; guests, their zygote and the servers of tools start with the first
program that needs them. Services enclose guests: a guest is dead before what serves it goes away.
"""

import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import trio

from child_agents.supervisor import Watcher
from guest_api.levels import LEVELS, Level, is_level
from host_bridge.admission import Admission
from host_bridge.approval_prompt import Approver, Classifier
from host_bridge.approval_rules import RuleStore
from host_bridge.arguments import SchemaValidator
from host_bridge.confinement_plan import ConfinementPlan
from host_bridge.descriptor import Action, Risk
from host_bridge.errors import lone
from host_bridge.guest_process import Observer
from host_bridge.limits import RunLimits
from host_bridge.registry import Registry
from host_bridge.zygote_client import GuestPool, open_guest_pool
from host_bridge.zygote_launch import LaunchedZygote
from runtime.advisor.service import AdvisorService
from runtime.advisor.settings import settings_from
from runtime.agent_actions import agent_actions
from runtime.agent_service import AgentHost, AgentService, delivered_in, inherited_policy
from runtime.child_host import ChildHost, ParentObserver
from runtime.config import Config, embedded_defaults, parse_config
from runtime.extensions import ToolFunction
from runtime.host_settings import (
    ApproverFunction,
    approval_policy,
    as_approver,
    checked_actions,
    checked_risks,
    run_limits,
    seconds_of,
)
from runtime.hosts.local import LocalHost
from runtime.models import Model
from runtime.program_run import ProgramRun, RunContext, guest_limits
from runtime.run_result import RunResult
from runtime.session import Session
from runtime.thinking.actions import actions as thinking_actions
from runtime.thinking.controller import ThinkingController
from runtime.tool_sources import open_tool_sources
from runtime.transcript.store import TranscriptStore
from runtime.trust import agent_dir

EMBEDDER_SOURCE: Final = "embedder"


class Host:
    """One open host: a session, its tools, and the programs that run on it. Made by `open_host`."""

    def __init__(
        self,
        *,
        config: Config,
        registry: Registry,
        context: RunContext,
        services_nursery: trio.Nursery,
        agents: AgentService,
        child: ChildHost,
        limits: RunLimits,
        one_program: bool,
        launched: LaunchedZygote | None,
    ) -> None:
        self.config = config
        self.registry = registry
        self.session: Session = context.session
        self.admission: Admission = context.admission
        self.limits = limits
        """Of every run that is not given its own."""
        self.agents = agents
        """The children of this host."""
        control = child.control()
        self._parent = None if control is None else ParentObserver(control)
        self._child = child
        self._one_program = one_program or child.is_driven
        self._launched = launched
        self._is_ending = False
        self._context = context
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
        observer: Observer | None = None,
        prompt: str | None = None,
    ) -> RunResult:
        """Run a program (an async function body) as one agent run; never raises for anything it does.

        `prompt` is submitted to the session first, inside the run, so that its turn is the hint's fire turn.
        Cancelling the caller kills the guest, ends the agent run and records it before the cancellation goes on.
        Raises: IsolationUnavailableError: no guest may be started here. ValueRefusedError: `input` is no JSON value.
            TranscriptError: the session's file cannot be begun.
        """
        run = ProgramRun(self._context, observer, self._parent)
        opening, scope = trio.CancelScope(), trio.CancelScope()
        self._scopes |= {opening, scope}
        if self._is_ending:
            self.interrupt()
        try:
            pool: GuestPool | None = None
            with opening:
                pool = await self._open_pool()
            # Not earlier: where no guest may be started, no empty session is left.
            self.session.host.store.begin_file()
            result = await run.to_result(pool, source, input, limits=limits or self.limits, scope=scope, prompt=prompt)
        finally:
            self._scopes -= {opening, scope}
        await self.agents.execution_ended(run.id)
        return result

    def interrupt(self) -> None:
        """End every running program; each of their results says `cancelled`."""
        for scope in self._scopes:
            scope.cancel()

    def end(self, reason: str) -> None:
        """The parent of this host orders it to stop, or is gone: no program goes on, and none begins."""
        self._is_ending = True
        self.agents.stop_all(reason)
        self.interrupt()

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
            pool_size=0 if self._one_program else executor.pool_size,  # one program takes one guest
            awake_seconds=executor.awake_ms / 1000,
            template=self._child.zygote_template,
            launched=self._launched,
        ) as pool:
            task_status.started(pool)
            await trio.sleep_forever()


@asynccontextmanager
async def open_host(
    config: Config | Mapping[str, Any] | None = None,
    *,
    session: TranscriptStore | Path | str | None = None,
    actions: Iterable[Action | ToolFunction] = (),
    managed: bool = False,
    approver: Approver | ApproverFunction | None = None,
    classifier: Classifier | None = None,
    level: Level | None = None,
    model: Model | str | None = None,
    at: str | None = None,
    allow: Iterable[Risk] = (),
    deny: Iterable[Risk] = (),
    cwd: Path | str | None = None,
    plugins: bool = False,
    child: ChildHost | None = None,
    watch_agents: Watcher | None = None,
    warn: Callable[[str], None] | None = None,
    limits: RunLimits | None = None,
    one_program: bool = False,
    launched: LaunchedZygote | None = None,
) -> AsyncIterator[Host]:
    """Open a session and everything a program needs, until the block ends.

    `config`: a `fabric.json` object or a loaded `Config`; None: the defaults, and no file is read.
    `session`: a file to create or resume; None: a session in memory.
    `actions`: your own functions, as `action(ref=…, risk=…)` or `tool(risk=…)` made them.
    `approver`: an object with `ask`, or an async function from `ApprovalRequest` to `once`, `session`, `stored` or
    `deny`; without one, whatever would be asked is denied. `managed`: no `thinking.*` at all.
    `allow`, `deny`: risk classes for this host only. `at`: continue the session from this entry.
    `cwd`: where `pi.*` tools work. `plugins`: offer installed extensions too.
    `child`: what this process inherited, where a parent started it. `watch_agents`: told of its children's progress.

    `limits`: of every run that is not given its own; None: those of the configuration. `one_program`: no guest is
    kept ready for a second one. `launched`: a zygote whose cold start has begun already.

    What the body raises comes out as itself, in no exception group.
    Raises: ConfigError, UnknownModelError, TranscriptError (owned, no session, no such entry).
        TypeError, ValueError: an action, level or risk that is none.
    """
    settings = config if isinstance(config, Config) else parse_config(config) if config else embedded_defaults()
    folder = Path.cwd() if cwd is None else Path(cwd)
    as_child = child or ChildHost(None)
    schema_mode = as_child.schema_mode(settings.schema.mode)
    given = checked_actions(actions)
    allow, deny = checked_risks("allow", allow), checked_risks("deny", deny)
    if level is not None and not is_level(level):
        raise ValueError(f"level: got {level!r}, wanted one of {', '.join(LEVELS)}")
    raised: BaseException | None = None
    try:
        async with AsyncExitStack() as stack:
            store, resumed = _open_store(session, settings, folder)
            stack.callback(store.close)
            if at is not None:
                store.navigate(at)
            live = _session(store, settings, model=model, warn=warn)
            registry = Registry(may_use=as_child.may_use)
            registry.replace_source(EMBEDDER_SOURCE, [one for one in given if isinstance(one, Action)])
            if live.thinking is not None and not (managed or settings.managed):
                registry.replace_source("thinking", thinking_actions(live.thinking))
            admission = Admission(
                registry,
                policy=inherited_policy(approval_policy(settings, allow, deny), as_child.inheritance),
                schema_mode=schema_mode,
                approver=as_child.approver() or as_approver(approver),
                prompt_timeout_seconds=seconds_of(settings.approvals.prompt_timeout_ms),
                classifier=classifier,
                rules=RuleStore(),
                validator=SchemaValidator(),
            )
            sources = await stack.enter_async_context(
                open_tool_sources(
                    registry,
                    project=folder,
                    agent_folder=agent_dir(os.environ),
                    mcp_servers=settings.mcp_servers,
                    extensions=[one for one in given if isinstance(one, ToolFunction)],
                    outside_project=settings.tools.outside_project,
                    load_plugins=plugins,
                    may_learn=schema_mode != "enforce",
                    warn=live.host.warn,
                    verdict=lambda ref, risk: admission.verdict(ref, risk).mode,
                )
            )
            stack.callback(_feed_advisor(registry, live.advisor))
            await live.start("resume" if resumed else "startup", level=level)
            services = await stack.enter_async_context(trio.open_nursery())
            if live.advisor is not None and sources.servers is not None and schema_mode != "enforce":
                live.advisor.look_for_sources = partial(services.start_soon, sources.servers.learn)
            context = RunContext(
                session=live,
                admission=admission,
                results=sources.results,
                caller=as_child.path,
                spans=_spans(settings, live),
            )
            control = as_child.control()
            agents = AgentService(
                AgentHost(
                    config=settings,
                    admission=admission,
                    session=live.host,
                    session_id=None if store.path is None else store.header.id,
                    session_file=None if store.path is None else str(store.path),
                    delivered=lambda: delivered_in(store.entries()),  # on whichever branch it was told
                    model=lambda: None if live.model is None else live.model.key,
                    cwd=folder.absolute(),
                    environment=os.environ,
                    inheritance=as_child.inheritance,
                    control=control,
                    launchers=as_child.launchers,
                    watch=watch_agents,
                ),
                services,
            )
            if as_child.may_have_agents:
                registry.replace_source("agents", agent_actions(agents))
            host = Host(
                config=settings,
                registry=registry,
                context=context,
                services_nursery=services,
                agents=agents,
                child=as_child,
                limits=limits or run_limits(settings),
                one_program=one_program,
                launched=launched,
            )
            if control is not None:
                services.start_soon(control.run, host.end)
            await agents.session_opened()
            try:
                yield host
            except BaseException as error:
                raised = error
                raise
            finally:
                services.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        if raised is not None and lone(group) is raised:
            raise raised from raised.__cause__
        raise


def _session(
    store: TranscriptStore,
    settings: Config,
    *,
    model: Model | str | None,
    warn: Callable[[str], None] | None,
) -> Session:
    """The session and its services, nothing replayed yet."""
    local = LocalHost(
        store,
        catalog=settings.catalog,
        model=settings.catalog.find(model) if isinstance(model, str) else model,
        warn=warn,
    )
    # A managed host has no `thinking.*`, but a pending revert and inherited bounds hold there too.
    thinking = ThinkingController(local, settings.bounds, inherited=settings.inherited)
    local.due = thinking
    return Session(local, thinking=thinking, advisor=AdvisorService(local, settings_from(settings.capture.advisory)))


def _open_store(
    session: TranscriptStore | Path | str | None, config: Config, cwd: Path
) -> tuple[TranscriptStore, bool]:
    if isinstance(session, TranscriptStore):
        return session, session.leaf_id is not None
    if session is None:
        return TranscriptStore.in_memory(cwd=cwd), False
    store = TranscriptStore.open_or_create(session, cwd=cwd, durability=config.session.durability, deferred=True)
    return store, store.leaf_id is not None


def _feed_advisor(registry: Registry, advisor: AdvisorService | None) -> Callable[[], None]:
    """Keep the advisor's sources those of the registry, one source at a time; returns what ends it."""
    if advisor is None:
        return lambda: None

    def refresh(source: str) -> None:
        advisor.set_source(source, [one.descriptor for one in registry.actions_of(source)])

    for source in registry.source_names():
        refresh(source)
    return registry.subscribe(refresh)


def _spans(settings: Config, session: Session) -> Callable[[str], Any] | None:
    """Telemetry, where it is switched on."""
    if not settings.telemetry.enabled:
        return None
    from runtime.telemetry import RunSpans

    return lambda run_id: RunSpans(
        run_id, session=session.path, model=session.model.key if session.model is not None else None
    )


__all__: Sequence[str] = ["Host", "open_host"]
