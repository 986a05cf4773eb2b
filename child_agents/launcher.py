"""The host's side of guardian and template: start them, ask for workers, notice when they are gone.

Everything that is started here dies with this process: the guardian sees end-of-file on the lifeline.
"""

import array
import contextlib
import errno
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Self

import trio

from child_agents import environment, kernel, template
from child_agents.blocking import beside
from child_agents.channel import descriptors_in
from child_agents.errors import LauncherLostError, NoWorkerError
from child_agents.guardian_forks import ask_for_guardian
from child_agents.process import MODULE_ARGUMENTS

START_SECONDS: Final = 60.0
"""A cold machine imports slowly; an ordinary start takes a quarter of a second."""
ANSWER_BYTES: Final = 1024
CLOSE_SECONDS: Final = 10.0
ORPHAN_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOptions:
    """How children are started."""

    owner: str
    environment: Mapping[str, str]
    """The clean environment of guardian, template and workers; a child's own comes with its job."""
    entries: Sequence[str] = ("runtime",)
    """Modules that the template may run without an exec."""
    preload: Sequence[str] = ()
    """What the template imports; empty: every child host is a cold start."""
    pid_namespace: bool = True
    launchers: socket.socket | None = None
    """Where this host, itself a child, has its guardian forked warm; None: it starts one cold."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker that waits for its job."""

    channel: socket.socket
    control: socket.socket
    pidfd: int


class Launcher:
    """A live guardian with its template."""

    def __init__(
        self,
        options: LaunchOptions,
        process: subprocess.Popen[bytes] | None,
        guardian: tuple[int, int],
        lifeline: int,
        requests: socket.socket,
    ) -> None:
        """`process`: the guardian, where it is our own child; None: a worker forked and reaps it.

        `guardian`: its pid and pidfd.
        """
        self._options = options
        self._process = process
        self._lifeline = lifeline
        self._requests = trio.socket.from_stdlib_socket(requests)
        self._asking = trio.Lock()
        self._lost = False
        self.guardian_pid, self.pidfd = guardian
        self._death = os.dup(self.pidfd)
        """The same for whoever waits for an answer: a descriptor has room for one waiting task."""

    @property
    def is_alive(self) -> bool:
        """Whether workers can still be asked for."""
        return not self._lost and not kernel.has_exited(self.pidfd)

    async def start_worker(self, run_id: str) -> Worker:
        """A fresh worker and the host's ends of its channel and of the child's control channel.

        Raises: LauncherLostError: guardian or template are gone. NoWorkerError: this machine has no room for one.
        """
        ours, theirs = _socket_pair()
        try:
            control, child_control = _socket_pair()
        except NoWorkerError:
            ours.close()
            theirs.close()
            raise
        try:
            async with self._asking:
                with trio.CancelScope(shield=True):  # an answer without its question would shift all later ones
                    pidfd = await self._ask(run_id, [theirs.fileno(), child_control.fileno()])
        except BaseException:
            ours.close()
            control.close()
            raise
        finally:
            theirs.close()
            child_control.close()
        return Worker(ours, control, pidfd)

    async def _ask(self, run_id: str, descriptors: Sequence[int]) -> int:
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        try:
            with trio.fail_after(START_SECONDS):
                await self._requests.sendmsg([run_id.encode()], ancillary)
                data, found = await self._receive()
        except (OSError, trio.TooSlowError, trio.ClosedResourceError) as error:
            self._lost = True
            raise LauncherLostError(f"the process that starts agents is gone: {error}") from None
        if data.startswith(template.NOT_STARTED):
            raise NoWorkerError(data[len(template.NOT_STARTED) :].decode("utf-8", "replace"))
        if data != template.STARTED:
            self._lost = True
            raise LauncherLostError("the process that starts agents is gone")
        if not found:  # the kernel drops a descriptor that this process has no room for; the worker ends without us
            raise NoWorkerError(os.strerror(errno.EMFILE))
        return found[0]

    async def wait_ready(self) -> None:
        """Until the template has imported everything.

        Raises: LauncherLostError
        """
        with trio.move_on_after(START_SECONDS):
            data, _ = await self._receive()
            if data == template.READY:
                return
        self._lost = True
        raise LauncherLostError("the process that starts agents did not come up; its errors are on standard error")

    async def _receive(self) -> tuple[bytes, list[int]]:
        """What the template says, and its descriptors; nothing once the guardian is gone.

        A template that its guardian left behind keeps the socket open, and nobody would answer on it.
        """
        said: tuple[bytes, list[int]] = (b"", [])
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._cancel_when_gone, nursery.cancel_scope)
            with contextlib.suppress(OSError, trio.ClosedResourceError):  # closed: another task saw its death first
                data, ancillary, _flags, _address = await self._requests.recvmsg(
                    ANSWER_BYTES, socket.CMSG_SPACE(4), socket.MSG_CMSG_CLOEXEC
                )
                said = data, descriptors_in(ancillary)
            nursery.cancel_scope.cancel()
        return said

    async def _cancel_when_gone(self, scope: trio.CancelScope) -> None:
        with contextlib.suppress(OSError, trio.ClosedResourceError):
            await trio.lowlevel.wait_readable(self._death)
        scope.cancel()

    async def aclose(self) -> None:
        """Close the lifeline and wait until guardian and everything below it are gone."""
        os.close(self._lifeline)
        self._requests.close()
        trio.lowlevel.notify_closing(self._death)
        os.close(self._death)
        kernel.signal_pidfd(self.pidfd, signal.SIGCONT)  # one that was stopped has work to do now
        with trio.CancelScope(shield=True, deadline=trio.current_time() + CLOSE_SECONDS) as scope:
            await trio.lowlevel.wait_readable(self.pidfd)
        if scope.cancelled_caught:
            kernel.signal_pidfd(self.pidfd, 9)
        status = None if self._process is None else self._process.wait()
        os.close(self.pidfd)
        if status == 0:
            return
        # Only after the guardian itself was killed can something be left; it is ours now, for we are a subreaper.
        marker = f"{environment.OWNER}={self._options.owner}"
        with trio.CancelScope(shield=True):
            await beside(lambda: kernel.kill_marked(marker, ORPHAN_SECONDS))
        kernel.reap_adopted()


