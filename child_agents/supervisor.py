"""The supervisor: live children of this host. It launches, waits, stops, records; what a child gets was decided before.

Every run is one task under the supervisor's nursery, shielded: cancelling the host ends children by their ladder, not
by forgetting them. Completion is an event (the worker's last frame or its end-of-file), never a poll.
"""

import contextlib
import math
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import trio

from child_agents import environment, kernel
from child_agents.blocking import beside
from child_agents.channel import Channel, ChannelError
from child_agents.conclusion import Ending, ProcessEnd, conclude
from child_agents.errors import AgentError, LauncherLostError, LaunchRefusedError, RequestError, UnknownRunError
from child_agents.inheritance import (
    FROM_CHILD,
    Answer,
    Ask,
    ChildApprover,
    Event,
    Inherit,
    Message,
    NeedResident,
    ResidentReply,
    StopOrder,
    Withdraw,
    request_from,
)
from child_agents.launcher import Launcher, LaunchOptions, Worker, start_launcher
from child_agents.ledger import Ledger
from child_agents.owner_socket import listen
from child_agents.records import OwnerLock, RunRecords, new_id
from child_agents.request import FINAL_STATUSES, AgentResult
from child_agents.resolver import ResolvedRun
from child_agents.runners.port import Outcome, Progress, Runner
from child_agents.runs import Run, live_status
from child_agents.settings import AgentFolders, AgentSettings
from child_agents.sweep import sweep
from child_agents.worker_frames import FROM_WORKER, Exited, Input, Job, NotStarted, Output, Started, Stop
from host_bridge import strict_json
from host_bridge.arguments import SchemaValidator

STDOUT_LIMIT_BYTES: Final = 64 * 1024 * 1024
CLOSE_ASK_SECONDS: Final = 1.0
CLOSE_TERM_SECONDS: Final = 0.5
CLOSE_SECONDS: Final = 4.0
"""When the host ends, children get this long in all; what is left then is killed by the guardian."""
TELL_SECONDS: Final = 5.0
"""How long a frame to a child may take that does not read; its worker ends it anyway."""
WORKER_SECONDS: Final = 10.0
"""How much longer than its ladder a worker may take to reap, drain and say so; one that is stopped never does."""
HEAR_SECONDS: Final = 2.0
"""Once a child and all that it started are gone, its control channel ends; this bounds one that something holds."""
ASKS_AT_ONCE: Final = 64
"""Open questions of one child."""

