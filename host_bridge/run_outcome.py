"""What became of one program: its value, or the one kind of error that its guest's own words or its death map to.

Pure: it knows no socket, no process and no call. What a guest says here is hostile and bounded.
"""

import resource
import signal
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from guest_api import wire
from host_bridge.conversation import FRAMES_LIMIT
from host_bridge.limits import SETTINGS, RunLimits, human_bytes, limit_message
from host_bridge.trace import CallRecord

LINES_LIMIT: Final = 1_000_000
"""More lines than any source that is run; a guest that has been taken over may say any number."""

RunErrorKind: TypeAlias = Literal["rejected", "program", "denied", "limit", "crashed", "protocol", "host", "cancelled"]


@dataclass(frozen=True, slots=True)
class GuestExit:
    """How a guest ended: `status` after an exit, `signal` after a signal, neither when its zygote was lost too."""

    status: int | None = None
    signal: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunError:
    """Why a program did not return."""

    kind: RunErrorKind
    message: str
    line: int | None = None
    """1-based line of the program."""
    source_line: str | None = None
    frames: tuple[tuple[int, str], ...] = ()
    """The program's own frames, outermost first: line and function."""
    limit: str | None = None
    """For `limit`: which one (a key of `limits.SETTINGS`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """What became of one program."""

    ok: bool
    value: Any = None
    error: RunError | None = None
    calls: list[CallRecord] = field(default_factory=list)
    """In the order in which they were made."""
    logs: list[str] = field(default_factory=list)
    ms: float = 0.0
    asked_ms: float = 0.0
    """Of these, how long the deadline stood still because a person was asked."""


def source_error(source: str, limits: RunLimits) -> RunError | None:
    """Why this source is refused before any guest sees it; None: it is not."""
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        return RunError(kind="rejected", message="the source holds a lone surrogate and is no text in UTF-8")
    if size > limits.source_bytes:
        text = f"the source has {size} bytes; the limit is {human_bytes(limits.source_bytes)}"
        return RunError(kind="rejected", message=limit_message("source", text), limit="source")
    return None


def failure_error(failed: wire.Failed, limits: RunLimits) -> RunError:
    """What the guest said of its own failure, with the setting where it names a limit."""
    message = failed.message
    limit = failed.limit if failed.kind == "limit" and failed.limit in SETTINGS else None
    if limit is not None and SETTINGS[limit] not in message:
        if limit == "memory":
            message = f"the program ran out of memory: {human_bytes(limits.memory_bytes)} is the limit; {message}"
        message = limit_message(limit, message)
    kind: RunErrorKind = failed.kind  # type: ignore[assignment]  # `Conversation` let only these pass
    return RunError(
        kind=kind,
        message=message,
        line=failed.line if failed.line is not None and 0 < failed.line <= LINES_LIMIT else None,
        source_line=failed.source_line,
        frames=tuple((line, name) for line, name in failed.frames[:FRAMES_LIMIT] if 0 < line <= LINES_LIMIT),
        limit=limit,
    )


def death_error(ended: GuestExit | None, limits: RunLimits, *, in_half_frame: bool = False) -> RunError:
    """Why a guest died that nobody killed: the processor limit, a refused system call, or a crash with its signal."""
    half = ", in the middle of a frame" if in_half_frame else ""
    if ended is None:
        return RunError(kind="protocol", message=f"the guest closed its end of the bridge{half}")
    if ended.signal is not None:
        number = ended.signal
        if number == signal.SIGXCPU:
            text = f"the program used more than {_processor_seconds(limits)} s of processor time"
            return RunError(kind="limit", message=limit_message("cpu", text), limit="cpu")
        named = f"guest crashed (signal {number}, {_signal_name(number)})"
        if number == signal.SIGSYS:
            named += ": it made a system call that is refused to guests"
        elif number == signal.SIGKILL:
            named += ": killed from outside, perhaps by the system for lack of memory"
        return RunError(kind="crashed", message=named + half)
    return RunError(
        kind="crashed", message=f"guest crashed (exit status {ended.status}) before its program ended{half}"
    )


def _processor_seconds(limits: RunLimits) -> int:
    """What a guest had: less than was set where this process, and so its guests, were given less."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    return limits.cpu_seconds if hard == resource.RLIM_INFINITY else min(limits.cpu_seconds, max(hard - 1, 0))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unnamed"
