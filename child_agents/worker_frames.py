"""What a supervisor and a worker say to each other."""

import os
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from guest_api.levels import Level


class Job(msgspec.Struct, frozen=True, array_like=True, tag="job"):
    """The one child that a worker starts."""

    run_id: str
    argv: list[bytes]
    """Bytes, as are names and values of variables and the folder: not all that a system hands over is UTF-8."""
    environment: dict[bytes, bytes]
    """Whole, but for the variables that the worker sets."""
    cwd: bytes
    stdin: bytes
    keep_stdin_open: bool
    thinking_bounds: dict[str, Level] | None
    """The child's effective bounds; None: the variable is deleted."""
    owner: str
    """Marks every process of this host."""

    @classmethod
    def of(
        cls,
        run_id: str,
        argv: Sequence[str],
        environment: Mapping[str, str],
        cwd: str,
        *,
        owner: str,
        stdin: bytes = b"",
        keep_stdin_open: bool = False,
        thinking_bounds: dict[str, Level] | None = None,
    ) -> "Job":
        """A job out of texts as `os` gives them."""
        return cls(
            run_id,
            [os.fsencode(argument) for argument in argv],
            {os.fsencode(name): os.fsencode(value) for name, value in environment.items()},
            os.fsencode(cwd),
            stdin,
            keep_stdin_open,
            thinking_bounds,
            owner,
        )

    def arguments(self) -> list[str]:
        """`argv` as `os` takes it."""
        return [os.fsdecode(argument) for argument in self.argv]

    def variables(self) -> dict[str, str]:
        """`environment` as `os` takes it."""
        return {os.fsdecode(name): os.fsdecode(value) for name, value in self.environment.items()}


class Input(msgspec.Struct, frozen=True, array_like=True, tag="input"):
    """More bytes for the child's standard input."""

    data: bytes
    close: bool = False


class Stop(msgspec.Struct, frozen=True, array_like=True, tag="stop"):
    """End the child: it was asked already; then TERM to its group, then KILL."""

    ask_seconds: float
    """How long it may still take by itself."""
    term_seconds: float
    """How long it may take after TERM."""


ToWorker: TypeAlias = Job | Input | Stop


class Started(msgspec.Struct, frozen=True, array_like=True, tag="started"):
    """The child runs."""

    pid: int
    """As its worker sees it: inside a pid namespace another number than outside."""


class NotStarted(msgspec.Struct, frozen=True, array_like=True, tag="not_started"):
    """The child could not be started."""

    message: str


class Output(msgspec.Struct, frozen=True, array_like=True, tag="output"):
    """What the child wrote."""

    stream: Literal["stdout", "stderr"]
    data: bytes


class Exited(msgspec.Struct, frozen=True, array_like=True, tag="exited"):
    """The child is over, and nothing that it started is left."""

    status: int | None
    signal: int | None
    ended_by: Literal["itself", "asked", "term", "kill"]
    leftovers: int
    """Processes that could not be ended; 0 unless the kernel holds one."""


FromWorker: TypeAlias = Started | NotStarted | Output | Exited

TO_WORKER: Final[msgspec.msgpack.Decoder[ToWorker]] = msgspec.msgpack.Decoder(ToWorker)
FROM_WORKER: Final[msgspec.msgpack.Decoder[FromWorker]] = msgspec.msgpack.Decoder(FromWorker)
