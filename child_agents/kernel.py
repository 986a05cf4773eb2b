"""The few kernel calls that keep process trees together: subreaper, death signal, pidfd, namespaces, truthful argv.

It knows no runs. Invariant: only processes that cannot have been replaced by a stranger are signalled: our own
unreaped children, and pidfds. Linux only.
"""

import contextlib
import ctypes
import errno
import mmap
import os
import select
import signal
import struct
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

PR_SET_PDEATHSIG: Final = 1
PR_SET_CHILD_SUBREAPER: Final = 36
PR_SET_MM: Final = 35
PR_SET_MM_MAP: Final = 14
CLONE_NEWNS: Final = 0x00020000
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWPID: Final = 0x20000000
OOM_HIGHEST: Final = 1000
OOM_STEP: Final = 10
MS_NOSUID: Final = 2
MS_NODEV: Final = 4
MS_NOEXEC: Final = 8
MS_REC: Final = 16384
MS_PRIVATE: Final = 1 << 18

WATCHED_AT_ONCE: Final = 256
"""Of thousands of processes that are to be reaped, so many are watched: a process may have few descriptors."""
LOOK_AGAIN_SECONDS: Final = 0.01
"""Where not even one descriptor is to be had, whoever reaps looks again after this."""

_libc: Final = ctypes.CDLL(None, use_errno=True)
_kept_argument_areas: Final[list[mmap.mmap]] = []


