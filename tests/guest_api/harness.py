"""Runs a program through a real `serve` in a process of its own, with a host in this process that keeps virtual time."""

import fcntl
import heapq
import json
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guest_api import values, wire

_QUIET_SECONDS = 0.002
"""How often a silent guest is looked at: once it sleeps with nothing left to read, the next virtual timer is due."""
_PATIENCE_SECONDS = 20.0

ROOT = Path(__file__).resolve().parents[2]


class Hold:
    """An answer that is given after this many virtual seconds."""

    def __init__(self, seconds: float, value: Any = None) -> None:
        self.seconds = seconds
        self.value = value


class Refuse(Exception):
    """An answer that refuses the call."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass
class Outcome:
    value: Any = None
    failed: wire.Failed | None = None
    logs: list[str] = field(default_factory=list)
    calls: list[tuple[str, Any]] = field(default_factory=list)
    open_calls: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    slept_seconds: float = 0.0
    reads: int = 0

    @property
    def kind(self) -> str:
        return self.failed.kind if self.failed else "ok"


class GuestServer:
    """A process that forks guests, one for each program."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.guest_api.guest_server", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            cwd=ROOT,
        )
        theirs.close()

    def connect(self) -> tuple[socket.socket, int]:
        ours, theirs = socket.socketpair()
        socket.send_fds(self._control, [b"g"], [theirs.fileno()])
        theirs.close()
        return ours, int(self._control.recv(32))

    def close(self) -> None:
        self._control.close()
        self._process.wait(10)

    def run(
        self,
        source: str,
        given: Any = None,
        *,
        answer: Callable[[str, Any], Any] | None = None,
        namespaces: tuple[str, ...] = ("thinking", "agents", "tools", "mcp", "t"),
        output_limit_bytes: int = 65536,
        result_limit_bytes: int = 1 << 22,
        frame_limit_bytes: int = 1 << 20,
        inline_result_bytes: int = (1 << 20) - 1024,
    ) -> Outcome:
        sock, pid = self.connect()
        with sock:
            start = wire.Start(
                source,
                given,
                list(namespaces),
                output_limit_bytes,
                frame_limit_bytes,
                result_limit_bytes,
                inline_result_bytes,
            )
            sock.sendall(wire.encode(start))
            return _converse(sock, pid, answer or (lambda ref, args: args))


def _is_waiting(sock: socket.socket, pid: int) -> bool:
    """Whether the guest has read everything and sleeps: it then waits for the host, and has sent all it had."""
    unread = struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, b"\0\0\0\0"))[0]
    if unread:
        return False
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    if state != "S":
        return False
    try:
        return not sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except (BlockingIOError, TimeoutError):
        return True


def _converse(sock: socket.socket, pid: int, answer: Callable[[str, Any], Any]) -> Outcome:
    outcome = Outcome()
    buffer = bytearray()
    waiting: list[tuple[float, int, Any]] = []
    names: dict[int, str] = {}
    parts = bytearray()
    last_id = 0
    while True:
        sock.settimeout(_QUIET_SECONDS if waiting else _PATIENCE_SECONDS)
        try:
            data = sock.recv(1 << 16)
        except TimeoutError:
            if not waiting:
                raise
            if not _is_waiting(sock, pid):
                continue
            due, number, value = heapq.heappop(waiting)
            outcome.slept_seconds = max(outcome.slept_seconds, due)
            names.pop(number, None)
            sock.sendall(wire.encode(wire.Reply(number, values.to_wire(value))))
            continue
        if not data:
            outcome.failed = outcome.failed or wire.Failed("crashed", "the guest is gone")
            return outcome
        outcome.reads += 1
        buffer += data
        replies = bytearray()
        while len(buffer) >= 4:
            length = wire.body_length(buffer[:4], wire.GUEST_FRAME_LIMIT_BYTES)
            if len(buffer) < 4 + length:
                break
            frame = wire.decode_guest_frame(bytes(buffer[4 : 4 + length]))
            del buffer[: 4 + length]
            if isinstance(frame, wire.Ready):
                continue
            if isinstance(frame, wire.Log):
                outcome.logs.append(frame.text)
            elif isinstance(frame, wire.Call):
                assert frame.id > last_id
                last_id = frame.id
                outcome.calls.append((frame.ref, values.from_wire(frame.args)))
                names[frame.id] = frame.ref
                try:
                    value = answer(frame.ref, frame.args)
                except Refuse as refusal:
                    replies += wire.encode(wire.Refusal(frame.id, refusal.kind, str(refusal)))
                    del names[frame.id]
                    continue
                if isinstance(value, Hold):
                    heapq.heappush(waiting, (outcome.slept_seconds + value.seconds, frame.id, value.value))
                else:
                    del names[frame.id]
                    replies += wire.encode(wire.Reply(frame.id, values.to_wire(value)))
            elif isinstance(frame, wire.Timer):
                assert frame.id > last_id
                last_id = frame.id
                heapq.heappush(waiting, (outcome.slept_seconds + frame.seconds, frame.id, None))
            elif isinstance(frame, wire.Cancel):
                waiting = [entry for entry in waiting if entry[1] != frame.id]
                heapq.heapify(waiting)
                if frame.id in names:
                    outcome.cancelled.append(names.pop(frame.id))
            elif isinstance(frame, wire.Part):
                parts += frame.data
            elif isinstance(frame, wire.Failed):
                outcome.failed = frame
                outcome.open_calls = list(names.values())
                return outcome
            elif isinstance(frame, wire.Done):
                outcome.value = json.loads(bytes(parts)) if frame.parts else frame.value
                outcome.open_calls = list(names.values())
                return outcome
        if replies:
            sock.sendall(replies)
