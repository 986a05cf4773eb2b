"""The child agents of one host: supervisor, resident host and follow-up messages, opened when they are first needed.

It decides nothing about a child (`child_agents.resolver` does) and starts none itself. The session exists before it:
opening a session only delivers what finished while nobody had it open.
"""

import contextlib
import hashlib
import os
import socket
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec
import trio

from child_agents.caller import CallerContext
from child_agents.conclusion import Ending
from child_agents.errors import AgentError, UnknownRunError
from child_agents.inheritance import ControlClient, Inheritance
from child_agents.records import RunRecord, RunRecords, indeterminate
from child_agents.request import FINAL_STATUSES, AgentResult, Mode
from child_agents.residency.client import ResidentClient
from child_agents.residency.host import ResidentOptions
from child_agents.residency.protocol import resident_key
from child_agents.resolver import ResolvedRun
from child_agents.runs import Run, handle_of, live_status, record_status
from child_agents.settings import AgentFolders, AgentSettings, Alias
from child_agents.supervisor import Supervisor, SupervisorOptions, Watcher, open_supervisor
from host_bridge import strict_json
from host_bridge.admission import Admission
from host_bridge.approvals import ApprovalPolicy
from host_bridge.descriptor import RISKS
from runtime.agent_runners import runners
from runtime.child_approvals import answer_child
from runtime.config import CONFIG_FILE, PROJECT_FOLDER, Config
from runtime.trust import agent_dir

FOLLOW_UP: Final = "pi-fabric-agent"
"""Custom type of the message that tells a session what a detached agent came to."""
SHOWN_CHARACTERS: Final = 2000
SETTLE_SECONDS: Final = 0.02
SETTLE_LOOKS: Final = 25
"""The kernel closes a dead process's sockets and locks in any order; half a second is plenty."""
PRELOAD: Final = (
    *("trio", "msgspec", "click", "json", "runpy", "encodings.idna"),
    *(
        "runtime.cli",
        "runtime.command_group",
        "runtime.commands.run",
        "runtime.run_options",
        "runtime.run_display",
        "runtime.config",
    ),
    *("runtime.host", "runtime.terminal_approver", "runtime.transcript.folder", "runtime.transcript.store"),
    *("runtime.agent_actions", "runtime.agent_service", "child_agents.supervisor"),
)
"""What a child host imports on its way to its first guest."""


