"""The worker: exports what the child inherits, starts one child, relays what it writes, and leaves nothing behind.

`python -m child_agents.worker CHANNEL_FD CONTROL_FD` reads one `Job` from its channel; a launcher's template forks the
same code. A plain single-threaded process: it may fork, and whatever it starts dies with it. As a child subreaper it
also gets the processes that its child orphans; it kills and reaps until none is left before it says `Exited`.
"""

import contextlib
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Collection
from typing import Any, Final, Literal

from child_agents import environment, kernel
from child_agents.channel import BlockingChannel, ChannelError
from child_agents.guardian_forks import GuardianForks
from child_agents.inherited_bounds import VARIABLE, write_bounds
from child_agents.process import ChildProcess, exit_state, is_loaded, signal_group, start_child
from child_agents.worker_frames import TO_WORKER, Exited, Input, Job, NotStarted, Output, Started, Stop, ToWorker
from guest_api.bounds import Bounds
from host_bridge.zygote_launch import ZYGOTE_FD

REAP_SECONDS: Final = 5.0
DRAIN_SECONDS: Final = 1.0
"""Nothing of the child is alive any more when its pipes are drained; this only bounds a stuck one."""
READ_BYTES: Final = 64 * 1024


def export(job: Job, control: int | None, zygotes: int | None = None, launchers: int | None = None) -> dict[str, str]:
    """The child's environment: the bounds are set or deleted here, so a stale value can never pass.

    Seed: thinking:child:export, thinking:child:worker-gets-bounds
    """
    variables = {name: value for name, value in job.variables().items() if name != VARIABLE}
    if job.thinking_bounds is not None:
        written = write_bounds(Bounds(**job.thinking_bounds))
        if written is not None:
            variables[VARIABLE] = written
    variables.pop(environment.CONTROL_FD, None)
    if control is not None:
        variables[environment.CONTROL_FD] = str(control)
    variables.pop(ZYGOTE_FD, None)
    if zygotes is not None:
        variables[ZYGOTE_FD] = str(zygotes)
    variables.pop(environment.LAUNCHER_FD, None)
    if launchers is not None:
        variables[environment.LAUNCHER_FD] = str(launchers)
    variables[environment.OWNER] = job.owner
    return variables


def serve(
    channel_socket: socket.socket,
    control: int | None,
    loaded_modules: Collection[str] = (),
    zygotes: int | None = None,
) -> None:
    """Serve one job, from `Job` to `Exited`; returns when nothing is left.

    `zygotes`: a socket that only a child host of ours is given, to have its guests' zygote forked warm.
    """
    kernel.become_subreaper()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    channel = BlockingChannel(channel_socket, TO_WORKER)
    try:
        job = channel.receive()
    except (OSError, ChannelError):
        return
    if not isinstance(job, Job):
        return
    argv = job.arguments()
    warm = is_loaded(argv, loaded_modules)
    given = zygotes if warm else None
    try:
        launchers, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            asked = theirs.fileno() if warm else None
            child = start_child(
                argv,
                export(job, control, given, asked),
                os.fsdecode(job.cwd),
                inherited=[descriptor for descriptor in (control, given, asked) if descriptor is not None],
                loaded_modules=loaded_modules,
            )
    except OSError as error:
        with contextlib.suppress(OSError):
            channel.send(NotStarted(f"no process could be started: {error.strerror}"))
        return
    if control is not None:
        os.close(control)
    _Relay(channel, child, job, GuardianForks(launchers, zygotes)).run()


