"""Which isolation works on this machine: start a real guest, see what it lacks, and attack it. It prints nothing.

The self-test runs with the language layer off, so that the kernel's layers answer and not the policy's.
"""

import os
import platform
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import trio

from guest_api import wire
from guest_api.inside.confine import landlock_abi
from guest_api.inside.syscall_filter import ARCHITECTURES
from host_bridge.confinement_plan import PROTECTIONS, ConfinementPlan, Protection, State
from host_bridge.errors import IsolationUnavailableError
from host_bridge.zygote_client import Guest, GuestExit, GuestPool, open_guest_pool

ATTEMPT_SECONDS: Final = 10.0
"""An attempt takes milliseconds."""
SELF_TEST: Final[tuple[tuple[str, str, str], ...]] = (
    ("file", "read /etc/passwd", 'result = open("/etc/passwd").read()'),
    ("file-write", "write a file in /tmp", 'result = open("/tmp/pi-fabric-doctor", "w").write("x")'),
    ("socket", "open a TCP socket", "import socket\nresult = str(socket.socket())"),
    ("fork", "fork a process", "import os\npid = os.fork()\nif pid == 0:\n    os._exit(0)\nresult = 'forked'"),
    ("exec", "execute /bin/sh", 'import os\nos.execv("/bin/sh", ["sh", "-c", "exit 0"])'),
)
"""Short name, what is tried, and the program; one guest each."""

REFUSALS: Final = ("PermissionError", "BlockingIOError", "OSError")
"""How a refusal by the kernel reads; any other error means that the attempt was not really made."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One protection on this machine."""

    protection: Protection
    state: State
    """What the plan asks for."""
    works: bool
    detail: str
    """What was found, or why it is missing."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attack of the self-test."""

    name: str
    tried: str
    contained: bool
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolationReport:
    """What `doctor` shows."""

    mode: str
    available: bool
    """Guests can be started under this plan."""
    machine: str
    kernel: str
    layers: tuple[Layer, ...]
    attempts: tuple[Attempt, ...]
    refusal: str | None
    """Why guests cannot be started."""

    @property
    def contained(self) -> bool:
        """Whether every attempt of the self-test failed; False when none could be made."""
        return bool(self.attempts) and all(attempt.contained for attempt in self.attempts)


async def probe(plan: ConfinementPlan) -> IsolationReport:
    """Start guests under `plan` and attack from inside; never raises for what is missing."""
    attempts: tuple[Attempt, ...] = ()
    refusal: str | None = None
    try:
        async with open_guest_pool(plan, pool_size=1, language_layer=False) as pool:
            missing = pool.skipped_reasons
            attempts = tuple([await _attempt(pool, *row) for row in SELF_TEST])
    except IsolationUnavailableError as error:
        refusal = str(error)
        missing = await _everything_missing(plan, error)
    return IsolationReport(
        mode=plan.mode,
        available=refusal is None,
        machine=platform.machine(),
        kernel=f"{platform.system()} {platform.release()}",
        layers=tuple(_layer(protection, plan, missing) for protection in PROTECTIONS),
        attempts=attempts,
        refusal=refusal,
    )


async def _everything_missing(plan: ConfinementPlan, error: IsolationUnavailableError) -> dict[str, str]:
    """Strict stops at the first missing layer; forgiving all of them finds the others."""
    forgiving = plan
    for protection in PROTECTIONS:
        if protection.name != "process_boundary" and plan.states[protection.name] is State.STRICT:
            forgiving = forgiving.with_state(protection.name, State.DEGRADABLE)
    try:
        async with open_guest_pool(forgiving, pool_size=1, language_layer=False) as pool:
            return pool.skipped_reasons
    except IsolationUnavailableError:
        untried: dict[str, str] = {protection.name: "not tried: no guest can be started" for protection in PROTECTIONS}
        return {**untried, **dict(_split(entry) for entry in error.missing)}


def _split(entry: str) -> tuple[str, str]:
    name, _, reason = entry.partition(": ")
    return name, reason.partition("; ")[0]


def _layer(protection: Protection, plan: ConfinementPlan, missing: dict[str, str]) -> Layer:
    state = plan.states[protection.name]
    reason = missing.get(protection.name)
    return Layer(protection, state, reason is None, reason or _found(protection.name))


def _found(name: str) -> str:
    match name:
        case "landlock":
            return f"ABI {landlock_abi()}, no file allowed"
        case "seccomp":
            machine = os.uname().machine
            return f"filter for {machine}" if machine in ARCHITECTURES else "filter loaded"
        case "process_boundary":
            return "killed through pidfd" if hasattr(os, "pidfd_open") else "killed by its zygote"
        case "namespaces":
            return "network, mount, IPC, UTS, pid" + ("" if os.geteuid() == 0 else ", user")
        case "no_new_privs":
            return "no capability" + (", no longer root" if os.geteuid() == 0 else "")
        case "rlimits":
            return "memory, processor time, processes, descriptors, file size"
        case "closed_descriptors":
            return "one is left: the bridge"
        case _:
            return "none is passed"


async def _attempt(pool: GuestPool, name: str, tried: str, source: str) -> Attempt:
    guest = await pool.checkout()
    try:
        with trio.move_on_after(ATTEMPT_SECONDS):
            frame, ended = await run_raw(guest, source)
            contained, outcome = _judge(frame, ended)
            return Attempt(name, tried, contained, outcome)
        return Attempt(name, tried, contained=False, outcome="no answer")
    finally:
        await guest.aclose()


async def run_raw(guest: Guest, source: str) -> tuple[wire.GuestFrame | None, GuestExit]:
    """Run `source` in a raw guest: its last frame, None when it was ended first, and how it ended."""
    data = b""
    try:
        await guest.socket.send(wire.encode(wire.Start(source, None, [], 4096, 65536, 65536)))
        while piece := await guest.socket.recv(65536):
            data += piece
    except OSError:
        pass  # ended while it was being written to
    frame: wire.GuestFrame | None = None
    while len(data) >= wire.LENGTH_BYTES:
        end = wire.LENGTH_BYTES + wire.body_length(data[: wire.LENGTH_BYTES], wire.GUEST_FRAME_LIMIT_BYTES)
        frame = wire.decode_guest_frame(data[wire.LENGTH_BYTES : end])
        data = data[end:]
    return frame, await guest.wait()


def _judge(frame: wire.GuestFrame | None, ended: GuestExit) -> tuple[bool, str]:
    if isinstance(frame, wire.Failed):
        return frame.message.startswith(REFUSALS), frame.message
    if ended.signal is not None:
        return True, f"ended by the kernel: {signal.Signals(ended.signal).name}"
    return False, "it worked"


def missing_names(layers: Sequence[Layer]) -> tuple[str, ...]:
    """The protections that do not work here."""
    return tuple(layer.protection.name for layer in layers if not layer.works)
