"""The limits of one run and the setting behind each; they are numbers, enforced elsewhere."""

from dataclasses import dataclass
from typing import Final

from guest_api.wire import GUEST_FRAME_LIMIT_BYTES, HOST_FRAME_LIMIT_BYTES

MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """What one run may use; every default is safe for a program that nobody has read."""

    source_bytes: int = 64 * 1024
    """Compiling is paid by the guest, but a million lines still cost seconds."""
    timeout_seconds: float = 120.0
    """Wall clock as the host sees it; it stands still while a person is asked."""
    calls: int = 10_000
    calls_in_flight: int = 256
    timers_in_flight: int = 4096
    """Sleeping is free of charge, a table of sleepers is not."""
    output_bytes: int = MIB
    result_bytes: int = 16 * MIB
    frame_bytes: int = GUEST_FRAME_LIMIT_BYTES
    reply_buffer_bytes: int = HOST_FRAME_LIMIT_BYTES
    """Replies that the guest has not read yet."""
    memory_bytes: int = 256 * MIB
    """Enforced by the kernel on the guest; here for the message."""
    cpu_seconds: int = 60
    """Likewise."""


SETTINGS: Final[dict[str, str]] = {
    "source": "executor.sourceLimitBytes",
    "timeout": "executor.timeoutMs",
    "cpu": "executor.cpuSeconds",
    "memory": "executor.memoryLimitBytes",
    "recursion": "executor.memoryLimitBytes",
    "output": "executor.outputLimitBytes",
    "result": "executor.resultLimitBytes",
    "calls": "executor.maxCalls",
    "callsInFlight": "executor.maxCallsInFlight",
    "timersInFlight": "executor.maxTimersInFlight",
    "frame": "executor.frameLimitBytes",
    "replyBuffer": "executor.replyBufferBytes",
}
"""Limit name to the key of `fabric.json` that moves it."""


def limit_message(limit: str, text: str) -> str:
    """The sentence for people: what was reached, and the setting that moves it."""
    return f"{text} (setting {SETTINGS[limit]})"


def human_bytes(count: int) -> str:
    """`256 MiB`, `64 KiB`, `100 bytes`: exact where it can be, else in bytes."""
    if count and count % MIB == 0:
        return f"{count // MIB} MiB"
    if count and count % 1024 == 0:
        return f"{count // 1024} KiB"
    return f"{count} bytes"
