"""The queues of `asyncio`, over futures alone; they know no task, no host and no clock."""

from collections import deque
from collections.abc import Callable
from typing import Any

from guest_api.inside.modules.synchronisation import Event
from guest_api.inside.scheduler import CancelledError, Future


class QueueEmpty(Exception):  # noqa: N818  asyncio's own name
    """Nothing to get."""


class QueueFull(Exception):  # noqa: N818
    """No room to put."""


class Queue:
    """First in, first out, with room for `maxsize` items (0: any number)."""

    def __init__(self, maxsize: int = 0) -> None:
        self.maxsize = maxsize
        self._items: Any = self._make()
        self._getters: deque[Future] = deque()
        self._putters: deque[Future] = deque()
        self._unfinished = 0
        self._finished = Event()
        self._finished.set()

    def _make(self) -> Any:
        return deque()

    def _take(self) -> Any:
        return self._items.popleft()

    def _store(self, item: Any) -> None:
        self._items.append(item)

    def qsize(self) -> int:
        """How many items."""
        return len(self._items)

    def empty(self) -> bool:
        """Whether there is none."""
        return not self._items

    def full(self) -> bool:
        """Whether there is no room."""
        return 0 < self.maxsize <= len(self._items)

    def put_nowait(self, item: Any) -> None:
        """Put or raise `QueueFull`."""
        if self.full():
            raise QueueFull
        self._store(item)
        self._unfinished += 1
        self._finished.clear()
        _wake_one(self._getters)

    def get_nowait(self) -> Any:
        """Get or raise `QueueEmpty`."""
        if not self._items:
            raise QueueEmpty
        item = self._take()
        _wake_one(self._putters)
        return item

    async def put(self, item: Any) -> None:
        """Put when there is room."""
        while self.full():
            await _wait_in(self._putters, lambda: not self.full())
        self.put_nowait(item)

    async def get(self) -> Any:
        """Get when there is something."""
        while not self._items:
            await _wait_in(self._getters, lambda: bool(self._items))
        return self.get_nowait()

    def task_done(self) -> None:
        """One item has been dealt with."""
        if self._unfinished <= 0:
            raise ValueError("task_done() called too many times")
        self._unfinished -= 1
        if not self._unfinished:
            self._finished.set()

    async def join(self) -> None:
        """Until every item has been dealt with."""
        await self._finished.wait()


class LifoQueue(Queue):
    """Last in, first out."""

    def _make(self) -> Any:
        return []

    def _take(self) -> Any:
        return self._items.pop()


class PriorityQueue(Queue):
    """Smallest first."""

    def _make(self) -> Any:
        return []

    def _take(self) -> Any:
        import heapq

        return heapq.heappop(self._items)

    def _store(self, item: Any) -> None:
        import heapq

        heapq.heappush(self._items, item)


def _wake_one(waiting: deque[Future]) -> None:
    while waiting:
        future = waiting.popleft()
        if not future.done():
            future.set_result(None)
            return


async def _wait_in(waiting: deque[Future], is_served: Callable[[], bool]) -> None:
    future = Future()
    waiting.append(future)
    try:
        await future
    except CancelledError:
        if future in waiting:
            waiting.remove(future)
        elif is_served() and not future.cancelled():
            _wake_one(waiting)  # the wake-up was for this one, which no longer takes it
        raise
