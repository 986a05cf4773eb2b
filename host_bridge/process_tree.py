"""Which processes belong to a command that we started, and their end; it starts nothing and waits for nobody.

A process belongs by its session id (it was started in a session of its own), by a marker in its environment (it left
that session) or by descent from one that does. Signals go through a pidfd whose process was checked after opening it,
so that a reused pid is never hit.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

ROUNDS: Final = 100
"""A process may fork between being found and being killed; each round kills what the last one left."""


def members(session_id: int, marker: str | None = None) -> list[int]:
    """The live processes of the tree, the caller never among them.

    `marker` is an environment entry as text, `NAME=value`.
    """
    own = os.getpid()
    parents: dict[int, int] = {}
    found: set[int] = set()
    for pid in _pids():
        facts = _facts(pid)
        if facts is None or pid == own:
            continue
        parent, session = facts
        parents[pid] = parent
        if session == session_id or (marker is not None and _has_marker(pid, marker)):
            found.add(pid)
    grown = True
    while grown:
        below = {pid for pid, parent in parents.items() if parent in found and pid not in found}
        found |= below
        grown = bool(below)
    return sorted(found)


def signal_tree(session_id: int, number: signal.Signals, marker: str | None = None) -> int:
    """The signal to every process of the tree; how many there were."""
    handles: dict[int, int] = {}
    try:
        for pid in members(session_id, marker):
            with suppress(OSError):
                handles[pid] = os.pidfd_open(pid)
        # A pid may have been reused between scan and open: only what a second scan finds again is hit, and by then
        # the handle is bound to the process that this scan saw.
        for pid in members(session_id, marker) if handles else ():
            if pid in handles:
                with suppress(OSError):
                    signal.pidfd_send_signal(handles[pid], number)
    finally:
        for handle in handles.values():
            os.close(handle)
    return len(handles)


def kill_tree(session_id: int, marker: str | None = None) -> bool:
    """SIGKILL to every process of the tree, again and again until none is left; False: some outlived every round."""
    return any(signal_tree(session_id, signal.SIGKILL, marker) == 0 for _ in range(ROUNDS))


def _pids() -> Iterator[int]:
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdecimal():
            yield int(name)


def _facts(pid: int) -> tuple[int, int] | None:
    """Parent and session of a live process; zombies are over."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123  a path object a process is measurable here
            text = file.read()
    except OSError:
        return None
    # The command name stands in brackets and may hold anything, brackets too.
    fields = text[text.rindex(b")") + 2 :].split()
    if fields[0] in (b"Z", b"X"):
        return None
    return int(fields[1]), int(fields[3])


def _has_marker(pid: int, marker: str) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123
            return os.fsencode(marker) in file.read().split(b"\0")
    except OSError:
        return False
