"""Output of any length from a command: written in blocks, and on a terminal a sign of life while nothing is shown yet.

It knows no session; a reader that leaves early (`| head`) is an OSError of the write, which the command line ends with.
"""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

T = TypeVar("T")

_BLOCK_LINES: Final = 512
_QUIET_SECONDS: Final = 1.0
"""Shorter work than this says nothing."""
_STEP: Final = 4096
"""Items between two looks at the clock."""


def write_lines(lines: Iterable[str]) -> None:
    """Write lines to standard output in a few large writes; on a terminal each one when it is there."""
    if sys.stdout.isatty():
        for line in lines:
            sys.stdout.write(line + "\n")
        return
    block: list[str] = []
    for line in lines:
        block.append(line)
        if len(block) == _BLOCK_LINES:
            sys.stdout.write("\n".join(block) + "\n")
            block.clear()
    if block:
        sys.stdout.write("\n".join(block) + "\n")


def with_progress(items: Iterable[T], count: int, doing: str) -> Iterator[T]:
    """The items; where standard error is a terminal, how many of `count` are done, wiped out at the end."""
    if not sys.stderr.isatty():
        yield from items
        return
    next_time, shown = time.monotonic() + _QUIET_SECONDS, False
    try:
        for number, item in enumerate(items):
            yield item
            if number % _STEP == 0 and time.monotonic() >= next_time:
                next_time, shown = time.monotonic() + 0.2, True
                sys.stderr.write(f"\r{doing} {100 * number // max(count, 1)} %")
                sys.stderr.flush()
    finally:
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
