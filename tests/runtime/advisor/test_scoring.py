"""Scores, lanes and gates by example, and the index against a plain scan of the formulas."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.plain_scan import PlainCatalog
from runtime.advisor.advisor import AdvisorState, _open_verdicts
from runtime.advisor.envelopes import cut_envelopes
from runtime.advisor.episodes import Episodes
from runtime.advisor.fingerprint import CatalogTool, Fingerprint
from runtime.advisor.paths import path_only_terms
from runtime.advisor.rendering import rounded_score
from runtime.advisor.scoring import surface_scores, weigh
from runtime.advisor.script import mostly_non_latin
from runtime.advisor.settings import AdvisorySettings
from runtime.advisor.tokens import surviving_words
from tests.runtime.advisor.live import SETTINGS, fire_turn, heat, index_of, machine, tool, why

X, Y, Z = "extension:x-src", "extension:y-src", "extension:z-src"


def weights(prompt, index, path_terms=frozenset()):
    return {
        readings[0].key: readings[0].weight
        for readings in weigh(surviving_words(prompt, ()), index, path_terms, Episodes())
    }


def test_the_score_sums_one_over_df():
    made = machine(tool(X, "one", "Anvil bellows."), tool(Y, "two", "Bellows tongs."))
    assert why(made, "anvil bellows", X).raw_score == 1.5


@pytest.mark.parametrize("sources", [1, 12, 10_000])
def test_a_source_unique_term_weighs_one_quantum_in_a_catalog_of_any_size(sources):
    index = Fingerprint()
    index.set_slice("a", [CatalogTool(f"t{n}", "Common words.", f"mcp:s{n}") for n in range(sources)])
    index.set_slice("b", [CatalogTool("rare", "Unique.", "mcp:rare")])
    assert weights("unique common", index) == {"unique": 1.0, "common": 1 / sources}


def test_one_written_word_is_one_unit_and_reads_the_rarest():
    one = index_of(tool(X, "a", "Web search."))
    assert weights("webSearch", one) == {"websearch": 1.0}
    shared = index_of(tool(X, "a", "Web search."), *[tool(f"mcp:w{n}", "b", "Web.") for n in range(3)])
    (readings,) = weigh(surviving_words("webSearch", ()), shared, frozenset(), Episodes())
    assert [(reading.term, reading.weight) for reading in readings] == [("search", 1.0), ("web", 0.25)]


def test_of_equal_readings_the_earliest_counts():
    (readings,) = weigh(
        surviving_words("CodemapFocus", ()), index_of(tool(X, "codemap_focus")), frozenset(), Episodes()
    )
    assert readings[0].term == "codemap"


def test_repeating_a_word_changes_nothing():
    made = machine(tool(X, "one", "Query rows."))
    assert why(made, "query query query", X).raw_score == why(made, "query", X).raw_score == 1


def test_letter_case_decides_only_the_atoms():
    made = machine(tool(X, "one", "Git hub."), tool(Y, "two", "Github."))
    assert why(made, "github", Y).raw_score == why(made, "GITHUB", Y).raw_score == 1
    assert [word.readings for word in why(made, "GitHub", X).words] == [("git", "hub", "github")]


def test_a_burned_source_gets_no_heat_and_still_counts_in_df():
    made = machine(tool(X, "one", "Query rows."), tool(Y, "two", "Query maps."))
    made.tool_use(X)
    assert made.prompt("query rows", SETTINGS) is None
    assert heat(made, X) == 0
    assert weights("query", made.index) == {"query": 0.5}


# two surfaces of one source; `shared` words have df 2
PAIRS = [
    tool(X, "one", "Anvil bellows coal."),
    tool(X, "two", "Tongs hammer."),
    tool(Y, "other", "Bellows."),
    tool(Y, "more", "Coal."),
]


def test_the_strongest_certified_surface_sets_the_score():
    explained = why(machine(*PAIRS), "anvil bellows coal tongs hammer", X)
    assert (explained.surface, explained.effective_score) == ("one", 2.0)
    tools = [
        tool(X, "two", "Anvil bellows."),
        tool(X, "four", "Anvil bellows coal tongs."),
        tool(X, "last", "Coal tongs."),
    ]
    explained = why(machine(*tools), "anvil bellows coal tongs", X)
    assert (explained.surface, explained.effective_score) == ("four", 4.0)


def test_of_equal_surfaces_the_first_in_the_catalog_counts():
    explained = why(
        machine(tool(X, "b", "Tongs hammer."), tool(X, "a", "Anvil bellows.")), "anvil bellows tongs hammer", X
    )
    assert explained.surface == "b"


def test_the_effective_score_is_the_surface_even_below_the_capped_raw_score():
    made = machine(
        tool(X, "one", "Anvil bellows."),
        tool(X, "two", "Coal."),
        tool(X, "three", "Tongs."),
        tool(Y, "o", "Anvil."),
        tool(Z, "o", "Bellows."),
    )
    explained = why(made, "anvil bellows coal tongs", X, AdvisorySettings(threshold=0.5))
    assert explained.raw_score == 3
    assert (explained.lane, explained.effective_score) == ("weak", 1.0)
    assert why(machine(*PAIRS), "anvil tongs", X).effective_score == 1  # no surface: capped


def test_the_raw_score_opens_scatter_with_equality_in_doubles():
    tools = []
    for word in ("anvil", "bellows", "coal"):
        tools += [tool(X, word, ""), tool(f"mcp:{word}1", word, ""), tool(f"mcp:{word}2", word, "")]
    at_one = AdvisorySettings(threshold=1)
    assert why(machine(*tools), "anvil bellows coal", X, at_one).lane == "scatter"
    names = [f"w{chr(97 + n)}" for n in range(10)]
    tools = [tool(X, name, "") for name in names] + [
        tool(f"mcp:{name}{n}", name, "") for name in names for n in range(9)
    ]
    assert why(machine(*tools), " ".join(names), X, at_one).lane is None  # ten tenths stay below


def test_scatter_feeds_the_raw_score_up_to_one_quantum():
    half = AdvisorySettings(threshold=0.5)
    made = machine(
        tool(X, "anvil", ""),
        tool(X, "bellows", ""),
        *[tool(f"mcp:{n}", "anvil", "") for n in range(1)],
        *[tool(f"mcp:o{n}", "bellows", "") for n in range(3)],
    )
    made.prompt("anvil bellows", half)
    assert heat(made, X) == 0.375
    many = machine(*[tool(X, f"word{n}", "") for n in range(32)])
    many.prompt(" ".join(f"word{n}" for n in range(32)), SETTINGS)
    assert heat(many, X) == 0.5


def test_distance_four_is_a_phrase_and_five_is_scatter():
    made = machine(tool(X, "one", "Anvil bellows."))
    assert why(made, "anvil aa bb cc bellows", X).lane == "strong"
    assert why(made, "anvil aa bb cc dd bellows", X).lane == "scatter"
    assert (
        why(made, "anvil the aa bb 12 x cc anvil bellows", X).lane == "strong"
    )  # no position for what carries nothing


def test_a_pair_split_over_two_tools_is_scatter():
    assert why(machine(tool(X, "one", "Anvil."), tool(X, "two", "Bellows.")), "anvil bellows", X).lane == "scatter"


def test_two_words_that_read_as_one_term_pass_the_word_gate():
    assert why(machine(tool(X, "codemap", "")), "codemap codemapFocus", X).lane == "strong"


def test_one_generic_word_supplies_no_heat_however_often():
    made = machine(tool(X, "one", "Project."))
    assert fire_turn(made, "project") == "silent"
    assert heat(made, X) == 0


def test_a_label_token_of_three_letters_is_a_brand_and_one_of_two_is_not():
    tools = [tool("mcp:fal", "fal", ""), tool("mcp:ai", "ai", "")]
    assert fire_turn(machine(*tools), "fal") == "t4, weak"
    assert fire_turn(machine(*tools), "ai") == "silent"


def test_a_brand_that_two_sources_hold_needs_a_lower_threshold():
    made = machine(tool("mcp:fal", "fal", ""), tool(X, "fal", ""))
    assert why(made, "fal", "mcp:fal").lane is None
    assert why(made, "fal", "mcp:fal", AdvisorySettings(threshold=0.4)).lane == "brand"


def topic(holding, of):
    return [tool("mcp:q", f"t{n}", "Model." if n < holding else "Other.") for n in range(of)]


@pytest.mark.parametrize(
    ("holding", "of", "fires"), [(5, 11, False), (6, 11, True), (1, 2, True), (2, 4, True), (1, 1, True)]
)
def test_a_topic_fires_at_a_script_boundary_from_one_half_of_the_tools(holding, of, fires):
    hint = machine(*topic(holding, of)).prompt("model とは何ですか", SETTINGS)
    assert (hint is not None) is fires
    if hint is not None:
        assert "might match your prompt." in hint.content


def test_a_minimum_of_surfaces_silences_the_topic_of_a_small_source_but_not_its_brand():
    three = AdvisorySettings(minimum_surfaces=3)
    assert machine(*topic(1, 1)).prompt("model とは何ですか", three) is None
    assert machine(*topic(3, 3)).prompt("model とは何ですか", three) is not None
    assert machine(tool("mcp:fal", "fal", "")).prompt("请用 fal 画一张图", three) is not None


@pytest.mark.parametrize(
    "prompt",
    [
        "请用 fal 画一张图",
        "fal で画像を作ってください",
        "fal 로 그림을 그려줘",
        "нарисуй картинку через fal пожалуйста",
        "ارسم صورة باستخدام fal من فضلك",
        "תצייר תמונה עם fal בבקשה",
        "ช่วยวาดรูปด้วย fal หน่อย",
    ],
)
def test_a_brand_fires_at_the_boundary_of_every_named_script(prompt):
    assert fire_turn(machine(), prompt) == "t1, weak"


def test_the_script_lane_needs_a_source_unique_word_and_the_threshold():
    shared = [tool("mcp:fal", "fal", ""), tool(X, "fal", "")]
    assert fire_turn(machine(*shared), "请用 fal 画一张图") == "silent"
    assert fire_turn(machine(), "请用 fal 画一张图", AdvisorySettings(threshold=1.5)) == "silent"
    assert machine().prompt("请用 fal 画一张图", AdvisorySettings(mode="disabled")) is None


def test_the_script_lane_ignores_smoke_and_leaves_heat_alone():
    made = machine(smoke=4)
    assert made.prompt("请用 fal 画一张图", SETTINGS) is not None
    assert heat(made, "mcp:fal-ai") == 0


@pytest.mark.parametrize(("score", "shown"), [(1.005, 1.0), (0.125, 0.13), (1.825, 1.83), (2.0, 2), (1 / 3, 0.33)])
def test_the_shown_score_is_rounded_half_up_in_doubles(score, shown):
    assert rounded_score(score) == shown


def test_sources_rank_by_the_effective_score_not_by_the_raw_one():
    made = machine(
        tool(X, "one", "Anvil bellows."),
        *[tool(X, f"more{word}", word) for word in ("coal", "tongs", "hammer", "quench")],
        tool(Y, "one", "Render movie clips."),
    )
    hint = made.prompt("anvil bellows render movie clips coal tongs hammer quench", SETTINGS)
    assert [(match.namespace, match.score) for match in hint.matches] == [(Y, 3), (X, 2)]


def test_sources_rank_by_the_unrounded_score_then_by_name():
    made = machine(
        tool("extension:b", "w", "Weave harbour cloth."),
        tool("extension:B", "v", "Weave harbour cloth."),
        tool("extension:a", "u", "Weave harbour cloth."),
    )
    hint = made.prompt("weave harbour cloth", AdvisorySettings(threshold=0.4))
    assert hint is not None
    assert hint.namespaces == ("extension:a", "extension:b")


WORDS = [
    "anvil",
    "Bellows",
    "coalTongs",
    "coal",
    "tongs",
    "coaltongs",
    "hammer",
    "src/anvil.ts",
    "x",
    "12",
    "the",
    "кран",
    "fal",
    "model",
]
PROMPTS = st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)
SURFACES = st.builds(
    CatalogTool,
    st.lists(st.sampled_from(["anvil", "bellows", "coal", "tongs", "fal"]), min_size=1, max_size=2).map("_".join),
    st.lists(st.sampled_from(["anvil", "bellows", "coal", "coaltongs", "hammer", "model", "fal"]), max_size=3).map(
        " ".join
    ),
    st.sampled_from(["mcp:fal-ai", "extension:model-kit", "mcp:a", "mcp:b", None]),
)


@given(st.lists(SURFACES, max_size=8), PROMPTS, st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0, 1.5]))
def test_the_index_finds_what_a_plain_scan_of_the_formulas_finds(tools, prompt, threshold):
    index = Fingerprint()
    index.set_slice("a", tools)
    text = cut_envelopes(prompt)
    weighed = weigh(surviving_words(text, ()), index, path_only_terms(text), Episodes())
    verdicts = _open_verdicts(weighed, index, {}, AdvisorySettings(threshold=threshold), lambda: mostly_non_latin(text))
    found = {verdict.source.namespace: (verdict.lane, verdict.effective_score) for verdict in verdicts}
    assert found == PlainCatalog(tools).lanes(prompt, threshold)


def test_each_tool_reads_a_word_for_itself():
    index = index_of(tool(X, "one", "Web."), tool(X, "two", "Search."), tool(Y, "three", "Web."))
    weighed = weigh(surviving_words("webSearch", ()), index, frozenset(), Episodes())
    number = index.named(X).number
    assert [(one.tool, one.score) for one in surface_scores(weighed, number)] == [(0, 0.5), (1, 1.0)]


def test_a_word_on_several_tools_counts_on_each_of_them():
    explained = why(machine(tool(X, "one", "Anvil."), tool(X, "two", "Anvil bellows.")), "anvil bellows", X)
    assert (explained.lane, explained.surface, explained.effective_score) == ("strong", "two", 2.0)


def test_a_pair_whose_tool_stays_below_the_threshold_is_scatter():
    shared = [tool(f"mcp:{n}", f"t{word}", word) for n in range(2) for word in ("anvil", "bellows")]
    explained = why(
        machine(tool(X, "one", "Anvil bellows."), tool(X, "two", "Coal."), *shared), "anvil bellows coal", X
    )
    assert (explained.lane, explained.surface, explained.effective_score) == ("scatter", None, 1.0)


def test_a_state_without_a_catalog_or_words_moves_no_turn():
    made = machine()
    for text in ("", "the of and", "кран", "12 x"):
        made.prompt(text, SETTINGS)
    assert made.state == AdvisorState(heat={})
