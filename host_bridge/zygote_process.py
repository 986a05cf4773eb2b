"""One zygote as its host sees it: start it, ask it for guests, kill through pidfds, notice its death. It keeps no pool.

The zygote is started by exec (`zygote_launch.py`) from the thread that runs trio (PDEATHSIG follows the thread, and
this one outlives the pool); the trio process itself is never forked. Nothing here is inherited but one socket.
"""

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import trio

from guest_api import wire
from guest_api.inside import zygote_wire
from guest_api.inside.zygote_wire import Configure, Exited, Fork, Forked, Kill, NotForked, Refused, Started
from host_bridge import processors
from host_bridge.confinement_plan import BY_NAME, ISOLATION_SETTING, TRUSTED_MODE, ConfinementPlan, GuestLimits, State
from host_bridge.errors import IsolationUnavailableError
from host_bridge.run_outcome import GuestExit
from host_bridge.zygote_launch import LaunchedZygote, launch
from host_bridge.zygote_template import ForkedZygote, StartedProcess, ZygoteTemplate

START_SECONDS: Final = 30.0
"""A cold interpreter with its imports takes 0.2 s; a machine that needs this long is not usable."""
READY_SECONDS: Final = 10.0
"""From the request to the guest's Ready; 3 ms when idle, 200 requests at once on two cores take a second."""
STOP_SECONDS: Final = 2.0
"""A zygote that is asked to stop ends its guests within milliseconds; then it is killed."""
READY_FRAME_LIMIT_BYTES: Final = 64


