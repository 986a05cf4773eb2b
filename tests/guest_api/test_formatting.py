"""The safe `str.format` answers what Python's answers, and reads no attribute that a program could not spell."""

import datetime as dt
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guest_api.inside.formatting import format_call, format_map_call, template_problem

VALUES: tuple[Any, ...] = (3, "text", 2.5, [1, [2]], {"k": "v"}, None, dt.date(2026, 1, 2), SimpleNamespace(x=1))

PIECES = (
    "a {{ }} {} {0} {1} {2:.1f} {0:>5} {1!r} {1!a:^9} {3[1][0]} {4[k]} {6:%Y} {7.x} {a} {a:>{w}} {0:{w}} {0:{1}} {9} {zz} { } "
    "{!x} {0!z} {0.y} {3[9]} {:{}} {:{:{}}}"
).split()
pieces = st.sampled_from(PIECES)


def outcome(call: Any) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error)


@settings(max_examples=300, deadline=None)
@given(st.lists(pieces, max_size=5).map("".join))
def test_it_answers_what_python_answers(template: str) -> None:
    keywords = {"a": "A", "w": 7}
    expected = outcome(lambda: template.format(*VALUES, **keywords))
    assert outcome(lambda: format_call(template, *VALUES, **keywords)) == expected


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="{}[]!:.0ab_ ", max_size=12))
def test_hostile_templates_end_as_in_python_or_are_refused(template: str) -> None:
    expected = outcome(lambda: template.format("x", a="y"))
    got = outcome(lambda: format_call(template, "x", a="y"))
    assert got == expected or got is ValueError


@pytest.mark.parametrize(
    "template",
    [
        "{0.__class__}",
        "{0._x}",
        "{0.x.__globals__}",
        "{0[a].__class__}",
        "{:{0.gi_frame}}",
        "{a.f_back!r:>3}",
        "{.format}",
    ],
)
def test_a_field_that_a_program_could_not_spell_is_refused_at_compile_and_at_run_time(template: str) -> None:
    assert template_problem(template) is not None
    with pytest.raises((ValueError, AttributeError, KeyError, TypeError)):
        format_call(template, SimpleNamespace(x=1), a=1)


def test_a_malformed_literal_is_left_to_fail_when_it_runs() -> None:
    assert template_problem("{") is None
    with pytest.raises(ValueError, match="Single"):
        format_call("{")


def test_format_map_takes_any_mapping() -> None:
    class Default(dict[str, str]):
        def __missing__(self, key: str) -> str:
            return f"<{key}>"

    assert format_map_call("{a} {b}", Default(a="1")) == "1 <b>"


def test_an_object_with_a_format_method_of_the_library_is_refused() -> None:
    from collections import UserString

    with pytest.raises(TypeError, match="not offered"):
        format_call(UserString("{0.__class__}"), 1)


def test_a_subclass_of_str_is_formatted_by_its_text_alone() -> None:
    class Text(str):
        __slots__ = ()

        def __str__(self) -> str:
            return "{0.__class__}"

    assert format_call(Text("{0}"), 5) == "5"
