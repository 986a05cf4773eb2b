"""Refs are attributes that a program can write, and no two tools share one."""

import keyword
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host_bridge.mcp.names import attribute_name, ref_parts
from host_bridge.registry import check_ref
from tests.host_bridge.mcp.calling import opened, raw


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("get_issue", "get_issue"),
        ("get-issue", "get_issue"),
        ("get issue", "get_issue"),
        ("fal-ai/run", "fal_ai_run"),
        ("2fa", "n2fa"),
        ("_private", "n_private"),
        ("import", "import_"),
        ("mro", "nmro"),
        ("gi_code", "ngi_code"),
        ("format", "format"),
        ("", "n"),
        ("--", "n__"),
        ("日本", "日本"),
    ],
)
def test_a_name_becomes_an_attribute(name: str, part: str) -> None:
    assert attribute_name(name) == part


@given(st.lists(st.text(max_size=20), max_size=12))
def test_parts_are_callable_and_never_shared(names: list[str]) -> None:
    parts = ref_parts(names)
    assert set(parts) == set(names)
    assert len(set(parts.values())) == len(parts)
    for name, part in parts.items():
        assert part.isidentifier()
        assert not part.startswith("_")
        assert not keyword.iskeyword(part)
        check_ref(f"mcp.server.{part}")
        if attribute_name(name) == name:
            assert part == name


@given(st.lists(st.sampled_from(["a-b", "a.b", "a_b", "a b", "A-b", "x"]), max_size=8))
def test_the_order_of_a_servers_list_decides_nothing(names: list[str]) -> None:
    assert ref_parts(names) == ref_parts(reversed(names))


def test_an_exact_name_keeps_its_part_and_the_other_is_told_apart() -> None:
    parts = ref_parts(["get-issue", "get_issue"])
    assert parts["get_issue"] == "get_issue"
    assert parts["get-issue"].startswith("get_issue_")


def test_very_long_names_stay_apart_and_short_enough() -> None:
    parts = ref_parts(["a" * 300 + "x", "a" * 300 + "y"])
    assert len(set(parts.values())) == 2
    assert all(len(part) <= 100 for part in parts.values())


async def test_a_servers_own_spelling_is_answered_with_the_ref_that_exists(tmp_path: Path) -> None:
    async with opened({"my-server.v2": raw("normal")}, tmp_path) as calls:
        for written in ("mcp.my-server.v2.go", "mcp.my-server.v2.get-it"):
            kind, message = await calls.refusal(written)
            meant = written.replace("my-server.v2", "my_server_v2").replace("-", "_")
            assert (kind, message) == ("rejected", f"unknown action {written!r}; did you mean {meant}?")
        assert calls.state("my-server.v2")["starts"] == 0
        assert await calls.value("mcp.my_server_v2.go") == "done"
