"""Which processor runs this thread, whether one is free, and which ones a process may use. Linux; elsewhere None.

A guest that waits awake on the processor of its host would only run when the host sleeps, and some kernels put both on
one processor while another idles. So such a guest is kept off ours until its program has begun.
"""

import ctypes
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

    `awake`: guests of ours that wait awake already; theirs counts as free.
    """
    try:
        runnable = int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0])
        processors = len(os.sched_getaffinity(0))
    except (OSError, AttributeError, ValueError, IndexError):
        return False
    return runnable - awake < processors


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
