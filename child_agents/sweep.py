"""What an earlier crash left: processes without a host, records without an end, old records; cleared at start-up.

Usually there is nothing: guardians end with their hosts. Only a crash that took both can leave something behind.
"""

import contextlib
import fcntl
import os
import time
from dataclasses import dataclass
from typing import Final

from child_agents import environment, kernel
from child_agents.records import SECONDS_PER_DAY, RunRecords, indeterminate
from child_agents.request import LONGEST_TIMEOUT_MS
from child_agents.settings import AgentFolders

KILL_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Swept:
    """What was found."""

    processes: int
    records: tuple[str, ...]
    expired: tuple[str, ...]


def sweep(folders: AgentFolders, retention_days: float) -> Swept:
    """Clear away what belongs to owners that are gone."""
    records = RunRecords(folders)
    processes = 0
    lost: list[str] = []
    for owner in _lost_owners(folders):
        processes += kernel.kill_marked(f"{environment.OWNER}={owner}", KILL_SECONDS)[0]
        records.remove_unfinished(owner)
        try:
            lost += _end_runs(records, owner)
        except OSError:
            continue  # a full disk is no reason not to start: the lock stays, and the next sweep tries again
        for name in (f"{owner}.lock", f"{owner}.sock"):
            with contextlib.suppress(OSError):
                (folders.owners / name).unlink()
    _expire_files(folders, retention_days)
    return Swept(processes, tuple(lost), tuple(records.expire(retention_days)))


def _end_runs(records: RunRecords, owner: str) -> list[str]:
    """Write the end of what a lost owner left without one; which runs.

    Raises: OSError
    """
    reason = "the host of this run ended before the run did; what it had done by then is not known"
    ended: list[str] = []
    for record in records.of(owner):
        is_lost = record.request.owner == owner and record.result is None
        if is_lost and records.finish(indeterminate(record.request.run, reason)):
            ended.append(record.id)
    return ended


def _expire_files(folders: AgentFolders, retention_days: float) -> None:
    """Remove ledgers, configurations and copied sessions that nothing was written to for so long.

    Never before the longest run could have ended: a tree that lives must keep its counts.
    """
    oldest = time.time() - max(retention_days * SECONDS_PER_DAY, 2 * LONGEST_TIMEOUT_MS / 1000)
    for name in (folders.ledgers.name, "configurations", "forks"):
        for path in (folders.root / name).glob("*"):
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < oldest:
                    path.unlink()
    for path in folders.owners.glob("*.new"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()


def _lost_owners(folders: AgentFolders) -> list[str]:
    """Owners whose lock is free: the kernel let it go when their process ended."""
    found: list[str] = []
    for path in folders.owners.glob("*.lock"):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_nlink:
                found.append(path.stem)
        except BlockingIOError:
            pass
        finally:
            os.close(descriptor)
    return found
