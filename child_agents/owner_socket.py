"""How another process of the same person reaches the host that owns a run: a socket beside the owner's lock.

It takes one order only, to end a run; the folder is readable by its person alone.
"""

import contextlib
import os
import socket
from typing import TYPE_CHECKING, Final

import msgspec
import trio

from child_agents.accepting import accept, listening
from child_agents.channel import BlockingChannel, Channel, ChannelError
from child_agents.conclusion import Ending
from child_agents.errors import AgentError
from child_agents.residency.protocol import reachable
from child_agents.settings import AgentFolders

if TYPE_CHECKING:
    from child_agents.supervisor import Supervisor

ANSWER_SECONDS: Final = 60.0
"""A ladder takes twice `agents.stopGraceSeconds`."""
WAITING: Final = 16


class EndRun(msgspec.Struct, frozen=True, array_like=True, tag="end_run"):
    """End this run."""

    run_id: str
    reason: str


class Ended(msgspec.Struct, frozen=True, array_like=True, tag="ended"):
    """It is over; or why not."""

    problem: str | None


_TO_OWNER: Final = msgspec.msgpack.Decoder(EndRun)
_FROM_OWNER: Final = msgspec.msgpack.Decoder(Ended)


async def listen(supervisor: "Supervisor", nursery: trio.Nursery) -> None:
    """Take orders until cancelled; then the socket is gone. Where none can be made, the host goes on without it."""
    options = supervisor.options
    name = f"{options.owner}.sock"
    try:
        folder = os.open(options.folders.owners, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        with contextlib.suppress(OSError):
            async with listening(reachable(folder, name), WAITING) as listener:
                while True:
                    stream = await accept(listener)
                    nursery.start_soon(_serve, supervisor, Channel.over(stream, _TO_OWNER))
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=folder)
        os.close(folder)


async def _serve(supervisor: "Supervisor", channel: Channel[EndRun]) -> None:
    try:
        order = await channel.receive()
        if order is None:
            return
        try:
            run = supervisor.find(order.run_id)
            supervisor.begin_stop(run, Ending("stopped", order.reason))
            await run.done.wait()
            answer = Ended(None)
        except AgentError as error:
            answer = Ended(str(error))
        await channel.send(answer)
    except (ChannelError, trio.BrokenResourceError, trio.ClosedResourceError):
        return
    finally:
        channel.close()


def end_run(folders: AgentFolders, owner: str, run_id: str, reason: str) -> str | None:
    """Have the owner end a run, and wait until it is over; the problem, or None. Blocks."""
    try:
        folder = os.open(folders.owners, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return "no host of agents runs here"
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.settimeout(ANSWER_SECONDS)
            sock.connect(reachable(folder, f"{owner}.sock"))
            channel = BlockingChannel(sock, _FROM_OWNER)
            channel.send(EndRun(run_id, reason))
            answer = channel.receive()
    except (OSError, ChannelError) as error:
        return f"the host of this run does not answer: {error}"
    finally:
        os.close(folder)
    return "the host of this run ended before it answered" if answer is None else answer.problem