class FollowUpHost(Protocol):
    """The part of the session that follow-ups need."""

    async def append_custom_message(
        self, custom_type: str, content: str, *, display: bool, details: Any = None
    ) -> object:
        """Append a custom message to the branch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentHost:
    """What a host tells its agents once."""

    config: Config
    admission: Admission
    session: FollowUpHost
    session_id: str | None
    """None: a session in memory, which nobody can open again."""
    session_file: str | None = None
    delivered: Callable[[], frozenset[str]] = frozenset
    """Runs whose follow-up the session already holds, on any branch."""
    model: Callable[[], str | None] = lambda: None
    cwd: Path
    environment: Mapping[str, str]
    inheritance: Inheritance | None = None
    control: ControlClient | None = None
    launchers: socket.socket | None = None
    """Where this host, itself a child, has the guardian of its children forked."""
    watch: Watcher | None = None


class AgentService:
    """`agents.*` behind its actions."""

    def __init__(self, host: AgentHost, nursery: trio.Nursery) -> None:
        """`nursery`: the host's services; children end with it."""
        self.host = host
        self.settings = agent_settings(host.config)
        inherited = None if host.inheritance is None else host.inheritance.folders
        self.folders = inherited or agent_folders(host.environment)
        self.records = RunRecords(self.folders)
        self.runners = runners()
        self._nursery = nursery
        self._supervisor: Supervisor | None = None
        self._opening = trio.Lock()
        self._delivering = trio.Lock()
        self._handed_over: set[str] = set()
        """Durable runs that were launched here; their records name the resident host as the owner."""
        self._awaited: Counter[str] = Counter()
        """Runs of other processes that a program of this host waits for right now."""
        given = None if host.inheritance is None else host.inheritance.given
        self._root_session = host.session_id if given is None else given.session
        """Where durable runs belong: a child's own session ends with it, and nobody opens it again."""
        self._is_root = given is None
        self._key = resident_key(host.cwd) if given is None or not given.resident_key else given.resident_key
        self.resident = ResidentClient(
            ResidentOptions(
                folder=str(self.folders.root),
                key=self._key,
                max_concurrent=self.settings.max_concurrent,
                stop_grace_seconds=self.settings.stop_grace_seconds,
                retention_days=self.settings.retention_days,
                resident_idle_seconds=self.settings.resident_idle_seconds,
                warm_template=self.settings.warm_template,
                pid_namespace=self.settings.pid_namespace,
                runners="runtime.agent_runners:runners",
                preload=list(PRELOAD),
                entries=["runtime"],
            ),
            environment=host.environment,
            nursery=nursery,
            finished=self._durable_finished,
            lost=self._resident_lost,
            # A child's own processes end with it, so a resident host is started at the root.
            start=None if host.control is None else host.control.need_resident,
        )

    # -- opening -----------------------------------------------------------------------------------------------------

    async def supervisor(self) -> Supervisor:
        """The supervisor, opened at the first need.

        Raises: AgentError: the records' folder cannot be used.
        """
        async with self._opening:
            if self._supervisor is None:
                try:
                    self._supervisor = await self._nursery.start(self._serve)
                except OSError as error:
                    raise AgentError(f"agents need the folder {self.folders.root}: {error.strerror}") from None
            supervisor: Supervisor = self._supervisor
            return supervisor

    async def _serve(self, *, task_status: trio.TaskStatus[Supervisor]) -> None:
        options = SupervisorOptions(
            settings=self.settings,
            folders=self.folders,
            runners=self.runners,
            environment=self.host.environment,
            preload=PRELOAD,
            launchers=self.host.launchers,
            approve=lambda request: answer_child(self.host.admission, request),
            person=self.host.admission.desk is not None,
            session=self._root_session,
            watch=self.host.watch,
            finished=self._session_run_finished,
            ensure_resident=self._ensure_resident,
            resident_key=self._key,
        )
        async with open_supervisor(options) as supervisor:
            task_status.started(supervisor)
            await trio.sleep_forever()

    async def _ensure_resident(self) -> str | None:
        control = self.host.control
        return await (self.resident.start_resident() if control is None else control.need_resident())

    # -- who asks ----------------------------------------------------------------------------------------------------

    def caller(self, execution: str) -> CallerContext:
        """What the asking program has: this host's effective settings, and what it inherited itself."""
        host = self.host
        given = None if host.inheritance is None else host.inheritance.given
        policy = host.admission.policy
        return CallerContext(
            root_id=execution if given is None else given.root_id,
            depth=0 if host.inheritance is None else host.inheritance.depth,
            path=() if host.inheritance is None else host.inheritance.path,
            run_id=None if given is None else given.run_id,
            bounds=host.config.bounds,
            risks=effective_modes(policy),
            rules=tuple(
                {"ref": rule.ref, "action": rule.action} for rule in policy.rules if rule.origin == "configuration"
            ),
            tools=None if given is None else given.tools,
            schema_mode=host.admission.schema_mode,
            may_launch=given is None or given.recursive,
            max_depth=None if given is None else given.max_depth,
            max_turns=None if given is None else given.max_turns,
            max_cost=None if given is None else given.max_cost,
            model=host.model(),
            cwd=host.cwd,
            config_file=self._config_file(),
            session_id=host.session_id,
            session_file=host.session_file,
            environment=host.environment,
        )

    def _config_file(self) -> Path | None:
        """The configuration file that children must be told of: one named on the command line, or an embedder's."""
        config = self.host.config
        if config.files:
            last = config.files[-1].absolute()
            found_by_children = (
                agent_dir(self.host.environment) / CONFIG_FILE,
                self.host.cwd / PROJECT_FOLDER / CONFIG_FILE,
            )
            return None if last in [path.absolute() for path in found_by_children] else last
        if not config.raw:
            return None
        text = strict_json.encode(dict(config.raw), lone_surrogates=True)
        folder = self.folders.root / "configurations"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / f"{hashlib.sha256(text).hexdigest()[:16]}.json"
        try:
            os.utime(path)  # still in use: a sweep removes old ones
        except FileNotFoundError:
            fresh = path.with_suffix(f".{os.getpid()}")
            fresh.touch(mode=0o600)
            fresh.write_bytes(text)
            fresh.replace(path)
        return path

    def fork_path(self, run_id: str) -> Path:
        """Where the copy of a session goes that a child continues."""
        folder = self.folders.root / "forks"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder / f"{run_id}.jsonl"

    # -- durable runs ------------------------------------------------------------------------------------------------

    async def launch_durable(self, resolved: ResolvedRun, execution: str) -> dict[str, Any]:
        """Count and record here, then hand over with the narrowed bounds inside; the handle.

        Raises: AgentError: refused, or no resident host can be had.
        Seed: thinking:child:durable-request
        """
        resolved = msgspec.structs.replace(resolved, owner_session=self._root_session)
        supervisor = await self.supervisor()
        supervisor.reserve(resolved, detached=True, execution=execution)
        self._handed_over.add(resolved.id)
        try:
            await self.resident.launch(resolved, self.records)
        except AgentError:
            if not self.records.is_marked(resolved.id, "claim"):
                self.records.remove(resolved.id)
                supervisor.ledger(resolved.root_id).finish(resolved.id)
            raise
        if self._is_root and self._root_session is not None:
            with contextlib.suppress(AgentError):
                await self.resident.subscribe(self._root_session)
        record = self.records.read(resolved.id)
        return handle_of(resolved, record.status, record.request.created_at)

    # -- finding runs ------------------------------------------------------------------------------------------------

    def live(self, run_id: str) -> Run | None:
        """A run of this process."""
        return None if self._supervisor is None else self._supervisor.runs.get(run_id)

    def record(self, run_id: str) -> RunRecord:
        """A run that this host may see: its own, its session's, its root's.

        Raises: UnknownRunError
        """
        record = self.records.read(run_id)
        if not self._is_ours(record):
            raise UnknownRunError(run_id)
        return record

    def _is_ours(self, record: RunRecord) -> bool:
        run = record.request.run
        if record.id in self._handed_over:
            return True
        if self._supervisor is not None and record.request.owner == self._supervisor.options.owner:
            return True
        given = None if self.host.inheritance is None else self.host.inheritance.given
        if given is not None:
            return run.parent_run == given.run_id
        return self.host.session_id is not None and run.owner_session == self.host.session_id

    def statuses(self) -> list[dict[str, Any]]:
        """Every run that this host may see, oldest first."""
        return [self.status(record) for record in self._visible()]

    def _visible(self) -> list[RunRecord]:
        owner = None if self._supervisor is None else self._supervisor.options.owner
        given = None if self.host.inheritance is None else self.host.inheritance.given
        found = self.records.of(owner, self.host.session_id, None if given is None else given.run_id)
        return [record for record in found if self._is_ours(record)]

    def status(self, record: RunRecord) -> dict[str, Any]:
        """One run, live where it is."""
        run = self.live(record.id)
        return record_status(record) if run is None else live_status(run, trio.current_time())

    async def wait(self, run_id: str) -> AgentResult:
        """The result, once there is one; whoever runs it.

        Raises: AgentError
        """
        run = self.live(run_id)
        if run is not None and self._supervisor is not None:
            return await self._supervisor.wait(run)
        record = self.record(run_id)
        self._awaited[run_id] += 1
        told: AgentResult | None = None
        try:
            if record.status not in FINAL_STATUSES:
                with contextlib.suppress(AgentError):  # lost or replaced meanwhile: the record tells the rest
                    told = result_in(await self.resident.call("wait", run_id, may_start=False))
                if told is None:
                    record = await self._settled(run_id)
            with contextlib.suppress(OSError):  # a full disk costs the mark, not the result
                self.records.mark(run_id, "waited")
        except BaseException:
            # Whoever waited gave up: what finished meanwhile is told to the session after all.
            self._nursery.start_soon(self._durable_finished, run_id)
            raise
        finally:
            self._awaited[run_id] -= 1
        result = told or record.result
        if result is not None:
            return result
        return indeterminate(record.request.run, "its host ended before it did")

    async def stop(self, run_id: str, reason: str) -> AgentResult:
        """End a run and answer its result.

        Raises: AgentError
        """
        run = self.live(run_id)
        if run is not None and self._supervisor is not None:
            return await self._supervisor.stop(run, reason)
        record = self.record(run_id)
        if record.result is None and record.status not in FINAL_STATUSES:
            await self.resident.call("stop", run_id, reason.encode(), may_start=False)
        return await self.wait(run_id)

    async def message(self, run_id: str, kind: str, text: str) -> None:
        """Steer or follow up.

        Raises: AgentError
        """
        run = self.live(run_id)
        if run is not None and self._supervisor is not None:
            await self._supervisor.message(run, kind, text)
            return
        self.record(run_id)
        await self.resident.call("message", run_id, f"{kind}\n{text}".encode(), may_start=False)

    def cleanup(self, run_id: str | None) -> list[str]:
        """Forget finished runs and their records; which they were.

        Raises: UnknownRunError
        """
        records = [self.record(run_id)] if run_id is not None else self._visible()
        gone = []
        for record in records:
            run = self.live(record.id)
            if run is not None and self._supervisor is not None:
                if not run.done.is_set():
                    continue
                self._supervisor.forget(run)
            elif record.status not in FINAL_STATUSES:
                continue
            else:
                self.records.remove(record.id)
            gone.append(record.id)
        return gone

    # -- follow-ups --------------------------------------------------------------------------------------------------

    async def session_opened(self) -> None:
        """Deliver what finished while nobody had the session open, and hear of what still runs."""
        session = self.host.session_id
        if session is None or not self.folders.runs.is_dir():
            return
        is_running = False
        for record in self.records.of(session):
            if record.request.run.owner_session != session or not record.request.detached:
                continue
            if record.status in FINAL_STATUSES:
                await self._deliver(record)
            else:
                is_running = is_running or record.request.run.residency == "durable"
        if is_running and self.resident.is_there():
            with contextlib.suppress(AgentError):
                await self.resident.subscribe(session, may_start=False)
            # What finished between the look at its record and the subscription was told to nobody.
            await self._tell_of_durable(session)

    async def _settled(self, run_id: str) -> RunRecord:
        """The record of a run that is over; a host that has just gone may need a moment until its lock is free.

        Raises: UnknownRunError. AgentError: it is not over.
        """
        for _ in range(SETTLE_LOOKS):
            record = self.record(run_id)
            if record.status in FINAL_STATUSES:
                return record
            await trio.sleep(SETTLE_SECONDS)
        raise AgentError(f"{run_id} runs in another process, which cannot be asked from here")

    async def _tell_of_durable(self, session: str) -> bool:
        """Tell of every durable run of the session that is over; whether some are not."""
        is_running = False
        for record in self.records.of(session):
            run = record.request.run
            if run.owner_session == session and run.residency == "durable" and record.request.detached:
                is_running = is_running or record.status not in FINAL_STATUSES
                await self._durable_finished(record.id)
        return is_running

    async def _resident_lost(self) -> None:
        """Its runs that have no result have none to come: the session is told that their end is not known."""
        if self._is_root and self.host.session_id is not None:
            await trio.sleep(SETTLE_SECONDS * SETTLE_LOOKS)
            with contextlib.suppress(OSError):  # what cannot be read now is told at the next open
                await self._tell_of_durable(self.host.session_id)

    async def execution_ended(self, execution: str) -> None:
        """The program is over: what it left behind and nobody waited for is told now."""
        if self._supervisor is not None:
            await self._supervisor.execution_ended(execution)
        if self._is_root and self._root_session is not None and self._supervisor is not None:
            is_running = await self._tell_of_durable(self._root_session)
            if is_running and self.resident.is_there():  # its children may have launched what it has not heard of
                with contextlib.suppress(AgentError):
                    await self.resident.subscribe(self._root_session, may_start=False)
                await self._tell_of_durable(self._root_session)

    async def _session_run_finished(self, run: Run) -> None:
        if self.host.session_id is not None:
            await self._deliver(self.records.read(run.id))

    async def _durable_finished(self, run_id: str) -> None:
        if not self._is_root or self.host.session_id is None:
            return
        with contextlib.suppress(UnknownRunError):
            record = self.records.read(run_id)
            if self._supervisor is None or self._supervisor.is_over(record.request.execution):
                await self._deliver(record)

    async def _deliver(self, record: RunRecord) -> None:
        """One message, once: the branch is asked first, because a crash may have come between message and mark.

        Where the session takes none, its host goes on: without the mark, the next open tells it.
        """
        try:
            await self._deliver_once(record)
        except Exception as error:
            self.records.append_event(record.id, "follow_up_failed", {"message": str(error)})

    async def _deliver_once(self, record: RunRecord) -> None:
        async with self._delivering:
            if record.status not in FINAL_STATUSES or self._awaited[record.id]:
                return
            if self.records.is_marked(record.id, "waited") or self.records.is_marked(record.id, "delivered"):
                return
            if record.id not in self.host.delivered():
                text, details = follow_up(record)
                await self.host.session.append_custom_message(FOLLOW_UP, text, display=True, details=details)
            self.records.mark(record.id, "delivered")

    # -- stopping everything -----------------------------------------------------------------------------------------

    def stop_all(self, reason: str) -> None:
        """Begin to end every child of this host."""
        if self._supervisor is not None:
            for run in self._supervisor.runs.values():
                self._supervisor.begin_stop(run, Ending("stopped", reason))