Watcher = Callable[[Run], None]
FinishedCallback = Callable[[Run], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorOptions:
    """What a host says once about its children."""

    settings: AgentSettings
    folders: AgentFolders
    runners: Mapping[str, Runner]
    environment: Mapping[str, str]
    """This host's environment; an allow-list of it starts the launcher."""
    preload: Sequence[str] = ()
    entries: Sequence[str] = ("runtime",)
    launchers: socket.socket | None = None
    """Where a host that is a child itself has its guardian forked warm."""
    approve: ChildApprover | None = None
    """Answers a child's question; None: every question is denied."""
    session: str | None = None
    """The session at the root of this tree."""
    person: bool = True
    """Whether a person stands behind `approve`; without one, children do not ask at all."""
    watch: Watcher | None = None
    """Told of every change, for live progress; returns at once."""
    finished: FinishedCallback | None = None
    """Told of each detached run that finished while nobody waited and its execution is over."""
    ensure_resident: Callable[[], Awaitable[str | None]] | None = None
    """Starts a resident host; answers the problem."""
    resident_key: str = ""
    owner: str = field(default_factory=lambda: new_id("o"))


class Supervisor:
    """The children of one host. Opened by `open_supervisor`."""

    def __init__(self, options: SupervisorOptions, nursery: trio.Nursery) -> None:
        self.options = options
        self.records = RunRecords(options.folders)
        self.runs: dict[str, Run] = {}
        self._nursery = nursery
        self._slots = trio.CapacityLimiter(options.settings.max_concurrent)
        self._launcher: Launcher | None = None
        self._launcher_lock = trio.Lock()
        self._ledgers: dict[str, Ledger] = {}
        self._launches: dict[str, int] = {}
        self._over: set[str] = set()
        self._validator = SchemaValidator()
        self._closing = False

    # -- launching -------------------------------------------------------------------------------------------------

    def launch(self, resolved: ResolvedRun, *, detached: bool, execution: str | None = None) -> Run:
        """Count, record and start one run; returns at once, the run may have to wait for a free place.

        Raises: LaunchRefusedError: a limit is reached, and nothing exists. AgentError: the disk takes no record of it.
        """
        folder = self.reserve(resolved, detached=detached, execution=execution)
        return self._start(resolved, folder, detached=detached, execution=execution)

    def reserve(self, resolved: ResolvedRun, *, detached: bool, execution: str | None = None) -> str:
        """Count and record one run; the folder of its record. What follows starts it, here or in the resident host.

        Raises: LaunchRefusedError: a limit is reached, and nothing exists. AgentError: the disk takes no record of it.
        """
        settings = self.options.settings
        if self._closing:
            raise LaunchRefusedError("this host is closing", setting="")
        self.check_execution(execution)
        try:
            self.ledger(resolved.root_id).reserve(
                resolved.id,
                depth=resolved.depth,
                max_descendants=settings.max_descendants,
                max_cost=settings.max_cost,
                parent=resolved.parent_run,
                cap=resolved.max_cost,
            )
        except OSError as error:
            raise AgentError(f"the run cannot be counted: {error.strerror}") from None
        durable = resolved.residency == "durable"
        try:
            folder = self.records.create(
                resolved, owner=self.options.owner, detached=detached, execution=execution, durable=durable
            )
        except OSError as error:
            self.records.remove(resolved.id)
            with contextlib.suppress(OSError):
                self.ledger(resolved.root_id).finish(resolved.id)
            raise AgentError(f"the run cannot be recorded: {error.strerror}") from None
        if execution is not None:
            self._launches[execution] = self._launches.get(execution, 0) + 1
        return str(folder)

    def adopt(self, resolved: ResolvedRun) -> Run:
        """Start a run whose record and count another host made: the resident host's way.

        Raises: LaunchRefusedError: this host is closing.
        """
        if self._closing:
            raise LaunchRefusedError("the resident host is closing", setting="")
        return self._start(resolved, str(self.records.folder(resolved.id)), detached=True, execution=None)

    def check_execution(self, execution: str | None) -> None:
        """Raises: LaunchRefusedError: this program run has started as many agents as it may."""
        limit = self.options.settings.max_per_execution
        if execution is not None and self._launches.get(execution, 0) >= limit:
            raise LaunchRefusedError(
                f"this program has started {limit} agents; the limit is {limit} (setting agents.maxPerExecution)",
                setting="agents.maxPerExecution",
                requested=limit + 1,
                effective=limit,
            )

    def ledger(self, root_id: str) -> Ledger:
        """The ledger of a root."""
        known = self._ledgers.get(root_id)
        if known is None:
            known = self._ledgers[root_id] = Ledger(self.options.folders.ledgers, root_id)
        return known

    def _start(self, resolved: ResolvedRun, folder: str, *, detached: bool, execution: str | None) -> Run:
        run = Run(resolved, self.options.runners[resolved.runner], detached, execution, folder)
        self.runs[run.id] = run
        self._nursery.start_soon(self._serve, run)
        self._tell_watcher(run)
        return run

    # -- what programs ask for ---------------------------------------------------------------------------------------

    async def wait(self, run: Run) -> AgentResult:
        """The result, once there is one; from then on the run counts as waited for."""
        run.waiters += 1
        try:
            await run.done.wait()
        finally:
            run.waiters -= 1
        run.waited = True
        with contextlib.suppress(OSError):  # a full disk costs the mark, not the result
            self.records.mark(run.id, "waited")
        if run.result is None:
            raise AssertionError("a run that is done has a result")
        return run.result

    async def run(self, resolved: ResolvedRun, *, execution: str | None = None) -> AgentResult:
        """Launch and wait. Cancelled: the child is ended, and this returns without waiting for it.

        Raises: LaunchRefusedError
        """
        run = self.launch(resolved, detached=False, execution=execution)
        try:
            return await self.wait(run)
        except trio.Cancelled:
            self.begin_stop(run, Ending("stopped", "its caller was cancelled"))
            raise

    def find(self, run_id: str) -> Run:
        """A run of this host.

        Raises: UnknownRunError
        """
        run = self.runs.get(run_id)
        if run is None:
            raise UnknownRunError(run_id)
        return run

    def status(self, run: Run) -> dict[str, Any]:
        """The handle with what was counted."""
        return live_status(run, trio.current_time())

    async def stop(self, run: Run, reason: str = "stopped") -> AgentResult:
        """Walk the ladder and answer the result; a run that is over stays as it is."""
        self.begin_stop(run, Ending("stopped", reason))
        await run.done.wait()
        run.waited = True
        with contextlib.suppress(OSError):  # a full disk costs the mark, not the result
            self.records.mark(run.id, "waited")
        if run.result is None:
            raise AssertionError("a run that is done has a result")
        return run.result

    def begin_stop(self, run: Run, ending: Ending, *, quick: bool = False) -> None:
        """Start the ladder; the first reason counts."""
        if run.status in FINAL_STATUSES or run.ending is not None:
            return
        run.ending = ending
        run.waiting_for_slot.cancel()
        if run.worker is not None:
            self._nursery.start_soon(self._order_stop, run, quick)

    async def message(self, run: Run, kind: str, text: str) -> None:
        """Steer or follow up a child that takes messages.

        Raises: RequestError: its runner takes none. LaunchRefusedError: it is not running.
        """
        if not run.runner.takes_messages:
            raise RequestError(
                f"a child of the {run.runner.name} runner takes no messages: its program cannot read them"
            )
        if run.status != "running" or run.worker is None:
            raise LaunchRefusedError(f"{run.id} is {run.status}: only a running agent can be told", setting="")
        data = run.runner.message(kind, text)
        try:
            if data is not None:
                await run.worker.send(Input(data))
            elif run.control is not None:
                await run.control.send(Message("steer" if kind == "steer" else "followUp", text))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise LaunchRefusedError(f"{run.id} has just ended", setting="") from None
        self.records.append_event(run.id, kind, {"text": text})

    def is_over(self, execution: str | None) -> bool:
        """Whether the program that launched this has ended, as far as this host knows."""
        return execution is None or execution in self._over or execution not in self._launches

    def forget(self, run: Run) -> None:
        """Remove a finished run and its record."""
        if run.done.is_set():
            self.runs.pop(run.id, None)
            self.records.remove(run.id)

    async def execution_ended(self, execution: str) -> None:
        """The program is over: what it spawned and nobody waited for gets its follow-up from now on."""
        self._over.add(execution)
        self._launches.pop(execution, None)
        for run in list(self.runs.values()):
            if run.execution == execution and run.done.is_set():
                await self._follow_up(run)

    # -- one run -----------------------------------------------------------------------------------------------------

    async def _serve(self, run: Run) -> None:
        """From launch to result; whatever happens, there is a result."""
        try:
            with run.scope:
                with run.waiting_for_slot:
                    await self._slots.acquire_on_behalf_of(run)
                if run in self._borrowers():
                    try:
                        if run.ending is None:
                            await self._child(run)
                    finally:
                        self._slots.release_on_behalf_of(run)
        except (AgentError, OSError) as error:
            run.process = ProcessEnd(not_started=str(error))
        except Exception as error:
            if run.worker is None:
                run.process = ProcessEnd(not_started=f"a fault of this host: {error!r}")
            raise  # it ends the host, which first waits for the result of every run
        finally:
            with trio.CancelScope(shield=True):
                await self._conclude(run)

    def _borrowers(self) -> list[Any]:
        return list(self._slots.statistics().borrowers)

    async def _child(self, run: Run) -> None:
        run.started_seconds = trio.current_time()
        worker = await self._start_worker(run)
        run.worker = Channel(worker.channel, FROM_WORKER)
        run.control = Channel(worker.control, FROM_CHILD)
        try:
            if run.ending is not None:
                return
            run.status = "running"
            await run.worker.send(self._job(run))
            async with trio.open_nursery() as nursery:
                heard = trio.Event()
                nursery.start_soon(self._hear_all, run, run.control, nursery, heard)
                nursery.start_soon(self._keep_time, run)
                self._tell_watcher(run)
                await self._hear_worker(run, run.worker)
                with trio.move_on_after(HEAR_SECONDS):  # its last words may still lie in the other channel
                    await heard.wait()
                nursery.cancel_scope.cancel()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # the worker is gone: so is its child
        finally:
            self._close_worker(run, worker)

    def _close_worker(self, run: Run, worker: Worker) -> None:
        kernel.signal_pidfd(worker.pidfd, 9)
        os.close(worker.pidfd)
        if run.worker is not None:
            run.worker.close()
        if run.control is not None:
            run.control.close()

    async def _start_worker(self, run: Run) -> Worker:
        """A worker; a launcher that turns out to be lost is replaced once.

        Raises: LauncherLostError
        """
        launcher = await self._live_launcher()
        try:
            return await launcher.start_worker(run.id)
        except LauncherLostError:
            launcher = await self._live_launcher()
            return await launcher.start_worker(run.id)

    async def _live_launcher(self) -> Launcher:
        """Guardian and template, started at the first child and again after they were lost.

        Raises: LauncherLostError
        """
        async with self._launcher_lock:
            if self._launcher is not None and not self._launcher.is_alive:
                lost, self._launcher = self._launcher, None
                await lost.aclose()
            if self._launcher is None:
                if self._closing:
                    raise LauncherLostError("this host is closing")
                settings, options = self.options.settings, self.options
                started = start_launcher(
                    LaunchOptions(
                        owner=options.owner,
                        environment=environment.clean(options.environment, "program"),
                        entries=options.entries,
                        preload=options.preload if settings.warm_template else (),
                        pid_namespace=settings.pid_namespace,
                        launchers=options.launchers,
                    )
                )
                try:
                    await started.wait_ready()
                    death = os.dup(started.pidfd)
                except BaseException:
                    await started.aclose()
                    raise
                self._launcher = started
                self._nursery.start_soon(self._watch_launcher, started, death)
            return self._launcher

    async def _watch_launcher(self, launcher: Launcher, pidfd: int) -> None:
        """A guardian that was killed leaves orphans with this process: they end now, not at the next launch."""
        try:
            await trio.lowlevel.wait_readable(pidfd)
        finally:
            os.close(pidfd)
        async with self._launcher_lock:
            if self._launcher is launcher:
                self._launcher = None
                await launcher.aclose()

    def _job(self, run: Run) -> Job:
        resolved = run.resolved
        spec = run.runner.launch(resolved, run.folder)
        bounds = resolved.thinking_bounds
        return Job.of(
            run.id,
            spec.argv,
            {**resolved.environment, **spec.environment},
            resolved.cwd,
            stdin=spec.stdin,
            keep_stdin_open=spec.keep_stdin_open,
            thinking_bounds=None if bounds is None else bounds.to_dict(),
            owner=self.options.owner,
        )

    def _inherit(self, run: Run) -> Inherit:
        resolved = run.resolved
        return Inherit(
            run_id=resolved.id,
            root_id=resolved.root_id,
            name=resolved.name,
            path=resolved.path,
            depth=resolved.depth,
            parent_run=resolved.parent_run,
            recursive=resolved.recursive,
            max_depth=resolved.max_depth,
            max_turns=resolved.max_turns,
            max_cost=resolved.max_cost,
            risks=resolved.risks,
            rules=resolved.rules,
            tools=resolved.tools,
            schema_mode=resolved.schema_mode,
            folders=os.fsencode(self.options.folders.root),
            input_json=strict_json.encode(resolved.input, lone_surrogates=True),
            residency=resolved.residency,
            resident_key=self.options.resident_key,
            person=self.options.person,
            session=resolved.owner_session if resolved.residency == "durable" else self.options.session,
        )

    async def _hear_worker(self, run: Run, channel: Channel[Any]) -> None:
        while True:
            try:
                frame = await channel.receive()
            except ChannelError:
                return
            if frame is None:
                return
            if isinstance(frame, Started):
                self.records.append_event(run.id, "started", {"pid": frame.pid})
            elif isinstance(frame, NotStarted):
                run.process = ProcessEnd(not_started=frame.message)
                return
            elif isinstance(frame, Output):
                self._take_output(run, frame)
            elif isinstance(frame, Exited):
                run.process = ProcessEnd(frame.status, frame.signal)
                run.ended_by = frame.ended_by
                self._take_line(run, bytes(run.stdout))
                return

    def _take_output(self, run: Run, frame: Output) -> None:
        if frame.stream == "stderr":
            run.keep_stderr(frame.data)
            self.records.append_event(run.id, "stderr", {"text": frame.data.decode("utf-8", "replace")})
            return
        run.stdout_bytes += len(frame.data)
        if run.stdout_bytes > STDOUT_LIMIT_BYTES:
            run.stdout.clear()
            message = f"the child wrote more than {STDOUT_LIMIT_BYTES} bytes to its standard output"
            self.begin_stop(run, Ending("limit", message, "output"))
            return
        run.stdout += frame.data
        if b"\n" in frame.data:  # a long line must not be searched again with every piece of it
            *lines, rest = run.stdout.split(b"\n")
            run.stdout = bytearray(rest)
            for line in lines:
                self._take_line(run, bytes(line))

    def _take_line(self, run: Run, line: bytes) -> None:
        if not line.strip():
            return
        try:
            event = run.runner.read(line)
        except Exception as error:
            # Whatever a child prints, and whatever its runner makes of it: this host goes on.
            self.begin_stop(run, Ending("limit", f"the child's output cannot be read: {error!r:.200}"))
            return
        if isinstance(event, Outcome):
            run.outcome = event
        elif isinstance(event, Progress):
            self._progress(run, event.kind, event.data, event.turns, event.cost)

    def _progress(self, run: Run, kind: str, data: Mapping[str, Any], turns: int, cost: float) -> None:
        run.last_event = kind
        run.has_logged = run.has_logged or kind == "log"
        run.turns += max(turns, 0)
        run.calls += kind == "call_finished"
        self.records.append_event(run.id, kind, data)
        broken: tuple[str, float] | None = None
        if cost > 0 and math.isfinite(cost):
            run.cost += cost
            broken = self._spend(run, cost, max(turns, 0))
        if run.turns > run.resolved.max_turns:
            message = f"the run took more than {run.resolved.max_turns} turns (setting agents.maxTurns)"
            self.begin_stop(run, Ending("limit", message, "agents.maxTurns"))
        if broken is None and run.cost > run.resolved.max_cost:
            broken = ("the run", run.resolved.max_cost)
        if broken is not None:
            message = f"{broken[0]} cost more than {broken[1]:g} US dollars (setting agents.maxCost)"
            self.begin_stop(run, Ending("limit", message, "agents.maxCost"))
        self._tell_watcher(run)

    def _spend(self, run: Run, cost: float, turns: int) -> tuple[str, float] | None:
        """Count what a run cost; who has spent more than it may, and how much that is. Uncounted, nothing may go on."""
        try:
            totals = self.ledger(run.resolved.root_id).spend(run.id, cost=cost, turns=turns)
        except OSError as error:
            run.uncounted_cost += cost
            message = f"what the run costs cannot be counted: {error.strerror} (setting agents.maxCost)"
            self.begin_stop(run, Ending("limit", message, "agents.maxCost"))
            return None
        if totals.cost > self.options.settings.max_cost:
            return "all agents of this program", self.options.settings.max_cost
        above = totals.over_cap(run.id)
        if above is None:
            return None
        return "the run" if above == run.id else f"the run {above} with all below it", totals.caps[above]

    async def _hear_all(self, run: Run, control: Channel[Any], nursery: trio.Nursery, heard: trio.Event) -> None:
        try:
            await self._hear_child(run, control, nursery)
        finally:
            heard.set()

    async def _hear_child(self, run: Run, control: Channel[Any], nursery: trio.Nursery) -> None:
        """The child's control channel: questions, events, requests for a resident host."""
        questions: dict[int, trio.CancelScope] = {}
        nursery.start_soon(self._send, control, self._inherit(run))
        while True:
            try:
                frame = await control.receive()
            except ChannelError as error:
                self.begin_stop(run, Ending("limit", f"the child broke the control channel: {error}"))
                return
            if frame is None:
                return
            if isinstance(frame, Ask):
                if len(questions) < ASKS_AT_ONCE and frame.id not in questions:
                    questions[frame.id] = trio.CancelScope()
                    nursery.start_soon(self._answer, run, control, frame, questions)
                else:
                    nursery.start_soon(self._send, control, Answer(frame.id, "deny"))
            elif isinstance(frame, Withdraw) and frame.id in questions:
                questions[frame.id].cancel()
            elif isinstance(frame, Event):
                self._progress(run, frame.kind, frame.data, frame.turns, frame.cost)
            elif isinstance(frame, NeedResident):
                nursery.start_soon(self._provide_resident, control, frame.id)

    async def _answer(self, run: Run, control: Channel[Any], ask: Ask, questions: dict[int, trio.CancelScope]) -> None:
        """Ask the parent's person; the run's time stands still meanwhile."""
        answer = "deny"
        self._asking(run, 1)
        try:
            with questions[ask.id]:
                if self.options.approve is not None:
                    answer = await self.options.approve(request_from(ask, run.resolved.path, run.id))
        except Exception:
            answer = "deny"  # whoever answers is foreign code, and a question without an answer is a no
        finally:
            self._asking(run, -1)
            del questions[ask.id]
        self.records.append_event(run.id, "asked", {"ref": ask.ref, "risk": ask.risk, "answer": answer})
        await self._send(control, Answer(ask.id, answer))

    def _asking(self, run: Run, change: int) -> None:
        run.asking += change
        run.asking_changed.set()
        run.asking_changed = trio.Event()

    async def _provide_resident(self, control: Channel[Any], number: int) -> None:
        provide = self.options.ensure_resident
        problem: str | None = "no resident host can be started here"
        if provide is not None:
            try:
                problem = await provide()
            except (AgentError, OSError) as error:
                problem = str(error)
        await self._send(control, ResidentReply(number, problem))

    async def _send(self, channel: Channel[Any], frame: msgspec.Struct) -> None:
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await channel.send(frame)

    async def _keep_time(self, run: Run) -> None:
        remaining = run.resolved.timeout_ms / 1000
        while remaining > 0:
            changed = run.asking_changed
            if run.asking:
                await changed.wait()
                continue
            started = trio.current_time()
            with trio.move_on_after(remaining):
                await changed.wait()
            remaining -= trio.current_time() - started
        asked = run.resolved.sources.get("timeoutMs") == "request"
        where = "timeoutMs of the request" if asked else "setting agents.timeoutMs"
        message = f"the run took longer than its {run.resolved.timeout_ms} ms ({where})"
        self.begin_stop(run, Ending("timed_out", message, "agents.timeoutMs"))

    async def _order_stop(self, run: Run, quick: bool) -> None:
        """Ask the child; its worker walks the rest of the ladder."""
        grace = self.options.settings.stop_grace_seconds
        stop = Stop(CLOSE_ASK_SECONDS, CLOSE_TERM_SECONDS) if quick else Stop(grace, grace)
        spec = run.runner.launch(run.resolved, run.folder)
        if not spec.speaks_control and not spec.stop_input:
            stop = Stop(0.0, stop.term_seconds)
        reason = run.ending.message if run.ending is not None else "stopped"
        with trio.move_on_after(TELL_SECONDS, shield=True):
            if run.worker is not None:
                await self._send(run.worker, stop)
                if spec.stop_input:
                    await self._send(run.worker, Input(spec.stop_input))
            if run.control is not None and spec.speaks_control:
                await self._send(run.control, StopOrder(reason))
        with trio.move_on_after(stop.ask_seconds + stop.term_seconds + WORKER_SECONDS):
            await run.done.wait()
        if run.worker is not None:  # it does not walk the ladder: closed, it is killed, and its child dies with it
            run.worker.close()

    async def _conclude(self, run: Run) -> None:
        run.ended_seconds = trio.current_time()
        result = self._result(run, run.ended_seconds)
        run.result, run.status = result, result.status
        run.stdout.clear()
        run.worker = run.control = None
        kernel.reap_adopted()
        run.waited = run.waited or bool(run.waiters)
        # Told one by one already, where the child could.
        for text in () if run.outcome is None or run.has_logged else run.outcome.logs:
            self.records.append_event(run.id, "log", {"text": text})
        try:
            self._write_end(run, result)
        finally:
            run.done.set()
        self._tell_watcher(run)
        await self._follow_up(run)

    def _result(self, run: Run, now_seconds: float) -> AgentResult:
        def judged(outcome: Outcome | None, process: ProcessEnd, ending: Ending | None) -> AgentResult:
            return conclude(
                run.resolved,
                outcome=outcome,
                process=process,
                ending=ending,
                counters=run.counters(now_seconds),
                stderr=run.stderr.decode("utf-8", "replace"),
                validator=self._validator,
            )

        try:
            return judged(run.outcome, run.process, run.ending)
        except Exception as error:
            # Whatever a child's value does to the code that checks it: who waits for this run gets a result.
            return judged(None, ProcessEnd(not_started=f"its result cannot be judged: {error!r:.200}"), None)

    def _write_end(self, run: Run, result: AgentResult) -> None:
        """What others read of the end. On a full disk the run is over all the same; its record reads indeterminate."""
        unseen = max(0.0, result.usage.cost - run.cost) + run.uncounted_cost
        with contextlib.suppress(OSError):
            ledger = self.ledger(run.resolved.root_id)
            if unseen:
                ledger.spend(run.id, cost=unseen)
            ledger.finish(run.id)
        self.records.append_event(run.id, "finished", {"status": result.status, "endedBy": run.ended_by})
        with contextlib.suppress(OSError):
            self.records.finish(result, durable=run.resolved.residency == "durable")
            if run.waited:
                self.records.mark(run.id, "waited")

    async def _follow_up(self, run: Run) -> None:
        over = run.execution is None or run.execution in self._over
        if run.detached and not run.waited and over and not self._closing and self.options.finished is not None:
            try:
                await self.options.finished(run)
            except Exception as error:
                # The record still says that nobody was told: the next open of the session delivers it.
                self.records.append_event(run.id, "follow_up_failed", {"message": str(error)})

    def _tell_watcher(self, run: Run) -> None:
        if self.options.watch is not None:
            try:
                self.options.watch(run)
            except Exception as error:
                # Lines on a screen are no reason to lose a child, or the host with all of them.
                self.records.append_event(run.id, "watch_failed", {"message": repr(error)})

    # -- the end -----------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """End every child and what guards them; bounded, whatever the children do."""
        self._closing = True
        with trio.move_on_after(CLOSE_SECONDS, shield=True):
            for run in list(self.runs.values()):
                self.begin_stop(run, Ending("closing", "its host ended"), quick=True)
            for run in list(self.runs.values()):
                await run.done.wait()
        with trio.CancelScope(shield=True):
            await self._close_launcher()
            for run in list(self.runs.values()):
                if not run.done.is_set():
                    run.scope.cancel()
                    await run.done.wait()
            await self._close_launcher()  # one that was starting while the first was closed

    async def _close_launcher(self) -> None:
        launcher, self._launcher = self._launcher, None
        if launcher is not None:
            await launcher.aclose()


@asynccontextmanager
async def open_supervisor(options: SupervisorOptions) -> AsyncIterator[Supervisor]:
    """A supervisor; on leaving, no child is left. What an earlier crash left is cleared away first.

    Raises: OSError: the folders cannot be made.
    """
    options.folders.make()
    lock = OwnerLock(options.folders, options.owner)
    failure: BaseException | None = None
    try:
        await beside(lambda: sweep(options.folders, options.settings.retention_days))
        async with trio.open_nursery() as nursery:
            supervisor = Supervisor(options, nursery)
            nursery.start_soon(listen, supervisor, nursery)
            try:
                yield supervisor
            except BaseException as error:  # raised again outside of the nursery, which would wrap it into a group
                failure = error
            finally:
                await supervisor.close()
                nursery.cancel_scope.cancel()
    finally:
        lock.release()
    if failure is not None:
        raise failure


__all__ = ["LauncherLostError", "Supervisor", "SupervisorOptions", "open_supervisor"]
