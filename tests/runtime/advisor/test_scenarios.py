"""Every recorded scenario and text vector comes out exactly as recorded."""

import copy
import json
from collections import Counter

import pytest
from click.testing import CliRunner

from runtime.advisor.scenarios import ACCEPTED_GROUPS, first_difference
from runtime.commands.advisor import command
from tests.runtime.advisor.live import DATA, recorded_difference, scenarios, text_vectors

GROUPS = sorted({one["group"] for one in scenarios()})
FUNCTIONS = (
    "tokens",
    "words",
    "readings",
    "path_only_terms",
    "mostly_non_latin",
    "first_sentence",
    "short_description",
    "label",
    "index",
)


def test_all_recorded_scenarios_are_here():
    assert len(scenarios()) == 3333


@pytest.mark.parametrize("group", GROUPS)
def test_every_scenario_of_the_group_comes_out_as_recorded(group):
    differences = [
        difference
        for one in scenarios()
        if one["group"] == group and (difference := recorded_difference(one)) is not None
    ]
    if group == "restore-throws":
        assert [difference.actual for difference in differences] == [{"ash": []}, {"ash": []}]  # skipped, not raised
        assert all(difference.accepted for difference in differences)
    else:
        assert differences == []


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_text_vector_comes_out_as_recorded(function):
    assert [vector["id"] for vector in text_vectors() if vector["fn"] == function and first_difference(vector)] == []


def test_no_text_vector_is_left_out():
    assert set(Counter(vector["fn"] for vector in text_vectors())) == set(FUNCTIONS)


def test_only_the_two_groups_of_accidents_can_be_accepted():
    assert {"restore-throws", "collation-unicode"} == ACCEPTED_GROUPS


def test_the_command_counts_scenarios_mismatches_and_accepted_differences(monkeypatch):
    monkeypatch.setattr("runtime.commands.advisor.first_difference", recorded_difference)
    result = CliRunner().invoke(command, ["replay", str(DATA / "advisor-vectors.jsonl.gz")])
    assert result.exit_code == 0
    assert result.output.splitlines()[-1] == "3333 scenarios, 0 mismatches, 2 accepted differences"


def test_the_command_prints_a_mismatch_and_ends_with_1(tmp_path):
    file = tmp_path / "wrong.jsonl"
    file.write_text(
        '{"id": "t1", "fn": "label", "input": "extension:x", "expect": "y"}\n{"id": "t2", "fn": "label", "input": null, "expect": "unscoped"}\n'
    )
    result = CliRunner().invoke(command, ["replay", str(file)])
    assert result.exit_code == 1
    assert 'expected: "y"' in result.output
    assert result.output.splitlines()[-1] == "2 scenarios, 1 mismatches, 0 accepted differences"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "[" * 100_000,
        "no json\n",
        "[1]\n",
        '{"id": "x"}\n',
        '{"id": "x", "steps": [{"op": "fly"}]}\n',
        '{"fn": "sing", "input": "", "expect": ""}\n',
    ],
)
def test_the_command_refuses_a_file_that_holds_no_scenarios(tmp_path, text):
    file = tmp_path / "wrong.jsonl"
    file.write_text(text)
    result = CliRunner().invoke(command, ["replay", str(file)])
    assert result.exit_code == 2
    assert "pi-fabric advisor replay:" in result.output


def test_the_command_refuses_what_only_calls_itself_gzip(tmp_path):
    whole = (DATA / "advisor-vectors.jsonl.gz").read_bytes()
    for content in (b"text", whole[:1000], whole[:400] + b"\x00" * 600 + whole[1000:]):
        (tmp_path / "x.jsonl.gz").write_bytes(content)
        result = CliRunner().invoke(command, ["replay", str(tmp_path / "x.jsonl.gz")])
        assert (result.exit_code, result.exception.__class__) == (2, SystemExit)


def test_a_mismatch_names_the_place_where_the_outcomes_part(tmp_path):
    wrong = copy.deepcopy(scenarios()[0])
    step = next(number for number, one in enumerate(wrong["steps"]) if one.get("expect"))
    wrong["steps"][step]["expect"]["matches"][0]["score"] = 77
    (tmp_path / "wrong.jsonl").write_text(json.dumps(wrong))
    result = CliRunner().invoke(command, ["replay", str(tmp_path / "wrong.jsonl")])
    assert result.exit_code == 1
    assert f"step {step}, at matches[0].score\n  expected: 77\n  actual:   4\n" in result.output
