"""Heat, episodes, smoke and the branch cap over turns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.advisor.advisor import AdvisorState, consider, end_turn, fired
from runtime.advisor.constants import EPISODE_RESET_TURNS
from runtime.advisor.episodes import Episodes, Familiar
from runtime.advisor.heat import cooled, warmed
from runtime.advisor.settings import AdvisorySettings
from runtime.advisor.smoke import Event, Smoke
from tests.runtime.advisor.live import SETTINGS, fire_turn, heat, machine, scenario, tool, why

X, Y, Z = "extension:x-src", "extension:y-src", "extension:z-src"
LEDGER = "extension:pi-ledger"
FAL = "mcp:fal-ai"


def test_heat_is_an_exponential_mean():
    assert warmed(0.0, 1.5) == 0.75
    assert warmed(cooled({X: 0.75})[X], 1.5) == 1.125
    value = 0.0
    for _ in range(60):
        value = warmed(value / 2, 1.3)
    assert value == pytest.approx(1.3)


def test_heat_below_the_floor_is_dropped():
    assert cooled({X: 0.00199, Y: 0.002}) == {Y: 0.001}


def test_a_held_score_of_1_reaches_0_9375_on_its_fourth_turn():
    made = machine()
    seen = []
    for _ in range(3):
        made.prompt("focus impact", SETTINGS)
        seen.append(heat(made, "extension:pi-codemap"))
    assert seen == [0.5, 0.75, 0.875]
    assert consider(made.state, made.index, "focus impact", SETTINGS).state.heat["extension:pi-codemap"] == 0.9375
    assert made.prompt("focus impact", SETTINGS) is not None


# the specification's crossing time: (score, unused hints) to the turn of the fire
@pytest.mark.parametrize(
    ("score", "smoke", "turn"),
    [
        (1, 0, "t4, weak"),
        (1.5, 0, "t2, weak"),
        (1.25, 0, "t2, weak"),
        (1.25, 1, "t4, weak"),
        (1.5, 1, "t2, weak"),
        (1.5, 2, "t4, weak"),
        (1, 1, "silent"),
    ],
)
def test_the_crossing_time(score, smoke, turn):
    tools = {
        1: [tool(X, "one", "Anvil bellows."), tool(Y, "a", "Anvil."), tool(Z, "b", "Bellows.")],
        1.5: [tool(X, "one", "Anvil bellows."), tool(Y, "a", "Anvil.")],
        1.25: [tool(X, "one", "Anvil bellows."), *[tool(f"mcp:{n}", "a", "Anvil.") for n in range(3)]],
    }[score]
    made = machine(*tools, smoke=smoke)
    assert why(made, "anvil bellows", X).effective_score == score
    assert fire_turn(made, "anvil bellows", most=40) == turn


def test_a_surface_of_1_83_fires_weakly_on_the_first_turn():
    tools = [
        tool(X, "one", "Anvil bellows coal."),
        *[tool(f"mcp:{n}", "a", "Anvil.") for n in range(1)],
        *[tool(f"mcp:o{n}", "b", "Coal.") for n in range(2)],
    ]
    made = machine(*tools)
    assert why(made, "anvil bellows coal", X).effective_score == pytest.approx(1.8333333)
    assert fire_turn(made, "anvil bellows coal") == "t1, weak"


def test_query_results_fires_on_its_second_prompt_and_one_unrelated_turn_shifts_it_to_the_third():
    prompt = "query rows"
    made = machine()
    assert why(made, prompt, LEDGER).effective_score == 1.5
    assert fire_turn(machine(), prompt) == "t2, weak"
    assert made.prompt(prompt, SETTINGS) is None
    assert heat(made, LEDGER) == 0.75
    assert made.prompt("refactor helper", SETTINGS) is None
    assert heat(made, LEDGER) == 0.375
    assert consider(made.state, made.index, prompt, SETTINGS).state.heat[LEDGER] == 0.9375
    assert made.prompt(prompt, SETTINGS) is not None


def test_every_processed_prompt_cools_but_a_capped_or_disabled_one_freezes():
    made = machine()
    made.prompt("query rows", SETTINGS)
    for text in ("", "the of", "кран"):
        before = heat(made, LEDGER)
        made.prompt(text, SETTINGS)
        assert heat(made, LEDGER) == before / 2
    frozen = made.state
    made.prompt("refactor helper", AdvisorySettings(mode="disabled"))
    made.prompt("refactor helper", AdvisorySettings(max_per_session=0))
    assert made.state is frozen


def test_scatter_never_passes_one_quantum_and_stays_below_after_one_smoke_event():
    made = machine(smoke=1)
    for _ in range(40):
        assert made.prompt("cancel pricing upload guides briefly", SETTINGS) is None
        assert heat(made, FAL) <= 1


def test_threshold_one_half_writes_matched_from_1_5_and_might_match_below():
    half = AdvisorySettings(threshold=0.5)
    strong = machine(tool(X, "one", "Anvil bellows."), tool(Y, "a", "Anvil.")).prompt("anvil bellows", half)
    weak = machine(tool(X, "one", "Anvil bellows."), *[tool(f"mcp:{n}", "a", "Anvil.") for n in range(3)]).prompt(
        "anvil bellows", half
    )
    assert strong.content.splitlines()[0] == "x-src · 1 tool matched your prompt."
    assert weak.content.splitlines()[0] == "x-src · 1 tool might match your prompt."


def test_a_surface_of_exactly_the_threshold_counts():
    made = machine(tool(X, "one", "Anvil bellows."), tool(Y, "a", "Anvil."))
    assert why(made, "anvil bellows", X, AdvisorySettings(threshold=1.5)).lane == "weak"


# episodes


def lived(*gaps: int) -> Episodes:
    episodes = Episodes().noted(["harbour"], ())
    for gap in gaps:
        for _ in range(gap - 1):
            episodes = episodes.noted(["other"], ())
        episodes = episodes.noted(["harbour"], ())
    return episodes


@pytest.mark.parametrize(
    ("gaps", "count"),
    [((1,), 0), ((3, 3), 0), ((4,), 1), ((7,), 1), ((4, 4, 4), 3), ((8,), 0), ((4, 8), 0), ((4, 1, 1), 1), ((20,), 0)],
)
def test_returns_after_a_gap_are_counted(gaps, count):
    assert lived(*gaps).count("harbour") == count


def test_brand_words_are_not_noted():
    assert Episodes().noted(["codemap", "harbour"], {"codemap": 1}).words == {"harbour": Familiar(1, 0)}
    tools = [tool("extension:fal", "fal", "")]
    made = machine(*tools)
    for _ in range(3):
        made.prompt("fal", SETTINGS)
        for _ in range(3):
            made.prompt("unrelated words", SETTINGS)
    assert why(made, "fal", "extension:fal").words[0].weight == 1


@given(st.lists(st.sets(st.sampled_from("abc")), max_size=60))
def test_dropping_old_words_changes_no_count(turns):
    episodes, memory = Episodes(), {}
    for number, keys in enumerate(turns, 1):
        episodes = episodes.noted(sorted(keys), ())
        for key in keys:
            last, count = memory.get(key, (number, 0))
            gap = number - last
            memory[key] = (
                number,
                count + 1 if 4 <= gap < EPISODE_RESET_TURNS else 0 if gap >= EPISODE_RESET_TURNS else count,
            )
            assert episodes.count(key) == memory[key][1]
    assert len(episodes.words) <= 3


def test_the_factor_divides_the_weight_and_all_casings_share_it():
    made = machine(tool(X, "one", "Harbour lantern."), tool(Y, "two", "Lantern."))
    for text in ("harbour lantern", "a1 b1", "a2 b2", "a3 b3", "HARBOUR LANTERN"):
        made.prompt(text, SETTINGS)
        made.state = AdvisorState(episodes=made.state.episodes)
    words = {word.word: word for word in why(made, "Harbour Lantern", X).words}
    assert words["harbour"].episodes == words["lantern"].episodes == 1
    assert words["harbour"].weight == 0.5
    assert words["lantern"].weight == 0.25


def test_a_camel_case_word_ages_apart_from_its_atoms():
    made = machine(tool(X, "one", "Harbour lantern."))
    made.prompt("harbourLantern", SETTINGS)
    assert set(made.state.episodes.words) == {"harbourlantern"}


# smoke


def test_a_hint_stays_open_for_its_own_and_the_following_turn_end():
    smoke = Smoke().fired((X, Y))
    assert smoke.events == (Event((X, Y), 2),)
    once = smoke.turn_ended()
    assert once.streak == 0
    assert once.turn_ended() == Smoke(1)
    assert once.tool_used(Y).turn_ended() == Smoke(0)


def test_used_hints_clear_the_streak_and_unused_ones_raise_it():
    assert Smoke(1).fired((X,)).turn_ended().turn_ended() == Smoke(2)
    assert Smoke(2).fired((X,)).tool_used(X).turn_ended() == Smoke(0)
    assert Smoke(4).fired((X,)).turn_ended().turn_ended() == Smoke(4)


def test_overlapping_windows_settle_in_fire_order():
    older_unused = Smoke(2).fired((X,)).turn_ended().fired((Y,)).tool_used(Y)
    assert older_unused.turn_ended() == Smoke(0)
    older_used = Smoke(2, (Event((X,), 1, used=True), Event((Y,), 1)))
    assert older_used.turn_ended() == Smoke(1)


def test_a_late_call_burns_organically_and_keeps_the_smoke():
    made = machine()
    made.prompt("check the status of my fal job", SETTINGS)
    made.state = end_turn(end_turn(made.state))
    assert made.state.smoke == Smoke(1)
    assert made.tool_use(FAL) is False
    assert made.state.ash[FAL].origin == "fired"
    assert made.tool_use(LEDGER) is True
    assert made.state.ash[LEDGER].origin == "organic"
    made.state = end_turn(made.state)
    assert made.state.smoke == Smoke(1)


def test_strong_evidence_fires_at_every_smoke_level():
    for streak in range(5):
        assert fire_turn(machine(smoke=streak), "check the status of my fal job") == "t1, strong"
        barely = machine(tool("mcp:x", "one", "Anvil bellows."), smoke=streak)  # 2: warm, but not above the fire point
        assert fire_turn(barely, "anvil bellows") == "t1, strong"


def test_three_sources_cross_two_are_named_and_burn_the_third_keeps_its_heat():
    made = machine(*[tool(f"extension:{n}", f"t{n}", "Weave harbour cloth.") for n in "abc"])
    hint = made.prompt("weave harbour cloth", AdvisorySettings(threshold=0.4))
    assert hint.namespaces == ("extension:a", "extension:b")
    assert list(made.state.ash) == ["extension:a", "extension:b"]
    assert heat(made, "extension:c") == 0.5
    assert made.state.smoke.events == (Event(("extension:a", "extension:b")),)
    assert made.state.spent_hints == 1


# cap and ash


def test_three_hints_on_a_branch_and_the_fourth_prompt_is_silent():
    made = machine()
    prompts = [
        "blast radius of edited files",
        "send or draft mail messages",
        "check the status of my fal job",
        "edit note blocks",
    ]
    assert [made.prompt(prompt, SETTINGS) is not None for prompt in prompts] == [True, True, True, False]


def test_one_hint_if_the_setting_says_so():
    made = machine()
    one = AdvisorySettings(max_per_session=1)
    assert made.prompt("blast radius of edited files", one) is not None
    assert made.prompt("send or draft mail messages", one) is None


def test_a_fired_namespace_stays_silent_for_twenty_turns():
    made = machine()
    other_words = "recommend model based on asset someone hopes create"
    assert machine().prompt(other_words, SETTINGS).namespaces == ("mcp:fal-ai",)
    said = made.prompt("check the status of my fal job", SETTINGS)
    assert said is not None
    assert not set(other_words.split()) & made.state.echoes  # what follows is not silenced by the echo of the hint
    for _ in range(20):
        assert made.prompt(other_words, AdvisorySettings(max_per_session=50)) is None


def test_organic_burns_cost_no_hint():
    made = machine()
    for namespace in ("extension:pi-codemap", "extension:pi-post", "extension:pi-notes"):
        made.tool_use(namespace)
    assert made.state.spent_hints == 0
    assert made.prompt("check the status of my fal job", SETTINGS) is not None


def test_a_hint_that_was_not_said_burns_nothing():
    made = machine()
    decision = consider(made.state, made.index, "check the status of my fal job", SETTINGS)
    assert decision.state.ash == {}
    assert decision.state.spent_hints == 0
    said = fired(decision.state, decision.hint, "2026-08-10T16:00:00.000Z")
    assert said.ash[FAL].at == "2026-08-10T16:00:00.000Z"
    assert {"prefer", "steer", "status", "fal_ai"} - said.echoes == {"fal_ai"}  # whole written words
    assert {"fal", "ai", "prefer", "captured"} <= said.echoes


def test_words_of_a_hint_are_dead_as_evidence_until_the_branch_drops_them():
    catalog = scenario("matrix-O-first")["catalog"]
    made = machine(*catalog)
    hint = made.prompt("audit the harbour beacon rota kit please", SETTINGS)
    assert hint is not None
    assert why(made, "prefer harbour drift", "extension:beta").words[0].word == "drift"
    before = made.state.episodes.turn
    made.prompt(hint.content, SETTINGS)
    assert made.state.episodes.turn == before  # echoes only: not even a turn
