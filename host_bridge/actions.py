"""`action(ref=…, risk=…)`: a typed Python function as an action; it registers and calls nothing."""

import copy
import dataclasses
import functools
import inspect
import re
import typing
from collections.abc import Callable
from typing import Any, overload

import msgspec

from host_bridge.descriptor import Action, CallContext, Descriptor, Effect, Risk
from host_bridge.errors import InvalidRefError
from host_bridge.registry import check_ref

_Function = Callable[..., Any]
_JSON_SCALARS = frozenset({str, int, float, bool, type(None)})


@overload
def action(
    function: _Function,
    *,
    ref: str,
    risk: Risk,
    description: str | None = ...,
    effect: Effect | None = ...,
    in_thread: bool = ...,
    timeout_seconds: float | None = ...,
    namespace: str | None = ...,
) -> Action: ...


@overload
def action(
    *,
    ref: str,
    risk: Risk,
    description: str | None = ...,
    effect: Effect | None = ...,
    in_thread: bool = ...,
    timeout_seconds: float | None = ...,
    namespace: str | None = ...,
) -> Callable[[_Function], Action]: ...


def action(
    function: _Function | None = None,
    *,
    ref: str,
    risk: Risk,
    description: str | None = None,
    effect: Effect | None = None,
    in_thread: bool = False,
    timeout_seconds: float | None = None,
    namespace: str | None = None,
) -> Action | Callable[[_Function], Action]:
    """An action out of a function whose parameters are typed; usable as a decorator.

    An `async def` runs in a task of its own. A plain function is called inline and must finish at once, unless
    `in_thread` is given. Its docstring is the description, its annotations are the schema; a parameter annotated
    `CallContext` receives the call's context. Timeouts are in seconds.

    Raises: InvalidRefError: the ref cannot be called; TypeError: a parameter cannot come from JSON.
    """

    def build(made_from: _Function) -> Action:
        return _build(
            made_from,
            Descriptor(
                ref=check_ref(ref),
                risk=risk,
                description=description if description is not None else inspect.getdoc(made_from) or "",
                effect=effect,
                namespace=namespace,
                tool_name=ref.rpartition(".")[2],
                speculation_eligible=risk == "read" and effect is None,
            ),
            in_thread=in_thread,
            timeout_seconds=timeout_seconds,
        )

    return build if function is None else build(function)


def _build(function: _Function, descriptor: Descriptor, *, in_thread: bool, timeout_seconds: float | None) -> Action:
    hints = _hints(function)
    signature = inspect.signature(function)
    context_name: str | None = None
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    takes_rest = False
    for parameter in signature.parameters.values():
        kind = hints.get(parameter.name, Any)
        if kind is CallContext:
            context_name = parameter.name
        elif parameter.kind is parameter.VAR_KEYWORD:
            takes_rest = True
        elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            raise TypeError(f"{descriptor.ref}: parameter {parameter.name!r} must be nameable; programs name arguments")
        elif parameter.default is parameter.empty:
            fields.append((parameter.name, kind))
        else:
            fields.append((parameter.name, kind, _field_default(parameter.default)))
    parameters, unpack = _parameters(descriptor.ref, fields, takes_rest=takes_rest)
    waits = inspect.iscoroutinefunction(inspect.unwrap(function)) or in_thread

    def keywords(arguments: Any, context: CallContext) -> dict[str, Any]:
        named = unpack(arguments)
        if context_name is not None:
            named[context_name] = context
        return named

    handler: _Function
    if in_thread:

        async def in_worker(arguments: Any, context: CallContext) -> Any:
            import trio

            call = functools.partial(function, **keywords(arguments, context))
            return _plain(await trio.to_thread.run_sync(call, abandon_on_cancel=True))

        handler = in_worker
    elif waits:

        async def waiting(arguments: Any, context: CallContext) -> Any:
            return _plain(await function(**keywords(arguments, context)))

        handler = waiting
    else:

        def immediate(arguments: Any, context: CallContext) -> Any:
            return _plain(function(**keywords(arguments, context)))

        handler = immediate
    described = dataclasses.replace(
        descriptor,
        input_schema=_schema(parameters) if parameters is not None else None,
        output_schema=_schema(hints["return"]) if "return" in hints else None,
    )
    return Action(
        descriptor=described, handler=handler, waits=waits, parameters=parameters, timeout_seconds=timeout_seconds
    )


def _parameters(
    ref: str, fields: list[Any], *, takes_rest: bool
) -> tuple[type[msgspec.Struct] | None, Callable[[Any], dict[str, Any]]]:
    """The Struct that decodes the arguments, and how it becomes keyword arguments."""
    if takes_rest:
        return None, dict
    if len(fields) == 1 and isinstance(fields[0][1], type) and issubclass(fields[0][1], msgspec.Struct):
        name, struct = fields[0][0], fields[0][1]
        return struct, lambda arguments: {name: arguments}
    struct_name = re.sub(r"\W", "_", ref).title() + "Arguments"
    try:
        made = msgspec.defstruct(struct_name, fields, kw_only=True, frozen=True, forbid_unknown_fields=True)
        msgspec.json.Decoder(made)
    except TypeError as error:
        raise TypeError(f"{ref}: {error}") from None
    return made, msgspec.structs.asdict


def _field_default(default: Any) -> Any:
    if isinstance(default, list | dict | set | bytearray) and default:
        return msgspec.field(default_factory=lambda: copy.copy(default))
    return default


def _hints(function: _Function) -> dict[str, Any]:
    try:
        return typing.get_type_hints(inspect.unwrap(function), include_extras=True)
    except NameError as error:
        raise TypeError(f"{function.__qualname__}: an annotation names something unknown: {error}") from None


def _schema(kind: Any) -> dict[str, Any] | None:
    """JSON Schema of a type with its references inside; None where msgspec has none for it."""
    if kind is Any or kind is None or kind is type(None):
        return None
    try:
        (schema,), components = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    except (TypeError, NotImplementedError):
        return None
    root = str(schema.get("$ref", "")).rpartition("/")[2]
    if root in components and f'"#/$defs/{root}"' not in msgspec.json.encode(components).decode():
        # In place, so that everybody finds the parameters at the top; unless something inside refers to it.
        schema = components.pop(root)
    return {**schema, "$defs": components} if components else schema


def _plain(result: Any) -> Any:
    """Structs and dataclasses as dicts; everything else is left for the wall to judge."""
    if type(result) in _JSON_SCALARS:
        return result
    if isinstance(result, msgspec.Struct) or (dataclasses.is_dataclass(result) and not isinstance(result, type)):
        return msgspec.to_builtins(result)
    if isinstance(result, list) and any(isinstance(item, msgspec.Struct) for item in result):
        return msgspec.to_builtins(result)
    return result


__all__ = ["InvalidRefError", "action"]
