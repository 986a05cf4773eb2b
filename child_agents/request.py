"""What may be asked of a child agent and what comes back; it decides nothing."""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, get_args

import msgspec

from child_agents.errors import RequestError
from guest_api.bounds import Bounds, BoundsError, parse_bounds, shown
from guest_api.levels import LEVELS, Level, closest_name
from host_bridge.descriptor import RISKS

Status: TypeAlias = Literal["queued", "running", "completed", "failed", "stopped", "timed_out", "indeterminate"]
FINAL_STATUSES: Final = frozenset({"completed", "failed", "stopped", "timed_out", "indeterminate"})
Residency: TypeAlias = Literal["session", "durable"]
Mode: TypeAlias = Literal["allow", "ask", "deny"]
MODES: Final[tuple[Mode, ...]] = ("deny", "ask", "allow")
"""In rising order of freedom."""
LONGEST_NAME_CHARACTERS: Final = 64
LONGEST_TIMEOUT_MS: Final = 7 * 24 * 3600 * 1000


class AgentRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One child agent, as a program asks for it; every field has been checked by `read_request`."""

    task: str | None = None
    name: str | None = None
    runner: str | None = None
    program: str | None = None
    """Source text of a guest program, for the `program` runner."""
    program_file: str | None = None
    """A path inside the project instead of `program`."""
    input: Any = None
    model: str | None = None
    """A model id, or the name of an entry of `agents.aliases`."""
    alias: str | None = None
    """The name of an entry of `agents.aliases`, where the model is something else."""
    thinking: Level | None = None
    thinking_bounds: Bounds | None = None
    tools: tuple[str, ...] | None = None
    """Refs or `prefix.*` patterns; None: all of the caller's."""
    risks: dict[str, Mode] | None = None
    """Risk class to mode; classes that are not named are the caller's."""
    cwd: str | None = None
    timeout_ms: int | None = None
    max_turns: int | None = None
    max_cost: float | None = None
    max_depth: int | None = None
    """How many more levels of children may follow below this one."""
    schema: dict[str, Any] | None = None
    """JSON Schema of the child's value."""
    session: str | None = None
    """A session file that the child continues; nobody else may have it open."""
    fork_session: bool = False
    """True: the child continues a copy of `session`, or of the caller's own session, in its record."""
    recursive: bool = False
    """True: the child may start children of its own."""
    residency: Residency = "session"


_SNAKE_TO_WIRE: Final = {
    field.name: field.encode_name for field in msgspec.structs.fields(AgentRequest) if field.name != field.encode_name
}
_FIELDS: Final = tuple(field.encode_name for field in msgspec.structs.fields(AgentRequest))
_TEXTS: Final = ("task", "runner", "program", "programFile", "model", "alias", "cwd", "session")


