"""What a child host inherits beside its bounds, and the control channel that carries it; both ends of the protocol.

The parent's supervisor writes one `Inherit` frame before anything else; `from_environment` reads it in the child before
the child loads its configuration. Afterwards approvals, progress and requests for a resident host go up; answers,
messages and the order to stop come down. End-of-file means that the parent is gone: the child's run ends.
Invariant: a child that was told to inherit and cannot read what, does not start.
"""

import contextlib
import math
import os
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec
import trio

from child_agents.channel import BlockingChannel, Channel, ChannelError, Frames
from child_agents.environment import AGENT_NAME, CONTROL_FD, DEPTH, PARENT_RUN
from child_agents.errors import InheritanceError
from child_agents.narrowing import child_modes, child_rules
from child_agents.request import Mode
from child_agents.settings import AgentFolders
from host_bridge import strict_json
from host_bridge.approval_prompt import Answer as ApprovalAnswer
from host_bridge.approval_prompt import ApprovalRequest
from host_bridge.descriptor import Risk

FIRST_FRAME_SECONDS: Final = 30.0
"""The parent wrote it before it started the child; only a lost parent makes a child wait."""
WITHDRAW_SECONDS: Final = 1.0
MESSAGES_BUFFERED: Final = 64
"""Steers and follow-ups that wait for a busy child; the parent is refused further ones."""


class Inherit(msgspec.Struct, frozen=True, array_like=True, tag="inherit"):
    """First frame: everything that was decided for this child."""

    run_id: str
    root_id: str
    name: str
    path: tuple[str, ...]
    depth: int
    parent_run: str
    recursive: bool
    max_depth: int
    max_turns: int
    max_cost: float
    risks: dict[str, Mode]
    rules: tuple[dict[str, Any], ...]
    tools: tuple[str, ...] | None
    schema_mode: Literal["off", "audit", "enforce"]
    folders: bytes
    """Root folder of records and ledgers; not every path is UTF-8."""
    input_json: bytes
    residency: Literal["session", "durable"] = "session"
    resident_key: str = ""
    """Which resident host serves the root."""
    session: str | None = None
    """The session at the root: what outlives this child is told there, for nobody opens a child's own session again."""
    person: bool = True
    """Whether anybody can be asked at the root; where not, the child denies by itself and says what would allow it."""


class Answer(msgspec.Struct, frozen=True, array_like=True, tag="answer"):
    """What a person said to the question of that id."""

    id: int
    answer: str


class Message(msgspec.Struct, frozen=True, array_like=True, tag="message"):
    """A steer (now) or follow-up (when the child is done) message."""

    kind: Literal["steer", "followUp"]
    text: str


class StopOrder(msgspec.Struct, frozen=True, array_like=True, tag="stop"):
    """End the run; the ladder follows for those that do not."""

    reason: str


class ResidentReply(msgspec.Struct, frozen=True, array_like=True, tag="resident"):
    """Whether a resident host is there now."""

    id: int
    problem: str | None


class Ask(msgspec.Struct, frozen=True, array_like=True, tag="ask"):
    """A question for the person at the root."""

    id: int
    ref: str
    risk: str
    description: str
    arguments: Any
    arguments_text: str
    count: int
    samples: tuple[str, ...]
    caller: tuple[str, ...]
    because: str
    earlier: int = 0


class Withdraw(msgspec.Struct, frozen=True, array_like=True, tag="withdraw"):
    """The question of that id is not needed any more."""

    id: int


class Event(msgspec.Struct, frozen=True, array_like=True, tag="event"):
    """Something happened: for the record's log and live progress."""

    kind: str
    data: dict[str, Any]
    turns: int = 0
    cost: float = 0.0


class NeedResident(msgspec.Struct, frozen=True, array_like=True, tag="need_resident"):
    """Start a resident host for this folder: a child's own process would not outlive it."""

    id: int


ToChild: TypeAlias = Inherit | Answer | Message | StopOrder | ResidentReply
FromChild: TypeAlias = Ask | Withdraw | Event | NeedResident

TO_CHILD: Final[msgspec.msgpack.Decoder[ToChild]] = msgspec.msgpack.Decoder(ToChild)
FROM_CHILD: Final[msgspec.msgpack.Decoder[FromChild]] = msgspec.msgpack.Decoder(FromChild)


