"""What a call of a host action sends, and how its answer reads."""

import json
from typing import Any

import pytest

from guest_api.errors import ActionRejected
from guest_api.proxies import HostNamespace, arguments_of
from guest_api.results import Result, readable


@pytest.mark.parametrize(
    ("ref", "positional", "keywords", "sent"),
    [
        ("thinking.set", (), {"level": "high"}, {"level": "high"}),
        ("thinking.set", ({"level": "high"},), {}, {"level": "high"}),
        ("thinking.set", (), {}, {}),
        ("agents.run", (), {"thinking_bounds": {"min": "low"}}, {"thinkingBounds": {"min": "low"}}),
        ("agents.run", ({"thinkingBounds": {}},), {}, {"thinkingBounds": {}}),
        ("agents.run", (), {"input": {"snake_key": 1}}, {"input": {"snake_key": 1}}),
        ("tools.call", ("t.echo", {"i": 1}), {}, {"ref": "t.echo", "args": {"i": 1}}),
        ("tools.call", ("t.echo",), {"args": {}}, {"ref": "t.echo", "args": {}}),
        ("mcp.git.log", (), {"max_count": 1}, {"max_count": 1}),
        ("pi.read", ("notes.txt",), {"limit": 5}, ["notes.txt", {"limit": 5}]),
        ("agents.run", ("do it",), {"thinking_bounds": {}}, ["do it", {"thinkingBounds": {}}]),
    ],
)
def test_keywords_and_one_dict_send_the_same(ref: str, positional: tuple[Any, ...], keywords: Any, sent: Any) -> None:
    assert arguments_of(ref, positional, keywords) == sent


@pytest.mark.parametrize(
    ("ref", "positional", "keywords"),
    [
        ("thinking.set", ({"level": "high"},), {"scope": "turn"}),
        ("thinking.set", (3,), {}),
        ("thinking.set", ({}, {}), {}),
        ("pi.write", ("a.txt", "text"), {}),
        ("tools.call", ("t.echo", {}, "more"), {}),
        ("agents.run", (), {"thinking_bounds": {}, "thinkingBounds": {}}),
    ],
)
def test_mixed_or_positional_arguments_are_refused(ref: str, positional: tuple[Any, ...], keywords: Any) -> None:
    with pytest.raises(ActionRejected, match=ref):
        arguments_of(ref, positional, keywords)


def test_a_proxy_reads_as_its_ref_and_refuses_private_names() -> None:
    tools = HostNamespace("tools")
    assert repr(tools.git.log) == "<host action tools.git.log>"
    assert repr(tools["git"]["log-all"]) == "<host action tools.git.log-all>"
    with pytest.raises(AttributeError, match="not host actions"):
        tools._secret
    with pytest.raises(TypeError, match="cannot be assigned"):
        tools.read = 1  # type: ignore[assignment]
    with pytest.raises(TypeError):
        iter(tools)


def test_a_result_is_a_dict_that_reads_as_attributes_at_any_depth() -> None:
    result = readable({"bounds": {"min": "low"}, "rows": [{"name": "a"}, [{"x": 1}]]})
    assert result.bounds.min == "low"
    assert result.rows[0].name == "a"
    assert result.rows[1][0].x == 1
    assert isinstance(result, dict)
    assert json.loads(json.dumps(result)) == {"bounds": {"min": "low"}, "rows": [{"name": "a"}, [{"x": 1}]]}
    assert result == {"bounds": {"min": "low"}, "rows": [{"name": "a"}, [{"x": 1}]]}


def test_a_missing_key_names_those_that_are_there() -> None:
    with pytest.raises(AttributeError, match="no 'lvl' here; there is level"):
        Result(level="high").lvl
    with pytest.raises(AttributeError, match="nothing"):
        Result().x


def test_a_result_can_be_changed_and_copied() -> None:
    import copy

    result = Result(a=1)
    result.b = 2
    del result.a
    assert result == {"b": 2}
    assert copy.copy(result).b == copy.deepcopy(result).b == 2
