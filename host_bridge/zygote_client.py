"""SEAM (being built): a pool of idle, confined guests. Signatures are final, bodies follow."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import trio

from host_bridge.confinement_plan import ConfinementPlan, GuestLimits


@dataclass(frozen=True, slots=True)
class GuestExit:
    """How a guest ended: `status` after an exit, `signal` after a signal, neither when its zygote was lost too."""

    status: int | None
    signal: int | None


class Guest:
    """One confined guest that has said Ready; it runs one program."""

    socket: trio.socket.SocketType
    """The host's end of the bridge (a stream); Ready was consumed. `aclose` closes it."""
    skipped_layers: tuple[str, ...]
    """Names of protections that are missing in this guest."""
    host_pid: int | None

    def kill(self) -> None:
        """SIGKILL through the pidfd; at once, any number of times."""
        raise NotImplementedError

    async def wait(self) -> GuestExit:
        """How the guest ended, once it has."""
        raise NotImplementedError

    async def aclose(self) -> None:
        """Kill if needed, reap, close socket and pidfd; bounded, shielded from cancellation."""
        raise NotImplementedError


class GuestPool:
    """Checkout never waits for a start while an idle guest is there."""

    skipped_layers: tuple[str, ...]

    async def checkout(self, limits: GuestLimits | None = None) -> Guest:
        """A guest for one program. The caller must `await guest.aclose()`.

        Raises: host_bridge.errors.IsolationUnavailableError
        """
        raise NotImplementedError

    def expect_program(self) -> None:
        """A program follows within milliseconds: warm the head guest now."""
        raise NotImplementedError


@asynccontextmanager
async def open_guest_pool(
    plan: ConfinementPlan, *, limits: GuestLimits, pool_size: int = 2, language_layer: bool = True
) -> AsyncIterator[GuestPool]:
    """A pool and its zygote.

    Raises: host_bridge.errors.IsolationUnavailableError: a strict protection is missing here.
    """
    raise NotImplementedError
    yield
