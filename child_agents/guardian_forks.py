"""Guardians of child hosts that start agents themselves: forked warm from their worker instead of started cold.

A worker is a fork of a template, so everything that guardian and template of the next level need is imported already.
It is single-threaded, so the forks are sound; they live below it, so it ends them with the rest of its child.
"""

import contextlib
import json
import os
import signal
import socket
import traceback
from collections.abc import Mapping, Sequence
from typing import Final

from child_agents import guardian, kernel
from child_agents.channel import receive_with_descriptors, send_with_descriptors
from child_agents.process import close_all_but, module_argv, reset_signals

PACKET_BYTES: Final = 128 * 1024
ANSWER_SECONDS: Final = 5.0
"""A fork takes milliseconds; without an answer the guardian is started cold."""


class GuardianForks:
    """The worker's end."""

    def __init__(self, requests: socket.socket, zygotes: int | None) -> None:
        self.requests = requests
        self._zygotes = zygotes

    def serve(self) -> bool:
        """Fork one guardian for the child host; False: it will ask no more."""
        if self._answer():
            return True
        with contextlib.suppress(OSError):
            self.requests.shutdown(socket.SHUT_RDWR)  # who waits for an answer hears at once that none will come
        return False

    def _answer(self) -> bool:
        try:
            data, descriptors = receive_with_descriptors(self.requests, PACKET_BYTES, 2)
        except OSError:
            return False
        try:
            if len(descriptors) != 2:
                return False
            self._fork(json.loads(data), descriptors)
        except (OSError, ValueError, KeyError, TypeError):
            return False  # not a request of ours, or no process is to be had: it starts one cold
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return True

    def _fork(self, request: Mapping[str, object], descriptors: Sequence[int]) -> None:
        options, variables = str(request["options"]), request["environment"]
        if not isinstance(variables, dict):
            raise TypeError("environment")
        pid = os.fork()
        if pid == 0:
            try:
                self._become(options, variables, *descriptors)
            except BaseException:
                traceback.print_exc()
            os._exit(1)
        pidfd = os.pidfd_open(pid)  # ours to reap, so the number is still its own
        with contextlib.suppress(OSError):
            send_with_descriptors(self.requests, str(pid).encode(), [pidfd])
        os.close(pidfd)

    def _become(self, options: str, variables: Mapping[str, str], lifeline: int, requests: int) -> None:
        from child_agents import template

        reset_signals()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        zygotes = self._zygotes
        close_all_but({0, 1, 2, lifeline, requests, *(() if zygotes is None else (zygotes,))})
        arguments = [str(lifeline), str(requests), options]
        os.environ.clear()
        os.environ.update(variables)
        kernel.show_arguments(module_argv("child_agents.guardian", *arguments), dict(variables))
        guardian.main(arguments, lambda wanted, sweep, told: template.become(wanted, sweep, told, zygotes))


def ask_for_guardian(
    launchers: socket.socket, lifeline: int, requests: int, options: str, variables: Mapping[str, str]
) -> tuple[int, int] | None:
    """A warm guardian on these descriptors: its pid and pidfd; None: a cold start is the way.

    A worker that did not answer once is not asked again: its late answer would be taken for that of another request.
    """
    try:
        launchers.settimeout(ANSWER_SECONDS)
        request = json.dumps({"options": options, "environment": dict(variables)}).encode("utf-8", "surrogateescape")
        send_with_descriptors(launchers, request, [lifeline, requests])
        data, descriptors = receive_with_descriptors(launchers, 64, 1)
        if data and descriptors:
            return int(data), descriptors[0]
    except (OSError, ValueError):
        pass
    launchers.close()
    return None