def result_in(body: bytes) -> AgentResult | None:
    """The result that a resident host's answer holds; it stands there even where the disk took no record of it."""
    try:
        return msgspec.convert(strict_json.decode_strict(body)["result"], AgentResult)
    except (ValueError, KeyError, TypeError):
        return None


def follow_up(record: RunRecord) -> tuple[str, dict[str, Any]]:
    """The message that tells a session what a detached run came to, and its details."""
    run, result = record.request.run, record.result
    head = f"Agent {run.name} ({record.id}) {record.status.replace('_', ' ')}"
    said = ""
    if result is not None:
        said = result.error.message if result.error is not None else result.text
    shown = said if len(said) <= SHOWN_CHARACTERS else f"{said[:SHOWN_CHARACTERS]}… (agents.log shows all of it)"
    details = {"version": 1, "runId": record.id, "name": run.name, "status": record.status, "path": list(run.path)}
    return (f"{head}: {shown}" if shown else f"{head}."), details


def delivered_in(entries: Any) -> frozenset[str]:
    """Runs whose follow-up stands among these entries."""
    found = set()
    for entry in entries:
        if entry.type == "custom_message" and entry.get("customType") == FOLLOW_UP:
            details = entry.get("details")
            if isinstance(details, dict) and isinstance(details.get("runId"), str):
                found.add(details["runId"])
    return frozenset(found)


