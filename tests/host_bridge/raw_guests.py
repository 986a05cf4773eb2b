"""Helpers for tests with real guests: run raw programs, count what a process left behind, change what a zygote finds."""

import os
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import trio

from guest_api import wire
from host_bridge import zygote_launch
from host_bridge.confinement_plan import GuestLimits
from host_bridge.isolation_probe import run_raw
from host_bridge.zygote_client import GuestExit, GuestPool

CAN_DROP_ROOT = os.geteuid() == 0


async def run(pool: GuestPool, source: str, limits: GuestLimits | None = None) -> tuple[Any, GuestExit]:
    """Run a raw program: its `result`, or the Failed frame, or None; and how the guest ended."""
    guest = await pool.checkout(limits)
    try:
        with trio.fail_after(30):
            frame, ended = await run_raw(guest, source)
    finally:
        await guest.aclose()
    return (frame.value if isinstance(frame, wire.Done) else frame), ended


def open_descriptors() -> dict[str, str]:
    """This process's descriptors and what they are."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[name] = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue
    return found


def children_of(pid: int | str) -> list[int]:
    """Live and zombie children of a process, over all its threads; empty when it is gone."""
    found: list[int] = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            found.extend(int(child) for child in (task / "children").read_text().split())
    except OSError:
        return found
    return found


def exists(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


async def eventually(condition: Callable[[], bool]) -> None:
    """Until the condition holds; the test's own deadline ends the wait."""
    with trio.fail_after(10):
        while not condition():
            await trio.sleep(0.005)


@contextmanager
def zygote_prelude(monkeypatch, code: str):
    """Zygotes started inside run `code` first: a kernel or a platform that lacks something."""
    entry = "from guest_api.inside.zygote import"
    assert entry in zygote_launch.BOOTSTRAP
    with monkeypatch.context() as patch:
        patch.setattr(zygote_launch, "BOOTSTRAP", zygote_launch.BOOTSTRAP.replace(entry, f"\n{code}\n{entry}"))
        yield
