"""The text of a hint, its four forms, and the settings with their limits."""

import pytest

from runtime.advisor.collation import collation_key
from runtime.advisor.sentences import utf16_units
from runtime.advisor.settings import AdvisorySettings, checked_settings, settings_from
from runtime.config_sections import AdvisorySection
from tests.runtime.advisor.live import machine, scenario, scenarios


def content(budget: int) -> str:
    return machine().prompt("check the status of my fal job", AdvisorySettings(budget_tokens=budget)).content


def test_the_longest_of_four_forms_that_fits_the_budget_is_said():
    forms = {content(budget) for budget in range(1, 200)}
    assert len(forms) == 4
    for budget in range(1, 200):
        said = content(budget)
        fits = -(-utf16_units(said) // 4) <= budget
        assert fits or said.count("\n") == 1  # headline and steer are said in any case


def test_the_full_form():
    assert content(512).splitlines() == [
        "mcp:fal-ai · 11 tools matched your prompt.",
        "▪ mcp.fal_ai.check_job — Check the status of a queued media job. Helpful for long videos.",
        "▪ mcp.fal_ai.submit_job — Submit a media job to the background queue. Poll it afterwards.",
        "  ~ +9 more in mcp:fal-ai: fal_ai.cancel_job, fal_ai.job_result, fal_ai.find_models, …",
        'Next: tools.describe({ref: "mcp.fal_ai.check_job"}) for its schema, then mcp.fal_ai.check_job({…}) inside fabric_exec.',
        "Steer: prefer these captured tools over re-implementing the capability; skip if irrelevant.",
    ]


def test_the_hint_states_its_origin_and_commands_nothing():
    """Wording that hides itself or gives orders looks like an injection."""
    said = content(512)
    assert "matched your prompt" in said
    assert "skip if irrelevant" in said
    assert not any(word in said.lower() for word in ("do not mention", "ignore", "must", "secret"))


def test_a_tool_without_a_name_is_dropped_from_the_names_only():
    one = scenario("hand-empties-0949")
    assert any(step.get("expect") for step in one["steps"])
    assert len([group for group in scenarios() if group["group"] == "empties"]) == 6


def test_names_sort_blind_to_case_first():
    names = ["b", "A", "a", "B", "a_x", "a-x", "a x", "a1", "é", "z", "e"]
    assert sorted(names, key=collation_key) == ["a", "A", "a x", "a_x", "a-x", "a1", "b", "B", "e", "é", "z"]


def test_the_settings_come_from_the_section_of_the_configuration():
    assert settings_from(AdvisorySection()) == AdvisorySettings()
    assert settings_from(
        AdvisorySection(mode="hidden", threshold=2, max_per_session=5, budget=128, minimum_surfaces=3)
    ) == AdvisorySettings(mode="hidden", threshold=2, max_per_session=5, budget_tokens=128, minimum_surfaces=3)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"mode": "loud"}, "capture.advisory.mode"),
        ({"threshold": -0.1}, "capture.advisory.threshold must be between 0 and 1000"),
        ({"threshold": 1000.1}, "capture.advisory.threshold"),
        ({"max_per_session": 0}, "capture.advisory.maxPerSession must be between 1 and 50"),
        ({"max_per_session": 51}, "capture.advisory.maxPerSession"),
        ({"budget_tokens": 127}, "capture.advisory.budget must be between 128 and 8192"),
        ({"budget_tokens": 8193}, "capture.advisory.budget"),
        ({"threshold": float("nan")}, "capture.advisory.threshold"),
    ],
)
def test_a_value_outside_its_limits_is_refused_by_name(wrong, named):
    with pytest.raises(ValueError, match=named.replace(".", r"\.")):
        checked_settings(AdvisorySettings(**wrong))


def test_values_at_the_limits_pass():
    for threshold, hints, budget in ((0, 1, 128), (1000, 50, 8192)):
        checked_settings(AdvisorySettings(threshold=threshold, max_per_session=hints, budget_tokens=budget))