def agent_settings(config: Config) -> AgentSettings:
    """The section `agents`."""
    section = config.agents
    return AgentSettings(
        runner=section.runner,
        thinking=section.thinking,
        aliases={name: Alias(model=alias.model, thinking=alias.thinking) for name, alias in section.aliases.items()},
        max_concurrent=section.max_concurrent,
        max_per_execution=section.max_per_execution,
        max_depth=section.max_depth,
        max_descendants=section.max_descendants,
        max_turns=section.max_turns,
        max_cost=section.max_cost,
        timeout_ms=section.timeout_ms,
        stop_grace_seconds=section.stop_grace_seconds,
        retention_days=section.retention_days,
        resident_idle_seconds=section.resident_idle_seconds,
        environment=tuple(section.environment),
        delegation={str(risk): mode for risk, mode in section.delegation.items()},
        warm_template=section.warm_template,
        pid_namespace=section.pid_namespace,
    )


def agent_folders(environment: Mapping[str, str]) -> AgentFolders:
    """Where records lie: `fabric/agents` in the person's configuration folder."""
    return AgentFolders(root=agent_dir(environment).absolute() / "fabric" / "agents")


def effective_modes(policy: ApprovalPolicy) -> dict[str, Mode]:
    """What each risk class really is for this host, its run's flags included; `auto` asks a person in a child."""
    modes: dict[str, Mode] = {}
    for risk in RISKS:
        mode = policy.modes.get(risk, "ask")
        if risk in policy.run_deny or mode == "deny":
            modes[risk] = "deny"
        elif risk in policy.run_allow or mode == "allow":
            modes[risk] = "allow"
        else:
            modes[risk] = "ask"
    return modes


def inherited_policy(policy: ApprovalPolicy, inheritance: Inheritance | None) -> ApprovalPolicy:
    """The policy of a child host: what it inherited, cut by its own denials; a root's stays as it is."""
    from host_bridge.approvals import Rule

    if inheritance is None or inheritance.given is None:
        return policy
    own: dict[str, str] = {
        risk: "deny" if risk in policy.run_deny else str(policy.modes.get(risk, "ask")) for risk in RISKS
    }
    modes = inheritance.modes(own)
    rules = inheritance.rules([{"ref": rule.ref, "action": rule.action} for rule in policy.rules])
    return ApprovalPolicy(modes=modes, rules=tuple(Rule(rule["ref"], rule["action"]) for rule in rules))
