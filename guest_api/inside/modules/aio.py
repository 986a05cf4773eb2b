"""The names of `asyncio` that programs write, on the blocking trampoline; it knows no frames."""

import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from types import CoroutineType, FunctionType, MethodType, TracebackType
from typing import Any, Final, NoReturn

from guest_api.inside.modules.queues import LifoQueue, PriorityQueue, Queue, QueueEmpty, QueueFull
from guest_api.inside.modules.synchronisation import BoundedSemaphore, Condition, Event, Lock, Semaphore
from guest_api.inside.scheduler import (
    CancelledError,
    Future,
    InvalidStateError,
    Task,
    current,
    ensure_future,
    yield_once,
)

FIRST_COMPLETED: Final = "FIRST_COMPLETED"
FIRST_EXCEPTION: Final = "FIRST_EXCEPTION"
ALL_COMPLETED: Final = "ALL_COMPLETED"

_CO_COROUTINE: Final = 0x80


async def sleep(delay: float, result: Any = None) -> Any:
    """Let the other tasks run for `delay` seconds; the host keeps the time."""
    if not delay > 0:
        await yield_once
    else:
        await current().timer(float(delay))
    return result


def block(seconds: float) -> None:
    """`time.sleep`: nothing of the program runs meanwhile."""
    if not isinstance(seconds, int | float):
        raise TypeError(f"a number of seconds is needed, got {type(seconds).__name__}")
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    scheduler = current()
    scheduler.block_on(scheduler.timer(float(seconds)))


def run(main: Any, *, debug: object = None, loop_factory: object = None) -> Any:
    """Run a coroutine to its end and answer its result; other tasks run meanwhile."""
    del debug, loop_factory
    if not isinstance(main, CoroutineType | Future):
        raise ValueError(f"a coroutine was expected, got {main!r}")  # noqa: TRY004  as asyncio.run
    future = ensure_future(main)
    task = future if isinstance(future, Task) else Task(_await(future))
    current().run_until(task)
    return task.result()


def create_task(coro: Any, *, name: str | None = None, context: object = None) -> Future:
    """Start a coroutine; a host call has started already and is its own task."""
    del context
    if not isinstance(coro, CoroutineType | Future):
        raise TypeError(f"a coroutine was expected, got {coro!r}")
    return ensure_future(coro, name)


def current_task() -> Task | None:
    """The task that is running."""
    return current().current_task


class _Gathering(Future):
    """The results of several futures, in their order."""

    __slots__ = ("__children__", "__collect__", "__left__")

    def __init__(self, children: list[Future], collect: bool) -> None:
        super().__init__()
        self.__children__ = children
        self.__collect__ = collect
        distinct = set(children)
        self.__left__ = len(distinct)
        for child in distinct:
            if child.__state__:
                self.__child_done__(child)
            else:
                child.__waiters__.append(self.__child_done__)

    def __child_done__(self, child: Future) -> None:
        self.__left__ -= 1
        if self.__state__:
            return
        if not self.__collect__ and child.__error__ is not None:
            self.__finish__(1, None, child.__error__)
        elif not self.__collect__ and child.__state__ == 2:
            self.__finish__(1, None, CancelledError())
        elif self.__left__ == 0:
            self.__finish__(1, [_outcome(each) for each in self.__children__], None)

    def cancel(self, msg: object = None) -> bool:
        """Cancel every child."""
        if self.__state__:
            return False
        asked = False
        for child in self.__children__:
            asked = child.cancel(msg) or asked
        if not self.__state__:
            if self.__collect__ and self.__left__:
                return asked
            self.__finish__(2, None, None)
        return True


def _outcome(child: Future) -> Any:
    if child.__state__ == 2:
        return CancelledError()
    return child.__error__ if child.__error__ is not None else child.__result__


def gather(*awaitables: Any, return_exceptions: bool = False) -> Future:
    """Wait for all of them; results in the order given. Host calls in it overlap."""
    made: dict[int, Future] = {}
    children = []
    for awaitable in awaitables:
        if id(awaitable) not in made:
            made[id(awaitable)] = ensure_future(awaitable)
        children.append(made[id(awaitable)])
    if not children:
        empty = Future()
        empty.set_result([])
        return empty
    return _Gathering(children, return_exceptions)


