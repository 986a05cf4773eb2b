"""What a session's host and the resident host say to each other, and where they meet; it opens nothing."""

import hashlib
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec

from child_agents.settings import AgentFolders

Operation: TypeAlias = Literal["launch", "stop", "message", "wait", "status", "subscribe"]


class Request(msgspec.Struct, frozen=True, array_like=True, tag="request"):
    """One question; answered once, in any order."""

    id: int
    operation: Operation
    run_id: str
    body: bytes = b""
    """`launch`: the whole `ResolvedRun` as JSON, its narrowed bounds inside. `message`: kind, newline, text."""


class Reply(msgspec.Struct, frozen=True, array_like=True, tag="reply"):
    """The answer to the request of that id."""

    id: int
    problem: str | None = None
    body: bytes = b""
    """`status`, `wait`, `stop`: the run's status as JSON, with the whole result once there is one."""


class Finished(msgspec.Struct, frozen=True, array_like=True, tag="finished"):
    """A run of the subscribed session is over; its result lies in its record."""

    run_id: str


ToClient: TypeAlias = Reply | Finished

TO_HOST: Final[msgspec.msgpack.Decoder[Request]] = msgspec.msgpack.Decoder(Request)
TO_CLIENT: Final[msgspec.msgpack.Decoder[ToClient]] = msgspec.msgpack.Decoder(ToClient)


def resident_key(project: Path) -> str:
    """Which resident host serves this project folder."""
    return hashlib.sha256(str(project.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def socket_name(key: str) -> str:
    """The socket's file name in the folder `resident`."""
    return f"{key}.sock"


def reachable(folder_descriptor: int, name: str) -> str:
    """The socket's path by way of an open folder: a Unix socket's path may have 107 bytes, a folder's any number."""
    return f"/proc/self/fd/{folder_descriptor}/{name}"


def lock_path(folders: AgentFolders, key: str) -> Path:
    """Held by the one living resident host of this key."""
    return folders.resident / f"{key}.lock"
