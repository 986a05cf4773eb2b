"""Strict JSON: exact or refused on the way out, tolerant or strict on the way in."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guest_api.values import MAX_INTEGER_BITS
from host_bridge import strict_json

LARGEST = 2**MAX_INTEGER_BITS - 1
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
ANY_TEXT = st.text(st.characters())


def bits_of(number: int) -> str:
    return f"{number.bit_length()} bits"


@given(VALUES)
def test_what_is_written_reads_back_the_same_either_way(value):
    """Hypothesis' text has no lone surrogates."""
    line = strict_json.encode(value)
    assert strict_json.decode(line) == strict_json.decode_strict(line) == value
    assert b"\n" not in line


@pytest.mark.parametrize("number", [LARGEST, -LARGEST, 10**4300, -(10**4299), 10**13000 + 7], ids=bits_of)
def test_every_integer_that_crosses_is_written_and_read_exactly(number):
    """The interpreter's own limit for decimal text is 4300 digits."""
    line = strict_json.encode({"n": [number]})
    assert strict_json.decode_strict(line) == strict_json.decode(line) == {"n": [number]}


def test_an_integer_that_could_not_cross_is_not_read():
    with pytest.raises(ValueError, match="an integer of 20000 digits; 19730 is the most"):
        strict_json.decode_strict("[" + "9" * 20_000 + "]")


@given(ANY_TEXT, ANY_TEXT)
def test_lone_surrogates_are_kept_as_escapes_when_asked_for(key, text):
    line = strict_json.encode({key: [text, {key: text}], "plain": 1}, lone_surrogates=True)
    assert json.loads(line.decode()) == {key: [text, {key: text}], "plain": 1} | (
        {"plain": 1} if key == "plain" else {}
    )


@pytest.mark.parametrize("value", ["\ud800", {"\udfff": 1}, [["\ud800"]]])
def test_lone_surrogates_are_refused_otherwise(value):
    with pytest.raises(strict_json.NotJsonError, match="lone surrogate"):
        strict_json.encode(value)


@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize("value", [float("nan"), {"a": [float("inf")]}, {1: 2}, {"a": object()}, b"bytes", {1, 2}])
def test_what_json_cannot_carry_is_refused_with_or_without_surrogates(value, flag):
    with pytest.raises(strict_json.NotJsonError):
        strict_json.encode(value, lone_surrogates=flag)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1, "a": 1}', "key 'a' stands twice in one object"),
        ('[{"b": {"c": 1, "c": 2}}]', "key 'c' stands twice in one object"),
        ("[NaN]", "NaN is not JSON"),
        ("-Infinity", "-Infinity is not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("", "Expecting value"),
        ("1 2", "Extra data"),
        (b'"\xff"', "utf-8"),
        (b'"\xed\xa0\x80"', "utf-8"),
    ],
)
def test_the_strict_reader_refuses_what_is_not_exactly_json(text, words):
    with pytest.raises(ValueError, match=words):
        strict_json.decode_strict(text)


def test_the_tolerant_reader_never_takes_nan():
    with pytest.raises(ValueError, match="NaN is not JSON"):
        strict_json.decode(b'{"a": NaN}')