@dataclass(frozen=True, slots=True)
class Inheritance:
    """What a child host was given. Without a control channel (`given` None) only depth, name and parent are known."""

    depth: int
    name: str | None
    parent_run: str | None
    given: Inherit | None = None
    _socket: socket.socket | None = None
    _frames: "Frames[ToChild] | None" = None

    @property
    def path(self) -> tuple[str, ...]:
        """Names from the first child down to this one."""
        if self.given is not None:
            return self.given.path
        return () if self.name is None else (self.name,)

    @property
    def input(self) -> Any:
        """The program's `input`."""
        return None if self.given is None else strict_json.decode_strict(self.given.input_json)

    @property
    def folders(self) -> AgentFolders | None:
        """Where the whole tree keeps its records and ledger."""
        return None if self.given is None else AgentFolders(root=Path(os.fsdecode(self.given.folders)))

    def modes(self, own: Mapping[str, str]) -> dict[Risk, Mode]:
        """Approval modes of this host: the inherited ones, and what its own configuration denies stays denied."""
        return child_modes({} if self.given is None else self.given.risks, own)

    def rules(self, own: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Approval rules of this host: its own denials, then the inherited ones."""
        return own if self.given is None else child_rules(self.given.rules, own)

    def may_use(self, ref: str) -> bool:
        """Whether the tools this child was given include the ref; `thinking.*` and `agents.*` are judged elsewhere."""
        from child_agents.narrowing import pattern_matches

        if self.given is None or self.given.tools is None or ref.startswith(("thinking.", "agents.", "tools.")):
            return True
        return any(pattern_matches(pattern, ref) for pattern in self.given.tools)

    def open_control(self) -> "ControlClient | None":
        """The child's end of the control channel, for its trio loop; None without one."""
        if self._socket is None or self.given is None or self._frames is None:
            return None
        return ControlClient(self._socket, self._frames, self.path)


def from_environment(environment: Mapping[str, str] | None = None) -> Inheritance | None:
    """What this process inherited; None: it is a root. Call it once, before the configuration is loaded.

    The control variable is taken out of `os.environ`: what this process starts must not mistake it for its own.
    Raises: InheritanceError: malformed, or its parent is gone; the process must not go on (exit status 2).
    """
    variables: Mapping[str, str] = os.environ if environment is None else environment
    depth_text = variables.get(DEPTH)
    control_text = variables.get(CONTROL_FD)
    if isinstance(variables, MutableMapping):
        variables.pop(CONTROL_FD, None)
    if depth_text is None and control_text is None:
        return None
    depth = _number(DEPTH, depth_text or "0", 1000)
    name, parent = variables.get(AGENT_NAME), variables.get(PARENT_RUN)
    if control_text is None:
        return Inheritance(depth, name, parent)
    sock = _control_socket(_number(CONTROL_FD, control_text, 1 << 20))
    channel = BlockingChannel(sock, TO_CHILD)
    try:
        first = _first_frame(channel, depth)
    except InheritanceError:
        sock.close()
        raise
    return Inheritance(depth, first.name, first.parent_run, first, sock, channel.frames)


def _first_frame(channel: BlockingChannel[ToChild], depth: int) -> Inherit:
    """Raises: InheritanceError"""
    try:
        channel.sock.settimeout(FIRST_FRAME_SECONDS)
        first = channel.receive()
    except (OSError, ChannelError) as error:
        raise InheritanceError(f"environment variable {CONTROL_FD}: nothing can be read there: {error}") from None
    if not isinstance(first, Inherit):
        raise InheritanceError(f"environment variable {CONTROL_FD}: the parent is gone")
    if first.depth != depth:
        raise InheritanceError(f"environment variable {DEPTH}: got {depth}, the parent said {first.depth}")
    return first


def _number(variable: str, text: str, highest: int) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) > highest:
        raise InheritanceError(f"environment variable {variable}: got {text!r:.80}, wanted a whole number from 0")
    return int(text)


def _control_socket(descriptor: int) -> socket.socket:
    try:
        sock = socket.socket(fileno=descriptor)
        sock.getpeername()
    except OSError as error:
        raise InheritanceError(f"environment variable {CONTROL_FD}: no open channel: {error.strerror}") from None
    sock.set_inheritable(False)
    return sock


