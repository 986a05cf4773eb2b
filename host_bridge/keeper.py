"""The keeper: a small process between the host and one command, so that the command's tree never outlives the host.

Its arguments are LIFELINE_FD PROGRAM NAME [ARGUMENT…]; its environment and its pipes are the command's own.
The host holds the writing end of the lifeline and never writes: end-of-file means that the host is dead, however it
died, or wants the command's end. The keeper is a child subreaper, so whatever the command orphans comes to it: a
process that forked twice, left the session and cleared its environment is still found.
Invariant: when the keeper has ended, nothing of its command is left; it ends as the command ended (status or signal).
It loads the standard library only and starts nothing when the host is gone already.
Attacked by `tests/host_bridge/test_kept_process.py`, with real SIGKILLs.
"""

from __future__ import annotations

import ctypes
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final, NoReturn

# Each module that is imported before the command is started delays it; the others follow while it starts.

PR_SET_PDEATHSIG: Final = 1
PR_SET_CHILD_SUBREAPER: Final = 36
SIGKILL: Final = 9
RESTORED: Final = (13, 25)
"""SIGPIPE and SIGXFSZ, as `subprocess` restores them: what Python ignores for itself is no command's wish."""
NOT_STARTED_STATUS: Final = 127
LONGEST_KILL_SECONDS: Final = 10
"""For the kernel to end what was killed; then the keeper gives up by SIGALRM."""


def main(arguments: Sequence[str]) -> NoReturn:
    """Start the command, keep its tree, end with it or with the host."""
    lifeline, program, *command = int(arguments[0]), *arguments[1:]
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123  Python itself may have added LC_CTYPE to os.environ
        environment = dict(entry.split(b"=", 1) for entry in file.read().split(b"\0") if b"=" in entry)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    os.set_blocking(lifeline, False)
    try:
        os.read(lifeline, 1)
    except BlockingIOError:
        pass
    else:
        os._exit(NOT_STARTED_STATUS)
    keeper = os.getpid()
    child = os.fork()
    if child == 0:
        _become(str(program), command, environment, lifeline=lifeline, keeper=keeper)
    # The pipes belong to the command alone: their end must mean that nobody of its tree holds them.
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    status = _wait_for_either(lifeline, child)
    _end_alike(end_descendants(child, status))


def _wait_for_either(lifeline: int, child: int) -> int | None:
    """The status of the command once it has ended; None: the host wants its end, or is gone."""
    import select
    import signal

    # A signal to the command's session or group is meant for the command.
    for name in ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2", "TSTP", "TTIN", "TTOU", "PIPE"):
        signal.signal(getattr(signal, f"SIG{name}"), signal.SIG_IGN)
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_read, False)
    os.set_blocking(wake_write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    poll = select.poll()
    poll.register(lifeline, select.POLLIN)
    poll.register(wake_read, select.POLLIN)
    # It may have ended before anybody listened.
    while (status := _reap(child)) is None:
        ready = [descriptor for descriptor, _event in poll.poll()]
        if lifeline in ready:
            return None
        try:  # noqa: SIM105  contextlib takes longer to load than all the rest
            os.read(wake_read, 4096)
        except BlockingIOError:
            pass
    return status


def end_descendants(child: int, status: int | None) -> int | None:
    """Kill and reap the children of this process, and again those that they orphan; answers the status of `child`."""
    import signal

    signal.alarm(LONGEST_KILL_SECONDS)
    while True:
        for pid in _children():
            try:  # noqa: SIM105
                os.kill(pid, SIGKILL)
            except OSError:
                pass  # gone, or another user's (a program with the setuid bit): the alarm bounds the wait for it
        try:
            pid, ended = os.waitpid(-1, 0)
        except ChildProcessError:
            return status
        if pid == child:
            status = ended


def _become(
    program: str, command: Sequence[str], environment: dict[bytes, bytes], *, lifeline: int, keeper: int
) -> NoReturn:
    try:
        _prctl(PR_SET_PDEATHSIG, SIGKILL)
        if os.getppid() != keeper:
            os._exit(NOT_STARTED_STATUS)
        for number in RESTORED:
            _libc.signal(number, None)  # SIG_DFL
        os.close(lifeline)
        os.execve(program, list(command), environment)  # noqa: S606  no shell is the point
    except OSError as error:
        os.write(2, f"cannot start {program}: {error.strerror}\n".encode("utf-8", "replace"))
    except BaseException as error:
        os.write(2, f"cannot start {program}: {error!r}\n".encode("utf-8", "replace"))
    os._exit(NOT_STARTED_STATUS)


def _reap(child: int) -> int | None:
    """Reap whoever has ended; the status of `child` if it is among them."""
    status: int | None = None
    while True:
        try:
            pid, ended = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == child:
            status = ended


def _children() -> list[int]:
    own = os.getpid()
    try:
        with open(f"/proc/self/task/{own}/children", "rb") as file:  # noqa: PTH123
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal() and _parent(name) == own]  # noqa: PTH208


def _parent(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            text = file.read()
    except OSError:
        return 0
    # The command name stands in brackets and may hold anything, brackets too.
    return int(text[text.rindex(b")") + 2 :].split()[1])


def _end_alike(status: int | None) -> NoReturn:
    """End as the command ended, so that the host reads its status here."""
    code = os.waitstatus_to_exitcode(status) if status is not None else -SIGKILL
    if code < 0:
        import resource
        import signal

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
        signal.pause()
    os._exit(code)


def _prctl(option: int, argument: int) -> None:
    if _libc.prctl(option, ctypes.c_ulong(argument), 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


_libc: Final = ctypes.CDLL(None, use_errno=True)
_libc.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)

if __name__ == "__main__":
    main(sys.argv[1:])
