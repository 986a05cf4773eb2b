"""A blocking trampoline over call ids: tasks, futures and host calls of one program; it knows no asyncio names.

There is no event loop library in a guest. A coroutine that waits yields its `Future`; when no task can run,
the scheduler
writes what is queued, blocks for the host's replies and goes on.
Invariant: nothing that a program can hold leads to the channel. Every internal slot of a class whose objects
programs hold
is spelled as a dunder, because the compile policy lets no program name one.
"""

from collections import deque
from collections.abc import Callable, Coroutine, Generator
from types import CoroutineType
from typing import Any, Final, NoReturn, final

from guest_api import errors, values, wire
from guest_api.inside.channel import Channel
from guest_api.results import readable

_DEADLOCK: Final = (
    "every task waits for another one, and no host call or timer is running. "
    "Something is awaited that nothing will finish (a queue, event, lock, future or task)"
)


class CancelledError(BaseException):
    """The task was cancelled; `asyncio.CancelledError` of a program."""


class InvalidStateError(Exception):
    """The result was asked for before there was one."""


class DeadlockError(RuntimeError):
    """Every task waits, and no call or timer is running that could wake one."""


class Future:
    """A value that will be there later. Awaiting it suspends the task until then."""

    __slots__ = ("__error__", "__result__", "__state__", "__waiters__", "__weakref__")

    def __init__(self) -> None:
        self.__state__ = 0  # 0 pending, 1 finished, 2 cancelled
        self.__result__: Any = None
        self.__error__: BaseException | None = None
        self.__waiters__: list[Any] = []

    def __init_subclass__(cls) -> None:
        # The scheduler calls methods of futures; a program's own must not run in the middle of it.
        if not cls.__module__.startswith("guest_api."):
            raise TypeError("futures and tasks cannot be inherited from")

    def __await__(self) -> Generator["Future", None, Any]:
        if not self.__state__:
            yield self
        return self.result()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {('pending', 'finished', 'cancelled')[self.__state__]}>"

    def __copy__(self) -> "Future":
        return self

    def __deepcopy__(self, memo: object) -> "Future":
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be copied")

    def done(self) -> bool:
        """Whether it has a result, an error or was cancelled."""
        return self.__state__ != 0

    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self.__state__ == 2

    def result(self) -> Any:
        """The value; raises the error, `CancelledError`, or `InvalidStateError` when it is too early."""
        if self.__state__ == 1:
            if self.__error__ is not None:
                raise self.__error__
            return self.__result__
        if self.__state__ == 2:
            raise CancelledError
        raise InvalidStateError("the result is not there yet; await it")

    def exception(self) -> BaseException | None:
        """The error, or None."""
        if self.__state__ == 1:
            return self.__error__
        if self.__state__ == 2:
            raise CancelledError
        raise InvalidStateError("the result is not there yet; await it")

    def cancel(self, msg: object = None) -> bool:
        """Ask for cancellation; False when it is over already."""
        del msg
        if self.__state__:
            return False
        self.__finish__(2, None, None)
        return True

    def set_result(self, result: object) -> None:
        """Finish with this value."""
        self.__settle__(result, None)

    def set_exception(self, exception: BaseException | type[BaseException]) -> None:
        """Finish with this error."""
        self.__settle__(None, exception() if isinstance(exception, type) else exception)

    def add_done_callback(self, callback: Callable[["Future"], object], *, context: object = None) -> None:
        """Call `callback(future)` when it is done."""
        del context
        if self.__state__:
            _current().call_soon(callback, self)
        else:
            self.__waiters__.append(lambda future: _current().call_soon(callback, future))

    def remove_done_callback(self, callback: object) -> int:
        """Not offered: callbacks cannot be taken back."""
        del callback
        return 0

    def __settle__(self, result: object, error: BaseException | None) -> None:
        if self.__state__:
            raise InvalidStateError("it is done already")
        self.__finish__(1, result, error)

    def __finish__(self, state: int, result: object, error: BaseException | None) -> None:
        self.__state__ = state
        self.__result__ = result
        self.__error__ = error
        waiters = self.__waiters__
        if waiters:
            self.__waiters__ = []
            ready = _current().ready
            for waiter in waiters:
                if type(waiter) is Task:
                    ready.append(waiter)
                else:
                    waiter(self)