class _Relay:
    """One loop over the child's end, its pipes, its input and the supervisor's frames."""

    def __init__(
        self, channel: BlockingChannel[ToWorker], child: ChildProcess, job: Job, guardians: "GuardianForks"
    ) -> None:
        self.channel = channel
        self.guardians = guardians
        self.child = child
        self.input = bytearray(job.stdin)
        self.close_input = not job.keep_stdin_open
        self.poll = select.poll()
        self.open_pipes: dict[int, Literal["stdout", "stderr"]] = {child.stdout: "stdout", child.stderr: "stderr"}
        self.supervisor_lives = True
        self.stop: Stop | None = None
        self.deadline: float | None = None
        self.step: Literal["itself", "asked", "term", "kill"] = "itself"
        self.ended, wake = os.pipe()
        """Readable when a child of this process has ended; most are none of its own."""
        for descriptor in (self.ended, wake):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    def run(self) -> None:
        os.set_blocking(self.child.stdin, False)
        self.poll.register(self.child.pidfd, select.POLLIN)
        self.poll.register(self.channel.sock, select.POLLIN)
        for descriptor in self.open_pipes:
            self.poll.register(descriptor, select.POLLIN)
        self.poll.register(self.ended, select.POLLIN)
        self.poll.register(self.guardians.requests, select.POLLIN)
        self._watch_input()
        self._send(Started(self.child.pid))
        with contextlib.suppress(ChannelError):
            self._obey_buffered()  # what came in one piece with the job
        state = None
        while state is None:
            timeout = None if self.deadline is None else max(0.0, self.deadline - time.monotonic()) * 1000
            ready = dict(self.poll.poll(timeout))
            if self.channel.sock.fileno() in ready:
                self._hear()
            if self.child.stdin in ready:
                self._write_input()
            for descriptor in [one for one in self.open_pipes if one in ready]:
                self._relay(descriptor)
            if self.ended in ready:
                self._reap_orphans()
            if self.guardians.requests.fileno() in ready and not self.guardians.serve():
                self.poll.unregister(self.guardians.requests)
            if self.child.pidfd in ready:
                state = exit_state(self.child.pid)
            elif self.deadline is not None and time.monotonic() >= self.deadline:
                self._climb()
        # The leader may be gone while others of its group ignore TERM: it is unreaped, so the group is still its own.
        signal_group(self.child.pid, signal.SIGKILL)
        left = kernel.kill_and_reap_children(REAP_SECONDS)
        self._drain()
        self._send(Exited(state[0], state[1], self.step, left))

    def _reap_orphans(self) -> None:
        """Reap what the child orphaned and what then ended: an hour of daemons must leave no zombies.

        The child itself stays unreaped until its group is dealt with, so that its number cannot pass to another.
        """
        with contextlib.suppress(BlockingIOError):
            os.read(self.ended, 4096)
        with contextlib.suppress(OSError):  # /proc cannot be read now: with the next one that ends
            for pid in kernel.children_of_this_process():
                if pid != self.child.pid:
                    with contextlib.suppress(ChildProcessError):
                        os.waitpid(pid, os.WNOHANG)

    def _send(self, frame: Started | Output | Exited) -> None:
        if self.supervisor_lives:
            try:
                self.channel.send(frame)
            except OSError:
                self._lose_supervisor()

    def _lose_supervisor(self) -> None:
        """Nobody is left to answer to: the child ends at once."""
        if self.supervisor_lives:
            self.supervisor_lives = False
            self.poll.unregister(self.channel.sock)
            signal_group(self.child.pid, signal.SIGKILL)
            kernel.signal_pidfd(self.child.pidfd, signal.SIGKILL)

    def _hear(self) -> None:
        try:
            data = self.channel.sock.recv(READ_BYTES)
            if not data:
                self._lose_supervisor()
                return
            self.channel.frames.feed(data)
            self._obey_buffered()
        except (OSError, ChannelError):
            self._lose_supervisor()

    def _obey_buffered(self) -> None:
        while (frame := self.channel.frames.next()) is not None:
            self._obey(frame)

    def _obey(self, frame: ToWorker) -> None:
        if isinstance(frame, Input):
            self.input += frame.data
            self.close_input = self.close_input or frame.close
            self._watch_input()
        elif isinstance(frame, Stop) and self.stop is None:
            self.stop = frame
            self.step = "asked"
            self.deadline = time.monotonic() + frame.ask_seconds

    def _climb(self) -> None:
        """The next step of the ladder."""
        if self.stop is None:
            self.deadline = None
        elif self.step == "asked":
            self.step = "term"
            signal_group(self.child.pid, signal.SIGTERM)
            self.deadline = time.monotonic() + self.stop.term_seconds
        else:
            self.step = "kill"
            signal_group(self.child.pid, signal.SIGKILL)
            kernel.signal_pidfd(self.child.pidfd, signal.SIGKILL)
            self.deadline = None

    def _watch_input(self) -> None:
        if self.child.stdin < 0:
            return
        if self.input:
            self.poll.register(self.child.stdin, select.POLLOUT)
        elif self.close_input:
            self._end_input()

    def _write_input(self) -> None:
        try:
            written = os.write(self.child.stdin, self.input[:READ_BYTES])
        except BlockingIOError:
            return
        except OSError:
            # The child closed its standard input: what is left of ours has no reader.
            self.input.clear()
            self._end_input()
            return
        del self.input[:written]
        if not self.input:
            self.poll.unregister(self.child.stdin)
            if self.close_input:
                self._end_input()

    def _end_input(self) -> None:
        with contextlib.suppress(KeyError):
            self.poll.unregister(self.child.stdin)
        os.close(self.child.stdin)
        self.child = ChildProcess(self.child.pid, self.child.pidfd, -1, self.child.stdout, self.child.stderr)

    def _relay(self, descriptor: int) -> bool:
        data = os.read(descriptor, READ_BYTES)
        if data:
            self._send(Output(self.open_pipes[descriptor], data))
            return True
        self.poll.unregister(descriptor)
        del self.open_pipes[descriptor]
        return False

    def _drain(self) -> None:
        """Read what is still in the pipes, up to a deadline: a process that we could not end may hold them open."""
        end = time.monotonic() + DRAIN_SECONDS
        pipes = select.poll()
        for descriptor in self.open_pipes:
            pipes.register(descriptor, select.POLLIN)
        while self.open_pipes and time.monotonic() < end:
            for descriptor, _event in pipes.poll(max(0.0, end - time.monotonic()) * 1000):
                if not self._relay(descriptor):
                    pipes.unregister(descriptor)


def main(arguments: list[str]) -> None:
    """The command line form: descriptors of the channel and of the child's control channel (`-`: none)."""
    channel = socket.socket(fileno=int(arguments[0]))
    control: Any = None if len(arguments) < 2 or arguments[1] == "-" else int(arguments[1])
    serve(channel, control)


if __name__ == "__main__":
    main(sys.argv[1:])
