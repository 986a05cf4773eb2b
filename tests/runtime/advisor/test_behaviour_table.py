"""The measured behaviour matrix A to S: the specification's table, row by row, and a live machine that plays each cell.

Where a cell needs a reading (rows B, M and N), the score and the unused hints at which it holds stand beside it; what
happens at other scores is in `test_matrix.py`, with every recorded cell.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from runtime.advisor.advisor import AdvisorState, end_turn
from runtime.advisor.constants import EPISODE_GAP_TURNS, HEAT_RETENTION
from runtime.advisor.heat import cooled
from runtime.advisor.replay import replay
from runtime.advisor.scenarios import Machine
from runtime.advisor.smoke import Smoke
from tests.runtime.advisor.live import SETTINGS, fire_turn, live_catalog, machine, tool

FAL, LEDGER, CODEMAP = "mcp:fal-ai", "extension:pi-ledger", "extension:pi-codemap"
COLUMNS = ("first prompt", "repeated prompt", "with smoke", "after burn")
NA = "n/a"

# fmt: off
TABLE = """
| ID | Evidence                                | First prompt   | Repeated prompt        | With smoke      | After burn   | Rule               |
| A  | one surface with a strong phrase        | fires, strong  | n/a                    | fires           | blocked      | strong band        |
| B  | a weak phrase built from shared words   | silent         | t2, weak               | t4              | blocked      | heat               |
| C  | scatter at any raw mass                 | silent         | t4, weak               | blocked         | blocked      | scatter cap        |
| D  | a single generic word                   | silent         | blocked                | blocked         | n/a          | two-word gate      |
| E  | a lone source brand                     | silent         | t4, weak               | blocked         | blocked      | brand lane         |
| F  | a label token of two letters            | silent         | blocked                | blocked         | n/a          | length gate        |
| G  | brand at a script boundary              | fires, weak    | n/a                    | fires           | blocked      | brand check        |
| H  | the word `model` at a script boundary   | silent         | blocked                | n/a             | n/a          | topic share        |
| I  | source topic at a script boundary       | fires, weak    | n/a                    | fires           | blocked      | topic share        |
| J  | unmarked paraphrase of a tool identity  | fires, strong  | n/a                    | fires           | blocked      | open semantic case |
| K  | adjacent words split across tools       | silent         | t4, weak               | blocked         | blocked      | surface rule       |
| L  | no useful overlap                       | silent         | blocked                | blocked         | blocked      | tokenizer          |
| M  | path-only URL words, repeated           | silent         | t2, weak               | blocked         | blocked      | path factor        |
| N  | topic drift interleaved between turns   | silent         | stays silent           | blocked         | n/a          | heat decay         |
| O  | advisor text quoted back                | blocked        | blocked after reload   | n/a             | branch exact | echo set           |
| P  | a familiar word with shifting case      | decays         | blocked after episodes | blocked         | n/a          | episode factor     |
| Q  | weak local pair plus 32 tool hits       | silent         | t4, score 1            | blocked         | blocked      | surface score      |
| R  | a hint used on the next turn            | pending        | clean event            | clears streak   | fired ash    | feedback window    |
| S  | process reload or tree rewind           | exact replay   | exact replay           | transient reset | exact replay | transcript         |
"""
# fmt: on
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in TABLE.strip().splitlines()[1:]]
CELLS = [
    (row[0], row[1], column, outcome)
    for row in ROWS
    for column, outcome in zip(COLUMNS, row[2:6], strict=True)
    if outcome != NA
]


@dataclass(frozen=True)
class Prompted:
    """A row that is one prompt, for one source, in one catalog."""

    prompt: str
    source: str
    between: str = ""
    """What is said between two of these prompts."""
    unused: tuple[int, ...] = (1, 2, 3, 4)
    """The unused hints at which the cell about smoke holds."""
    catalog: Callable[[], list[dict]] = live_catalog

    def made(self, smoke: int = 0, origin: str | None = None) -> Machine:
        return machine(*self.catalog(), smoke=smoke, burned_by=origin, source=self.source)

    def outcome(self, made: Machine) -> str:
        """`fires, strong`, `t4, weak`, `silent`."""
        if self.between:
            for number in range(20):
                if made.prompt(self.prompt, SETTINGS) or made.prompt(f"{self.between} number{number}", SETTINGS):
                    return "fires"
            return "silent"
        return fire_turn(made, self.prompt)


def row_m() -> list[dict]:
    """Three words on one tool, each of one source only, so that half weights sum to 1.5."""
    return [tool(LEDGER, "ledger", "Rows tables totals."), tool("extension:other", "other", "Something else.")]


def row_q() -> list[dict]:
    return [
        tool("extension:grid", "pair", "Gamma delta."),
        *[tool("extension:grid", f"panel{number}") for number in range(32)],
        tool("extension:one", "first", "Gamma."),
        tool("extension:two", "second", "Delta."),
    ]


PROMPTED = {
    "A": Prompted("check the status of my fal job", FAL),
    "B": Prompted("show rows with totals please", LEDGER, unused=(2,)),
    "C": Prompted("cancel pricing upload guides briefly", FAL),
    "D": Prompted("the price", FAL),
    "E": Prompted("fal", FAL),
    "F": Prompted("ai capabilities today", FAL),
    "G": Prompted("请用 fal 画一张图", FAL),
    "H": Prompted("model とは何ですか", FAL),
    "I": Prompted("media について質問があります", FAL),
    "J": Prompted("based on what you recommend, create my playlist", FAL),
    "K": Prompted("focus impact", CODEMAP),
    "L": Prompted("refactor this local function", FAL),
    "M": Prompted("look at https://example.org/rows/tables/totals", LEDGER, unused=(3, 4), catalog=row_m),
    "N": Prompted("cancel pricing upload guides briefly", FAL, between="refactor helper"),
    "Q": Prompted(
        " ".join(["gamma", "word", "delta", *[f"panel{n}" for n in range(32)]]), "extension:grid", catalog=row_q
    ),
}


def played_prompt(row: str, column: str, printed: str) -> set[str]:
    """What a row of one prompt comes to, in the words of the table."""
    one = PROMPTED[row]
    match column:
        case "first prompt":
            hint = one.made().prompt(one.prompt, SETTINGS)
            return {"silent" if hint is None else f"fires, {'strong' if hint.register == 'matched' else 'weak'}"}
        case "repeated prompt":
            made = one.made()
            outcome = one.outcome(made)
            if row == "Q":
                made = one.made()
                said = [hint for _ in range(4) if (hint := made.prompt(one.prompt, SETTINGS))]
                scores = [match.score for match in said[0].matches if match.namespace == one.source]
                return {f"{outcome.partition(',')[0]}, score {scores[0]:g}"}
            return {printed if outcome == "silent" and printed in ("blocked", "stays silent") else outcome}
        case "with smoke":
            outcomes = {one.outcome(one.made(smoke=unused)) for unused in one.unused}
            return {_plainly(outcome) for outcome in outcomes}
        case _:
            return {_plainly(one.outcome(one.made(origin=origin))) for origin in ("fired", "organic")}


def _plainly(outcome: str) -> str:
    """Without its register; a first turn `fires`."""
    return {"silent": "blocked", "t1": "fires"}.get(turn := outcome.partition(",")[0], turn)


def said() -> tuple[Machine, dict, str]:
    """A machine that has hinted, the line of its hint, and the text."""
    made = machine()
    hint = made.prompt(PROMPTED["A"].prompt, SETTINGS)
    assert hint is not None
    line = {"type": "custom_message", "customType": "pi-fabric-capability", "content": hint.content}
    return made, {**line, "details": hint.details()}, hint.content


def played_quote(column: str) -> str:
    """Row O: the text of a hint comes back as a prompt."""
    made, line, text = said()
    if column == "after burn":
        before, after = (replay(branch, namespaces_of_tool=lambda _name: None) for branch in ([], [line]))
        exact = (before.echoes, after.echoes) == (frozenset(), made.state.echoes)
        return "branch exact" if exact else "another branch's words"
    if column == "repeated prompt":
        made.state = replay([line], namespaces_of_tool=lambda _name: None)
    hint = made.prompt(text, SETTINGS)
    silent = hint is None and not made.state.heat
    return ("blocked after reload" if column == "repeated prompt" else "blocked") if silent else "heat"


SPELLINGS = ("harbour lantern", "Harbour Lantern", "HARBOUR LANTERN", "hArbour lAntern", "Harbour lantern")


def played_familiar(column: str) -> str:
    """Row P: two words that come back every fourth turn in another case, and then stay."""
    source = "extension:target"
    made = machine(
        tool(source, "berth", "Harbour lantern."),
        tool("extension:one", "first", "Harbour."),
        tool("extension:two", "second", "Lantern."),
        smoke=1 if column == "with smoke" else 0,
    )
    scores = []
    for turn, spelling in enumerate(SPELLINGS):
        before = cooled(made.state.heat).get(source, 0.0)
        assert made.prompt(spelling, SETTINGS) is None
        scores.append((made.state.heat.get(source, 0.0) - before) / (1 - HEAT_RETENTION))
        for number in range(EPISODE_GAP_TURNS - 1):
            assert made.prompt(f"unrelated{turn}{number}", SETTINGS) is None
    if column == "first prompt":
        return "decays" if scores == [1, 0, 0, 0, 0] else f"scores {scores}"
    if any(made.prompt(spelling, SETTINGS) for spelling in SPELLINGS):
        return "fires"
    return "blocked after episodes" if column == "repeated prompt" else "blocked"


def played_use(column: str) -> str:
    """Row R: the hint, its turn's end, a call of what it named, the next turn's end."""
    made = machine(smoke=2 if column == "with smoke" else 0)
    made.prompt(PROMPTED["A"].prompt, SETTINGS)
    made.state = end_turn(made.state)
    if column == "first prompt":
        return "pending" if made.state.smoke.events and not made.state.smoke.streak else "closed"
    made.tool_use(FAL)
    if column == "after burn":
        return f"{made.state.ash[FAL].origin} ash"
    made.state = end_turn(made.state)
    clean = made.state.smoke == Smoke()
    return {"repeated prompt": "clean event"}.get(column, "clears streak") if clean else "smoke"


def played_boundary(column: str) -> str:
    """Row S: what a machine knows after a reload, and after a rewind, is what the branch says."""
    made, line, _ = said()
    made.prompt("query rows", SETTINGS)
    made.state = end_turn(end_turn(made.state))
    assert made.state.heat
    assert made.state.smoke.streak == 1
    back = replay([line], namespaces_of_tool=lambda _name: None)
    if column == "with smoke":
        gone = (dict(back.heat), back.smoke, back.episodes) == ({}, Smoke(), AdvisorState().episodes)
        return "transient reset" if gone else "transients stay"
    lived = replace(AdvisorState(), ash=made.state.ash, echoes=made.state.echoes, spent_hints=made.state.spent_hints)
    rewound = replay([], namespaces_of_tool=lambda _name: None)
    return "exact replay" if (back, rewound) == (lived, AdvisorState()) else "another state"


@pytest.mark.parametrize(
    ("row", "evidence", "column", "outcome"), CELLS, ids=[f"{row}-{column}" for row, _, column, _ in CELLS]
)
def test_the_cell_comes_out_as_the_table_says(row, evidence, column, outcome):
    if row in PROMPTED:
        assert played_prompt(row, column, outcome) == {outcome}, evidence
        return
    play = {"O": played_quote, "P": played_familiar, "R": played_use, "S": played_boundary}[row]
    assert play(column) == outcome, evidence


def test_the_table_is_whole():
    assert "".join(row[0] for row in ROWS) == "ABCDEFGHIJKLMNOPQRS"
    assert len(CELLS) == 19 * 4 - 11
