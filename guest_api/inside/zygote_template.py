"""A warm process from which zygotes are forked, for hosts that need many: everything imported, nothing confined yet.

It is started by exec with an empty environment, as a zygote is, and never loads trio. Each request is one packet with
three descriptors (control socket, standard error, reply socket); the fork becomes an ordinary zygote, which confines
itself as ever. Zygotes forked here share one hash secret, as guests of one zygote do.
"""

import array
import contextlib
import gc
import os
import signal
import socket
from typing import Final

from guest_api.inside import confine, program, zygote

DESCRIPTORS: Final = 3


def main(requests_fd: int) -> None:
    """Serve requests until the last holder of the other end is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    confine.die_with_parent()
    os.environ.clear()
    program.preimport()
    program.warm_up()
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps; whoever waits for one holds its pidfd
    requests = socket.socket(fileno=requests_fd)
    size = socket.CMSG_SPACE(DESCRIPTORS * 4)
    while True:
        data, ancillary, _flags, _address = requests.recvmsg(64, size, socket.MSG_CMSG_CLOEXEC)
        if not data:
            return
        descriptors = array.array("i")
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                descriptors.frombytes(content[: len(content) - len(content) % descriptors.itemsize])
        if len(descriptors) == DESCRIPTORS:
            _fork(requests, *descriptors)


def _fork(requests: socket.socket, control: int, errors: int, reply: int) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(errors, 2)
            for descriptor in (errors, reply):
                os.close(descriptor)
            requests.close()
            gc.unfreeze()
            zygote.main(control)
        finally:
            os._exit(1)
    with socket.socket(fileno=reply) as answer:
        try:
            pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            pass  # it ended at once; the closed control socket tells
        else:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [pidfd]))]
            with contextlib.suppress(OSError):  # whoever asked is gone, and so will be its zygote
                answer.sendmsg([str(pid).encode()], rights)
            os.close(pidfd)
    for descriptor in (control, errors):
        os.close(descriptor)
