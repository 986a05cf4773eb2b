"""Taking connections where a process may run out of descriptors; it knows neither who connects nor why."""

import errno
from typing import Final

import trio

NO_ROOM: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
LOOK_AGAIN_SECONDS: Final = 0.1
"""Whoever connects waits in the kernel meanwhile."""


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
