"""One writer at a time: `flock` on `<session>.lock`, with the owner's name inside for the one who is refused.

The lock file is never unlinked (a second process could hold the unlinked one), is taken only for writing, and its
descriptor is closed on exec and in every forked child, so that a killed owner frees the session at once.
"""

import contextlib
import fcntl
import os
import shlex
import sys
import threading
import time
import weakref
from pathlib import Path
from socket import gethostname
from typing import Final

import msgspec

from runtime.transcript.entries import now_timestamp
from runtime.transcript.errors import SessionOwnedError

_OWNER_BYTES: Final = 4096
_COMMAND_CHARACTERS: Final = 200
_OWNER_WAIT_SECONDS: Final = 0.02
"""An owner that has just taken the lock needs microseconds to write its name; a refused writer waits for it."""


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """Who writes a session."""

    command: str = "another process"
    pid: int | None = None
    host: str = ""
    since: str = ""

    def __str__(self) -> str:
        if self.pid is None:
            return self.command
        return f"pid {self.pid} ({self.command}) on {self.host} since {self.since}"


_live_guards: Final["weakref.WeakSet[WriterGuard]"] = weakref.WeakSet()
_no_fork: Final = threading.RLock()
"""Held while a lock's descriptor is open and no guard knows of it: a fork in another thread waits that long."""


class WriterGuard:
    """The held guard of one session file; `acquire` makes it, `release` or the end of the process gives it up."""

    def __init__(self, lock_path: Path, fd: int) -> None:
        self.lock_path = lock_path
        self._fd = fd
        _live_guards.add(self)

    @classmethod
    def acquire(cls, session_path: Path) -> "WriterGuard":
        """Take the guard of a session, without waiting.

        Raises: SessionOwnedError: another writer holds it; it names the owner. OSError: the lock cannot be made.
        """
        lock_path = lock_path_of(session_path)
        with _no_fork:
            fd = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                holder = _lock(fd)
            except BaseException:
                os.close(fd)
                raise
            if holder is not None:
                os.close(fd)
                raise SessionOwnedError(session_path, holder)
            guard = cls(lock_path, fd)
        owner = Owner(command=_command(), pid=os.getpid(), host=gethostname(), since=now_timestamp())
        os.ftruncate(fd, 0)
        os.pwrite(fd, msgspec.json.encode(owner) + b"\n", 0)
        return guard

    @property
    def held(self) -> bool:
        """False after `release`, and in every forked child."""
        return self._fd >= 0

    def release(self) -> None:
        """Give the guard up; the lock file stays, empty."""
        if self._fd < 0:
            return
        fd, self._fd = self._fd, -1
        try:
            os.ftruncate(fd, 0)
            # Unlocked by name: a copy of the descriptor in some foreign child must not keep it locked.
            fcntl.flock(fd, fcntl.LOCK_UN)
        finally:
            os.close(fd)

    def __del__(self) -> None:
        # A store that was dropped and never closed: else its session stayed owned, in forked children too.
        with contextlib.suppress(Exception):
            self.release()

    def drop_in_child(self) -> None:
        """Close the descriptor without unlocking: the lock belongs to the parent's open file."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def lock_path_of(session_path: Path) -> Path:
    """The lock beside the real file: two names of one session share it."""
    real = Path(os.path.realpath(session_path))
    return real.with_name(real.name + ".lock")


def owner_of(session_path: Path) -> Owner | None:
    """Who writes the session now; None: nobody. Takes nothing."""
    try:
        fd = os.open(lock_path_of(session_path), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _owner_in(fd)
    else:
        fcntl.flock(fd, fcntl.LOCK_UN)
        return None
    finally:
        os.close(fd)


def _lock(fd: int) -> Owner | None:
    """Lock at once, or return who holds it."""
    deadline = time.monotonic() + _OWNER_WAIT_SECONDS
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = _owner_in(fd)
            # A dead owner's last fork may not have run its first instruction yet, which closes its copy of the lock.
            if _is_alive(owner) or time.monotonic() > deadline:
                return owner
            time.sleep(0.001)
        else:
            return None


def _is_alive(owner: Owner) -> bool:
    if owner.pid is None or owner.host != gethostname():
        return True
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _owner_in(fd: int) -> Owner:
    deadline = time.monotonic() + _OWNER_WAIT_SECONDS
    while True:
        try:
            return msgspec.json.decode(os.pread(fd, _OWNER_BYTES, 0), type=Owner)
        except msgspec.MsgspecError:
            if time.monotonic() > deadline:
                return Owner()
            time.sleep(0.001)


def _command() -> str:
    words = sys.argv if sys.argv and sys.argv[0] not in {"", "-c", "-m"} else sys.orig_argv
    command = shlex.join([os.path.basename(words[0]), *words[1:]] if words else ["python"])  # noqa: PTH119
    command = command.encode("utf-8", "replace").decode()  # an argument need be no text
    return command if len(command) <= _COMMAND_CHARACTERS else command[: _COMMAND_CHARACTERS - 1] + "…"


def _drop_all_in_child() -> None:
    for guard in list(_live_guards):
        guard.drop_in_child()
    _no_fork.release()


os.register_at_fork(before=_no_fork.acquire, after_in_parent=_no_fork.release, after_in_child=_drop_all_in_child)
