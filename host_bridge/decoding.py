"""From a call's arguments as sent to what its handler gets, or a refusal; it asks nobody and runs nothing.

Invariant: nothing is coerced, and what no parameter takes is refused by name.
Attacked by `tests/host_bridge/test_admission.py`.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from host_bridge.argument_errors import (
    ArgumentValidator,
    Problem,
    problem_details,
    problems_text,
    show,
    struct_problems,
)
from host_bridge.descriptor import Action
from host_bridge.errors import HandlerError


def decoded(ref: str, action: Action, arguments: dict[str, Any], validator: ArgumentValidator | None) -> Any:
    """What the handler gets: the action's typed parameters, or the arguments themselves once its schema took them.

    Raises: HandlerError: rejected, with a line for each problem.
    """
    parameters = action.parameters
    if parameters is not None:
        aliases = _aliases(parameters)
        if aliases and not aliases.keys().isdisjoint(arguments):
            arguments = _renamed(ref, aliases, arguments)
        try:
            # JSON has no keys but text: `dict[int, str]` is written `{"1": "a"}`.
            return msgspec.convert(arguments, parameters, strict=True, str_keys=True)
        except (msgspec.ValidationError, RecursionError) as error:
            problems = struct_problems(parameters, arguments, error)
            raise HandlerError(problems_text(ref, problems), "rejected", problem_details(problems)) from None
    schema = action.descriptor.input_schema
    if schema is not None and validator is not None:
        found = validator.problems(schema, arguments)
        if found:
            raise HandlerError(problems_text(ref, found), "rejected", problem_details(found))
    return arguments


_alias_cache: Final[dict[type[msgspec.Struct], Mapping[str, str]]] = {}


def _aliases(parameters: type[msgspec.Struct]) -> Mapping[str, str]:
    """snake_case spellings of a Struct's camelCase fields: programs may write either."""
    found = _alias_cache.get(parameters)
    if found is None:
        found = _alias_cache[parameters] = {
            f.name: f.encode_name for f in msgspec.structs.fields(parameters) if f.name != f.encode_name
        }
    return found


def _renamed(ref: str, aliases: Mapping[str, str], arguments: dict[str, Any]) -> dict[str, Any]:
    renamed: dict[str, Any] = {}
    for name, value in arguments.items():
        wire_name = aliases.get(name, name)
        if wire_name in renamed:
            problem = Problem(name, show(value), f"either {name} or {wire_name}, not both")
            raise HandlerError(problems_text(ref, [problem]), "rejected", problem_details([problem]))
        renamed[wire_name] = value
    return renamed