def _checked(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def prctl(option: int, argument: int) -> None:
    """One prctl with one argument.

    Raises: OSError
    """
    _checked(_libc.prctl(option, ctypes.c_ulong(argument), 0, 0, 0), f"prctl {option}")


def become_subreaper() -> None:
    """From now on orphaned descendants become children of this process."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent_pid: int) -> None:
    """SIGKILL for this process when the thread that forked it ends; at once when it is gone already.

    The signal follows the forking *thread*: call this only in children of single-threaded processes.
    """
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:
        os._exit(1)


def mark_as_adoptable() -> None:
    """Raise this process's `oom_score_adj` above its parent's, and with it that of everything it starts.

    So a host that is a subreaper can tell what it adopted (which nobody else will reap) from what it started itself
    (whose status somebody waits for): a zombie has no environment and no arguments left, but it still has this. It also
    means that a machine without memory ends children before their host. Where /proc forbids it nothing is marked.
    """
    with contextlib.suppress(OSError, ValueError):
        path = Path("/proc/self/oom_score_adj")
        path.write_text(str(min(OOM_HIGHEST, int(path.read_text()) + OOM_STEP)))


def reap_adopted() -> int:
    """Reap the ended children of this process that it did not start; how many. Nothing living is touched.

    A child that this process started itself has its own `oom_score_adj`, and is left to whoever started it.
    """
    try:
        own = int(Path("/proc/self/oom_score_adj").read_text())
        children = children_of_this_process()
    except (OSError, ValueError):
        return 0
    reaped = 0
    for pid in children:
        with contextlib.suppress(OSError, ValueError):  # a ChildProcessError: somebody else was faster
            if int(Path(f"/proc/{pid}/oom_score_adj").read_text()) > own:
                reaped += os.waitpid(pid, os.WNOHANG)[0] == pid
    return reaped


def wake_when_children_end() -> int:
    """A descriptor that becomes readable when a child ends, for this process until it ends itself."""
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_read, False)
    os.set_blocking(wake_write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    return wake_read


def children_of_this_process() -> list[int]:
    """The direct children, zombies included.

    Raises: OSError: /proc cannot be read; that is no sign that there are none.
    """
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            found.extend(int(pid) for pid in (task / "children").read_text().split())
    return found


def kill_and_reap_children(deadline_seconds: float, *, spare: Iterable[int] = ()) -> int:
    """Kill the direct children, reap them, and again with those that they orphan; how many are left at the deadline.

    Only direct children are signalled: nobody else can reap them, so no number can have passed to a stranger.
    """
    spared = frozenset(spare)
    end = time.monotonic() + deadline_seconds
    while True:
        try:
            left = [pid for pid in children_of_this_process() if pid not in spared]
        except OSError:
            if time.monotonic() >= end:
                return 1
            time.sleep(LOOK_AGAIN_SECONDS)
            continue
        if not left:
            return 0
        for pid in left:
            kill_child(pid)
        if not _reap_some_of(left, end):
            return len(left)


def kill_child(pid: int) -> None:
    """SIGKILL for an unreaped child of this process; one that took another user's rights (sudo) stays as it is."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def _reap_some_of(pids: list[int], end: float) -> bool:
    """Wait until one of the first of them has ended, and reap all that have; False: the deadline passed."""
    poll = select.poll()
    descriptors: list[int] = []
    try:
        for pid in pids[:WATCHED_AT_ONCE]:
            try:
                descriptor = os.pidfd_open(pid)
            except ProcessLookupError:
                return True
            except OSError:  # none left: those that are watched, or time, must do
                break
            descriptors.append(descriptor)
            poll.register(descriptor, select.POLLIN)
        seconds = max(0.0, end - time.monotonic())
        ended = poll.poll((seconds if descriptors else min(seconds, LOOK_AGAIN_SECONDS)) * 1000)
        if not ended and time.monotonic() >= end:
            return False
        for pid in pids:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    return True


def signal_pidfd(pidfd: int, number: int) -> bool:
    """Signal exactly the process that the pidfd was opened for; False: it is gone, or took another user's rights."""
    try:
        signal.pidfd_send_signal(pidfd, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def has_exited(pidfd: int) -> bool:
    """Whether the process has ended (a zombie has)."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))


def unshare(flags: int) -> None:
    """Leave the named namespaces.

    Raises: OSError: not permitted, or not built into this kernel.
    """
    _checked(_libc.unshare(flags), "unshare")


def enter_pid_namespace() -> None:
    """The children of this process will live in a pid namespace of their own, the first one as its init.

    Raises: OSError: this user may not, here.
    """
    user, group = os.geteuid(), os.getegid()
    try:
        unshare(CLONE_NEWPID)
    except PermissionError:
        unshare(CLONE_NEWUSER | CLONE_NEWPID)
        # The same numbers inside: files keep their owners, and the child is not root there.
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def mount_own_proc() -> None:
    """Leave the mount namespace and make /proc show this pid namespace.

    Raises: OSError: not permitted here (containers often mask parts of /proc).
    """
    unshare(CLONE_NEWNS)
    _checked(_libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "mount /")
    flags = MS_NOSUID | MS_NODEV | MS_NOEXEC
    _checked(_libc.mount(b"proc", b"/proc", b"proc", flags, None), "mount /proc")


def show_arguments(argv: list[str], environment: dict[str, str]) -> bool:
    """Let /proc and `ps` show these for a process that was forked instead of executed; False: this kernel cannot."""
    arguments = b"".join(os.fsencode(item) + b"\0" for item in argv)
    variables = b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in environment.items())
    length = len(arguments) + len(variables)
    # Private and anonymous: /proc reads nothing else for argv and environ.
    area = mmap.mmap(-1, max(length, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    area.write(arguments + variables)
    start = ctypes.addressof(ctypes.c_char.from_buffer(area))
    _kept_argument_areas.append(area)
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()

    def field(number: int) -> int:
        return int(fields[number - 3])  # `man 5 proc_pid_stat` counts from 1, and the split starts at field 3

    _libc.sbrk.restype = ctypes.c_void_p
    middle = start + len(arguments)
    packed = struct.pack(
        "11QQII",
        *(field(26), field(27), field(45), field(46), field(47), _libc.sbrk(0), field(28)),
        *(start, middle, middle, start + length),
        *(0, 0, 0xFFFFFFFF),
    )
    buffer = ctypes.create_string_buffer(packed, len(packed))
    return bool(_libc.prctl(PR_SET_MM, PR_SET_MM_MAP, buffer, ctypes.c_ulong(len(packed)), 0) == 0)


def marked_processes(marker: str) -> list[int]:
    """Processes whose environment holds `marker` (`NAME=value`) and that we may see; zombies have none."""
    wanted = os.fsencode(marker)
    pids = [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdecimal()]
    return [pid for pid in pids if has_marker(pid, wanted)]


def has_marker(pid: int, wanted: bytes) -> bool:
    """Whether this process carries the marker in its environment."""
    try:
        return wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def kill_marked(marker: str, deadline_seconds: float) -> tuple[int, int]:
    """Kill every process that carries the marker; how many were found, and how many are left at the deadline.

    The pidfd is opened first and the marker read again behind it: a number that passed to a stranger is left alone.
    """
    end = time.monotonic() + deadline_seconds
    wanted = os.fsencode(marker)
    seen: set[int] = set()
    while True:
        try:
            pids = [pid for pid in marked_processes(marker) if pid != os.getpid()]
        except OSError:
            if time.monotonic() >= end:
                return len(seen), 1
            time.sleep(LOOK_AGAIN_SECONDS)
            continue
        if not pids:
            return len(seen), 0
        poll = select.poll()
        descriptors: list[int] = []
        awaited = False
        for pid in pids[:WATCHED_AT_ONCE]:
            try:
                descriptor = os.pidfd_open(pid)
            except OSError as error:
                if error.errno in (errno.ESRCH, errno.EINVAL):
                    continue
                if not awaited:
                    time.sleep(LOOK_AGAIN_SECONDS)
                break
            descriptors.append(descriptor)
            if has_marker(pid, wanted) and signal_pidfd(descriptor, signal.SIGKILL):
                seen.add(pid)
                awaited = True
                poll.register(descriptor, select.POLLIN)
        remaining = end - time.monotonic()
        if awaited and remaining > 0:
            poll.poll(remaining * 1000)
        for descriptor in descriptors:
            os.close(descriptor)
        if remaining <= 0:
            return len(seen), len(pids)
        for pid in pids:
            # Orphans of a lost guardian may have become our own children.
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
