"""The actions `agents.*`: their descriptors, arguments and handlers. They decide nothing about a child.

`run` and `spawn` ask the resolver and hand its answer to the supervisor, or with the narrowed bounds inside to the
resident host. Wrong arguments are refused before anybody is asked; a request for more than its caller has is refused
before any process exists.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import trio

from child_agents.errors import AgentError, LaunchRefusedError, RequestError
from child_agents.records import new_id
from child_agents.request import AgentRequest, read_request, result_to_wire, status_word
from child_agents.resolver import ResolvedRun, resolve
from child_agents.runs import live_status
from guest_api.errors import RefusalKind
from host_bridge.arguments import SchemaUnusableError, SchemaValidator
from host_bridge.descriptor import Action, CallContext, Descriptor, Effect
from host_bridge.errors import HandlerError
from runtime.agent_service import AgentService
from runtime.transcript.errors import TranscriptError
from runtime.transcript.store import TranscriptStore
from runtime.trust import agent_dir

LAUNCHES: Final = Effect(kind="process", resources=("agents",))
"""What run, spawn and the other writes change: processes of this user."""
PROGRAM_LIMIT_BYTES: Final = 1024 * 1024
_LEVEL: Final = {"enum": ["off", "minimal", "low", "medium", "high", "xhigh", "max"]}
_REQUEST_SCHEMA: Final = {
    "type": "object",
    "properties": {
        "task": {"type": "string"},
        "name": {"type": "string"},
        "runner": {"type": "string"},
        "program": {"type": "string", "description": "Source text of the child's program."},
        "programFile": {"type": "string", "description": "A file inside the project instead."},
        "input": {},
        "model": {"type": "string", "description": "A model id, or a name of agents.aliases."},
        "alias": {"type": "string"},
        "thinking": _LEVEL,
        "thinkingBounds": {"type": "object", "properties": {"min": _LEVEL, "max": _LEVEL}},
        "tools": {"type": "array", "items": {"type": "string"}},
        "risks": {"type": "object"},
        "cwd": {"type": "string"},
        "timeoutMs": {"type": "integer"},
        "maxTurns": {"type": "integer"},
        "maxCost": {"type": "number"},
        "maxDepth": {"type": "integer"},
        "schema": {"type": "object"},
        "session": {"type": "string", "description": "A session file that the child continues."},
        "forkSession": {"type": "boolean", "description": "Continue a copy of it, or of this session."},
        "recursive": {"type": "boolean"},
        "residency": {"enum": ["session", "durable"]},
    },
}
_ONE: Final = {"type": "object", "properties": {"id": {}}, "required": ["id"]}
_T = TypeVar("_T")


class RunArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`agents.run` and `agents.spawn`; what each field may hold is judged by `read_request`."""

    task: Any = None
    name: Any = None
    runner: Any = None
    program: Any = None
    program_file: Any = None
    input: Any = None
    model: Any = None
    alias: Any = None
    thinking: Any = None
    thinking_bounds: Any = None
    tools: Any = None
    risks: Any = None
    cwd: Any = None
    timeout_ms: Any = None
    max_turns: Any = None
    max_cost: Any = None
    max_depth: Any = None
    schema: Any = None
    session: Any = None
    fork_session: Any = None
    recursive: Any = None
    residency: Any = None

    def __post_init__(self) -> None:
        """Refuse what no run could mean, before anybody is asked to allow it."""
        self.request()

    def request(self) -> AgentRequest:
        """Raises: RequestError"""
        return read_request(msgspec.structs.asdict(self))


