"""One child process: started from a single-threaded process, with a clean environment, ended by a ladder of steps.

A child is either executed, or forked from this process when its module is already loaded here. It leads a session and
group of its own, dies with the process that started it, and is addressed by pidfd only.
"""

import atexit
import contextlib
import gc
import os
import random
import runpy
import signal
import sys
import threading
import traceback
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from child_agents import kernel

EXEC_FAILED_STATUS: Final = 127
MODULE_ARGUMENTS: Final = ("-P", "-m")
"""`-P`: a folder named `runtime` in the child's working directory must not be taken for ours."""


@dataclass(frozen=True, slots=True)
class ChildProcess:
    """A started child: its pidfd and our ends of its pipes."""

    pid: int
    pidfd: int
    stdin: int
    stdout: int
    stderr: int


def start_child(
    argv: Sequence[str],
    environment: Mapping[str, str],
    cwd: str,
    *,
    inherited: Collection[int] = (),
    loaded_modules: Collection[str] = (),
) -> ChildProcess:
    """Start one child; `inherited` descriptors keep their numbers in it.

    Only for single-threaded processes: the death signal follows the forking thread.

    Raises: OSError: no process or no descriptor was to be had.
    """
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become(
            argv,
            dict(environment),
            cwd,
            stdio=(in_read, out_write, err_write),
            inherited=inherited,
            in_process=is_loaded(argv, loaded_modules),
            parent=parent,
        )
    for descriptor in (in_read, out_write, err_write):
        os.close(descriptor)
    return ChildProcess(pid, os.pidfd_open(pid), in_write, out_read, err_read)


def module_argv(module: str, *arguments: str) -> list[str]:
    """The command line of one of our own modules."""
    return [sys.executable, *MODULE_ARGUMENTS, module, *arguments]


def exit_state(pid: int) -> tuple[int | None, int | None] | None:
    """Status and signal of an ended child without reaping it, so its number and group stay its own; None: it runs."""
    info = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if info is None:
        return None
    return (info.si_status, None) if info.si_code == os.CLD_EXITED else (None, info.si_status)


def signal_group(pid: int, number: int) -> None:
    """Signal the group of an unreaped child: the number cannot have passed to another group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def is_loaded(argv: Sequence[str], loaded_modules: Collection[str]) -> bool:
    """Whether this is the command line of a module that is loaded here and may run without an exec."""
    start = (sys.executable, *MODULE_ARGUMENTS)
    return tuple(argv[: len(start)]) == start and len(argv) > len(start) and argv[len(start)] in loaded_modules


def _become(
    argv: Sequence[str],
    environment: dict[str, str],
    cwd: str,
    *,
    stdio: tuple[int, int, int],
    inherited: Collection[int],
    in_process: bool,
    parent: int,
) -> NoReturn:
    """Turn this fresh fork into the child; never returns."""
    status = EXEC_FAILED_STATUS
    try:
        os.setsid()
        kernel.die_with_parent(parent)
        for number, descriptor in enumerate(stdio):
            os.dup2(descriptor, number)
        close_all_but({0, 1, 2, *inherited})
        reset_signals()
        os.chdir(cwd)
        if in_process:
            status = _run_loaded(list(argv), environment)
        else:
            for descriptor in inherited:
                os.set_inheritable(descriptor, True)
            os.execvpe(argv[0], list(argv), environment)  # noqa: S606  no shell is the point
    except OSError as error:
        os.write(2, f"cannot start {argv[0]} in {cwd}: {error.strerror}\n".encode())
    except BaseException:
        traceback.print_exc()
    os._exit(status)


def close_all_but(kept: Collection[int]) -> None:
    """Close every other descriptor of this process."""
    low = 0
    for descriptor in sorted(kept):
        if (
            low < descriptor
        ):  # an empty range starting at 0 closes everything: it ends at -1, the highest unsigned number
            os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, 1 << 20)


def reset_signals() -> None:
    """What an executed Python starts with: no wakeup descriptor, default handlers, nothing blocked."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if number in (signal.SIGKILL, signal.SIGSTOP):
            continue
        if signal.getsignal(number) not in (signal.SIG_DFL, None):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _run_loaded(argv: list[str], environment: dict[str, str]) -> int:
    """Run an already imported module as `python -P -m module …` would; the exit status."""
    module = argv[len(MODULE_ARGUMENTS) + 1]
    kernel.show_arguments(argv, environment)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [module, *argv[len(MODULE_ARGUMENTS) + 2 :]]
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    random.seed()
    gc.unfreeze()
    gc.enable()
    status = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as stop:
        status = _status_of(stop.code)
    except BaseException:
        traceback.print_exc()
        status = 1
    _finish()
    return status


def _status_of(code: Any) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def _finish() -> None:
    """What the interpreter does at its end, without tearing down every module."""
    with contextlib.suppress(Exception):
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001  joins threads as at a normal exit
    with contextlib.suppress(Exception):
        atexit._run_exitfuncs()  # noqa: SLF001  a forked child ends by _exit and would skip them
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
