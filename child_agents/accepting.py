"""Taking connections where a process may run out of descriptors; it knows neither who connects nor why."""

import errno
import socket
from typing import Final

import trio

NO_ROOM: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
LOOK_AGAIN_SECONDS: Final = 0.1
"""Whoever connects waits in the kernel meanwhile."""


def listening(address: str, waiting: int) -> trio.SocketListener:
    """A Unix socket that is bound and listens; bound without a thread, which trio would want for it.

    Raises: OSError
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(address)
        sock.listen(waiting)
        return trio.SocketListener(trio.socket.from_stdlib_socket(sock))
    except OSError:
        sock.close()
        raise


async def accept(listener: trio.SocketListener) -> trio.SocketStream:
    """The next connection. Without a free descriptor it waits for one: a host and its children go on.

    Raises: trio.ClosedResourceError
    """
    while True:
        try:
            return await listener.accept()
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
        await trio.sleep(LOOK_AGAIN_SECONDS)
