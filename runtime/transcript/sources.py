"""Where raw lines are read from, on demand: an open file, or bytes in memory. It knows offsets and no entries."""

import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from runtime.transcript.errors import ChangedOnDiskError, NotASessionError

_BUFFER_BYTES: Final = 64 * 1024
"""Read at a time: stays in the processor's cache until it is split into lines."""


class LineSource(Protocol):
    """Bytes that stay where they are while the session grows behind them."""

    def read(self, offset: int, length: int) -> bytes:
        """Exactly these bytes.

        Raises: ChangedOnDiskError: they are no longer there.
        """

    def lines(self) -> BinaryIO:
        """All of it from the beginning, for one reader at a time; closing it closes nothing else."""

    def close(self) -> None:
        """Give up what is held; reading afterwards fails."""


@contextmanager
def naming(path: Path | None) -> Iterator[None]:
    """What goes wrong within is about this file: the kernel's error names none where it was open already."""
    try:
        yield
    except OSError as error:
        if error.filename is None and path is not None:
            error.filename = str(path)
        raise


class FileSource:
    """A descriptor of its own for reading; `pread` shares no position, so any number of readers may use it.

    Raises: NotASessionError: a folder, a FIFO, a device: nothing that a session could be in. OSError.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = -1  # `__del__` runs even where the next line fails
        # Without O_NONBLOCK the opening of a FIFO waits for a writer, for ever if need be.
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        mode = os.fstat(self._fd).st_mode
        if not stat.S_ISREG(mode):
            raise NotASessionError(path, "a folder is no session" if stat.S_ISDIR(mode) else "no regular file")

    def read(self, offset: int, length: int) -> bytes:
        """Exactly these bytes of the file."""
        data = self._pread(length, offset)
        while len(data) < length:
            more = self._pread(length - len(data), offset + len(data))
            if not more:
                raise ChangedOnDiskError(self._path, f"the file ends before byte {offset + length}; it was cut short")
            data += more
        return data

    def _pread(self, length: int, offset: int) -> bytes:
        with naming(self._path):
            return os.pread(self._fd, length, offset)

    def lines(self) -> BinaryIO:
        """The file from its beginning, buffered."""
        file = open(self._fd, "rb", buffering=_BUFFER_BYTES, closefd=False)  # noqa: SIM115  the caller closes it
        file.seek(0)
        return file

    def close(self) -> None:
        """Close the descriptor."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        self.close()


class MemorySource:
    """The same over bytes in memory: sessions without a file, and old versions converted on load."""

    def __init__(self, data: bytes = b"") -> None:
        self._data = bytearray(data)

    def append(self, data: bytes) -> int:
        """Add bytes and return the offset they begin at."""
        offset = len(self._data)
        self._data += data
        return offset

    def read(self, offset: int, length: int) -> bytes:
        """Exactly these bytes."""
        return bytes(self._data[offset : offset + length])

    def lines(self) -> BinaryIO:
        """The bytes as they are now."""
        return io.BytesIO(self._data)

    def close(self) -> None:
        """Nothing is held."""
