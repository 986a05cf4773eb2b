"""Situations that users of such advisors met, on real MCP catalogs."""

import pytest

from benchmarks.hints import catalog, prompts, scripts
from runtime.advisor.scenarios import Machine
from runtime.advisor.settings import AdvisorySettings
from tests.runtime.advisor.live import SETTINGS, machine, tool


def test_the_same_matching_prompt_ten_turns_long_hints_at_most_once():
    made = Machine(catalog())
    hints = [made.prompt("Refund the payment intent pi_3N via Stripe.", SETTINGS) for _ in range(10)]
    assert len([hint for hint in hints if hint is not None and "mcp:stripe" in hint.namespaces]) == 1
    used = Machine(catalog())
    used.tool_use("mcp:stripe")
    for _ in range(10):
        hint = used.prompt("Refund the payment intent pi_3N via Stripe.", SETTINGS)
        assert hint is None or "mcp:stripe" not in hint.namespaces


def test_a_substring_in_another_language_hints_nothing():
    assert Machine(catalog()).prompt("Zu kleine Schrift behindert das Lesen.", SETTINGS) is None


def test_a_one_tool_source_fires_by_its_topic_unless_a_minimum_is_set():
    one = tool("extension:solver", "solve_problem", "Solve a problem.")
    prompt = "把变量 issue 改名为 problem。"
    assert machine(one).prompt(prompt, SETTINGS) is not None
    assert machine(one).prompt(prompt, AdvisorySettings(minimum_surfaces=3)) is None


def test_a_schema_never_reaches_the_index():
    from runtime.advisor.fingerprint import CatalogTool

    assert CatalogTool._fields == ("name", "description", "namespace", "ref")


@pytest.mark.parametrize("script", scripts(catalog()), ids=lambda script: script["id"])
def test_the_scripts_never_hint_a_namespace_twice_on_a_branch(script):
    rewinds = script["id"] == "s6"
    said = [namespace for turn in script["turns"] for namespace in turn["hinted"]]
    assert len(said) == len(set(said)) + rewinds
    assert len(said) <= 3 + rewinds


def test_the_drifting_script_stays_silent_and_the_rewound_one_hints_again():
    told = {script["id"]: [turn["hinted"] for turn in script["turns"]] for script in scripts(catalog())}
    assert told["s2"] == [[]] * 5
    assert told["s4"][1] == []
    assert told["s6"] == [["mcp:kubernetes"], ["mcp:grafana"], ["mcp:grafana"]]


def test_the_labelled_prompts_are_all_here():
    assert len(prompts()) == 102
    assert len(catalog()) == 655
