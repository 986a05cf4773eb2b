"""The measured behaviour matrix, rows A to S, read as the specification's table reads.

`None` marks the 11 cells that have no outcome (n/a). A cell for smoke is a dict where the number of unused hints decides.
"""

from dataclasses import dataclass

import pytest

from runtime.advisor.advisor import end_turn
from runtime.advisor.scenarios import Machine
from tests.runtime.advisor.live import (
    SETTINGS,
    fire_turn,
    heat,
    live_catalog,
    machine,
    recorded_difference,
    scenario,
    scenarios,
    why,
)

FAL, LEDGER, CODEMAP, POST = "mcp:fal-ai", "extension:pi-ledger", "extension:pi-codemap", "extension:pi-post"


@dataclass(frozen=True)
class Row:
    id: str
    evidence: str
    first: str
    repeated: str | None
    smoke: dict[int, str] | None
    burned: str | None
    rule: str
    prompt: str
    source: str
    lane: str | None
    catalog_of: str = "matrix-A-first"


def every(outcome, *counts):
    return dict.fromkeys(counts or (1, 2, 3, 4), outcome)


# fmt: off
ROWS = [
    #   evidence                                       first           repeated     with smoke                                 after burn  rule
    Row("A", "one surface with a strong phrase",       "t1, strong",   None,        every("t1, strong"),                       "silent",   "strong band",    "check the status of my fal job", FAL, "strong"),
    Row("B", "a weak phrase built from shared words",  "silent",       "t2, weak",  {1: "t2, weak", 2: "t4, weak", 3: "silent"}, "silent", "heat",           "show rows with totals please", LEDGER, "weak"),
    Row("B", "the same at a score of 1.25",            "silent",       "t2, weak",  {1: "t4, weak", 2: "silent"},              "silent",   "heat",           "quarry slate gravel", "extension:target", "weak", "matrix-B-repeated-shared"),
    Row("C", "scatter at any raw mass",                "silent",       "t4, weak",  every("silent"),                           "silent",   "scatter cap",    "cancel pricing upload guides briefly", FAL, "scatter"),
    Row("D", "a single generic word",                  "silent",       "silent",    every("silent"),                           None,       "two-word gate",  "the price", FAL, None),
    Row("E", "a lone source brand",                    "silent",       "t4, weak",  every("silent"),                           "silent",   "brand lane",     "fal", FAL, "brand"),
    Row("F", "a label token of two letters",           "silent",       "silent",    every("silent"),                           None,       "length gate",    "ai capabilities today", FAL, None),
    Row("G", "brand at a script boundary",             "t1, weak",     None,        every("t1, weak"),                         "silent",   "brand check",    "请用 fal 画一张图", FAL, "script (brand)"),
    Row("H", "the word `model` at a script boundary",  "silent",       "silent",    None,                                      None,       "topic share",    "model とは何ですか", FAL, None),
    Row("I", "source topic at a script boundary",      "t1, weak",     None,        every("t1, weak"),                         "silent",   "topic share",    "media について質問があります", FAL, "script (topic)"),
    Row("J", "unmarked paraphrase of a tool identity", "t1, strong",   None,        every("t1, strong"),                       "silent",   "open semantic case", "based on what you recommend, create my playlist", FAL, "strong"),
    Row("K", "adjacent words split across tools",      "silent",       "t4, weak",  every("silent"),                           "silent",   "surface rule",   "focus impact", CODEMAP, "scatter"),
    Row("L", "no useful overlap",                      "silent",       "silent",    every("silent"),                           "silent",   "tokenizer",      "refactor this local function", FAL, None),
    Row("M", "path-only URL words, repeated",          "silent",       "t4, weak",  every("silent"),                           "silent",   "path factor",    "look at https://example.org/rows/tables", LEDGER, "weak"),
    Row("M", "three of them, at a score of 1.25",      "silent",       "t2, weak",  {1: "t4, weak", 2: "silent"},              "silent",   "path factor",    "look at https://example.org/rows/tables/totals", LEDGER, "weak"),
]
# fmt: on
IDS = [f"{row.id}-{row.evidence}" for row in ROWS]