class ControlClient:
    """The child's side: an approver that asks the parent's person, progress up, messages and the stop order down."""

    def __init__(self, sock: socket.socket, frames: "Frames[ToChild]", path: tuple[str, ...]) -> None:
        self._channel = Channel(sock, TO_CHILD)
        self._channel.frames = frames
        self._path = path
        self._answers: dict[int, tuple[trio.Event, list[str]]] = {}
        self._resident: dict[int, tuple[trio.Event, list[str | None]]] = {}
        self._next_id = 0
        self._outgoing, self._queue = trio.open_memory_channel[Event](math.inf)
        self._send_messages, self.messages = trio.open_memory_channel[Message](MESSAGES_BUFFERED)

    async def run(self, on_stop: Callable[[str], None]) -> None:
        """Listen until the parent is gone. `on_stop(reason)` is called when the run is to end: once asked, or lost.

        To be started in the host's nursery; it never raises.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._send_events)
            try:
                while (frame := await self._channel.receive()) is not None:
                    self._take(frame, on_stop)
            except ChannelError as error:
                on_stop(f"the parent broke the control channel: {error}")
            else:
                on_stop("the parent is gone")
            for event, answers in self._answers.values():
                answers.append("deny")
                event.set()
            for event, problems in self._resident.values():
                problems.append("the parent is gone")
                event.set()
            nursery.cancel_scope.cancel()

    def _take(self, frame: ToChild, on_stop: Callable[[str], None]) -> None:
        if isinstance(frame, Answer) and frame.id in self._answers:
            event, answers = self._answers[frame.id]
            answers.append(frame.answer)
            event.set()
        elif isinstance(frame, ResidentReply) and frame.id in self._resident:
            done, problems = self._resident[frame.id]
            problems.append(frame.problem)
            done.set()
        elif isinstance(frame, StopOrder):
            on_stop(frame.reason)
        elif isinstance(frame, Message):
            try:
                self._send_messages.send_nowait(frame)
            except trio.WouldBlock:
                self.report("message_dropped", {"kind": frame.kind})

    async def _send_events(self) -> None:
        """Send events as they come; cancelled, because this child is done, those that still wait are sent too."""
        event: Event | None = None
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            async with self._queue:
                try:
                    async for queued in self._queue:
                        event = queued
                        await self._send_event(queued)
                        event = None
                except trio.Cancelled:
                    with trio.move_on_after(WITHDRAW_SECONDS, shield=True):
                        if not await self._channel.flush() and event is not None:
                            await self._send_event(event)
                        with contextlib.suppress(trio.WouldBlock, trio.EndOfChannel):
                            while True:
                                await self._send_event(self._queue.receive_nowait())
                    raise

    async def _send_event(self, event: Event) -> None:
        try:
            await self._channel.send(event)
        except (ValueError, TypeError, OverflowError) as error:  # what cannot travel is dropped by name
            unreadable = Event(event.kind, {"unreadable": f"{error!r:.200}"}, event.turns, event.cost)
            await self._channel.send(unreadable)

    def report(self, kind: str, data: Mapping[str, Any], *, turns: int = 0, cost: float = 0.0) -> None:
        """Tell the parent of something that happened; returns at once."""
        try:
            self._outgoing.send_nowait(Event(kind, dict(data), turns, cost))
        except trio.BrokenResourceError:
            return

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """`host_bridge.approval_prompt.Approver`: the parent's person answers, and sees which child asks."""
        self._next_id += 1
        number = self._next_id
        event, answers = self._answers[number] = (trio.Event(), [])
        try:
            await self._channel.send(
                Ask(
                    number,
                    request.ref,
                    request.risk,
                    request.description,
                    msgspec.to_builtins(request.arguments),
                    request.arguments_text,
                    request.count,
                    request.samples,
                    request.caller or self._path,
                    request.because,
                    request.earlier,
                )
            )
            await event.wait()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return "deny"
        except trio.Cancelled:
            with (
                trio.CancelScope(shield=True, deadline=trio.current_time() + WITHDRAW_SECONDS),
                contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError),
            ):
                await self._channel.send(Withdraw(number))
            raise
        finally:
            del self._answers[number]
        # A grant for the session is the parent's to keep: here such an answer covers the calls that were shown.
        if answers[0] == "run":
            return "run"
        return "deny" if answers[0] not in ("once", "session", "stored") else "once"

    async def need_resident(self) -> str | None:
        """Have a resident host started outside of this child; the problem, or None."""
        self._next_id += 1
        number = self._next_id
        event, problems = self._resident[number] = (trio.Event(), [])
        try:
            await self._channel.send(NeedResident(number))
            await event.wait()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return "the parent is gone"
        finally:
            del self._resident[number]
        return problems[0]


def request_from(ask: Ask, path: tuple[str, ...], run_id: str) -> ApprovalRequest:
    """The question as the parent's approver sees it: the child's path in front, whatever the child said of itself."""
    inner = ask.caller[len(path) :] if ask.caller[: len(path)] == path else ask.caller
    return ApprovalRequest(
        ref=ask.ref,
        risk=ask.risk if ask.risk in ("read", "write", "execute", "network", "agent") else "execute",  # type: ignore[arg-type]
        description=ask.description,
        arguments=ask.arguments if isinstance(ask.arguments, dict) else {"arguments": ask.arguments},
        arguments_text=ask.arguments_text,
        count=ask.count,
        samples=ask.samples,
        caller=(*path, *inner),
        because=ask.because,
        earlier=ask.earlier,
        run_id=run_id,
    )


ChildApprover: TypeAlias = Callable[[ApprovalRequest], Awaitable[ApprovalAnswer]]
"""How a supervisor gets an answer for a child's question."""
