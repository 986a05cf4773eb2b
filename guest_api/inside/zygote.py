"""The two-stage zygote: one warm, confined process that forks each guest. It runs no program itself and has no trio.

Stage 1, once: import everything, enter namespaces, become pid 1 of them, give up identity and privileges, deny files,
warm up, freeze. Stage 2, in each fork: keep one descriptor, take the limits, load the filter; only then read a source.
Invariant: a guest reads its first byte after the last protection is in place, or it never runs.
Attacked by `tests/escapes` (kernel programs).
"""

import gc
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any, Final, NoReturn

from guest_api import wire
from guest_api.inside import confine, zygote_wire
from guest_api.inside.confine import ConfinementError
from guest_api.inside.syscall_filter import ARCHITECTURES, BRIDGE_FD, build_filter
from guest_api.inside.zygote_wire import Configure, Exited, Fork, Forked, Kill, NotForked, Refused, Started

STRICT: Final = "strict"
DISABLED: Final = "disabled"
MALLOC_SETTINGS: Final = ((-3, 256 * 1024), (-1, 64 * 1024 * 1024), (-2, 256 * 1024))
"""M_MMAP_THRESHOLD (fixed), M_TRIM_THRESHOLD, M_TOP_PAD: bytes."""
GUEST_FAILED_STATUS: Final = 70
"""A guest that ends with this status could not be confined or lost its host."""
UNMEASURED_BASE_BYTES: Final = 128 * 1024 * 1024
"""Address space of the interpreter where /proc is not mounted."""
OUT_OF_MEMORY_FRAME: Final = wire.encode(
    wire.Failed("limit", "MemoryError: the memory limit leaves a program nothing to run in", limit="memory")
)
DISABLED_REASON: Final = "disabled by the plan"


