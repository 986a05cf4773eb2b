"""The guardian: when its host is gone, it kills and reaps until no child is left.

`python -P -m child_agents.guardian LIFELINE_FD REQUESTS_FD OPTIONS_JSON`.
The host holds the writing end of the lifeline and never writes: end-of-file means that the host is dead, however it
died. All children of the host live below this process: it is a child subreaper, so whatever is orphaned there comes to
it. Where the kernel allows it, they live in a pid namespace whose init is the inner half of this file; then the kernel
itself ends them with it.
A child host that starts agents itself has its guardian forked from its worker (`guardian_forks.py`), the same code.
Invariant: this file loads nothing but the standard library and `kernel`; it must not be able to fail.
Attacked by `tests/child_agents/test_kill_loops.py`.
"""

import contextlib
import json
import os
import select
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from child_agents import kernel

KILL_SECONDS: Final = 10.0
IGNORED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE)


TemplateStart = Callable[[int, int, str], object]
"""Becomes the template, in a fresh fork: requests, sweep, options."""


def exec_template(requests: int, sweep: int, options: str) -> None:
    """A template of its own; where a warm one exists already, this process is forked from it and so is the template."""
    for number in (requests, sweep):
        os.set_inheritable(number, True)
    arguments = ["-P", "-m", "child_agents.template", str(requests), str(sweep), options]
    os.execv(sys.executable, [sys.executable, *arguments])  # noqa: S606  no shell is the point


def main(arguments: Sequence[str], become_template: TemplateStart = exec_template) -> NoReturn:
    """Guard until the host is gone or the template is."""
    lifeline, requests = int(arguments[0]), int(arguments[1])
    options = json.loads(arguments[2])
    os.setsid()
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    kernel.become_subreaper()
    with contextlib.suppress(OSError):  # a guardian that was stopped still sees that its host has gone
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGCONT)
    if options["pid_namespace"] and namespace_works():
        _guard_namespace(lifeline, requests, arguments[2], become_template)
    guard([lifeline], requests, arguments[2], become_template)


def namespace_works() -> bool:
    """Whether children may live in a pid namespace with a /proc of its own: tried in a process that ends again."""
    pid = os.fork()
    if pid == 0:
        status = 1
        with contextlib.suppress(OSError):
            kernel.enter_pid_namespace()
            inner = os.fork()
            if inner == 0:
                inner_status = 1
                with contextlib.suppress(OSError):
                    kernel.mount_own_proc()
                    inner_status = 0
                os._exit(inner_status)
            status = os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1])
        os._exit(status)
    return os.waitpid(pid, 0)[1] == 0


def _guard_namespace(lifeline: int, requests: int, options: str, become_template: TemplateStart) -> NoReturn:
    """The outer half: the namespace's init does the work; this process only has to outlive it."""
    kernel.enter_pid_namespace()
    # The init sees end-of-file here when this process dies, whatever it dies of.
    alive, held = os.pipe()
    init = os.fork()
    if init == 0:
        with contextlib.suppress(BaseException):
            kernel.mark_as_adoptable()
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
            os.close(held)
            kernel.mount_own_proc()
            guard([lifeline, alive], requests, options, become_template)
        os._exit(1)
    os.close(requests)
    os.close(alive)
    pidfd = os.pidfd_open(init)
    poll = select.poll()
    poll.register(lifeline, select.POLLIN)
    poll.register(pidfd, select.POLLIN)
    poll.poll()
    # The end of an init is the end of its namespace: the kernel kills all of it before this wait returns.
    kernel.signal_pidfd(pidfd, signal.SIGKILL)
    os.waitpid(init, 0)
    kernel.kill_and_reap_children(KILL_SECONDS)
    os._exit(0)


def guard(lifelines: Sequence[int], requests: int, options: str, become_template: TemplateStart) -> NoReturn:
    """Start the template and keep its descendants: reap, kill what a lost worker orphaned, end all at end-of-file."""
    sweeps, sweep = os.pipe()
    parent = os.getpid()
    template = os.fork()
    if template == 0:
        with contextlib.suppress(BaseException):
            kernel.mark_as_adoptable()
            kernel.die_with_parent(parent)
            for descriptor in (*lifelines, sweeps):
                os.close(descriptor)
            become_template(requests, sweep, options)
        os._exit(127)
    os.close(requests)
    os.close(sweep)
    wake_read = kernel.wake_when_children_end()
    poll = select.poll()
    for descriptor in (*lifelines, sweeps, wake_read):
        poll.register(descriptor, select.POLLIN)
    while _reap(template):
        _kill_orphans(template)
        ready = [descriptor for descriptor, _event in poll.poll()]
        if any(lifeline in ready for lifeline in lifelines):
            break
        for descriptor in (wake_read, sweeps):
            if descriptor in ready:
                with contextlib.suppress(BlockingIOError):
                    if not os.read(descriptor, 4096):
                        poll.unregister(descriptor)
    kernel.kill_and_reap_children(KILL_SECONDS)
    os._exit(0)


def _reap(template: int) -> bool:
    """Reap what has ended; False: the template did, and with it the way to start anything."""
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, _status = os.waitpid(-1, os.WNOHANG)
            if pid == template:
                return False
            if pid == 0:
                break
    return True


def _kill_orphans(template: int) -> None:
    """A living worker keeps its own orphans, so what arrives here lost its worker."""
    with contextlib.suppress(OSError):  # /proc cannot be read now; it is looked at again with whatever ends next
        for pid in kernel.children_of_this_process():
            if pid != template:
                kernel.kill_child(pid)


if __name__ == "__main__":
    main(sys.argv[1:])
