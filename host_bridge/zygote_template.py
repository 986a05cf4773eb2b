"""Zygotes forked from a warm process instead of started cold: where that process is, and one zygote of it."""

import array
import os
import select
import signal
import socket
import subprocess
import sys
from typing import Final, Protocol

from guest_api.inside.zygote_wire import TEMPLATE_REQUEST

ANSWER_SECONDS: Final = 5.0
"""A fork takes milliseconds; without an answer the zygote is started cold."""
BOOTSTRAP: Final = (
    "import sys; sys.path.extend(sys.argv[2:]); "
    "from guest_api.inside.zygote_template import main; main(int(sys.argv[1]))"
)


class StartedProcess(Protocol):
    """What `ZygoteProcess` needs of the process behind it."""

    pid: int

    def poll(self) -> int | None:
        """None while it runs."""

    def kill(self) -> None:
        """SIGKILL."""

    def wait(self) -> int:
        """Until it has ended."""


class ForkedZygote:
    """A zygote that somebody else forked and reaps; known by its pidfd."""

    def __init__(self, pid: int, pidfd: int) -> None:
        self.pid = pid
        self.pidfd = pidfd
        self._ended = False

    def poll(self) -> int | None:
        """None while it runs; how it ended is its parent's to know."""
        if not self._ended:
            poll = select.poll()
            poll.register(self.pidfd, select.POLLIN)
            self._ended = bool(poll.poll(0))
            if self._ended:
                os.close(self.pidfd)
        return 0 if self._ended else None

    def kill(self) -> None:
        """SIGKILL through the pidfd."""
        if self.poll() is None:
            try:
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
            except ProcessLookupError:
                return

    def wait(self) -> int:
        """Until it has ended."""
        if self.poll() is None:
            poll = select.poll()
            poll.register(self.pidfd, select.POLLIN)
            poll.poll()
            self.poll()
        return 0


class ZygoteTemplate:
    """This process's connection to a warm template; shared with whoever else holds the same socket."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests

    def fork(self, control: socket.socket, errors: int | None) -> ForkedZygote | None:
        """A zygote on `control`; None: the template is gone, and a cold start is the way."""
        null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with ours, theirs:
                sent = array.array("i", [control.fileno(), null if errors is None else errors, theirs.fileno()])
                self._requests.sendmsg([TEMPLATE_REQUEST], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, sent)])
                theirs.close()
                ours.settimeout(ANSWER_SECONDS)
                data, ancillary, _flags, _address = ours.recvmsg(64, socket.CMSG_SPACE(4), socket.MSG_CMSG_CLOEXEC)
        except OSError:
            return None
        finally:
            os.close(null)
        received = array.array("i")
        for _level, _kind, content in ancillary:
            received.frombytes(content[:4])
        return ForkedZygote(int(data), received[0]) if data and received else None


def start_template(paths: list[str]) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start a template as a child of this thread; the process, and the end that zygotes are asked for on.

    Raises: OSError: no process was to be had.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", BOOTSTRAP, str(theirs.fileno()), *paths],
            env={},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
    return process, ours
