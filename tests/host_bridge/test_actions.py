"""Typed functions become actions with schemas; argument mistakes are told in plain words."""

import datetime as dt
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
import pytest

from host_bridge.actions import action
from host_bridge.admission import Admission
from host_bridge.descriptor import CallContext
from host_bridge.errors import InvalidRefError
from tests.host_bridge.support import admit, lines, registry_of


class Options(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    file_name: str
    depth: int = 1


@action(ref="text.shorten", risk="read")
def shorten(
    text: str,
    length: Annotated[int, msgspec.Meta(ge=1, le=20)] = 5,
    side: Literal["left", "right"] = "left",
    tags: list[str] | None = None,
) -> str:
    """Shorten a text."""
    return text[:length] if side == "left" else text[-length:]


@action(ref="text.options", risk="read")
def with_options(options: Options) -> str:
    return f"{options.file_name}/{options.depth}"


@action(ref="text.context", risk="read")
async def with_context(x: int, context: CallContext) -> list:
    return [x, context.run_id, context.call_id, context.ref]


@action(ref="text.anything", risk="read")
def anything(**named):
    return named


@dataclass
class Point:
    x: int


@action(ref="text.point", risk="read")
def point() -> Point:
    return Point(3)


@action(ref="text.thread", risk="read", in_thread=True)
def in_thread() -> bool:
    import threading

    return threading.current_thread() is not threading.main_thread()


ALL = registry_of(shorten, with_options, with_context, anything, point, in_thread)


async def test_a_function_is_called_with_its_own_names():
    admission = Admission(ALL)
    assert (await admit(admission, "text.shorten", {"text": "abcdefgh"})).value == "abcde"
    assert (await admit(admission, "text.context", {"x": 1})).value == [1, "run-1", 1, "text.context"]
    assert (await admit(admission, "text.anything", {"a": 1})).value == {"a": 1}
    assert (await admit(admission, "text.point")).value == {"x": 3}
    assert (await admit(admission, "text.thread")).value is True


async def test_structs_take_both_spellings_but_not_twice():
    admission = Admission(ALL)
    assert (await admit(admission, "text.options", {"fileName": "a"})).value == "a/1"
    assert (await admit(admission, "text.options", {"file_name": "a", "depth": 2})).value == "a/2"
    both = await admit(admission, "text.options", {"file_name": "a", "fileName": "b"})
    assert both.kind == "rejected"
    assert "not both" in both.message


def test_schema_and_description_come_from_the_function():
    described = shorten.descriptor
    assert described.description == "Shorten a text."
    assert described.input_schema["required"] == ["text"]
    assert described.input_schema["additionalProperties"] is False
    assert described.output_schema == {"type": "string"}
    assert described.speculation_eligible
    assert not action(lambda: 1, ref="a.b", risk="write").descriptor.speculation_eligible
    assert shorten.waits is False
    assert with_context.waits is True


async def test_every_problem_has_its_line():
    call = await admit(Admission(ALL), "text.shorten", {"txt": "a", "length": 99, "side": "lefft", "tags": [1]})
    assert call.kind == "rejected"
    assert lines(call.message) == [
        "text.shorten: 5 problems with the arguments",
        "txt: got 'a', wanted one of text, length, side, tags; did you mean 'text'?",
        "text: got nothing, wanted text",
        "length: got 99, wanted a whole number from 1 to 20",
        "side: got 'lefft', wanted one of 'left', 'right'; did you mean 'left'?",
        "tags[0]: got 1, wanted text",
    ]
    assert call.details["problems"][0]["closest"] == "text"


async def test_one_problem_is_one_line():
    call = await admit(Admission(ALL), "text.shorten", {"text": 3})
    assert call.message == "text.shorten: text: got 3, wanted text"


@pytest.mark.parametrize("value", [True, "3", 3.5, None])
async def test_nothing_is_coerced(value):
    call = await admit(Admission(ALL), "text.shorten", {"text": "a", "length": value})
    assert call.kind == "rejected"
    assert "length" in call.message


def test_bad_refs_and_unusable_parameters_fail_where_they_are_written():
    with pytest.raises(InvalidRefError):
        action(lambda: 1, ref="plain", risk="read")
    with pytest.raises(TypeError, match="nameable"):
        action(lambda *rest: 1, ref="a.b", risk="read")

    def odd(x: "Nowhere"): ...  # noqa: F821

    with pytest.raises(TypeError, match="unknown"):
        action(odd, ref="a.b", risk="read")


class Place(msgspec.Struct, forbid_unknown_fields=True):
    lat: float
    lon: float = 0.0


@dataclass
class Stay:
    place: Place
    nights: Annotated[int, msgspec.Meta(ge=1)] = 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"stays": [{"place": {"lat": "x"}}], "by": {}}, ["stays[0].place.lat: got 'x', wanted a number"]),
        (
            {"stays": [{"place": {"lat": 1, "lng": 2}, "nights": 0}, {}], "by": {}},
            [
                "stays[0].place.lng: got 2, wanted one of lat, lon; did you mean 'lon'?",
                "stays[0].nights: got 0, wanted a whole number of at least 1",
                "stays[1].place: got nothing, wanted a dict with lat, lon?",
            ],
        ),
        ({"stays": [3], "by": {"a": "b"}}, [
            "stays[0]: got 3, wanted a dict with place, nights?",
            "by.a: got 'b', wanted a date as text, 2026-01-31",
        ]),
    ],
)  # fmt: skip
async def test_problems_inside_a_value_are_told_by_their_path_in_plain_words(arguments, told):
    @action(ref="t.book", risk="read")
    def book(stays: list[Stay], by: dict[str, dt.date], when: dt.date | None = None) -> int:
        return len(stays) + len(by)

    call = await admit(Admission(registry_of(book)), "t.book", arguments)
    head = [f"t.book: {told[0]}"] if len(told) == 1 else [f"t.book: {len(told)} problems with the arguments", *told]
    assert call.message.splitlines() == head


def test_parameters_stand_at_the_top_of_the_schema_however_they_are_typed():
    @action(ref="t.book", risk="read")
    def book(stay: Stay) -> None:
        del stay

    schema = book.descriptor.input_schema
    assert list(schema["properties"]) == ["stay"]
    assert sorted(schema["$defs"]) == ["Place", "Stay"]
