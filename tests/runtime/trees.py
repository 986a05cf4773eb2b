"""The processes below one, as the kernel lists them."""

import select
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

PATIENCE_SECONDS = 40


def below(pid: int, *, until: Callable[[], bool]) -> list[int]:
    """Every descendant of `pid` once `until()` holds."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not until():
        assert time.monotonic() < end, "it never came to that"
        select.select([], [], [], 0.02)
    found: list[int] = []
    rest = [pid]
    while rest:
        with suppress(OSError):
            for task in Path(f"/proc/{rest.pop()}/task").iterdir():
                children = [int(word) for word in (task / "children").read_text().split()]
                found += children
                rest += children
    return found
