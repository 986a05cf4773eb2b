"""A stream of unknown length: whole in memory, or in a file once it is too long to arrive; it knows no source."""

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from host_bridge.excerpt import HEAD_SHARE, SHOWN_BYTES, from_character, marker, whole_characters


class Spill:
    """A stream of unknown length: all of it in memory up to `memory_bytes`; past that all of it lies in a file, and
    head and tail are kept to be shown.
    """

    def __init__(
        self,
        path: Path,
        create: Callable[[], BinaryIO],
        *,
        memory_bytes: int,
        limit_bytes: int,
        kept: Callable[[int], None],
    ) -> None:
        """`create` makes the file at `path` when it is needed; `kept` is told its size in the end."""
        self.total_bytes = 0
        self.dropped_bytes = 0
        """What came after the limit: counted, neither kept nor shown."""
        self.path: Path | None = None
        """The file, once there is one."""
        self._planned = path
        self._create = create
        self._kept = kept
        self._limit = limit_bytes
        self._memory = memory_bytes
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

    def text(self, limit_bytes: int = SHOWN_BYTES) -> str:
        """All of it, or head, marker and tail of at most `limit_bytes`.

        Raises: OSError: it turned out too long as text, and the file cannot be written.
        """
        if self._file is None:
            text = self._head.decode("utf-8", "replace")
            # What is no UTF-8 grows threefold as text, and has to arrive as well.
            if len(text) * 3 <= self._memory or len(text.encode()) <= self._memory:
                return text
            self._move()
        assert self._file is not None  # noqa: S101  just made
        if not self._file.closed:
            self._file.flush()
        head_bytes = int(limit_bytes * HEAD_SHARE)
        head = whole_characters(bytes(self._head[:head_bytes]))
        tail = from_character(bytes(self._tail[-(limit_bytes - head_bytes) :]))
        omitted = self.total_bytes - len(head) - len(tail)
        note = f"; the last {self.dropped_bytes} bytes went past the limit and are lost" if self.dropped_bytes else ""
        between = marker(omitted, self.total_bytes, self.path, note)
        return head.decode("utf-8", "replace") + between + tail.decode("utf-8", "replace")

    def close(self) -> None:
        """Close the file, if there is one; the text stays readable."""
        if self._file is not None and not self._file.closed:
            self._file.close()
            self._kept(self.total_bytes - self.dropped_bytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