class RunReference(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """An id, or a handle."""

    id: str | dict[str, Any]


class WaitArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One run or several."""

    id: str | dict[str, Any] | None = None
    ids: list[str | dict[str, Any]] | None = None
    timeout_ms: float | None = None

    def __post_init__(self) -> None:
        """Exactly one of both."""
        if (self.id is None) == (self.ids is None):
            raise ValueError("id: got nothing, wanted either id or ids")


class StopArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which run, and why."""

    id: str | dict[str, Any]
    reason: str = "stopped by its parent"


class MessageArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which run, and what to tell it."""

    id: str | dict[str, Any]
    message: str


class LogArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which run, and how many of the newest events."""

    id: str | dict[str, Any]
    last: int | None = None


class CleanupArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One finished run, or all of them."""

    id: str | dict[str, Any] | None = None


class ListArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Only runs with this status."""

    status: str | None = None

    def __post_init__(self) -> None:
        """A word that is no status would find nothing, for ever."""
        if self.status is not None:
            status_word(self.status)


def agent_actions(service: AgentService) -> list[Action]:
    """What a host registers as the source `agents`.

    Seed: thinking:child:argument
    """
    handlers = _Handlers(service)
    return [
        _action(
            "run", handlers.run, RunArguments, "agent", "Start a child agent and wait for its result.", _REQUEST_SCHEMA
        ),
        _action(
            "spawn", handlers.spawn, RunArguments, "agent", "Start a child agent; returns a handle.", _REQUEST_SCHEMA
        ),
        _action("wait", handlers.wait, WaitArguments, "read", "Wait for a child's result.", _ONE),
        _action("status", handlers.status, RunReference, "read", "How a child is doing.", _ONE),
        _action("list", handlers.list, ListArguments, "read", "The children of this session.", {"type": "object"}),
        _action("log", handlers.log, LogArguments, "read", "What happened in a child, oldest first.", _ONE),
        _action("stop", handlers.stop, StopArguments, "agent", "End a child: ask, TERM, KILL.", _ONE),
        _action("steer", handlers.steer, MessageArguments, "agent", "Tell a running child something now.", _ONE),
        _action(
            "followUp",
            handlers.follow_up,
            MessageArguments,
            "agent",
            "Tell a child something for when it is done.",
            _ONE,
        ),
        _action(
            "cleanup",
            handlers.cleanup,
            CleanupArguments,
            "agent",
            "Forget finished children and their records.",
            {"type": "object"},
        ),
    ]


class _Handlers:
    """The handlers of one host."""

    def __init__(self, service: AgentService) -> None:
        self._service = service
        self._validator = SchemaValidator()

    async def run(self, arguments: RunArguments, context: CallContext) -> dict[str, Any]:
        return await _named(lambda: self._run(arguments, context))

    async def spawn(self, arguments: RunArguments, context: CallContext) -> dict[str, Any]:
        return await _named(lambda: self._spawn(arguments, context))

    async def wait(self, arguments: WaitArguments, context: CallContext) -> Any:  # noqa: ARG002
        return await _named(lambda: self._wait(arguments))

    async def status(self, arguments: RunReference, context: CallContext) -> dict[str, Any]:  # noqa: ARG002
        async def found() -> dict[str, Any]:
            return self._service.status(self._service.record(_id(arguments.id)))

        return await _named(found)

    async def list(self, arguments: ListArguments, context: CallContext) -> list[dict[str, Any]]:  # noqa: ARG002
        shown = self._service.statuses()
        return [run for run in shown if arguments.status in (None, run["status"])]

    async def log(self, arguments: LogArguments, context: CallContext) -> dict[str, Any]:  # noqa: ARG002
        async def found() -> dict[str, Any]:
            record = self._service.record(_id(arguments.id))
            events = self._service.records.events(record.id)
            logs = [str(event.get("text", "")) for event in events if event.get("type") == "log"]
            if arguments.last is not None:
                events = events[-arguments.last :] if arguments.last > 0 else []
            return {"id": record.id, "events": events, "logs": logs}

        return await _named(found)

    async def stop(self, arguments: StopArguments, context: CallContext) -> dict[str, Any]:  # noqa: ARG002
        async def ended() -> dict[str, Any]:
            return result_to_wire(await self._service.stop(_id(arguments.id), arguments.reason))

        return await _named(ended)

    async def steer(self, arguments: MessageArguments, context: CallContext) -> dict[str, Any]:  # noqa: ARG002
        return await _named(lambda: self._tell("steer", arguments))

    async def follow_up(self, arguments: MessageArguments, context: CallContext) -> dict[str, Any]:  # noqa: ARG002
        return await _named(lambda: self._tell("followUp", arguments))

    async def cleanup(self, arguments: CleanupArguments, context: CallContext) -> dict[str, Any]:  # noqa: ARG002
        async def removed() -> dict[str, Any]:
            return {"removed": self._service.cleanup(None if arguments.id is None else _id(arguments.id))}

        return await _named(removed)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _resolve(self, request: AgentRequest, context: CallContext) -> ResolvedRun:
        """What the child gets, before anything exists.

        Raises: RequestError, LaunchRefusedError
        """
        caller = self._service.caller(context.run_id)
        program = None if request.program_file is None else read_program(caller.cwd, request.program_file)
        resolved = resolve(
            request,
            caller,
            self._service.settings,
            run_id=new_id(),
            runners=self._service.runners,
            program=program,
        )
        if not Path(resolved.cwd).is_dir():
            raise RequestError(f"cwd: got {resolved.cwd!r:.200}, wanted an existing folder")
        if not self._may_work_in(Path(resolved.cwd), caller.cwd):
            raise LaunchRefusedError(
                f"cwd: the child asks for {resolved.cwd}, its caller works in {caller.cwd} "
                "(setting tools.outsideProject)",
                setting="tools.outsideProject",
                requested=resolved.cwd,
                effective=str(caller.cwd),
            )
        if resolved.schema is not None:
            try:
                self._validator.compile(resolved.schema)
            except SchemaUnusableError as error:
                raise RequestError(f"schema: {error}") from None
        return msgspec.structs.replace(resolved, session=self._session(request, resolved, caller.session_file))

    def _may_work_in(self, folder: Path, project: Path) -> bool:
        """A child's tools work in its folder, so the folder must lie where its caller's tools work."""
        inside = folder.resolve().is_relative_to(project.resolve())
        return inside or self._service.host.config.tools.outside_project

    def _check_session(self, path: Path) -> None:
        """Raises: RequestError: no such file, or it is none of this project's sessions."""
        if not path.is_file():
            raise RequestError(f"session: got {str(path)!r:.200}, wanted an existing session file")
        host = self._service.host
        sessions = agent_dir(host.environment) / "sessions"
        if not any(path.resolve().is_relative_to(place.resolve()) for place in (host.cwd, sessions)):
            raise RequestError(f"session: got {str(path)!r:.200}, wanted one inside {host.cwd} or {sessions}")

    def _session(self, request: AgentRequest, resolved: ResolvedRun, own: str | None) -> str | None:
        """The session file that the child continues: the one named, or a copy of it or of this host's own.

        Raises: RequestError: there is none to copy, or it cannot be read.
        """
        named = None if request.session is None else str(Path(resolved.cwd) / request.session)
        if named is not None:
            self._check_session(Path(named))
        if not request.fork_session:
            return named
        source = named or own
        if source is None:
            raise RequestError("forkSession: got true, wanted a session; this one is in memory and none is named")
        target = self._service.fork_path(resolved.id)
        try:
            with TranscriptStore.open(source, read_only=True) as store, store.fork(target, cwd=resolved.cwd):
                return str(target)
        except (TranscriptError, OSError) as error:
            raise RequestError(f"session: {source} cannot be copied: {error}") from None

    async def _run(self, arguments: RunArguments, context: CallContext) -> dict[str, Any]:
        request = arguments.request()
        resolved = self._resolve(request, context)
        if request.residency == "durable":
            await self._service.launch_durable(resolved, context.run_id)
            try:
                return result_to_wire(await self._service.wait(resolved.id))
            except trio.Cancelled:
                with trio.CancelScope(shield=True, deadline=trio.current_time() + 5):
                    await self._service.stop(resolved.id, "its caller was cancelled")
                raise
        supervisor = await self._service.supervisor()
        return result_to_wire(await supervisor.run(resolved, execution=context.run_id))

    async def _spawn(self, arguments: RunArguments, context: CallContext) -> dict[str, Any]:
        request = arguments.request()
        resolved = self._resolve(request, context)
        if request.residency == "durable":
            return await self._service.launch_durable(resolved, context.run_id)
        supervisor = await self._service.supervisor()
        run = supervisor.launch(resolved, detached=True, execution=context.run_id)
        return live_status(run, trio.current_time())

    async def _wait(self, arguments: WaitArguments) -> Any:
        ids = [_id(one) for one in (arguments.ids if arguments.ids is not None else [arguments.id])]
        found: dict[str, dict[str, Any]] = {}
        timeout = float("inf") if arguments.timeout_ms is None else arguments.timeout_ms / 1000
        with trio.move_on_after(timeout):
            for run_id in ids:
                found[run_id] = result_to_wire(await self._service.wait(run_id))
        for run_id in ids:
            # Time is up: what is not over is answered as it stands.
            found.setdefault(run_id, self._service.status(self._service.record(run_id)))
        return [found[run_id] for run_id in ids] if arguments.ids is not None else found[ids[0]]

    async def _tell(self, kind: str, arguments: MessageArguments) -> dict[str, Any]:
        run_id = _id(arguments.id)
        await self._service.message(run_id, kind, arguments.message)
        return self._service.status(self._service.record(run_id))


def read_program(project: Path, name: str) -> str:
    """The text of a program file inside the project.

    Raises: RequestError: outside of it, unreadable, or larger than a program may be.
    """
    root = project.resolve()
    path = (root / name).resolve()
    if not path.is_relative_to(root):
        raise RequestError(f"programFile: got {name!r:.200}, wanted a path inside the project {root}")
    try:
        if path.stat().st_size > PROGRAM_LIMIT_BYTES:
            raise RequestError(f"programFile: {path} is larger than {PROGRAM_LIMIT_BYTES} bytes")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(f"programFile: {path}: {error}") from None


def _id(reference: str | dict[str, Any] | None) -> str:
    """The id of an id or handle.

    Raises: HandlerError
    """
    found = reference.get("id") if isinstance(reference, dict) else reference
    if not isinstance(found, str):
        raise HandlerError("id: got a dict without one, wanted an id or a handle", "rejected")
    return found


async def _named(work: Callable[[], Awaitable[_T]]) -> _T:
    """Map this package's failures to what a program may catch."""
    try:
        return await work()
    except RequestError as error:
        raise HandlerError(str(error), "rejected") from None
    except LaunchRefusedError as error:
        details = {"setting": error.setting, "requested": error.requested, "effective": error.effective}
        raise HandlerError(str(error), _kind(error.setting), details) from None
    except AgentError as error:
        raise HandlerError(str(error), "rejected" if "no agent run has the id" in str(error) else "host") from None


def _kind(setting: str) -> RefusalKind:
    if setting == "schema.mode":
        return "denied"
    return "limit" if setting.startswith("agents.max") else "rejected"


def _action(
    name: str, handler: Any, parameters: type[msgspec.Struct], risk: Any, description: str, schema: dict[str, Any]
) -> Action:
    return Action(
        descriptor=Descriptor(
            ref=f"agents.{name}",
            risk=risk,
            description=description,
            effect=None if risk == "read" else LAUNCHES,
            input_schema=schema,
            tool_name=name,
            speculation_eligible=risk == "read" and name != "wait",
        ),
        handler=handler,
        waits=True,
        parameters=parameters,
    )
