"""The keeper: a small process between the host and one command, so that the command's tree never outlives the host.

`python -I -S keeper.py LIFELINE_FD PROGRAM NAME [ARGUMENT…]`, the environment and the pipes being the command's own.
The host holds the writing end of the lifeline and never writes: end-of-file means that the host is dead, however it
died, or wants the command's end. The keeper is a child subreaper, so whatever the command orphans comes to it: a
process that forked twice, left the session and cleared its environment is still found.
Invariant: when the keeper has ended, nothing of its command is left; it ends as the command ended (status or signal).
It loads the standard library only and starts nothing when the host is gone already.
Attacked by `tests/host_bridge/test_kept_process.py`, with real SIGKILLs.
"""

import contextlib
import ctypes
import os
import resource
import select
import signal
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

PR_SET_PDEATHSIG: Final = 1
PR_SET_CHILD_SUBREAPER: Final = 36
NOT_STARTED_STATUS: Final = 127
LONGEST_KILL_SECONDS: Final = 10
"""For the kernel to end what was killed; then the keeper gives up by SIGALRM."""
_PASSED_OVER: Final = (
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2),
    *(signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGPIPE),
)
"""A signal to the command's session or group is meant for the command."""


def main(arguments: Sequence[str]) -> NoReturn:
    """Start the command, keep its tree, end with it or with the host."""
    lifeline, program, *command = int(arguments[0]), *arguments[1:]
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123  Python itself may have added LC_CTYPE to os.environ
        environment = dict(entry.split(b"=", 1) for entry in file.read().split(b"\0") if b"=" in entry)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    for number in _PASSED_OVER:
        signal.signal(number, signal.SIG_IGN)
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_read, False)
    os.set_blocking(wake_write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    poll = select.poll()
    poll.register(lifeline, select.POLLIN)
    if poll.poll(0):
        os._exit(NOT_STARTED_STATUS)
    keeper = os.getpid()
    child = os.fork()
    if child == 0:
        _become(str(program), command, environment, lifeline=lifeline, keeper=keeper)
    # The pipes belong to the command alone: their end must mean that nobody of its tree holds them.
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    poll.register(wake_read, select.POLLIN)
    status = None
    while status is None:
        ready = [descriptor for descriptor, _event in poll.poll()]
        if lifeline in ready:
            break
        with contextlib.suppress(BlockingIOError):
            os.read(wake_read, 4096)
        status = _reap(child)
    _end_alike(end_descendants(child, status))


def end_descendants(child: int, status: int | None) -> int | None:
    """Kill and reap the children of this process, and again those that they orphan; answers the status of `child`."""
    signal.alarm(LONGEST_KILL_SECONDS)
    while True:
        for pid in _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
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
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != keeper:
            os._exit(NOT_STARTED_STATUS)
        signal.set_wakeup_fd(-1)
        # As `subprocess` restores: what Python ignores for itself is no command's wish.
        for number in (*_PASSED_OVER, signal.SIGXFSZ, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
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
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, ended = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == child:
                status = ended
    return status


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
    code = os.waitstatus_to_exitcode(status) if status is not None else -signal.SIGKILL
    if code < 0:
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

if __name__ == "__main__":
    main(sys.argv[1:])