class TimeoutScope:
    """`async with timeout(seconds)`: cancels the body when the time is over and raises `TimeoutError`."""

    __slots__ = ("__expired__", "__seconds__", "__task__", "__timer__")

    def __init__(self, seconds: float | None) -> None:
        self.__seconds__ = seconds
        self.__expired__ = False
        self.__task__: Task | None = None
        self.__timer__: Future | None = None

    def expired(self) -> bool:
        """Whether the time ran out."""
        return self.__expired__

    def when(self) -> float | None:
        """The deadline as it was given."""
        return self.__seconds__

    def reschedule(self, when: float | None) -> None:
        """Set the deadline anew, in the loop's time."""
        self.__stop__()
        self.__seconds__ = None if when is None else when - time.monotonic()
        self.__start__()

    async def __aenter__(self) -> "TimeoutScope":  # noqa: PYI034
        self.__task__ = current_task()
        self.__start__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__stop__()
        if self.__expired__ and self.__task__ is not None:
            left = self.__task__.uncancel()
            self.__task__.__must_cancel__ = False
            if kind is not None and issubclass(kind, CancelledError) and left == 0:
                raise TimeoutError(f"not done after {self.__seconds__} seconds") from error

    def __start__(self) -> None:
        if self.__seconds__ is None:
            return
        timer = current().timer(max(0.0, float(self.__seconds__)))
        self.__timer__ = timer
        timer.__waiters__.append(self.__ring__)

    def __stop__(self) -> None:
        timer = self.__timer__
        self.__timer__ = None
        if timer is not None and not timer.__state__:
            timer.__waiters__.clear()
            timer.cancel()

    def __ring__(self, timer: Future) -> None:
        if timer is self.__timer__ and timer.__state__ == 1 and self.__task__ is not None:
            self.__expired__ = True
            self.__task__.cancel()


def timeout(delay: float | None) -> TimeoutScope:
    """A scope that lasts at most `delay` seconds."""
    return TimeoutScope(delay)


def timeout_at(when: float | None) -> TimeoutScope:
    """A scope that lasts until the loop's time is `when`."""
    return TimeoutScope(None if when is None else when - time.monotonic())


async def wait_for(fut: Any, timeout: float | None) -> Any:  # noqa: ASYNC109  asyncio's own name
    """Await `fut` for at most `timeout` seconds, then cancel it and raise `TimeoutError`."""
    future = ensure_future(fut)
    if timeout is not None and timeout <= 0 and not future.done():
        future.cancel()
        raise TimeoutError("not done at once")
    async with TimeoutScope(timeout):
        return await future


async def wait(
    fs: Iterable[Any],
    *,
    timeout: float | None = None,  # noqa: ASYNC109
    return_when: str = ALL_COMPLETED,
) -> tuple[set[Future], set[Future]]:
    """The futures that are done and those that are not, when `return_when` holds or the time is over."""
    futures = [ensure_future(each) for each in fs]
    if not futures:
        raise ValueError("Set of Tasks/Futures is empty.")
    signal = Future()

    def check(done: Future | None) -> None:
        if signal.__state__:
            return
        left = [each for each in futures if not each.__state__]
        failed = done is not None and done.__state__ == 1 and done.__error__ is not None
        if (
            not left
            or (return_when == FIRST_COMPLETED and len(left) < len(futures))
            or (return_when == FIRST_EXCEPTION and failed)
        ):
            signal.__finish__(1, None, None)

    for each in futures:
        if each.__state__:
            check(each)
        else:
            each.__waiters__.append(check)
    check(None)
    try:
        async with TimeoutScope(timeout):
            await signal
    except TimeoutError:
        pass
    done = {each for each in futures if each.done()}
    return done, set(futures) - done


def as_completed(fs: Iterable[Any], *, timeout: float | None = None) -> Iterator[Coroutine[Any, Any, Any]]:
    """Coroutines that answer the results in the order in which they arrive."""
    futures = [ensure_future(each) for each in fs]
    arrived = Queue()
    for each in futures:
        if each.__state__:
            arrived.put_nowait(each)
        else:
            each.__waiters__.append(arrived.put_nowait)

    async def next_one() -> Any:
        first = await wait_for(arrived.get(), timeout) if timeout is not None else await arrived.get()
        return first.result()

    for _ in futures:
        yield next_one()


def shield(arg: Any) -> Future:
    """A future that can be cancelled without cancelling `arg`."""
    inner = ensure_future(arg)
    outer = Future()

    def pass_on(done: Future) -> None:
        if not outer.__state__:
            outer.__finish__(done.__state__, done.__result__, done.__error__)

    if inner.__state__:
        pass_on(inner)
    else:
        inner.__waiters__.append(pass_on)
    return outer