class Pending(Future):
    """A host call or timer under way. Cancelling it tells the host."""

    __slots__ = ("__flushes__", "__id__", "__ref__")

    def __init__(self, number: int, ref: str, flushes: int) -> None:
        super().__init__()
        self.__id__ = number
        self.__flushes__ = flushes
        self.__ref__ = ref

    def cancel(self, msg: object = None) -> bool:
        """Stop waiting and tell the host; False when the reply is there already."""
        if not super().cancel(msg):
            return False
        _current().forget(self.__id__)
        return True

    def get_name(self) -> str:
        """The action's ref."""
        return self.__ref__

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"{self.__ref__}(...) has no result yet: write `await {self.__ref__}(...)` before `.{name}`"
        )

    def __getitem__(self, key: object) -> NoReturn:
        raise TypeError(f"{self.__ref__}(...) has no result yet: write `(await {self.__ref__}(...))[{key!r}]`")


@final
class Task(Future):
    """A coroutine that runs on its own."""

    __slots__ = ("__cancel_requests__", "__coroutine__", "__must_cancel__", "__name__", "__waiting_on__")

    def __init__(self, coroutine: Coroutine[Any, Any, Any], name: str | None = None) -> None:
        super().__init__()
        scheduler = _current()
        scheduler.task_count += 1
        self.__coroutine__ = coroutine
        self.__waiting_on__: Future | None = None
        self.__must_cancel__ = False
        self.__cancel_requests__ = 0
        self.__name__ = name or f"Task-{scheduler.task_count}"
        scheduler.ready.append(self)

    def get_name(self) -> str:
        """Its name."""
        return self.__name__

    def set_name(self, name: object) -> None:
        """Rename it."""
        self.__name__ = str(name)

    def cancel(self, msg: object = None) -> bool:
        """Raise `CancelledError` where the task waits; False when it is over already."""
        if self.__state__:
            return False
        self.__cancel_requests__ += 1
        waiting = self.__waiting_on__
        if waiting is not None and waiting.cancel(msg):
            return True
        self.__must_cancel__ = True
        return True

    def cancelling(self) -> int:
        """How many cancellations are pending."""
        return self.__cancel_requests__

    def uncancel(self) -> int:
        """Take one cancellation back."""
        if self.__cancel_requests__:
            self.__cancel_requests__ -= 1
        return self.__cancel_requests__