def fresh(row: Row, **with_: object) -> Machine:
    return machine(*scenario(row.catalog_of)["catalog"], **with_)  # type: ignore[arg-type]


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_the_first_prompt(row):
    made = prepared(row)
    explained = lane_of(made, row)
    assert explained == row.lane
    assert fire_turn(made, row.prompt, most=1) == row.first
    if row.lane is None:
        assert heat(made, row.source) == 0


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.repeated], ids=[i for i, row in zip(IDS, ROWS) if row.repeated]
)
def test_the_repeated_prompt(row):
    assert fire_turn(prepared(row), row.prompt) == row.repeated


@pytest.mark.parametrize("row", [row for row in ROWS if row.smoke], ids=[i for i, row in zip(IDS, ROWS) if row.smoke])
def test_the_prompt_with_smoke(row):
    outcomes = {count: fire_turn(prepared(row, smoke=count), row.prompt, most=40) for count in row.smoke}
    assert outcomes == row.smoke


@pytest.mark.parametrize("row", [row for row in ROWS if row.burned], ids=[i for i, row in zip(IDS, ROWS) if row.burned])
@pytest.mark.parametrize("origin", ["fired", "organic"])
def test_the_prompt_after_the_burn(row, origin):
    made = prepared(row, burned_by=origin, source=row.source)
    assert fire_turn(made, row.prompt) == row.burned
    assert heat(made, row.source) == 0


def prepared(row: Row, **with_: object) -> Machine:
    """The machine of a row; the row at 1.25 needs its recorded preparation, which burns three neighbours."""
    made = fresh(row, **with_)
    for step in scenario(row.catalog_of)["steps"]:
        if step["op"] != "tool_use":
            break
        made.tool_use(step["namespace"])
    return made


def lane_of(made: Machine, row: Row) -> str | None:
    from runtime.advisor.explain import explain

    found = [
        one for one in explain(made.state, made.index, row.prompt, SETTINGS).sources if one.namespace == row.source
    ]
    return found[0].lane if found else None


def test_row_n_topic_drift_interleaved_between_turns_stays_silent_at_a_score_of_1():
    made = machine()
    for turn in range(10):
        assert made.prompt("cancel pricing upload guides briefly", SETTINGS) is None
        assert made.prompt(f"refactor helper number{turn}", SETTINGS) is None
    assert heat(made, FAL) < 0.9


def test_row_n_at_a_score_of_1_5_fires_on_the_third_prompt():
    made = machine()
    assert made.prompt("show rows with totals please", SETTINGS) is None
    assert made.prompt("refactor helper number2", SETTINGS) is None
    assert made.prompt("show rows with totals please", SETTINGS) is not None


def test_row_n_with_smoke_is_blocked():
    made = machine(smoke=1)
    for _ in range(10):
        assert made.prompt("show rows with totals please", SETTINGS) is None
        assert made.prompt("refactor helper number2", SETTINGS) is None


def cell(row: str, column: str) -> list[dict]:
    found = [one for one in scenarios() if one["group"] == "matrix" and one["row"] == row and one["column"] == column]
    assert found
    return found


# fmt: off
SEQUENCES = [
    # evidence                             column      outcome
    ("O", "advisor text quoted back",      "first",    "blocked"),
    ("O", "advisor text quoted back",      "repeated", "blocked after reload"),
    ("O", "advisor text quoted back",      "burned",   "branch exact"),
    ("P", "a familiar word, shifting case", "first",   "decays"),
    ("P", "a familiar word, shifting case", "repeated", "blocked after episodes"),
    ("P", "a familiar word, shifting case", "control", "t4, weak (uninterrupted)"),
    ("P", "a familiar word, shifting case", "smoke",   "blocked"),
    ("Q", "weak local pair plus 32 hits",  "first",    "silent"),
    ("Q", "weak local pair plus 32 hits",  "repeated", "t4, score 1"),
    ("Q", "weak local pair plus 32 hits",  "smoke",    "blocked"),
    ("Q", "weak local pair plus 32 hits",  "burned",   "blocked"),
    ("R", "a hint used on the next turn",  "first",    "pending"),
    ("R", "a hint used on the next turn",  "repeated", "clean event"),
    ("R", "a hint used on the next turn",  "smoke",    "clears streak"),
    ("R", "a hint used on the next turn",  "burned",   "fired ash"),
    ("R", "a hint used after the window",  "late",     "late use keeps the smoke (t4 at two smokes)"),
    ("S", "process reload or tree rewind", "first",    "exact replay"),
    ("S", "process reload or tree rewind", "repeated", "exact replay"),
    ("S", "process reload or tree rewind", "smoke",    "transient reset"),
    ("S", "process reload or tree rewind", "burned",   "exact replay"),
]
# fmt: on