class Guest:
    """One confined guest that has said Ready. It runs one program; whoever checked it out closes it."""

    def __init__(self, zygote: "ZygoteProcess", guest_id: int, bridge: socket.socket, limits: GuestLimits) -> None:
        bridge.setblocking(False)
        self.socket: trio.socket.SocketType = trio.socket.from_stdlib_socket(bridge)
        """The host's end of the bridge, a stream; Ready was consumed."""
        self.limits = limits
        self.on_close: Callable[[Guest], object] | None = None
        """Told once when its owner closes it."""
        self.exit: GuestExit | None = None
        """None while it runs."""
        self._zygote = zygote
        self._id = guest_id
        self._bridge = bridge
        self._pidfd: int | None = None
        self._forked = trio.Event()
        self._ended = trio.Event()
        self._start_error: str | None = None
        self._closed = False
        self._processors: frozenset[int] = frozenset()
        """Those that it may use; known once it was kept off one."""
        self._kept_off: int | None = None
        self._awake_until = 0.0

    @property
    def skipped_layers(self) -> tuple[str, ...]:
        """Names of the protections that this guest does not have."""
        return tuple(self._zygote.skipped)

    @property
    def closed(self) -> bool:
        """Whether its owner is done with it."""
        return self._closed

    def comes_from(self, zygote: "ZygoteProcess") -> bool:
        """Whether that zygote forked it."""
        return self._zygote is zygote

    @property
    def host_pid(self) -> int | None:
        """Its pid as this process sees it; None once it is reaped, and where nobody tells (no /proc, no descriptor
        left). A pid can be reused, the pidfd cannot: never for a signal, only for measuring and for its choice of
        processors, where a mistake would cost time and nothing else.
        """
        if self._pidfd is None:
            return None
        try:
            lines = Path(f"/proc/self/fdinfo/{self._pidfd}").read_text().splitlines()
        except OSError:
            return None
        for line in lines:
            name, _, value = line.partition(":")
            if name == "Pid":
                return int(value) if int(value) > 0 else None
        return None

    def warm(self, awake_ms: int = 0) -> None:
        """Let it touch what a program will touch, and then stay awake; never waits, and a busy guest loses the hint."""
        self._awake_until = trio.current_time() + awake_ms / 1000
        if awake_ms > 0:
            self._keep_apart()
        try:
            self._bridge.send(wire.encode(wire.Warm(awake_ms)))
        except OSError:
            return

    @property
    def waits_awake(self) -> bool:
        """Whether it was told to, and should still."""
        return trio.current_time() < self._awake_until

    @property
    def waits_apart(self) -> bool:
        """Whether it waits awake, on another processor than the one that runs this thread now."""
        return self._kept_off is not None and self._kept_off == processors.current_processor() and self.waits_awake

    def let_move(self) -> None:
        """Its program runs for longer than a moment: from now on it may use every processor again."""
        if self._kept_off is None:
            return
        self._kept_off = None
        pid = self.host_pid
        if pid is not None:
            processors.allow(pid, self._processors)

    def _keep_apart(self) -> None:
        here = processors.current_processor()
        if here is None or here == self._kept_off:
            return
        pid = self.host_pid
        if pid is None:
            return
        if not self._processors:
            self._processors = processors.processors_of(pid)
        others = self._processors - {here}
        self._kept_off = here if others and processors.allow(pid, others) else None

    def kill(self) -> None:
        """SIGKILL through the pidfd; at once, any number of times."""
        if self.exit is not None:
            return
        if self._pidfd is None:
            self._zygote.kill_by_id(self._id)
            return
        try:
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        except ProcessLookupError:
            return

    async def wait(self) -> GuestExit:
        """How the guest ended, once it has and is reaped."""
        await self._ended.wait()
        assert self.exit is not None  # noqa: S101  set before the event
        return self.exit

    async def aclose(self) -> None:
        """SIGKILL if it still runs, and close the bridge. Its zygote reaps it; the pidfd goes when that is reported."""
        self.close_now()
        await trio.lowlevel.cancel_shielded_checkpoint()

    def close_now(self) -> None:
        """`aclose` for callers that cannot await: after it the guest executes no further instruction."""
        if self._closed:
            return
        self._closed = True
        if self.on_close is not None:
            self.on_close(self)
        self.kill()
        self.socket.close()
        if self.exit is not None:
            self._drop_pidfd()

    def note_forked(self, pidfd: int | None) -> None:
        """The zygote forked it."""
        self._pidfd = pidfd
        self._forked.set()
        if self._closed:
            self.kill()

    def note_not_forked(self, reason: str) -> None:
        """The zygote could not fork it."""
        self._start_error = reason
        self.note_exit(GuestExit(None, None))

    def note_exit(self, ended: GuestExit) -> None:
        """It is gone and reaped."""
        self.exit = ended
        self._forked.set()
        self._ended.set()
        if self._closed:
            self._drop_pidfd()

    async def become_ready(self) -> None:
        """Until the guest has said Ready over its bridge.

        Raises: IsolationUnavailableError: it ended first, or took longer than READY_SECONDS.
        """
        with trio.move_on_after(READY_SECONDS):
            await self._forked.wait()
            if self._start_error is None and await self._read_ready():
                return
            with trio.move_on_after(1):
                await self._ended.wait()
        reason = self._start_error or f"a guest did not become ready: {self.exit or 'it took too long'}"
        raise IsolationUnavailableError([f"process_boundary: {reason}"])

    async def _read_ready(self) -> bool:
        try:
            size = wire.body_length(await self._read_exactly(wire.LENGTH_BYTES), READY_FRAME_LIMIT_BYTES)
            return isinstance(wire.decode_guest_frame(await self._read_exactly(size)), wire.Ready)
        except (EOFError, OSError, wire.FrameError):
            return False

    async def _read_exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = await self.socket.recv(count - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def _drop_pidfd(self) -> None:
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None


class ZygoteProcess:
    """A started zygote. `run` must be running in some task for `fork` to be answered."""

    def __init__(
        self, plan: ConfinementPlan, template: ZygoteTemplate | None = None, launched: LaunchedZygote | None = None
    ) -> None:
        """`template`: fork from this warm process instead of a cold start, where it still answers.
        `launched`: the cold start has begun already; used once.
        """
        self.skipped: dict[str, str] = {}
        """Protection to the reason why it is missing; complete once started."""
        self.fork_count = 0
        self.lost = False
        """It hung up: no more guests from this one."""
        self._plan = plan
        self._guests: dict[int, Guest] = {}
        self._retiring = False
        self._send_lock = trio.Lock()
        self._stopped = trio.Event()
        self._errors: int | None = None
        try:
            self._process, self._raw_control = self._begin(template, launched)
        except OSError as error:
            self._close_errors()
            raise IsolationUnavailableError([f"process_boundary: cannot start a zygote: {error}"]) from None
        self._raw_control.setblocking(False)
        self._control = trio.socket.from_stdlib_socket(self._raw_control)
        self._buffer = zygote_wire.FrameBuffer(zygote_wire.from_zygote_decoder)

    def _begin(
        self, template: ZygoteTemplate | None, launched: LaunchedZygote | None
    ) -> tuple[StartedProcess, socket.socket]:
        inherits = self._plan.state("empty_environment") is State.DISABLED
        if template is not None and not inherits:
            errors = os.memfd_create("zygote-stderr") if hasattr(os, "memfd_create") else None
            ours, theirs = socket.socketpair()
            with theirs:
                forked = template.fork(theirs, errors)
            self._errors = errors
            if forked is not None:
                return forked, ours
            ours.close()
            self._close_errors()
        if launched is None or inherits or not launched.take():
            launched = launch(inherits_environment=inherits)
        self._errors = launched.errors
        return launched.process, launched.control

    async def start(self) -> None:
        """Hand over the plan and wait until it is in force.

        Raises: IsolationUnavailableError: a strict protection is missing, or the zygote did not come up.
        """
        states = {name: str(state) for name, state in self._plan.states.items()}
        frame = None
        with trio.move_on_after(START_SECONDS):
            try:
                await self._send(zygote_wire.encode(Configure(states)), [])
                frame = await self._next_frame()
            except OSError:
                frame = None
        if isinstance(frame, Started):
            self.skipped = frame.skipped
            return
        if isinstance(frame, Refused):
            raise refusal(frame.protection, frame.reason)
        raise IsolationUnavailableError(["process_boundary: the zygote did not come up"], detail=self._last_words())

    async def run(self) -> None:
        """Read what the zygote reports until it hangs up; then every guest of it is gone and it is reaped."""
        try:
            while (frame := await self._next_frame()) is not None:
                self._note(frame)
        except OSError:
            pass  # hung up in the middle of a frame
        finally:
            with trio.CancelScope(shield=True):
                await self.stop()

    async def fork(self, limits: GuestLimits, *, language_layer: bool) -> Guest:
        """A new guest, ready for its program.

        Raises: IsolationUnavailableError: the zygote is gone or has no process to give.
        """
        self.fork_count += 1
        guest_id = self.fork_count
        ours, theirs = socket.socketpair()
        guest = Guest(self, guest_id, ours, limits)
        self._guests[guest_id] = guest
        try:
            with theirs:
                request = Fork(guest_id, limits.memory_bytes, limits.cpu_seconds, language_layer)
                try:
                    await self._send(zygote_wire.encode(request), [theirs.fileno()])
                except (OSError, trio.ClosedResourceError):
                    raise IsolationUnavailableError(["process_boundary: the zygote is gone"]) from None
            await guest.become_ready()
        except BaseException:
            guest.close_now()
            if self.lost:
                self._guests.pop(guest_id, None)
            raise
        return guest

    def kill_by_id(self, guest_id: int) -> None:
        """Where the kernel has no pidfd: its parent kills it, and cannot mistake its pid."""
        if self.lost or guest_id not in self._guests:
            return
        try:
            self._raw_control.send(zygote_wire.encode(Kill(guest_id)))
        except OSError:
            self._process.kill()  # cannot even be told: all its guests end with it

    def retire(self) -> None:
        """No new guests; hang up once the last one is gone."""
        self._retiring = True
        self._hang_up_when_empty()

    def hang_up(self) -> None:
        """End it and all its guests now."""
        for guest in self._guests.values():
            guest.kill()  # its owner closes it, and reads end of file until then
        try:
            self._raw_control.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    async def wait_stopped(self) -> None:
        """Until `run` has reaped it."""
        await self._stopped.wait()

    @property
    def pid(self) -> int:
        """Pid of the process that was started; the zygote proper is its child."""
        return self._process.pid

    def _note(self, frame: Any) -> None:
        match frame:
            case Forked(guest_id, count):
                pidfd = self._buffer.descriptors.popleft() if count else None
                self._guests[guest_id].note_forked(pidfd)
            case NotForked(guest_id, reason):
                self._guests.pop(guest_id).note_not_forked(reason)
                self._hang_up_when_empty()
            case Exited(guest_id, status, number):
                self._guests.pop(guest_id).note_exit(GuestExit(status, number))
                self._hang_up_when_empty()
            case _:
                return

    def _hang_up_when_empty(self) -> None:
        if self._retiring and not self._guests:
            self.hang_up()

    async def stop(self) -> None:
        """Hang up, reap, and tell every guest's owner."""
        self.lost = True
        self.hang_up()
        await wait_process(self._process, STOP_SECONDS)
        guests, self._guests = self._guests, {}
        for guest in guests.values():
            guest.kill()
            guest.note_exit(GuestExit(None, None))
        while self._buffer.descriptors:
            os.close(self._buffer.descriptors.popleft())
        self._control.close()
        self._close_errors()
        self._stopped.set()

    async def _send(self, data: bytes, descriptors: list[int]) -> None:
        async with self._send_lock:
            sent = await self._control.sendmsg([data], zygote_wire.ancillary(descriptors))
            assert sent == len(data)  # noqa: S101  a unix stream takes a hundred bytes whole or not at all

    async def _next_frame(self) -> Any | None:
        space = socket.CMSG_SPACE(4 * zygote_wire.MAX_DESCRIPTORS)
        cloexec = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
        while (frame := self._buffer.next_frame()) is None:
            data, control, _, _ = await self._control.recvmsg(zygote_wire.RECEIVE_BYTES, space, cloexec)
            self._buffer.feed(data, control)
            if not data:
                return None
        return frame

    def _last_words(self) -> str:
        if self._errors is None:
            return ""
        lines = os.pread(self._errors, 8192, 0).decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def _close_errors(self) -> None:
        if self._errors is not None:
            os.close(self._errors)
            self._errors = None


async def wait_process(process: StartedProcess, seconds: float) -> None:
    """Reap a child of ours, with SIGKILL after `seconds`."""
    with trio.move_on_after(seconds):
        await _wait_exit(process)
    if process.poll() is None:
        process.kill()
        await _wait_exit(process)


async def _wait_exit(process: StartedProcess) -> None:
    if process.poll() is not None:
        return
    if isinstance(process, ForkedZygote):
        await trio.lowlevel.wait_readable(process.pidfd)
        process.poll()
        return
    if not hasattr(os, "pidfd_open"):
        while process.poll() is None:  # noqa: ASYNC110  a kernel without pidfds gives nothing to wait for
            await trio.sleep(0.01)
        return
    pidfd = os.pidfd_open(process.pid)
    try:
        await trio.lowlevel.wait_readable(pidfd)
    finally:
        os.close(pidfd)
    process.wait()


def refusal(protection: str, reason: str) -> IsolationUnavailableError:
    """What is missing, how to get it, and the setting that would do without."""
    known = BY_NAME.get(protection)
    advice = f"; needs {known.kernel_feature}; {known.how_to_get_it}" if known else ""
    weaker = f'"{ISOLATION_SETTING}": "{TRUSTED_MODE}" runs programs that you trust without it'
    return IsolationUnavailableError([f"{protection}: {reason}{advice}"], detail=weaker)