class TaskGroup:
    """Tasks that end together. The first failure cancels the others and is raised as it is, not in a group."""

    __slots__ = ("__closing__", "__failure__", "__parent__", "__parent_cancelled__", "__tasks__", "__wake__")

    def __init__(self) -> None:
        self.__tasks__: set[Future] = set()
        self.__failure__: BaseException | None = None
        self.__parent__: Task | None = None
        self.__parent_cancelled__ = False
        self.__closing__ = False
        self.__wake__: Future | None = None

    async def __aenter__(self) -> "TaskGroup":  # noqa: PYI034
        self.__parent__ = current_task()
        return self

    def create_task(self, coro: Any, *, name: str | None = None, context: object = None) -> Future:
        """Start a coroutine as a member of the group."""
        if self.__parent__ is None:
            raise RuntimeError("use the group in `async with` before starting tasks in it")
        if self.__closing__ and not self.__tasks__:
            raise RuntimeError("the task group is finished")
        task = create_task(coro, name=name, context=context)
        if task.__state__:
            self.__member_done__(task)
        else:
            self.__tasks__.add(task)
            task.__waiters__.append(self.__member_done__)
        return task

    def __member_done__(self, task: Future) -> None:
        self.__tasks__.discard(task)
        if task.__state__ == 1 and task.__error__ is not None and self.__failure__ is None:
            self.__failure__ = task.__error__
            self.__abort__()
            if not self.__closing__ and self.__parent__ is not None:
                self.__parent_cancelled__ = True
                self.__parent__.cancel()
        if not self.__tasks__ and self.__wake__ is not None and not self.__wake__.__state__:
            self.__wake__.__finish__(1, None, None)

    def __abort__(self) -> None:
        for task in list(self.__tasks__):
            task.cancel()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__closing__ = True
        if self.__parent_cancelled__ and self.__parent__ is not None:
            self.__parent__.uncancel()
            self.__parent__.__must_cancel__ = False
        if error is not None:
            if self.__failure__ is None and not isinstance(error, CancelledError):
                self.__failure__ = error
            self.__abort__()
        interrupted: CancelledError | None = None
        while self.__tasks__:
            self.__wake__ = Future()
            try:
                await self.__wake__
            except CancelledError as cancelled:
                interrupted = cancelled
                self.__abort__()
        if self.__failure__ is not None and self.__failure__ is not error:
            failure = self.__failure__
            self.__failure__ = None
            raise failure
        if interrupted is not None and error is None:
            raise interrupted


class _Loop:
    """What `asyncio.get_event_loop()` answers: enough for the programs that name it."""

    __slots__ = ()

    def run_until_complete(self, future: Any) -> Any:
        """See `run`."""
        return run(future)

    def create_task(self, coro: Any, *, name: str | None = None, context: object = None) -> Future:
        """See `create_task`."""
        return create_task(coro, name=name, context=context)

    def create_future(self) -> Future:
        """A future to finish by hand."""
        return Future()

    def time(self) -> float:
        """The loop's clock, seconds."""
        return time.monotonic()

    def call_soon(self, callback: Callable[..., object], *args: object, context: object = None) -> None:
        """Run the callback soon."""
        del context
        current().call_soon(callback, *args)

    def is_running(self) -> bool:
        """A program always runs inside its loop."""
        return True

    def is_closed(self) -> bool:
        """Never."""
        return False

    def close(self) -> None:
        """Nothing to close."""

    async def run_in_executor(self, executor: object, func: Callable[..., Any], *args: Any) -> Any:
        """There are no threads here: `func` runs where it is called."""
        del executor
        return func(*args)


_loop: Final = _Loop()


def get_running_loop() -> _Loop:
    """The loop."""
    return _loop


async def to_thread(func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """There are no threads here: `func` runs where it is awaited."""
    return func(*args, **kwargs)


def iscoroutine(obj: object) -> bool:
    """Whether it is a coroutine object."""
    return isinstance(obj, CoroutineType)


def isfuture(obj: object) -> bool:
    """Whether it is a future, task or host call."""
    return isinstance(obj, Future)


def iscoroutinefunction(func: object) -> bool:
    """Whether calling it makes a coroutine."""
    function = func.__func__ if isinstance(func, MethodType) else func
    return isinstance(function, FunctionType) and bool(function.__code__.co_flags & _CO_COROUTINE)


def all_tasks() -> NoReturn:
    """Not offered."""
    raise RuntimeError("all_tasks is not offered: keep the tasks you create, or use a TaskGroup")


async def _await(future: Future) -> Any:
    return await future


MEMBERS: Final[dict[str, Any]] = {
    "ALL_COMPLETED": ALL_COMPLETED,
    "BoundedSemaphore": BoundedSemaphore,
    "CancelledError": CancelledError,
    "Condition": Condition,
    "Event": Event,
    "FIRST_COMPLETED": FIRST_COMPLETED,
    "FIRST_EXCEPTION": FIRST_EXCEPTION,
    "Future": Future,
    "InvalidStateError": InvalidStateError,
    "LifoQueue": LifoQueue,
    "Lock": Lock,
    "PriorityQueue": PriorityQueue,
    "Queue": Queue,
    "QueueEmpty": QueueEmpty,
    "QueueFull": QueueFull,
    "Semaphore": Semaphore,
    "Task": Task,
    "TaskGroup": TaskGroup,
    "TimeoutError": TimeoutError,
    "all_tasks": all_tasks,
    "as_completed": as_completed,
    "create_task": create_task,
    "current_task": current_task,
    "ensure_future": ensure_future,
    "gather": gather,
    "get_event_loop": get_running_loop,
    "get_running_loop": get_running_loop,
    "iscoroutine": iscoroutine,
    "iscoroutinefunction": iscoroutinefunction,
    "isfuture": isfuture,
    "new_event_loop": get_running_loop,
    "run": run,
    "shield": shield,
    "sleep": sleep,
    "timeout": timeout,
    "timeout_at": timeout_at,
    "to_thread": to_thread,
    "wait": wait,
    "wait_for": wait_for,
}
