"""The one write path of a session file: whole lines at its end, each in one write, or not at all. It knows no entries.

Invariant: a line that was acknowledged is on the file with its newline; a line that was not leaves no byte behind.
"""

import contextlib
import os
from pathlib import Path
from typing import Literal, TypeAlias

from runtime.transcript.errors import ChangedOnDiskError, ReadOnlyTranscriptError, WriteFailedError
from runtime.transcript.writer_guard import WriterGuard

Durability: TypeAlias = Literal["entry", "run", "none"]
"""When `fsync` runs: for every entry, at `sync()` (the end of a run) and `close()`, or never."""


class LineFile:
    """Appends under the writer's guard."""

    _fd = -1  # `__del__` runs even where the file could not be opened

    def __init__(self, path: Path, guard: WriterGuard, durability: Durability) -> None:
        self._path = path
        self._guard = guard
        self._durability = durability
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self._size = 0
        self._fresh_line = True
        self._dirty = False
        self._failed: str | None = None

    def begin(self, size_bytes: int, *, terminated: bool) -> None:
        """Take over where the scan ended."""
        self._size = size_bytes
        self._fresh_line = terminated

    def append(self, line: bytes) -> int:
        """Write one line with its newline and return the offset its first byte has.

        Raises: ChangedOnDiskError, WriteFailedError: the line is not in the file.
        """
        self._check_sound()
        data = line + b"\n" if self._fresh_line else b"\n" + line + b"\n"
        before = self._size
        offset = before if self._fresh_line else before + 1
        try:
            self._write(data)
            self._dirty = True
            if self._durability == "entry":
                self.sync()
        except WriteFailedError:
            self._withdraw(before, len(data))
            raise
        except OSError as error:
            self._withdraw(before, len(data))
            raise WriteFailedError(self._path, f"{error.strerror or error}; the entry was not written") from error
        except BaseException:
            # An interrupt between the write and the index: the line goes, so that memory and file agree.
            self._withdraw(before, len(data))
            raise
        self._size = before + len(data)
        self._fresh_line = True
        return offset

    def withdraw_last(self, offset: int) -> None:
        """Take back the line that `append` put at `offset`: it could not be entered in memory."""
        self._withdraw(offset, self._size - offset)
        self._size = offset

    def sync(self) -> None:
        """Bring what was written to the disk, unless durability is `none`.

        Raises: WriteFailedError: the disk refused; nothing more is written until the session is opened again.
        """
        if not self._dirty or self._durability == "none":
            return
        try:
            os.fdatasync(self._fd)
        except OSError as error:
            # The kernel forgets the failed pages: a second fsync would report a success that is none.
            self._failed = f"fsync failed ({error.strerror}); open the session again"
            raise WriteFailedError(self._path, self._failed) from error
        self._dirty = False

    def close(self) -> None:
        """Sync, then give up file and guard, in this order."""
        if self._fd < 0:
            return
        try:
            if self._guard.held and self._failed is None:
                self.sync()
        finally:
            os.close(self._fd)
            self._fd = -1
            self._guard.release()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    def _check_sound(self) -> None:
        if self._fd < 0:
            raise ReadOnlyTranscriptError(self._path, "the session was closed")
        if not self._guard.held:
            raise ReadOnlyTranscriptError(self._path, "a forked child does not own the session of its parent")
        if self._failed is not None:
            raise WriteFailedError(self._path, self._failed)
        status = os.fstat(self._fd)
        if status.st_nlink == 0:
            raise ChangedOnDiskError(self._path, "the file was deleted or replaced; open the session again")
        if status.st_size != self._size:
            raise ChangedOnDiskError(
                self._path,
                f"{status.st_size - self._size:+} bytes by a writer without the guard (a live Pi?); open it again",
            )

    def _write(self, data: bytes) -> None:
        written = os.write(self._fd, data)
        while written < len(data):  # only a full disk or a file size limit cuts a write short; the next one says which
            written += os.write(self._fd, data[written:])

    def _withdraw(self, before: int, length: int) -> None:
        """Cut our own unacknowledged bytes off; where that fails, the next line begins fresh behind them."""
        try:
            size = os.fstat(self._fd).st_size
            if before < size <= before + length:
                os.ftruncate(self._fd, before)
                size = os.fstat(self._fd).st_size
        except OSError as error:
            self._failed = f"a torn line could not be taken back ({error.strerror}); open the session again"
            return
        if size != before:
            self._failed = "a torn line could not be taken back; open the session again"
