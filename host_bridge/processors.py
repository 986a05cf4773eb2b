"""Which processor runs this thread, whether one is free, and which ones a process may use. Linux; elsewhere None.

A guest that waits awake on the processor of its host would only run when the host sleeps, and some kernels put both on
one processor while another idles. So such a guest is kept off ours until its program has begun.
"""

import ctypes
import functools
import math
import os
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Final

_sched_getcpu: Final[Callable[[], int] | None] = getattr(ctypes.CDLL(None), "sched_getcpu", None)


def current_processor() -> int | None:
    """The one that runs this thread right now; None where the system does not tell."""
    number = _sched_getcpu() if _sched_getcpu is not None else -1
    return number if number >= 0 else None


def a_processor_is_free(*, awake: int = 0) -> bool:
    """Whether one has nothing to run right now, while another runs this process.

    `awake`: guests of ours that wait awake already; theirs counts as free. A quota that allows less than two
    processors leaves none free, however many there are: who waits awake would use it up.
    """
    try:
        runnable = int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0])
        processors = min(len(os.sched_getaffinity(0)), _own_quota())
    except (OSError, AttributeError, ValueError, IndexError):
        return False
    return runnable - awake < processors


@functools.cache
def _own_quota() -> float:
    return quota_processors(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))


def quota_processors(membership: Path, mount: Path) -> float:
    """How many processors' time the control groups of a process allow, whole ones; infinite without a limit.

    `membership`: as `/proc/self/cgroup`; `mount`: as `/sys/fs/cgroup`, of version 1 or 2.
    """
    least = math.inf
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return least
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = mount / controllers if controllers else mount
        folder = top / group.lstrip("/")
        # In a container the group's own path may not be mounted, but what is mounted has the container's limit.
        for level in (folder, *folder.parents):
            least = min(least, _quota_of(level, unified=not controllers))
            if level == top:
                break
    return least


def _quota_of(level: Path, *, unified: bool) -> float:
    try:
        if unified:
            quota, period = (level / "cpu.max").read_text().split()
        else:
            quota, period = ((level / f"cpu.cfs_{name}_us").read_text().strip() for name in ("quota", "period"))
        return int(quota) // int(period) if quota not in ("max", "-1") else math.inf
    except (OSError, ValueError, ZeroDivisionError):
        return math.inf


def processors_of(pid: int) -> frozenset[int]:
    """Those that a process may use; empty where that cannot be asked or set."""
    try:
        return frozenset(os.sched_getaffinity(pid))
    except (OSError, AttributeError):
        return frozenset()


def allow(pid: int, processors: AbstractSet[int]) -> bool:
    """Let a process use only these; False where we may not."""
    try:
        os.sched_setaffinity(pid, processors)
    except (OSError, AttributeError, ValueError):
        return False
    return True
