"""Values cross exactly or are refused with their path: over real bytes, both ways."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guest_api import wire
from guest_api.values import (
    MAX_DEPTH,
    MAX_INTEGER_BITS,
    ValueRefusedError,
    _convert,
    from_wire,
    read_extension,
    to_wire,
)

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text
    | st.sampled_from([2**63, -(2**63), 2**64 - 1, 2**64, -(2**63) - 1, -0.0])
)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4))


def cross(value):
    body = wire.encode(wire.Reply(1, to_wire(value)))[wire.LENGTH_BYTES :]
    return from_wire(wire.decode_host_frame(body).value)


def same(one, other):
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    return one == other


@given(values)
def test_every_json_value_crosses_exactly(value):
    assert same(cross(value), value)


@given(values)
def test_the_short_way_for_flat_dicts_changes_nothing(value):
    assert to_wire(value) == _convert(value, "$", 0, set())


def test_the_largest_integers_cross():
    for value in (2**65535, -(2**65535)):
        assert cross({"n": value}) == {"n": value}


def test_tuples_cross_as_lists():
    assert cross({"a": (1, (2,))}) == {"a": [1, [2]]}


class Text(str):
    __slots__ = ()


cycle: list = []
cycle.append({"again": cycle})


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"rows": [{"score": math.nan}]}, "$.rows[0].score"),
        ({"a": math.inf}, "$.a"),
        (-math.inf, "$"),
        ({"a": b"x"}, "$.a"),
        ([1, {2, 3}], "$[1]"),
        ({"a": {1: 2}}, "$.a"),
        ({1: 2}, "$"),
        ({"a b": {"c": object()}}, "$['a b'].c"),
        ({"a": "\ud800"}, "$.a"),
        ({"\ud800": 1}, "$"),
        ({"a": Text("x")}, "$.a"),
        ({Text("k"): 1}, "$"),
        ({"n": 1 << MAX_INTEGER_BITS}, "$.n"),
        (cycle, "$[0].again"),
    ],
)
def test_what_cannot_cross_is_refused_with_its_path(value, path):
    with pytest.raises(ValueRefusedError) as caught:
        to_wire(value)
    assert caught.value.path == path


def test_depth_is_bounded_both_ways():
    deep: object = 1
    for _ in range(MAX_DEPTH):
        deep = [deep]
    assert cross(deep) == deep
    for check in (to_wire, from_wire):
        with pytest.raises(ValueRefusedError, match="deeper"):
            check([deep])


@pytest.mark.parametrize("value", [math.nan, b"x", {1: 2}, [math.inf], msgspec.msgpack.Ext(5, b"")])
def test_the_other_side_is_not_believed(value):
    with pytest.raises(ValueRefusedError):
        from_wire(value)


def test_unknown_extensions_and_endless_integers_are_no_values():
    for code, size in ((2, 1), (1, MAX_INTEGER_BITS)):
        with pytest.raises(ValueError, match="extension"):
            read_extension(code, memoryview(bytes(size)))