def wire_names(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments under their camelCase names; `thinking_bounds` and `thinkingBounds` are one field.

    Raises: RequestError: a field is given in both spellings.
    """
    named: dict[str, Any] = {}
    for key, value in arguments.items():
        wire = _SNAKE_TO_WIRE.get(key, key)
        if wire in named:
            raise RequestError(f"{wire}: given twice, wanted one of {key} and {wire}")
        named[wire] = value
    return named


def read_request(arguments: Mapping[str, Any]) -> AgentRequest:
    """The request behind the arguments of `agents.run` and `agents.spawn`.

    Raises: RequestError: names the field, what was given, what is wanted and the closest valid name.
    Seed: thinking:child:argument
    """
    given = {key: value for key, value in wire_names(arguments).items() if value is not None}
    for key in given:
        if key not in _FIELDS:
            near = closest_name(key, _FIELDS)
            raise RequestError(
                f"{key}: got an unknown field, wanted one of {', '.join(_FIELDS)}"
                + (f"; did you mean {near!r}?" * bool(near))
            )
    for key in _TEXTS:
        if key in given:
            _text(key, given[key])
    fields: dict[str, Any] = {key: given[key] for key in (*_TEXTS, "input") if key in given}
    if "name" in given:
        fields["name"] = _name(given["name"])
    if "thinking" in given:
        fields["thinking"] = _choice("thinking", given["thinking"], LEVELS)
    if "thinkingBounds" in given:
        try:
            fields["thinkingBounds"] = parse_bounds(given["thinkingBounds"])
        except BoundsError as error:
            raise RequestError(str(error)) from None
    if "tools" in given:
        fields["tools"] = _tools(given["tools"])
    if "risks" in given:
        fields["risks"] = _risks(given["risks"])
    for key, lowest, highest in (
        ("timeoutMs", 1, LONGEST_TIMEOUT_MS),
        ("maxTurns", 1, 100_000),
        ("maxDepth", 0, 100),
    ):
        if key in given:
            fields[key] = _integer(key, given[key], lowest, highest)
    if "maxCost" in given:
        fields["maxCost"] = _cost(given["maxCost"])
    if "schema" in given:
        if not isinstance(given["schema"], dict):
            raise RequestError(f"schema: got {shown(given['schema'])}, wanted a JSON Schema object")
        fields["schema"] = given["schema"]
    for key in ("recursive", "forkSession"):
        if key in given:
            if not isinstance(given[key], bool):
                raise RequestError(f"{key}: got {shown(given[key])}, wanted true or false")
            fields[key] = given[key]
    if "residency" in given:
        fields["residency"] = _choice("residency", given["residency"], ("session", "durable"))
    return _with_wire_names(fields)


def _with_wire_names(fields: dict[str, Any]) -> AgentRequest:
    wire_to_name = {field.encode_name: field.name for field in msgspec.structs.fields(AgentRequest)}
    return AgentRequest(**{wire_to_name[key]: value for key, value in fields.items()})


def _text(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise RequestError(f"{key}: got {shown(value)}, wanted text")
    if key != "program" and not value.strip():
        raise RequestError(f"{key}: got an empty text")
    if "\0" in value:
        raise RequestError(f"{key}: a NUL character cannot be handed to a process")
    return value


def _name(value: object) -> str:
    text = _text("name", value)
    if len(text) > LONGEST_NAME_CHARACTERS or "/" in text or not text.isprintable():
        raise RequestError(
            f"name: got {shown(value)}, wanted at most {LONGEST_NAME_CHARACTERS} printable characters without /"
        )
    return text


def _choice(key: str, value: object, names: tuple[str, ...]) -> str:
    if isinstance(value, str) and value in names:
        return value
    near = closest_name(value, names)
    raise RequestError(
        f"{key}: got {shown(value)}, wanted one of {', '.join(names)}" + (f"; did you mean {near!r}?" * bool(near))
    )


def _tools(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise RequestError(f"tools: got {shown(value)}, wanted a list of refs such as pi.read or mcp.git.*")
    for index, item in enumerate(value):
        if not isinstance(item, str) or not item.strip(".* ") or "*" in item.removesuffix(".*"):
            raise RequestError(f"tools[{index}]: got {shown(item)}, wanted a ref as pi.read, or a prefix as mcp.git.*")
    return tuple(dict.fromkeys(value))


def _risks(value: object) -> dict[str, Mode]:
    if not isinstance(value, Mapping):
        raise RequestError(f'risks: got {shown(value)}, wanted an object such as {{"write": "deny"}}')
    for risk, mode in value.items():
        _choice("risks", risk, RISKS)
        _choice(f"risks.{risk}", mode, MODES)
    return dict(value)


def _integer(key: str, value: object, lowest: int, highest: int) -> int:
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(number, bool) or not isinstance(number, int) or not lowest <= number <= highest:
        raise RequestError(f"{key}: got {shown(value)}, wanted a whole number from {lowest} to {highest}")
    return number


def _cost(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise RequestError(f"maxCost: got {shown(value)}, wanted a number of US dollars from 0")
    return float(value)


class Usage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a run used, its own descendants not included."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    """US dollars."""
    wall_ms: float = 0.0


class Failure(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Why a run has no result."""

    kind: str
    """The child's own error kind (`program`, `denied`, `limit` …), or `schema`, `config`, `isolation`, `crashed`."""
    message: str
    line: int | None = None
    source_line: str | None = None
    path: str | None = None
    """For `schema`: where in the value."""
    limit: str | None = None
    """For `limit`: the setting that ended it."""


class AgentResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How one run ended; keys without a value are absent."""

    id: str
    name: str
    runner: str
    status: Status
    text: str
    usage: Usage
    turns: int
    tool_calls: int
    thinking: str | None
    value: Any = msgspec.UNSET
    error: Failure | None = None
    requested_thinking: str | None = None
    thinking_bounds: dict[str, Level] | None = None


def result_to_wire(result: AgentResult) -> dict[str, Any]:
    """The result as a program receives it: `text`, `usage`, `turns`, `toolCalls`, `thinking` always stand there."""
    wire: dict[str, Any] = msgspec.to_builtins(result)
    wire.setdefault("thinking", result.thinking)
    if result.status == "completed":
        wire.setdefault("value", None)
    return wire


def status_word(value: str) -> str:
    """One of the status words.

    Raises: RequestError: it is none.
    """
    return _choice("status", value, get_args(Status))
