"""One guest's program from start to outcome: its calls, its deadline, its end. It knows no session and starts no guest.

Invariant: the host has control again within the deadline plus a second whatever the guest does, because nothing here
waits for the guest: reads wait for readiness, writes never block, and the last word is SIGKILL through the pidfd.
Attacked by `tests/host_bridge/test_hostile_frames.py` and the resource and bridge programs of `tests/escapes`.
"""

import math
import os
import select
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeAlias

import trio

from guest_api import wire
from guest_api.values import ValueRefusedError, to_wire
from host_bridge.admission import Admission, Admitted, RunContext, called_ref, settle_error
from host_bridge.approval_prompt import ApprovalRequest
from host_bridge.conversation import Conversation, Event, Finished, Violation, result_from_text
from host_bridge.limits import RunLimits, human_bytes, limit_message
from host_bridge.processors import processors_of
from host_bridge.run_outcome import GuestExit, RunError, RunOutcome, death_error, failure_error, source_error
from host_bridge.trace import CallError, CallRecord, preview_of

READ_BYTES: Final = 64 * 1024
REPLIES_AT_ONCE: Final = 32
"""So many replies of one batch are written together: the guest goes on with them while the next are made."""
AWAKE_SECONDS: Final = 40e-6
FIRST_AWAKE_SECONDS: Final = 250e-6
"""A guest that waits awake answers a small program within this; waking this process would take as long."""
PREEMPTED_SECONDS: Final = 200e-6
"""One look takes a microsecond; a gap this long means that another process ran here."""
_CORES: Final = len(processors_of(0)) or 1
BUSY_SECONDS: Final = 1e-3
"""How long one program may be answered without letting the event loop turn."""
_MOST_CREDIT: Final = 8
_REGAINED_CREDIT: Final = 1 / 4
"""A program that does not call in a loop is soon no longer looked for, and tried again once in a while."""
DEATH_SECONDS: Final = 0.5
"""How long a killed guest may take to be gone before the run ends without its exit status."""

_WITHOUT_TASKS: Final = frozenset({wire.Log, wire.Failed, Finished, Violation})

Spill: TypeAlias = Callable[[bytes], Any]
"""Takes the JSON text of a result too large for one frame; answers the value to show in its place."""


class Guest(Protocol):
    """A confined guest that waits for its program."""

    @property
    def socket(self) -> trio.socket.SocketType:
        """The host's end; Ready was consumed."""

    @property
    def waits_apart(self) -> bool:
        """Whether it waits awake on another processor than ours: its answer is worth looking for."""

    def let_move(self) -> None:
        """Its program takes longer than a moment: let it use every processor."""

    def kill(self) -> None:
        """SIGKILL; at once, any number of times."""

    async def wait(self) -> GuestExit:
        """How it ended, once it has."""


class Observer(Protocol):
    """Who watches a run, for display, advisor and trace. Called synchronously: return at once."""

    def call_started(self, call_id: int, ref: str) -> None:
        """A call arrived."""

    def call_finished(self, record: CallRecord) -> None:
        """It is over, however."""

    def log_printed(self, text: str) -> None:
        """The program printed."""

    def approval_waiting(self, request: ApprovalRequest) -> None:
        """A person is about to be asked."""


class SilentObserver:
    """Watches nothing; subclass it to watch some of it."""

    def call_started(self, call_id: int, ref: str) -> None:
        """A call arrived."""

    def call_finished(self, record: CallRecord) -> None:
        """It is over."""

    def log_printed(self, text: str) -> None:
        """The program printed."""

    def approval_waiting(self, request: ApprovalRequest) -> None:
        """A person is about to be asked."""


