"""`python -m tests.guest_api.guest_server FD`: forks one warm guest for each socket that arrives. No confinement: language tests only."""

import gc
import os
import signal
import socket
import sys

from guest_api.inside import program


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    program.preimport()
    program.warm_up()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        _, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not descriptors:
            return
        pid = os.fork()
        if pid == 0:
            control.close()
            try:
                guest = socket.socket(fileno=descriptors[0])
                program.serve(guest)
            finally:
                os._exit(0)
        os.close(descriptors[0])
        control.send(str(pid).encode())


main()
