"""A program that no guest runs: it takes the host's own path once, so that the next real one meets warm caches.

A host that waited some milliseconds has lost what it needs to start a program, and finding it again takes as long as
the program itself.
"""

import socket
from typing import Final

import trio

from guest_api import wire
from host_bridge.admission import Admission
from host_bridge.guest_process import run_program
from host_bridge.limits import RunLimits
from host_bridge.registry import Registry
from host_bridge.run_outcome import GuestExit, RunOutcome

_SOURCE: Final = "return 1"
_ANSWER: Final = wire.encode(wire.Done(1))
_MORE_THAN_SENT_BYTES: Final = 4096


class Rehearsal:
    """A pair of sockets and what a run needs; made once, played any number of times."""

    def __init__(self) -> None:
        bridge, self._answers = socket.socketpair()
        bridge.setblocking(False)
        self._answers.setblocking(False)
        self._guest = _NoGuest(trio.socket.from_stdlib_socket(bridge))
        self._admission = Admission(Registry())
        self._limits = RunLimits()

    async def play(self) -> RunOutcome:
        """Start a program and take its result; 0.1 ms, and no other task runs meanwhile."""
        self._answers.send(_ANSWER)
        outcome = await run_program(
            self._guest, _SOURCE, None, admission=self._admission, limits=self._limits, run_id="", namespaces=()
        )
        self._answers.recv(_MORE_THAN_SENT_BYTES)
        return outcome

    def close(self) -> None:
        """Give the sockets back."""
        self._guest.socket.close()
        self._answers.close()


class _NoGuest:
    """Stands where a guest would, and has answered already."""

    waits_apart = False

    def __init__(self, bridge: trio.socket.SocketType) -> None:
        self.socket = bridge

    def kill(self) -> None:
        """Nothing lives."""

    def let_move(self) -> None:
        """Nothing runs."""

    async def wait(self) -> GuestExit:
        """It ended before it began."""
        return GuestExit(0, None)
