"""A stream of unknown length: head and tail in memory, all of it in a file once it is long; it knows no source."""

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from host_bridge.excerpt import HEAD_SHARE, SHOWN_BYTES, from_character, marker, whole_characters


class Spill:
    """A stream of unknown length: its head and tail in memory, all of it in a file once it is longer than shown."""

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
        """Take the next piece; memory stays below three times `memory_bytes`."""
        self.total_bytes += len(data)
        if self._file is None and self.total_bytes <= self._memory:
            self._head += data
            return
        if self._file is None:
            self._file = self._create()
            self.path = self._planned
            self._file.write(self._head)
            self._tail += self._head
            self._head += data[: self._memory - len(self._head)]
        kept = min(len(data), max(0, self._limit - (self.total_bytes - len(data))))
        self.dropped_bytes += len(data) - kept
        self._file.write(data[:kept])
        self._tail += data[-self._memory :]
        if len(self._tail) > 2 * self._memory:
            del self._tail[: -self._memory]

    def text(self, limit_bytes: int = SHOWN_BYTES) -> str:
        """All of it, or head, marker and tail."""
        if self._file is None:
            return self._head.decode("utf-8", "replace")
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