@asynccontextmanager
async def open_launcher(options: LaunchOptions) -> AsyncIterator[Launcher]:
    """Guardian and template, warm and ready; closing ends every child.

    Raises: LauncherLostError: they could not be started.
    """
    launcher = start_launcher(options)
    try:
        await launcher.wait_ready()
        yield launcher
    finally:
        await launcher.aclose()


def start_launcher(options: LaunchOptions) -> Launcher:
    """Start the guardian without waiting for its template.

    Raises: LauncherLostError: no process was to be had.
    """
    with contextlib.suppress(OSError):
        kernel.become_subreaper()
    try:
        warm = _start_warm(options)
        return _start_cold(options) if warm is None else warm
    except OSError as error:
        raise LauncherLostError(f"the guardian of agents could not be started: {error}") from None


def _start_warm(options: LaunchOptions) -> Launcher | None:
    """A guardian forked where this host was started itself; None: there is no such place, or it does not answer."""
    if options.launchers is None or not options.preload:
        return None
    with _Ends() as ends:
        # No further pid namespace: this host lives in its own parent's, below a worker that ends all of it. And
        # zygotes come from the warm process of that one; from within another, no pidfd of theirs could be used.
        inside = json.dumps({**_told(options), "pid_namespace": False})
        guardian = ask_for_guardian(
            options.launchers, ends.lifeline_read, ends.theirs.fileno(), inside, _variables(options)
        )
        return None if guardian is None else ends.launcher(options, None, guardian)


def _start_cold(options: LaunchOptions) -> Launcher:
    """A guardian of its own interpreter, with ends of its own: one that was asked for in vain may still come up.

    Raises: OSError
    """
    with _Ends() as ends:
        process = subprocess.Popen(
            [
                *(sys.executable, *MODULE_ARGUMENTS, "child_agents.guardian"),
                *(str(ends.lifeline_read), str(ends.theirs.fileno()), json.dumps(_told(options))),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=_variables(options),
            pass_fds=(ends.lifeline_read, ends.theirs.fileno()),
        )
        try:
            return ends.launcher(options, process, (process.pid, os.pidfd_open(process.pid)))
        except OSError:
            process.kill()
            process.wait()
            raise


def _told(options: LaunchOptions) -> dict[str, object]:
    return {
        "pid_namespace": options.pid_namespace,
        "preload": list(options.preload),
        "entries": list(options.entries),
    }


def _variables(options: LaunchOptions) -> dict[str, str]:
    return {**options.environment, environment.OWNER: options.owner}


class _Ends:
    """Lifeline and request socket of one guardian. Ours are closed after the block unless a launcher has them."""

    def __init__(self) -> None:
        """Raises: OSError"""
        self.lifeline_read, self._lifeline = os.pipe()
        try:
            self._requests, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        except OSError:
            os.close(self.lifeline_read)
            os.close(self._lifeline)
            raise
        self._given = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_failure: object) -> None:
        os.close(self.lifeline_read)
        self.theirs.close()
        if not self._given:
            os.close(self._lifeline)
            self._requests.close()

    def launcher(
        self, options: LaunchOptions, process: subprocess.Popen[bytes] | None, guardian: tuple[int, int]
    ) -> Launcher:
        """Raises: OSError: then the guardian's pidfd is closed."""
        self._requests.setblocking(False)
        try:
            made = Launcher(options, process, guardian, self._lifeline, self._requests)
        except OSError:
            os.close(guardian[1])
            raise
        self._given = True
        return made


def _socket_pair() -> tuple[socket.socket, socket.socket]:
    """Raises: NoWorkerError: no descriptors are left."""
    try:
        return socket.socketpair()
    except OSError as error:
        raise NoWorkerError(error.strerror or str(error)) from None