@pytest.mark.parametrize(
    ("row", "evidence", "column", "outcome"), SEQUENCES, ids=[f"{row}-{column}" for row, _, column, _ in SEQUENCES]
)
def test_a_row_that_is_a_sequence_of_steps(row, evidence, column, outcome):
    for one in cell(row, column):
        assert one["claim"] == outcome, evidence
        assert one["claimHolds"]
        assert recorded_difference(one) is None


@pytest.mark.parametrize(
    ("row", "column"), sorted({(one["row"], one["column"]) for one in scenarios() if one["group"] == "matrix"})
)
def test_the_recorded_cell_comes_out_as_observed(row, column):
    assert [one["id"] for one in cell(row, column) if recorded_difference(one)] == []


def test_the_cells_that_do_not_hold_as_printed_are_known():
    """Row B with one smoke at 1.5, row M with two path words, row N at 1.5: the reference decides."""
    loose = {(one["row"], one["column"]) for one in scenarios() if one["group"] == "matrix" and not one["claimHolds"]}
    assert loose == {("B", "smoke"), ("M", "repeated"), ("M", "smoke"), ("N", "repeated")}


def test_eleven_cells_are_not_applicable():
    cells = [
        (row.id, column) for row in ROWS for column in ("repeated", "smoke", "burned") if getattr(row, column) is None
    ]
    others = [("N", "burned"), ("O", "smoke"), ("P", "burned")]
    assert sorted(cells + others) == sorted(
        [
            ("A", "repeated"),
            ("G", "repeated"),
            ("I", "repeated"),
            ("J", "repeated"),
            ("D", "burned"),
            ("F", "burned"),
            ("H", "burned"),
            ("N", "burned"),
            ("P", "burned"),
            ("H", "smoke"),
            ("O", "smoke"),
        ]
    )


@pytest.mark.parametrize("tools", [1, 8, 32])
def test_row_q_any_number_of_tool_hits_scores_1(tools):
    from tests.runtime.advisor.live import tool

    catalog = [tool("extension:grid", "pair", "Gamma delta.")] + [
        tool("extension:grid", f"panel{n}", "") for n in range(tools)
    ]
    shared = [tool("extension:other", "pair_too", "Gamma delta.")]
    made = machine(*catalog, *shared)
    made.tool_use("extension:other")
    prompt = " ".join(["gamma", "word", "delta", *[f"panel{n}" for n in range(tools)]])
    turns = []
    for _ in range(4):
        hint = made.prompt(prompt, SETTINGS)
        turns.append(None if hint is None else hint.matches[0].score)
    assert turns == [None, None, None, 1]


def test_row_o_a_quote_supplies_no_heat_to_another_namespace():
    for one in cell("O", "first"):
        made = Machine(one["catalog"])
        for step in one["steps"]:
            if step["op"] == "prompt":
                before = dict(made.state.heat)
                if made.prompt(step["text"], SETTINGS) is None:
                    assert made.state.heat == {name: value / 2 for name, value in before.items()}  # cools, never warms
            elif step["op"] == "end_turn":
                made.state = end_turn(made.state)
        assert made.state.spent_hints == 1


def test_the_live_shaped_catalog_has_eleven_fal_tools_and_several_extensions():
    namespaces = [one["namespace"] for one in live_catalog()]
    assert namespaces.count(FAL) == 11
    assert len({name for name in namespaces if name.startswith("extension:")}) >= 5
    assert len([one for one in scenarios() if one["group"] == "matrix"]) == 324


def test_a_single_generic_word_is_blocked_by_the_word_gate():
    assert why(machine(), "the price", FAL).blocked_by.startswith("a single word")
