"""Discovery ranks by BM25, follows the registry, and never names what cannot be called."""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host_bridge.descriptor import Action, Descriptor
from host_bridge.discovery import Discovery, summary
from host_bridge.registry import Registry

CATALOG = Path(__file__).parents[1] / "data" / "tools" / "mcp-catalogs.json.gz"


Opener = Callable[[Registry], Discovery]


@pytest.fixture
def opened() -> Iterator[Opener]:
    made: list[Discovery] = []

    def open_one(registry: Registry) -> Discovery:
        made.append(Discovery(registry))
        return made[-1]

    yield open_one
    for discovery in made:
        discovery.close()


def an_action(ref: str, description: str = "", **fields: Any) -> Action:
    return Action(
        descriptor=Descriptor(ref=ref, risk=fields.pop("risk", "read"), description=description, **fields),
        handler=lambda arguments, context: arguments,
        waits=False,
    )


def refs(discovery: Discovery, query: str, **options: Any) -> list[str]:
    return [hit.descriptor.ref for hit in discovery.search(query, **options)]


def test_a_word_in_the_name_beats_one_in_the_description(opened: Opener) -> None:
    registry = Registry()
    registry.replace_source(
        "x", [an_action("mcp.a.list_devices", "Lists."), an_action("mcp.a.export", "Export the devices of a site.")]
    )
    assert refs(opened(registry), "devices") == ["mcp.a.list_devices", "mcp.a.export"]


def test_names_are_found_by_their_parts_in_any_spelling(opened: Opener) -> None:
    registry = Registry()
    registry.replace_source("x", [an_action("mcp.git.getPullRequest_v2"), an_action("mcp.git.other")])
    discovery = opened(registry)
    for query in ("pull request", "getPullRequest", "PULL", "pull_request", "requ"):
        assert refs(discovery, query) == ["mcp.git.getPullRequest_v2"], query


def test_parameters_and_namespaces_are_searched(opened: Opener) -> None:
    registry = Registry()
    registry.replace_source(
        "x",
        [
            an_action("mcp.time.now", namespace="mcp:time", input_schema={"properties": {"timezone": {}}}),
            an_action("mcp.git.log", namespace="mcp:git"),
        ],
    )
    discovery = opened(registry)
    assert refs(discovery, "timezone") == ["mcp.time.now"]
    assert refs(discovery, "git") == ["mcp.git.log"]


def test_the_index_follows_the_registry_source_by_source(opened: Opener) -> None:
    registry = Registry()
    registry.replace_source("one", [an_action("mcp.a.alpha", "first words")])
    discovery = opened(registry)
    assert refs(discovery, "alpha") == ["mcp.a.alpha"]
    registry.replace_source("two", [an_action("mcp.b.beta", "second words")])
    assert refs(discovery, "words") == ["mcp.a.alpha", "mcp.b.beta"]
    registry.replace_source("one", [an_action("mcp.a.alpha", "changed text")])
    assert refs(discovery, "words") == ["mcp.b.beta"]
    assert refs(discovery, "changed") == ["mcp.a.alpha"]
    registry.remove_source("two")
    assert refs(discovery, "words") == []


def test_a_ref_that_moves_to_another_source_stays_findable(opened: Opener) -> None:
    registry = Registry()
    registry.replace_source("one", [an_action("mcp.a.alpha", "words")])
    discovery = opened(registry)
    assert refs(discovery, "words") == ["mcp.a.alpha"]
    registry.remove_source("one")
    registry.replace_source("two", [an_action("mcp.a.alpha", "words")])
    assert refs(discovery, "words") == ["mcp.a.alpha"]


def test_filters_by_risk_and_namespace(opened: Opener) -> None:
    registry = Registry()
    registry.replace_source(
        "x",
        [
            an_action("mcp.a.go", "words", risk="write", namespace="mcp:a"),
            an_action("mcp.ab.go", "words", namespace="mcp:ab"),
        ],
    )
    discovery = opened(registry)
    assert refs(discovery, "words", risk="write") == ["mcp.a.go"]
    assert refs(discovery, "words", namespace="mcp:a") == ["mcp.a.go"]
    assert refs(discovery, "words", namespace="mcp.ab") == ["mcp.ab.go"]
    assert [entry.descriptor.ref for entry in discovery.entries("mcp.a")] == ["mcp.a.go"]


@given(st.text(max_size=60))
@settings(max_examples=200)
def test_no_query_breaks_the_search(query: str) -> None:
    registry = Registry()
    registry.replace_source("x", [an_action("mcp.a.go", 'words "quoted" AND NOT * near(x)')])
    discovery = Discovery(registry)
    try:
        discovery.search(query)
    finally:
        discovery.close()


def test_every_result_is_callable_by_its_ref_in_a_real_catalog(opened: Opener) -> None:
    """ER-03, over 655 real tools: whatever a search returns, the registry has it under exactly that ref."""
    from host_bridge.mcp.manifest import Tool, descriptors, manifest
    from host_bridge.mcp.settings import ServerSettings

    with gzip.open(CATALOG) as file:
        tools = json.load(file)
    by_server: dict[str, list[Tool]] = {}
    for tool in tools:
        name = tool["namespace"].removeprefix("mcp:")
        by_server.setdefault(name, []).append(Tool(name=tool["name"], description=tool["description"]))
    registry = Registry()
    for server, offered in by_server.items():
        part = server.replace("-", "_")
        found = descriptors(server, part, ServerSettings(command="x"), manifest(server, offered))
        assert len(found) == len({tool.name for tool in offered})
        registry.replace_source(
            f"mcp:{server}",
            [Action(descriptor=d, handler=lambda a, c: a, waits=False) for d, _ in found.values()],
            roots=("mcp",),
        )
    discovery = opened(registry)
    seen = 0
    for query in ("list site devices", "create issue", "screenshot of a page", "query database", "send message"):
        for hit in discovery.search(query, limit=50):
            assert registry.lookup(hit.descriptor.ref) is not None
            seen += 1
    assert seen > 50


def test_the_summary_is_the_first_sentence() -> None:
    assert summary(Descriptor(ref="a.b", risk="read", description="One.  Two.")) == "One."
    assert summary(Descriptor(ref="a.b", risk="read", description="v1.2 is\nout! More")) == "v1.2 is out!"
    assert len(summary(Descriptor(ref="a.b", risk="read", description="x" * 1000))) == 200
