"""Blocking work beside the event loop, also on a machine that has no room for a further thread; it knows no work."""

from collections.abc import Callable
from typing import TypeVar

import trio

T = TypeVar("T")


async def beside(work: Callable[[], T]) -> T:
    """The answer of `work`, from a thread; where none can be started, from this one, which waits for it.

    What is done this way clears up after a loss, and must be done although everything else here is in want.
    """
    begun = False

    def begin() -> T:
        nonlocal begun
        begun = True
        return work()

    try:
        return await trio.to_thread.run_sync(begin)
    except RuntimeError:
        if begun:
            raise
    return work()