async def run_program(
    guest: Guest,
    source: str,
    input: Any,  # noqa: A002  the name that programs know it by
    *,
    admission: Admission,
    limits: RunLimits,
    run_id: str,
    observer: Observer | None = None,
    caller: tuple[str, ...] = (),
    namespaces: Sequence[str] | None = None,
    spill: Spill | None = None,
) -> RunOutcome:
    """Run `source` in `guest` to its outcome. Afterwards the guest is dead or dying, unless it said itself that its
    program is over: then its owner closes it, which is its end.

    Never raises for anything that a guest does. Cancelled: the guest is dead before the cancellation goes on.
    Raises: ValueRefusedError: `input` is no JSON value; nothing ran.
    """
    value = to_wire(input, "$input")
    refused = source_error(source, limits)
    if refused is not None:
        guest.kill()
        return RunOutcome(ok=False, error=refused)
    roots = list(namespaces) if namespaces is not None else admission.registry.namespaces()
    # The program is written before anything else is prepared: the guest compiles it meanwhile.
    talk = Conversation(limits)
    start = talk.start(source, value, roots)
    unsent = start[_write(guest.socket.fileno(), start) :]
    run = _Run(
        guest,
        talk,
        unsent,
        admission=admission,
        limits=limits,
        observer=observer or SilentObserver(),
        spill=spill,
        run_id=run_id,
        caller=caller,
    )
    return await run.to_outcome()


def _write(fd: int, data: bytes) -> int:
    """How much of it was taken at once."""
    try:
        return os.write(fd, data)
    except OSError:
        return 0  # full, or gone: `_flush` meets the same and knows what to do


_active_runs = 0
"""Programs that run now in this process."""