class _YieldOnce:
    """Awaiting it lets every other ready task run once."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        yield None


yield_once: Final = _YieldOnce()


def _called_ref(ref: str, arguments: dict[str, Any] | list[Any]) -> str:
    """What a call is known by: `tools.call(ref=…)` is the call of that ref, in its errors too."""
    named = arguments.get("ref") if ref == "tools.call" and isinstance(arguments, dict) else None
    return named if type(named) is str else ref


class Scheduler:
    """The tasks of one program, and its calls under way."""

    __slots__ = (
        "channel",
        "current_task",
        "frame_limit_bytes",
        "main_task",
        "next_id",
        "pending",
        "ready",
        "task_count",
    )

    def __init__(self, channel: Channel, *, frame_limit_bytes: int) -> None:
        self.channel = channel
        self.frame_limit_bytes = frame_limit_bytes
        self.ready: deque[Any] = deque()
        self.pending: dict[int, Pending] = {}
        self.next_id = 1
        self.task_count = 0
        self.current_task: Task | None = None
        self.main_task: Task | None = None

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("the scheduler cannot be copied")

    def call(self, ref: str, arguments: dict[str, Any] | list[Any]) -> Pending:
        """Start a host call; its frame goes out when the program next waits.

        Raises: ActionRejected: an argument cannot cross; ActionLimit: the frame is too large.
        """
        try:
            crossing = values.to_wire(arguments)
        except values.ValueRefusedError as error:
            raise errors.ActionRejected(f"{ref}: argument {error}", ref=ref) from None
        number = self.next_id
        frame = wire.encode(wire.Call(number, ref, crossing))
        if len(frame) - wire.LENGTH_BYTES > self.frame_limit_bytes:
            message = (
                f"{ref}: the arguments need a frame of {len(frame)} bytes; the limit is {self.frame_limit_bytes}: "
                "pass less, or pass it in pieces"
            )
            raise errors.ActionLimit(message, ref=ref, details={"limit": "frame"})
        return self._start(number, _called_ref(ref, arguments), frame)

    def timer(self, seconds: float) -> Pending:
        """A future that is done after `seconds`; the host keeps the time."""
        number = self.next_id
        return self._start(number, "sleep", wire.encode(wire.Timer(number, seconds)))

    def forget(self, number: int) -> None:
        """The program no longer waits for this call or timer."""
        if self.pending.pop(number, None) is not None:
            self.channel.queue(wire.encode(wire.Cancel(number)))

    def withdraw_unsent(self) -> None:
        """Cancel the calls that the program made and never waited for, in the same write: the host then begins
        none of them.
        """
        flushes = self.channel.flush_count
        for number, future in list(self.pending.items()):
            if future.__flushes__ == flushes:
                self.forget(number)

    def call_soon(self, callback: Callable[..., object], *arguments: object) -> None:
        """Run `callback` when the tasks before it have run."""
        self.ready.append(lambda: callback(*arguments))

    def run_until(self, task: Task) -> None:
        """Run everything that can run until `task` is done; block for the host when nothing can."""
        ready = self.ready
        step = self._step
        while not task.__state__:
            if ready:
                runnable = ready.popleft()
                if type(runnable) is Task:
                    step(runnable)
                else:
                    runnable()
            elif self.pending:
                self.receive()
            else:
                self._break_deadlock(task)

    def block_on(self, future: Pending) -> None:
        """Wait for this one future without running any task (`time.sleep`)."""
        while not future.__state__:
            self.receive()

    def receive(self) -> None:
        """Block until the host has answered something."""
        pending = self.pending
        for frame in self.channel.read():
            if type(frame) is wire.Reply:
                future = pending.pop(frame.id, None)
                if future is not None:
                    future.__finish__(1, readable(frame.value), None)
            elif type(frame) is wire.Refusal:
                future = pending.pop(frame.id, None)
                if future is not None:
                    error = errors.error_from_refusal(
                        frame.kind, frame.message, ref=future.__ref__, details=readable(frame.details)
                    )
                    future.__finish__(1, None, error)

    def _start(self, number: int, ref: str, frame: bytes) -> Pending:
        self.next_id = number + 1
        future = Pending(number, ref, self.channel.flush_count)
        self.pending[number] = future
        self.channel.queue(frame)
        return future

    def _step(self, task: Task, error: BaseException | None = None) -> None:
        if task.__state__:
            return
        previous = self.current_task
        self.current_task = task
        task.__waiting_on__ = None
        try:
            if error is not None:
                waited = task.__coroutine__.throw(error)
            elif task.__must_cancel__:
                task.__must_cancel__ = False
                waited = task.__coroutine__.throw(CancelledError())
            else:
                waited = task.__coroutine__.send(None)
        except StopIteration as stop:
            task.__finish__(1, stop.value, None)
        except CancelledError:
            task.__finish__(2, None, None)
        except BaseException as failure:  # whatever the program raises is the task's outcome
            task.__finish__(1, None, failure)
        else:
            self._suspend(task, waited)
        finally:
            self.current_task = previous

    def _suspend(self, task: Task, waited: object) -> None:
        if waited is None:
            self.ready.append(task)
        elif isinstance(waited, Future) and waited is not task:
            if waited.__state__:
                self.ready.append(task)
            else:
                task.__waiting_on__ = waited
                waited.__waiters__.append(task)
                if task.__must_cancel__ and waited.cancel():
                    task.__must_cancel__ = False
        else:
            task.__coroutine__.close()
            task.__finish__(1, None, RuntimeError("a task cannot wait for itself"))

    def _break_deadlock(self, task: Task) -> None:
        """Raise where the innermost task waits; tasks that wait for each other in a ring have no innermost, so
        any will do.
        """
        innermost = task
        seen = {task}
        while type(innermost.__waiting_on__) is Task and innermost.__waiting_on__ not in seen:
            innermost = innermost.__waiting_on__
            seen.add(innermost)
        waited = innermost.__waiting_on__
        if waited is not None and innermost in waited.__waiters__:
            waited.__waiters__.remove(innermost)
        self._step(innermost, DeadlockError(_DEADLOCK))


def ensure_future(awaitable: Any, name: str | None = None) -> Future:
    """A future for anything that can be awaited; coroutines become tasks."""
    if isinstance(awaitable, Future):
        return awaitable
    if isinstance(awaitable, CoroutineType):
        return Task(awaitable, name)
    if hasattr(type(awaitable), "__await__"):
        return Task(_await(awaitable), name)
    hint = "; call the function: f()" if callable(awaitable) else ""
    raise TypeError(f"an awaitable is needed, got {type(awaitable).__name__}{hint}")


async def _await(awaitable: Any) -> Any:
    return await awaitable


class _NoScheduler:
    """Stands where no program runs, so that a missing one is named."""

    def __getattr__(self, name: str) -> NoReturn:
        raise RuntimeError(f"no program is running ({name})")


_running: list[Any] = [_NoScheduler()]


def _current() -> Scheduler:
    scheduler: Scheduler = _running[0]
    return scheduler


current: Final = _current


def activate(scheduler: Scheduler) -> None:
    """Make this the scheduler of the running program; a guest runs one program."""
    _running[0] = scheduler
