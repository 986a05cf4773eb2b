"""What the index holds, how slices refresh, and that a refresh costs its own tools."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from runtime.advisor.fingerprint import CatalogTool, Fingerprint
from tests.runtime.advisor.live import SETTINGS, index_of, machine, tool


def shape(index: Fingerprint) -> tuple:
    """Everything that scoring reads, free of source numbers."""
    names = {source.number: source.namespace for source in index.sources()}
    postings = {
        term: {names[number]: tools for number, tools in posting.items()} for term, posting in index.postings.items()
    }
    sources = [
        (source.namespace, [(one.name, one.description, frozenset(one.terms)) for one in source.surfaces])
        for source in index.sources()
    ]
    return postings, sources, dict(index.brands)


def test_two_slices_with_one_namespace_make_one_source():
    index = Fingerprint()
    index.set_slice("a", [CatalogTool("one", "Alpha beta.", "mcp:x")])
    index.set_slice("b", [CatalogTool("two", "Gamma beta.", "mcp:x")])
    assert [(source.namespace, [one.name for one in source.surfaces]) for source in index.sources()] == [
        ("mcp:x", ["one", "two"])
    ]
    assert index.document_frequency("beta") == 1


def test_a_tool_without_a_namespace_is_unscoped():
    assert [source.namespace for source in index_of(tool(None, "loose", "Polish silver.")).sources()] == ["unscoped"]


def test_only_the_name_and_the_first_sentence_are_indexed():
    index = index_of(tool("mcp:x", "run_it", "Render movie clips. Use this to understand how things work."))
    assert index.document_frequency("clips") == 1
    assert index.document_frequency("run") == 1
    assert (
        index.document_frequency("understand")
        == index.document_frequency("how")
        == index.document_frequency("work")
        == 0
    )


def test_a_question_about_a_path_is_not_tied_to_the_image_server():
    made = machine()
    assert made.prompt("how do I understand docs/heat-diffusion.md", SETTINGS) is None
    assert all(value < 0.9 for value in made.state.heat.values())
    tail = "Run an image model. Call it to understand how heat and diffusion work."
    assert (
        machine(tool("mcp:fal-ai", "run", tail)).prompt("how do I understand docs/heat-diffusion.md", SETTINGS) is None
    )
    head = "Call it to understand how heat and diffusion work. Run an image model."
    assert machine(tool("mcp:fal-ai", "run", head)).prompt("how do I understand docs/heat-diffusion.md", SETTINGS)


def test_document_frequency_counts_sources_not_tools():
    index = index_of(
        tool("mcp:x", "a", "Render movie clips."),
        tool("mcp:x", "b", "Render movie songs."),
        tool(None, "c", "Render movie maps."),
    )
    assert index.document_frequency("render") == 2
    assert index.document_frequency("clips") == 1


def test_a_replaced_slice_keeps_its_place_and_a_removed_one_goes_last():
    index = Fingerprint()
    for name in ("a", "b"):
        index.set_slice(name, [CatalogTool(f"{name}_tool", "", f"mcp:{name}")])
    index.set_slice("a", [CatalogTool("a_new", "", "mcp:a")])
    assert [source.namespace for source in index.sources()] == ["mcp:a", "mcp:b"]
    index.set_slice("a", [])
    assert [source.namespace for source in index.sources()] == ["mcp:b"]
    index.set_slice("a", [CatalogTool("a_new", "", "mcp:a")])
    assert [source.namespace for source in index.sources()] == ["mcp:b", "mcp:a"]


TOOLS = st.builds(
    CatalogTool,
    st.sampled_from(["run_it", "stopIt", "list_all", ""]),
    st.sampled_from(["Render movie clips. Then wait.", "Query rows.", "", "Paint movie maps with rows"]),
    st.sampled_from(["mcp:a", "mcp:b", "extension:c-kit", None]),
)


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.lists(TOOLS, max_size=5)), max_size=8))
def test_any_sequence_of_refreshes_equals_an_index_built_anew(refreshes):
    refreshed, last, order = Fingerprint(), {}, []
    for name, tools in refreshes:
        refreshed.set_slice(name, tools)
        if tools:
            last[name] = tools
            if name not in order:
                order.append(name)
        else:
            last.pop(name, None)
            if name in order:
                order.remove(name)
    anew = Fingerprint()
    for name in order:
        anew.set_slice(name, last[name])
    assert shape(refreshed) == shape(anew)


def big(index: Fingerprint, sources: int, tools: int) -> None:
    for number in range(sources):
        index.set_slice(
            f"s{number}",
            [
                CatalogTool(
                    f"tool{number}_{n}", f"Handle w{(number * 7 + n) % 997} and w{n} items now.", f"mcp:s{number}"
                )
                for n in range(tools)
            ],
        )


def test_a_refresh_of_one_source_touches_no_other(monkeypatch):
    index = Fingerprint()
    big(index, 40, 50)
    read = []
    import runtime.advisor.fingerprint as module

    monkeypatch.setattr(module, "surface_terms", lambda name, _description: read.append(name) or (name,))
    index.set_slice("s7", [CatalogTool(f"fresh{n}", "", "mcp:s7") for n in range(50)])
    assert sorted(read) == sorted(f"fresh{n}" for n in range(50))
    read.clear()
    index.set_slice("s7", [CatalogTool(f"fresh{n}", "", "mcp:s7") for n in range(50)])
    assert read == []  # unchanged: not even its own tools


def test_twenty_thousand_tools_take_bounded_memory():
    tracemalloc.start()
    try:
        index = Fingerprint()
        big(index, 400, 50)
        current, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(index) == 400
    assert current < 64 * 1024 * 1024
    big(index, 400, 0)
    assert len(index) == 0
    assert index.postings == {}
    assert dict(index.brands) == {}


def test_one_source_of_twenty_thousand_tools_is_indexed_and_read():
    index = Fingerprint()
    index.set_slice("all", [CatalogTool(f"tool{n}", "Handle common items.", None) for n in range(20_000)])
    assert index.document_frequency("common") == 1
    assert len(index.postings["common"][0]) == 20_000
