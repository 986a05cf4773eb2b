"""Events, semaphores, locks and conditions of `asyncio`, over futures alone; it knows no task, no host and no clock."""

from collections import deque
from collections.abc import Callable
from typing import Any

from guest_api.inside.scheduler import CancelledError, Future


class Event:
    """A flag to wait for."""

    def __init__(self) -> None:
        self._set = False
        self._waiting: list[Future] = []

    def is_set(self) -> bool:
        """Whether it is set."""
        return self._set

    def set(self) -> None:
        """Set it and wake everyone."""
        self._set = True
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(True)

    def clear(self) -> None:
        """Reset it."""
        self._set = False

    async def wait(self) -> bool:
        """Until it is set."""
        if not self._set:
            future = Future()
            self._waiting.append(future)
            await future
        return True


class Semaphore:
    """At most `value` holders at a time, first come first served."""

    def __init__(self, value: int = 1) -> None:
        if value < 0:
            raise ValueError("Semaphore initial value must be >= 0")
        self._value = value
        self._waiting: deque[Future] = deque()

    def locked(self) -> bool:
        """Whether acquiring would wait."""
        return self._value == 0 or any(not future.cancelled() for future in self._waiting)

    async def acquire(self) -> bool:
        """Wait for a place."""
        if not self.locked():
            self._value -= 1
            return True
        future = Future()
        self._waiting.append(future)
        try:
            await future
        except CancelledError:
            if future.done() and not future.cancelled():
                self.release()
            else:
                self._drop(future)
            raise
        return True

    def release(self) -> None:
        """Give a place back."""
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(True)
                return
        self._value += 1

    def _drop(self, future: Future) -> None:
        if future in self._waiting:
            self._waiting.remove(future)

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(self, kind: object, error: object, traceback: object) -> None:
        self.release()


class BoundedSemaphore(Semaphore):
    """A semaphore that may not be released more often than acquired."""

    def __init__(self, value: int = 1) -> None:
        super().__init__(value)
        self._bound = value

    def release(self) -> None:
        """Give a place back."""
        if self._value >= self._bound:
            raise ValueError("BoundedSemaphore released too many times")
        super().release()


class Lock(Semaphore):
    """One holder at a time."""

    def __init__(self) -> None:
        super().__init__(1)

    def release(self) -> None:
        """Let the next one in."""
        if self._value:
            raise RuntimeError("Lock is not acquired.")
        super().release()


class Condition:
    """A lock with waiting for a notification."""

    def __init__(self, lock: Lock | None = None) -> None:
        self._lock = lock or Lock()
        self._waiting: deque[Future] = deque()
        self.locked = self._lock.locked
        self.acquire = self._lock.acquire
        self.release = self._lock.release

    async def __aenter__(self) -> None:
        await self._lock.acquire()

    async def __aexit__(self, kind: object, error: object, traceback: object) -> None:
        self._lock.release()

    async def wait(self) -> bool:
        """Release the lock, wait for a notification, take the lock again."""
        if not self._lock.locked():
            raise RuntimeError("cannot wait on un-acquired lock")
        future = Future()
        self._waiting.append(future)
        self._lock.release()
        try:
            await future
        finally:
            await self._lock.acquire()
        return True

    async def wait_for(self, predicate: Callable[[], Any]) -> Any:
        """Wait until `predicate()` is true."""
        result = predicate()
        while not result:
            await self.wait()
            result = predicate()
        return result

    def notify(self, n: int = 1) -> None:
        """Wake `n` waiters."""
        while n > 0 and self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(True)
                n -= 1

    def notify_all(self) -> None:
        """Wake every waiter."""
        self.notify(len(self._waiting))
