"""One text by position, `pi.read("notes.txt", limit=5)`: which parameter it is for; it checks no value.

The text is for the first required parameter. Where none is required, a Python function's first one is meant, as in
Python; a JSON Schema orders nothing, so there it has to be the only one.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from host_bridge.argument_errors import Problem, problem_details, problems_text, show
from host_bridge.descriptor import Action
from host_bridge.errors import HandlerError

_PAIR: Final = 2


def is_text_first(arguments: Any) -> bool:
    """Whether arguments from the wire are a text and named ones: `["notes.txt", {"limit": 5}]`."""
    return (
        type(arguments) is list and len(arguments) == _PAIR and type(arguments[0]) is str and type(arguments[1]) is dict
    )


def with_text_first(ref: str, action: Action, text: str, named: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the text under its name, in front.

    Raises: HandlerError: no parameter can be meant, or it is given by name too.
    """
    name = first_parameter(action)
    if name is None:
        problem = Problem("", f"{show(text)} by position", "named arguments: no single parameter can be meant")
    elif name in named or any(_wire_name(action, given) == name for given in named):
        problem = Problem(name, f"{show(text)} by position and a value by name", "one of them")
    else:
        return {name: text, **named}
    raise HandlerError(problems_text(ref, [problem]), "rejected", problem_details([problem]))


def first_parameter(action: Action) -> str | None:
    """The wire name of the parameter that a text by position is for; None: there is no such."""
    if action.parameters is not None:
        fields = msgspec.structs.fields(action.parameters)
        required = [field for field in fields if field.required]
        return next((field.encode_name for field in (*required, *fields)), None)
    schema = action.descriptor.input_schema
    if not isinstance(schema, Mapping):
        return None
    properties, demanded = schema.get("properties"), schema.get("required")
    names = [str(name) for name in properties] if isinstance(properties, Mapping) else []
    needed = [name for name in demanded if isinstance(name, str)] if isinstance(demanded, list | tuple) else []
    # The order in which a server lists its parameters, not that of `required`.
    for name in (*(name for name in names if name in needed), *needed):
        return name
    return names[0] if len(names) == 1 else None


def _wire_name(action: Action, given: str) -> str:
    if action.parameters is None:
        return given
    fields = msgspec.structs.fields(action.parameters)
    return next((field.encode_name for field in fields if field.name == given), given)
