"""A stream of unknown length: in memory while it is short, in a file once it is long; it knows no source."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from host_bridge.excerpt import HEAD_SHARE, SHOWN_BYTES, from_character, marker, whole_characters


class Spill:
    """A stream of unknown length: in memory up to `memory_bytes`, past that in a file, with head and tail at hand.

    Its text comes whole up to `whole_bytes`, and then no file is left; past that head and tail come, the file stays.
    """

    def __init__(
        self,
        path: Path,
        create: Callable[[], BinaryIO],
        *,
        memory_bytes: int,
        whole_bytes: int,
        limit_bytes: int,
        kept: Callable[[int], None],
    ) -> None:
        """`create` makes the file at `path` when it is needed; `kept` is told its size in the end."""
        self.total_bytes = 0
        self.dropped_bytes = 0
        """What came after the limit: counted, neither kept nor shown."""
        self.path: Path | None = None
        """The file, while there is one."""
        self._planned = path
        self._create = create
        self._kept = kept
        self._limit = limit_bytes
        self._memory = memory_bytes
        self._whole = whole_bytes
        self._file: BinaryIO | None = None
        self._head = bytearray()
        self._tail = bytearray()

    def write(self, data: bytes) -> None:
        """Take the next piece.

        Raises: OSError: the file cannot be written.
        """
        self.total_bytes += len(data)
        if self._file is None:
            self._head += data
            if self.total_bytes > self._memory:
                self._move()
            return
        self._keep(data, self.total_bytes - len(data))
        self._tail += data[-SHOWN_BYTES:]
        if len(self._tail) > 2 * SHOWN_BYTES:
            del self._tail[:-SHOWN_BYTES]

    def ending(self, count: int) -> str:
        """The text of the last `count` bytes, at most as many as are shown."""
        last = (self._head if self._file is None else self._tail)[-count:]
        return from_character(bytes(last)).decode("utf-8", "replace")

    def text(self, limit_bytes: int = SHOWN_BYTES) -> str:
        """All of it, or head, marker and tail of at most `limit_bytes`. To be asked once, when nothing more comes.

        Raises: OSError: the file cannot be read or written.
        """
        if self.total_bytes <= self._whole and not self.dropped_bytes:
            text = self._everything().decode("utf-8", "replace")
            # What is no UTF-8 grows threefold as text, and has to arrive as well.
            if len(text) * 3 <= self._whole or len(text.encode()) <= self._whole:
                self._forget_file()
                return text
        if self._file is None:
            self._move()
        self._flush()
        head_bytes = int(limit_bytes * HEAD_SHARE)
        head = whole_characters(bytes(self._head[:head_bytes]))
        tail = from_character(bytes(self._tail[-(limit_bytes - head_bytes) :]))
        omitted = self.total_bytes - len(head) - len(tail)
        note = f"; the last {self.dropped_bytes} bytes went past the limit and are lost" if self.dropped_bytes else ""
        between = marker(omitted, self.total_bytes, self.path, note)
        return head.decode("utf-8", "replace") + between + tail.decode("utf-8", "replace")

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._file is not None and not self._file.closed:
            self._file.close()
            if self.path is not None:
                self._kept(self.total_bytes - self.dropped_bytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _move(self) -> None:
        """From memory into the file; only what may be shown stays."""
        self._file = self._create()
        self.path = self._planned
        self._keep(self._head, 0)
        self._tail += self._head[-SHOWN_BYTES:]
        del self._head[SHOWN_BYTES:]

    def _keep(self, data: bytes | bytearray, before: int) -> None:
        assert self._file is not None  # noqa: S101  made by `_move`
        kept = min(len(data), max(0, self._limit - before))
        self.dropped_bytes += len(data) - kept
        self._file.write(memoryview(data)[:kept])

    def _everything(self) -> bytes:
        if self._file is None:
            return bytes(self._head)
        self._flush()
        # By the descriptor: whatever stands at that name by now is not asked.
        return b"".join(iter(_Reader(self._file.fileno()), b""))

    def _flush(self) -> None:
        if self._file is not None and not self._file.closed:
            self._file.flush()

    def _forget_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self.path = None
            with suppress(OSError):
                self._planned.unlink()


class _Reader:
    """The next piece of a file from its start on, at each call."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._offset = 0

    def __call__(self) -> bytes:
        piece = os.pread(self._descriptor, 4 * 1024 * 1024, self._offset)
        self._offset += len(piece)
        return piece