def main(control_fd: int) -> NoReturn:
    """Serve the host at the other end of `control_fd` until it hangs up; never returns."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is the host's to answer
    control = socket.socket(fileno=control_fd)
    channel = _Channel(control)
    _import_everything()  # while the host is still importing too
    configure = channel.receive()
    if not isinstance(configure, Configure):
        os._exit(0)  # the host went away before it began
    layers = Layers(configure.states)
    try:
        _stage_one(channel, layers)
    except ConfinementError as error:
        channel.send(Refused(error.protection, error.reason))
        os._exit(0)


class Layers:
    """The plan while it is applied: what is forgiven, and what turned out to be missing."""

    def __init__(self, states: dict[str, str]) -> None:
        self._states = dict(states)
        self.skipped: dict[str, str] = {}
        for name, state in states.items():
            if state == DISABLED:
                self.skipped[name] = DISABLED_REASON

    def wanted(self, name: str) -> bool:
        """Whether the protection is to be applied."""
        return name not in self.skipped

    def apply(self, name: str, step: Callable[[], object]) -> None:
        """Apply one protection, or note that it is missing.

        Raises: ConfinementError: it is strict and did not take effect.
        """
        if not self.wanted(name):
            return
        try:
            step()
        except ConfinementError as error:
            self.forgive(name, error.reason)

    def forgive(self, name: str, reason: str) -> None:
        """Go on without a protection, visibly.

        Raises: ConfinementError: it is strict.
        """
        if self._states.get(name, STRICT) == STRICT:
            raise ConfinementError(name, reason)
        self.skipped[name] = reason


def _import_everything() -> None:
    from guest_api.inside import program

    _keep_freed_memory()
    program.preimport()


def _stage_one(channel: "_Channel", layers: Layers) -> NoReturn:
    if layers.wanted("empty_environment"):
        layers.apply("empty_environment", _require_empty_environment)
    confine.die_with_parent()
    confine.adopt_orphans()
    layers.apply("namespaces", confine.enter_namespaces)
    child = os.fork()
    if child != 0:
        channel.socket.close()
        _wait_for_all(layers)
    try:
        zygote = _confined_zygote(channel, layers)
    except ConfinementError as error:
        channel.send(Refused(error.protection, error.reason))
        os._exit(0)
    zygote.serve()
    os._exit(0)


def _wait_for_all(layers: Layers) -> NoReturn:
    """Stage 0: the process that the host knows; it stays outside the pid namespace and reaps what is left."""
    if layers.wanted("no_new_privs"):
        confine.give_up_identity()
        confine.forbid_new_privileges()
    confine.die_with_parent()
    confine.hide_memory()
    while True:
        try:
            os.wait()
        except ChildProcessError:
            os._exit(0)


def _require_empty_environment() -> None:
    """The host passes none; CPython adds LC_CTYPE when it finds the C locale."""
    os.environ.clear()


def _confined_zygote(channel: "_Channel", layers: Layers) -> "_Zygote":
    from guest_api.inside import program

    memory_report = _open_memory_report()
    layers.apply("no_new_privs", confine.give_up_identity)
    confine.die_with_parent()  # setuid resets both of these
    confine.hide_memory()
    layers.apply("no_new_privs", confine.forbid_new_privileges)
    layers.apply("landlock", confine.deny_all_files)
    layers.apply("rlimits", confine.limit_side_effects)
    prepared = None
    if layers.wanted("seccomp"):
        machine = os.uname().machine
        architecture = (
            ARCHITECTURES.get(machine) if sys.maxsize > 2**32 else None
        )  # a 32-bit interpreter has another table
        if architecture is None:
            layers.forgive("seccomp", f"no system call table for {machine}; there are {', '.join(ARCHITECTURES)}")
        else:
            prepared = confine.PreparedFilter(build_filter(architecture))
    program.warm_up()
    gc.collect()
    gc.freeze()
    gc.disable()
    base_bytes = _address_space_bytes(memory_report)
    zygote = _Zygote(channel, layers, prepared, base_bytes)
    zygote.try_stage_two()
    zygote.rehearse()
    channel.send(Started(layers.skipped))
    return zygote


def _keep_freed_memory() -> None:
    """Pages that a warm-up touched stay with the process, so that the program after it meets no page fault.

    By default glibc gives the heap's top back beyond 128 KiB and learns to serve ever larger blocks from the heap.
    """
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter, value in MALLOC_SETTINGS:
            mallopt(parameter, value)


def _open_memory_report() -> int | None:
    try:
        return os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def _address_space_bytes(report: int | None) -> int:
    if report is None:
        return UNMEASURED_BASE_BYTES
    pages = int(os.pread(report, 64, 0).split()[0])
    os.close(report)
    return pages * os.sysconf("SC_PAGE_SIZE")


class _Zygote:
    """Stage 1 is over: fork guests, reap them, tell the host."""

    def __init__(
        self, channel: "_Channel", layers: Layers, prepared: confine.PreparedFilter | None, base_bytes: int
    ) -> None:
        self._channel = channel
        self._layers = layers
        self._filter = prepared
        self._base_bytes = base_bytes
        self._pid = os.getpid()
        self._id_by_pid: dict[int, int] = {}
        self._wakeup_read, self._wakeup_write = os.pipe()
        os.set_blocking(self._wakeup_read, False)
        os.set_blocking(self._wakeup_write, False)

    def serve(self) -> None:
        """Until the host hangs up; then no guest is left."""
        signal.signal(signal.SIGCHLD, _ignore)
        signal.set_wakeup_fd(self._wakeup_write, warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(self._channel.socket, select.POLLIN)
        poll.register(self._wakeup_read, select.POLLIN)
        try:
            while True:
                for fd, _ in poll.poll():
                    if fd == self._wakeup_read:
                        self._reap()
                    elif not self._answer():
                        return
        except OSError:
            return  # the host is gone in the middle of a frame
        finally:
            self._end_all()

    def try_stage_two(self) -> None:
        """One guest that only confines itself: what fails there is known before any program is accepted.

        Raises: ConfinementError: a strict protection did not take effect.
        """
        while True:
            ours, theirs = socket.socketpair()
            pid = os.fork()
            if pid == 0:
                self._trial(theirs)
            theirs.close()
            verdict = ours.recv(4096)
            ours.close()
            os.waitpid(pid, 0)
            if verdict == b"ok":
                return
            name, _, reason = verdict.decode().partition("\0")
            self._layers.forgive(name or "seccomp", reason or "a guest died while it confined itself")

    def rehearse(self) -> None:
        """Fork and reap once, for nobody: a page that this process first writes after a fork is counted to the guest
        from then on, a tenth of all that the first one had.
        """
        ours, theirs = socket.socketpair()
        bridge, inner = socket.socketpair()
        host, self._channel = self._channel, _Channel(theirs)
        with ours, theirs, bridge:
            request = Fork(0, 1 << 30, 60)
            ours.sendmsg([zygote_wire.encode(request)], zygote_wire.ancillary([inner.fileno()]))
            inner.close()
            self._answer()
            bridge.recv(64)
            bridge.shutdown(socket.SHUT_RDWR)
            for pid in list(self._id_by_pid):
                os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            self._reap()
        self._channel = host

    def _trial(self, bridge: socket.socket) -> NoReturn:
        try:
            inner = self._stage_two(bridge.detach(), 1 << 30, 60)
            inner.send(b"ok")
        except ConfinementError as error:
            os.write(BRIDGE_FD, f"{error.protection}\0{error.reason}".encode())
        finally:
            os._exit(0)

    def _answer(self) -> bool:
        """Serve what the host sent; False when it hung up."""
        if not self._channel.fill():
            return False
        while (frame := self._channel.buffered()) is not None:
            if isinstance(frame, Fork):
                self._fork(frame, self._channel.claim_descriptor())
            elif isinstance(frame, Kill):
                self._kill(frame.id)
        return True

    def _fork(self, request: Fork, bridge: int) -> None:
        try:
            pid = os.fork()
        except OSError as error:
            os.close(bridge)
            self._channel.send(NotForked(request.id, error.strerror or str(error)))
            return
        if pid == 0:
            self._run_guest(request, bridge)
        os.close(bridge)
        self._id_by_pid[pid] = request.id
        try:
            pidfd = os.pidfd_open(pid)
        except (AttributeError, OSError):
            self._channel.send(Forked(request.id, 0))
            return
        self._channel.send(Forked(request.id, 1), [pidfd])
        os.close(pidfd)

    def _run_guest(self, request: Fork, bridge: int) -> NoReturn:
        status = GUEST_FAILED_STATUS
        try:
            from guest_api.inside import program

            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            address_space_bytes = self._base_bytes + program.MEMORY_RESERVE_BYTES + request.memory_bytes
            inner = self._stage_two(bridge, address_space_bytes, request.cpu_seconds)
            exhausted = False
            try:
                program.serve(inner, language_layer=request.language_layer)
            except MemoryError:
                exhausted = True
            if exhausted:  # told with bytes that exist already, once the error has let go of what the program held
                inner.sendall(OUT_OF_MEMORY_FRAME)
            status = 0
        except BaseException:  # noqa: S110  whatever it was, this process ends here and only the status is left
            pass
        finally:
            os._exit(status)

    def _stage_two(self, bridge: int, address_space_bytes: int, cpu_seconds: int) -> socket.socket:
        layers = self._layers
        if layers.wanted("closed_descriptors"):
            confine.close_all_but(bridge)
        elif bridge != BRIDGE_FD:
            os.dup2(bridge, BRIDGE_FD)
        inner = socket.socket(fileno=BRIDGE_FD)  # asks getsockname, which the filter forbids
        confine.die_with_parent()
        if os.getppid() != self._pid:
            os._exit(GUEST_FAILED_STATUS)  # the zygote died before the line above took effect
        if layers.wanted("rlimits"):
            confine.limit_usage(address_space_bytes=address_space_bytes, cpu_seconds=cpu_seconds)
        gc.enable()
        if layers.wanted("seccomp"):
            if self._filter is None:
                raise ConfinementError("seccomp", "no filter was made")
            self._filter.load()
        return inner

    def _kill(self, guest_id: int) -> None:
        for pid, known in self._id_by_pid.items():
            if known == guest_id:
                os.kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        try:
            while os.read(self._wakeup_read, 4096):
                pass
        except BlockingIOError:
            pass
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            guest_id = self._id_by_pid.pop(pid, None)
            if guest_id is not None:
                code = os.waitstatus_to_exitcode(status)
                exited = Exited(guest_id, code if code >= 0 else None, -code if code < 0 else None)
                self._channel.send(exited)

    def _end_all(self) -> None:
        """Where no pid namespace ends the guests with us, we do, so that none is left for a foreign init to reap."""
        for pid in self._id_by_pid:
            os.kill(pid, signal.SIGKILL)
        for pid in self._id_by_pid:
            os.waitpid(pid, 0)


class _Channel:
    """Blocking frames with descriptors on the control socket."""

    def __init__(self, control: socket.socket) -> None:
        self.socket = control
        self._buffer = zygote_wire.FrameBuffer(zygote_wire.to_zygote_decoder)

    def fill(self) -> bool:
        """Take what the host sent; False at end of file."""
        space = socket.CMSG_SPACE(4 * zygote_wire.MAX_DESCRIPTORS)
        data, control, _, _ = self.socket.recvmsg(zygote_wire.RECEIVE_BYTES, space)
        self._buffer.feed(data, control)
        return bool(data)

    def buffered(self) -> Any | None:
        """The next frame that is already here."""
        return self._buffer.next_frame()

    def claim_descriptor(self) -> int:
        """The descriptor that came with the frame."""
        return self._buffer.descriptors.popleft()

    def receive(self) -> Any | None:
        """Wait for a frame; None at end of file."""
        while (frame := self._buffer.next_frame()) is None:
            if not self.fill():
                return None
        return frame

    def send(self, frame: zygote_wire.FromZygote, descriptors: list[int] | None = None) -> None:
        """Send a frame; descriptors go with its first byte."""
        data = zygote_wire.encode(frame)
        sent = self.socket.sendmsg([data], zygote_wire.ancillary(descriptors or []))
        self.socket.sendall(data[sent:])


def _ignore(_number: int, _frame: object) -> None:
    """A handler must exist for the wakeup descriptor to be written."""
