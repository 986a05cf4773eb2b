"""The template: a warm process, never run, from which workers and child hosts are forked.

`python -P -m child_agents.template REQUESTS_FD SWEEP_FD OPTIONS_JSON`. It imports what child hosts need (named by the
host that starts it, as strings), freezes the heap, and forks one worker per packet: run id, worker channel, control
channel. The answer is the worker's pidfd. It stays single-threaded, so its forks are sound and its death ends them.
"""

import contextlib
import errno
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Sequence
from typing import Final

from child_agents import kernel, worker
from child_agents.channel import receive_with_descriptors, send_with_descriptors
from child_agents.process import close_all_but, module_argv
from host_bridge.errors import BridgeError
from host_bridge.zygote_launch import guest_paths
from host_bridge.zygote_template import start_template

PACKET_BYTES: Final = 4096
READY: Final = b"ready"
STARTED: Final = b"started"
NOT_STARTED: Final = b"not started: "
"""And the reason."""
DESCRIPTORS: Final = 2
"""Of a request: the worker's channel, and its child's control channel."""


def become(requests: int, sweep: int, options: str, zygotes: int | None) -> None:
    """Be the template of a child host, in a fork of a warm process: nothing is left to import."""
    kernel.show_arguments(module_argv("child_agents.template", str(requests), str(sweep), options), dict(os.environ))
    main([str(requests), str(sweep), options], None if zygotes is None else socket.socket(fileno=zygotes))


def main(arguments: Sequence[str], zygotes: socket.socket | None = None) -> None:
    """Serve until the host closes its end. `zygotes`: a warm process for guests that exists already."""
    requests = socket.socket(fileno=int(arguments[0]))
    sweep = int(arguments[1])
    options = json.loads(arguments[2])
    if zygotes is None and options["preload"]:
        zygotes = _start_zygote_template()
    loaded = _load(options["preload"], options["entries"])
    gc.collect()
    gc.freeze()
    gc.disable()
    requests.send(READY)
    _serve(requests, sweep, loaded, zygotes)


def _start_zygote_template() -> socket.socket | None:
    """The warm process for guests: an exec of its own, because a guest must never have loaded what we load."""
    try:
        return start_template(guest_paths())[1]
    except (OSError, BridgeError):
        return None  # child hosts start their zygote cold, and say what is missing if anything is


def _load(preload: Sequence[str], entries: Sequence[str]) -> list[str]:
    """Import what child hosts will need; the entry modules that may be run without an exec."""
    for module in preload:
        try:
            importlib.import_module(module)
        except Exception:
            # A child that needs it fails by itself and says so; the others are only slower.
            traceback.print_exc()
    return list(entries) if preload else []


def _serve(requests: socket.socket, sweep: int, loaded: list[str], zygotes: socket.socket | None) -> None:
    wake_read = kernel.wake_when_children_end()
    poll = select.poll()
    poll.register(requests, select.POLLIN)
    poll.register(wake_read, select.POLLIN)
    while True:
        ready = [descriptor for descriptor, _event in poll.poll()]
        if wake_read in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(wake_read, 4096)
            _reap(sweep)
        if requests.fileno() in ready:
            data, descriptors = receive_with_descriptors(requests, PACKET_BYTES, DESCRIPTORS)
            if not data:
                return
            _serve_request(requests, data.decode(), descriptors, loaded, zygotes)


def _reap(sweep: int) -> None:
    """Reap workers; one that did not end by itself may have left processes, and the guardian looks for them."""
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            if status != 0:
                os.write(sweep, b"s")


def _serve_request(
    requests: socket.socket, run_id: str, descriptors: list[int], loaded: list[str], zygotes: socket.socket | None
) -> None:
    """Start one worker and answer; what this machine refuses is that run's failure, and no other's."""
    answer, given = NOT_STARTED, []
    try:
        given = [_start_worker(run_id, descriptors, loaded, zygotes)]
        answer = STARTED
    except OSError as error:
        answer += (error.strerror or "").encode()
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    with contextlib.suppress(OSError):
        send_with_descriptors(requests, answer, given)
    for descriptor in given:
        os.close(descriptor)


def _start_worker(run_id: str, descriptors: list[int], loaded: list[str], zygotes: socket.socket | None) -> int:
    """Fork one; its pidfd.

    Raises: OSError: no process or no descriptor was to be had; then none is left either.
    """
    if len(descriptors) != DESCRIPTORS:  # the kernel drops what this process has no room for
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    channel, control = descriptors
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setsid()
            kernel.die_with_parent(parent)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            warm = None if zygotes is None else zygotes.fileno()
            close_all_but({0, 1, 2, channel, control, *(() if warm is None else (warm,))})
            kernel.show_arguments(module_argv("child_agents.worker", run_id), dict(os.environ))
            worker.serve(socket.socket(fileno=channel), control, loaded, warm)
            status = 0
        except BaseException:
            traceback.print_exc()
        os._exit(status)
    return os.pidfd_open(pid)  # where this fails, the worker sees its channel closed, and ends


if __name__ == "__main__":
    main(sys.argv[1:])
