"""A text by position gets the name of the parameter that it is for, or is refused in plain words."""

from typing import Any

import msgspec
import pytest

from host_bridge.actions import action
from host_bridge.descriptor import Action, CallContext, Descriptor
from host_bridge.errors import HandlerError
from host_bridge.positional import first_parameter, is_text_first, with_text_first


class Spelt(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    most_lines: int = 1
    file_path: str


@action(ref="t.spelt", risk="read")
def spelt(arguments: Spelt) -> str:
    return arguments.file_path


@action(ref="t.optional", risk="read")
def optional(where: str = ".", limit: int = 1) -> str:
    return where * limit


@action(ref="t.none", risk="read")
def none(context: CallContext) -> str:
    return context.ref


def with_schema(schema: Any) -> Action:
    return Action(
        descriptor=Descriptor(ref="t.schema", risk="read", input_schema=schema),
        handler=lambda arguments, context: arguments,
        waits=False,
    )


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (spelt, "filePath"),
        (optional, "where"),
        (none, None),
        (with_schema({"properties": {"a": {}, "b": {}, "c": {}}, "required": ["c", "b"]}), "b"),
        (with_schema({"required": ["x"]}), "x"),
        (with_schema({"properties": {"only": {}}}), "only"),
        (with_schema({"properties": {"a": {}, "b": {}}}), None),
        (with_schema({"properties": "odd", "required": "odd"}), None),
        (with_schema(None), None),
    ],
)
def test_the_first_required_parameter_is_meant(given: Action, name: str | None) -> None:
    assert first_parameter(given) == name


def test_the_text_stands_in_front_under_its_name() -> None:
    assert with_text_first("t.spelt", spelt, "a.txt", {"mostLines": 3}) == {"filePath": "a.txt", "mostLines": 3}


@pytest.mark.parametrize("named", [{"filePath": "b"}, {"file_path": "b"}])
def test_twice_is_refused_whatever_the_spelling(named: dict[str, Any]) -> None:
    with pytest.raises(HandlerError) as caught:
        with_text_first("t.spelt", spelt, "a", named)
    assert caught.value.message == "t.spelt: filePath: got 'a' by position and a value by name, wanted one of them"
    assert caught.value.kind == "rejected"


def test_no_parameter_to_mean_is_refused() -> None:
    with pytest.raises(HandlerError, match="no single parameter can be meant"):
        with_text_first("t.none", none, "a", {})


@pytest.mark.parametrize("odd", [[], ["a"], ["a", {}, 1], [1, {}], ["a", []], "a", None, {}, [{}, "a"]])
def test_other_shapes_are_no_arguments(odd: Any) -> None:
    assert not is_text_first(odd)