class _Run:
    def __init__(
        self,
        guest: Guest,
        talk: Conversation,
        unsent: bytes,
        *,
        admission: Admission,
        limits: RunLimits,
        observer: Observer,
        spill: Spill | None,
        run_id: str,
        caller: tuple[str, ...],
    ) -> None:
        self._guest = guest
        self._fd = guest.socket.fileno()
        self._admission = admission
        self._limits = limits
        self._observer = observer
        self._spill = spill
        self._talk = talk
        self._context = RunContext(run_id=run_id, caller=caller, waiting=self._asking, shown=observer.approval_waiting)
        self._calls: list[CallRecord] = []
        self._logs: list[str] = []
        self._scopes: dict[int, trio.CancelScope] = {}
        self._running = 0
        self._out: list[bytes] = [unsent] if unsent else []
        self._backlog = bytearray()
        self._draining = False
        self._last: Finished | wire.Failed | Violation | None = None
        self._lost = False
        self._deadline = trio.CancelScope()
        self._now = 0.0
        poller = select.poll()
        poller.register(self._fd, select.POLLIN)
        self._poll = poller.poll
        # A short program's first frame is its last: look for it as for the next call of a loop.
        self._answered_inline = True
        self._watched_since = time.perf_counter()
        self._watch_credit = self._awake_credit = _MOST_CREDIT / 2
        self._asking_count = 0
        self._asking_since = 0.0
        self._asked_seconds = 0.0
        self._left_seconds = 0.0

    async def to_outcome(self) -> RunOutcome:
        global _active_runs  # noqa: PLW0603  one event loop, one count
        _active_runs += 1
        started = trio.current_time()
        self._deadline.deadline = started + self._limits.timeout_seconds
        try:
            first = await self._first_events()
            if self._last is None and not self._lost:
                self._guest.let_move()
                async with trio.open_nursery() as self._nursery:
                    with self._deadline:
                        self._flush()
                        if first:
                            self._handle_all(first)
                            self._flush()
                        self._lost = self._last is None and await self._converse()
                    # Nobody waits for these any more: the program is over, or will be in a moment.
                    if self._nursery.child_tasks:
                        self._nursery.cancel_scope.cancel()
            error = await self._death() if self._last is None and self._lost else None
            if self._last is None and not self._lost:
                text = f"the program ran longer than {self._limits.timeout_seconds:g} s"
                self._last = Violation("limit", limit_message("timeout", text), "timeout")
        except BaseException:
            self._guest.kill()
            with trio.move_on_after(DEATH_SECONDS, shield=True):
                await self._guest.wait()
            raise
        finally:
            _active_runs -= 1
            if not isinstance(self._last, Finished | wire.Failed):
                self._guest.kill()
        return self._outcome(error, (trio.current_time() - started) * 1000)

    # -- reading -------------------------------------------------------------------------------------------------

    async def _first_events(self) -> list[Event]:
        """What the guest says first, within the deadline. Most programs say all they have to say at once: what they
        print and how they end needs no task, so no nursery is opened for them.
        """
        if self._out:
            return []
        # A guest on our own processor answers only while we sleep.
        data = self._watch(FIRST_AWAKE_SECONDS if self._guest.waits_apart else 0)
        if data is None:
            self._guest.let_move()
            with trio.CancelScope(deadline=self._deadline.deadline):
                while data is None:
                    await trio.lowlevel.wait_readable(self._fd)
                    self._watched_since = time.perf_counter()
                    data = self._read()
        if not data:
            self._lost = data is not None
            return []
        self._answered_inline = False
        self._now = trio.current_time()
        events = self._talk.receive(data)
        if not all(type(event) in _WITHOUT_TASKS for event in events):
            return events
        for event in events:
            self._handle(event)
        return []

    def _handle_all(self, events: list[Event]) -> None:
        # A guest cancels in the same write what its program called and never waited for: none of that is begun.
        withdrawn = {event.id for event in events if type(event) is wire.Cancel} if len(events) > 1 else None
        for event in events:
            if withdrawn and type(event) is wire.Call and event.id in withdrawn:
                self._withdraw(event)
            else:
                self._handle(event)

    async def _converse(self) -> bool:
        """Serve the guest until the program's end; True: the guest is gone without one."""
        fd, talk = self._fd, self._talk
        while True:
            data = None
            if self._answered_inline:
                if time.perf_counter() - self._watched_since > BUSY_SECONDS:
                    await trio.lowlevel.checkpoint()
                    self._watched_since = time.perf_counter()
                data = self._watch()
            if data is None:
                await trio.lowlevel.wait_readable(fd)
                self._watched_since = time.perf_counter()
                data = self._read()
                if data is None:
                    continue
            if not data:
                return True
            self._answered_inline = False
            self._now = trio.current_time()
            self._handle_all(talk.receive(data))
            if self._last is not None:
                return False
            if self._out:
                self._flush()

    def _read(self) -> bytes | None:
        """What is there; empty: the guest is gone; None: nothing yet."""
        try:
            return os.read(self._fd, READ_BYTES)
        except BlockingIOError:
            return None
        except ConnectionError:
            return b""

    def _watch(self, awake_seconds: float = AWAKE_SECONDS) -> bytes | None:
        """Look for the next frame for microseconds, then wait for it in the kernel, before a turn of the event loop.

        A program that calls in a loop answers within 30 microseconds; a turn of the loop costs as much again, and so
        does waking a core that went to sleep. Never while another program or a waiting call runs, and no looking where
        somebody else wants the processor; the caller takes a turn every `BUSY_SECONDS`.
        """
        if self._watch_credit <= 0 or self._running or _active_runs != 1:
            self._watch_credit += _REGAINED_CREDIT
            return None
        if _CORES > 1 and awake_seconds > 0 and self._awake_credit > 0:
            now = time.perf_counter()
            until = now + awake_seconds
            while now < until:
                data = self._read()
                if data is not None:
                    self._awake_credit = min(self._awake_credit + 1, _MOST_CREDIT)
                    return data
                before, now = now, time.perf_counter()
                if now - before > PREEMPTED_SECONDS:
                    self._awake_credit = 0
            self._awake_credit -= 1
        else:
            self._awake_credit += _REGAINED_CREDIT / 4
        if self._poll(1):
            self._watch_credit = min(self._watch_credit + 1, _MOST_CREDIT)
            return self._read()
        self._watch_credit -= 1
        return None

    def _handle(self, event: Event) -> None:
        match event:
            case wire.Call():
                self._call(event)
            case wire.Log():
                self._logs.append(event.text)
                self._observer.log_printed(event.text)
            case wire.Timer():
                if event.seconds <= 0:
                    self._reply_timer(event.id)
                else:
                    self._nursery.start_soon(self._sleep, event.id, event.seconds)
            case wire.Cancel():
                scope = self._scopes.get(event.id)
                if scope is not None:
                    scope.cancel()
            case _:
                if self._last is None:
                    self._last = event

    def _call(self, frame: wire.Call) -> None:
        # Calls of one batch follow each other at once: the end of one is the start of the next.
        started = self._now
        ref = called_ref(frame.ref, frame.args)
        self._observer.call_started(frame.id, ref)
        if self._running >= self._limits.calls_in_flight:
            text = f"{ref}: {self._limits.calls_in_flight} host calls are in flight already"
            call = Admitted(id=frame.id, ref=ref, arguments=frame.args, decision="limited", settled=True)
            call.kind, call.message = "limit", limit_message("callsInFlight", text)
        else:
            call = self._admission.begin(frame.id, frame.ref, frame.args, self._context)
        if call.settled:
            self._answered_inline = True
            self._answer(call, started)
        else:
            self._running += 1
            self._nursery.start_soon(self._serve, call, started)

    def _withdraw(self, frame: wire.Call) -> None:
        ref = called_ref(frame.ref, frame.args)
        self._observer.call_started(frame.id, ref)
        call = Admitted(id=frame.id, ref=ref, arguments=frame.args, decision="rejected", settled=True)
        call.kind, call.message = "cancelled", f"{ref} was cancelled: the program did not wait for it"
        self._answer(call, self._now)

    async def _serve(self, call: Admitted, started: float) -> None:
        scope = self._scopes[call.id] = trio.CancelScope()
        try:
            with scope:
                await self._admission.finish(call, self._context)
        except Exception as error:
            # A handler may mix its failure with the cancellation of this call.
            settle_error(call, error)
        finally:
            del self._scopes[call.id]
            self._running -= 1
            if not call.settled:
                call.kind = "cancelled"
                waited = "the program stopped waiting for it" if scope.cancel_called else self._why_over()
                call.message = f"{call.ref} was cancelled: {waited}"
            self._answer(call, started)
        self._flush()

    def _why_over(self) -> str:
        return "it was still running when the program ended" if self._last is not None else "the run was ended"

    async def _sleep(self, timer_id: int, seconds: float) -> None:
        scope = self._scopes[timer_id] = trio.CancelScope()
        try:
            with scope:
                await trio.sleep(seconds)
        finally:
            del self._scopes[timer_id]
        if not scope.cancelled_caught:
            self._reply_timer(timer_id)
            self._flush()

    # -- answering -----------------------------------------------------------------------------------------------

    def _reply_timer(self, timer_id: int) -> None:
        if self._talk.answered(timer_id):
            self._send(wire.encode(wire.Reply(timer_id, None)))

    def _answer(self, call: Admitted, started: float) -> None:
        """Reply, if the guest still waits, and write the record."""
        if call.ok:
            data = wire.encode(wire.Reply(call.id, call.value))
            if len(data) - wire.LENGTH_BYTES > wire.HOST_FRAME_LIMIT_BYTES:
                call.ok, call.kind = False, "limit"
                text = f"{call.ref} returned {len(data)} bytes; {human_bytes(wire.HOST_FRAME_LIMIT_BYTES)} is the most"
                call.message = limit_message("replyBuffer", text)
        if not call.ok:
            data = wire.encode(wire.Refusal(call.id, call.kind, call.message, call.details))
        if self._talk.answered(call.id):
            self._send(data)
        self._now = now = trio.current_time()
        shown, size = preview_of(call.arguments)
        descriptor = call.action.descriptor if call.action is not None else None
        record = CallRecord(
            id=call.id,
            ref=call.ref,
            ok=call.ok,
            ms=(now - started) * 1000,
            error=None if call.ok else CallError(kind=call.kind, message=call.message),
            risk=descriptor.risk if descriptor is not None else None,
            namespace=descriptor.namespace if descriptor is not None else None,
            decision=call.decision,
            approver=call.approver,
            would_block=call.would_block,
            args_bytes=size,
            result_bytes=len(data) if call.ok else 0,
            args_preview=shown,
        )
        self._calls.append(record)
        self._observer.call_finished(record)

    def _send(self, data: bytes) -> None:
        self._out.append(data)
        if len(self._out) >= REPLIES_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        """Write what is queued as far as the socket takes it; a task writes the rest."""
        if not self._out:
            return
        data = self._out[0] if len(self._out) == 1 else b"".join(self._out)
        self._out.clear()
        if self._backlog:
            waiting = len(self._backlog)
            if waiting + len(data) > self._limits.reply_buffer_bytes:
                if self._last is None:
                    most = human_bytes(self._limits.reply_buffer_bytes)
                    text = f"the program does not read its replies: more than {most} wait"
                    self._last = Violation("limit", limit_message("replyBuffer", text), "replyBuffer")
                self._backlog.clear()
                self._deadline.cancel()
                return
            self._backlog += data
            return
        try:
            sent = os.write(self._fd, data)
        except BlockingIOError:
            sent = 0
        except OSError:
            return  # the guest is gone; reading will say so
        if sent < len(data):
            self._backlog += memoryview(data)[sent:]
            if not self._draining:
                self._draining = True
                self._nursery.start_soon(self._drain)

    async def _drain(self) -> None:
        try:
            while self._backlog:
                await trio.lowlevel.wait_writable(self._fd)
                with memoryview(self._backlog)[: 4 * READ_BYTES] as piece:
                    try:
                        sent = os.write(self._fd, piece)
                    except BlockingIOError:
                        continue
                    except OSError:
                        return
                del self._backlog[:sent]
        finally:
            self._draining = False

    # -- deadline ------------------------------------------------------------------------------------------------

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """The deadline stands still while at least one person is asked."""
        if self._asking_count == 0:
            self._asking_since = trio.current_time()
            self._left_seconds = self._deadline.deadline - self._asking_since
            self._deadline.deadline = math.inf
        self._asking_count += 1
        try:
            yield
        finally:
            self._asking_count -= 1
            if self._asking_count == 0:
                now = trio.current_time()
                self._asked_seconds += now - self._asking_since
                self._deadline.deadline = now + self._left_seconds

    # -- the end -------------------------------------------------------------------------------------------------

    async def _death(self) -> RunError:
        """Why a guest is gone that did not say so itself."""
        ended: GuestExit | None = None
        with trio.move_on_after(DEATH_SECONDS):
            ended = await self._guest.wait()
        return death_error(ended, self._limits, in_half_frame=self._talk.in_half_frame)

    def _outcome(self, error: RunError | None, ms: float) -> RunOutcome:
        last, value = self._last, None
        if isinstance(last, Violation):
            error = RunError(kind=last.kind, message=last.message, limit=last.limit)
        elif isinstance(last, wire.Failed):
            error = failure_error(last, self._limits)
        elif isinstance(last, Finished):
            value = last.value
            if last.text is not None:
                try:
                    value = self._spill(last.text) if self._spill is not None else result_from_text(last.text)
                except ValueRefusedError as refused:
                    error = RunError(kind="protocol", message=f"the guest returned what cannot cross: {refused}")
                except OSError as fault:
                    error = RunError(kind="host", message=f"the result could not be kept: {fault}")
        return RunOutcome(
            ok=error is None,
            value=value,
            error=error,
            calls=sorted(self._calls, key=lambda record: record.id),
            logs=self._logs,
            ms=ms,
            asked_ms=self._asked_seconds * 1000,
        )
