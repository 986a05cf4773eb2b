"""Starting a zygote's process, before trio or after; nothing of it is confined or configured yet.

A command that runs one program starts it first and imports the host meanwhile: a cold zygote imports for as long. It
waits for its plan; when its control socket closes instead, it ends. This file imports no trio.
"""

import os
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from host_bridge.errors import IsolationUnavailableError

BOOTSTRAP: Final = (
    "import sys; sys.path.extend(sys.argv[2:]); from guest_api.inside.zygote import main; main(int(sys.argv[1]))"
)
"""`-I -S` reads no environment, no user site and no .pth file, so the three places come as arguments."""
DISCARD_SECONDS: Final = 1.0
ZYGOTE_FD: Final = "PI_FABRIC_ZYGOTE_FD"
"""The variable by which a child host knows the warm process that forks its zygote, so that none is launched."""


class LaunchedZygote:
    """A zygote's process on its way, and the host's end of its control socket."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket, errors: int | None) -> None:
        self.process = process
        self.control = control
        self.errors = errors
        """What it writes to standard error, as a memfd."""
        self._taken = False

    def take(self) -> bool:
        """Claim it, once; who gets True owns it from here on."""
        taken, self._taken = self._taken, True
        return not taken

    def discard(self) -> None:
        """End it, unless somebody took it."""
        if not self.take():
            return
        self.control.close()
        self.process.kill()
        self.process.wait(DISCARD_SECONDS)
        if self.errors is not None:
            os.close(self.errors)


def launch(*, inherits_environment: bool = False) -> LaunchedZygote:
    """Start the process, from the thread that outlives it (PDEATHSIG follows the thread).

    Raises: IsolationUnavailableError: no process is to be had, or a package of the guest is not installed.
    """
    paths = guest_paths()
    errors = os.memfd_create("zygote-stderr") if hasattr(os, "memfd_create") else None
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", BOOTSTRAP, str(theirs.fileno()), *paths],
                env=None if inherits_environment else {},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors if errors is not None else subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                process_group=0,  # out of reach of a terminal's Ctrl-C; a session of its own would be scheduled apart
            )
    except OSError as error:
        ours.close()
        if errors is not None:
            os.close(errors)
        raise IsolationUnavailableError([f"process_boundary: cannot start {sys.executable}: {error}"]) from None
    return LaunchedZygote(process, ours, errors)


def guest_paths() -> list[str]:
    """Where the guest's three packages are imported from, in a checkout as in an installation."""
    places: list[str] = []
    for name in ("guest_api", "msgspec", "RestrictedPython"):
        spec = find_spec(name)
        if spec is None or not spec.submodule_search_locations:
            raise IsolationUnavailableError([f"process_boundary: the package {name} is not installed"])
        place = str(Path(next(iter(spec.submodule_search_locations))).parent.resolve())
        if place not in places:
            places.append(place)
    return places
