"""The bounds against the recorded tables: clamp, narrow, inherit, status view, parse and serialise."""

import json
from pathlib import Path

import msgspec
import pytest

from child_agents.inherited_bounds import VARIABLE, InheritedBoundsError, inherited_bounds, read_bounds, write_bounds
from guest_api.bounds import (
    UNBOUNDED,
    Bounds,
    BoundsError,
    NoSupportedLevelError,
    WiderBoundsError,
    available,
    clamp,
    clamp_supported,
    inherit,
    narrow,
    parse_bounds,
    resolved,
    serialise_bounds,
)
from guest_api.levels import LEVELS
from tests.guest_api.test_levels import model_of

DATA = Path(__file__).parents[1] / "data" / "thinking"


def table(name: str) -> dict:
    return json.loads((DATA / f"thinking-{name}.json").read_text())


def ends(bounds: Bounds) -> list[str]:
    return [bounds.lowest, bounds.highest]


def test_the_clamp_matches_every_combination_of_bounds_model_and_request():
    checked = 0
    data = table("clamp")
    for key, masks in data["table"].items():
        bounds = Bounds(min=LEVELS[int(key[0])], max=LEVELS[int(key[1])])
        for mask, row in enumerate(masks):
            supported = [level for bit, level in enumerate(LEVELS) if mask >> bit & 1]
            for index, expected in enumerate(row):
                try:
                    got = str(LEVELS.index(clamp_supported(LEVELS[index], bounds, supported)))
                except NoSupportedLevelError:
                    got = "-"
                assert got == expected, (key, mask, LEVELS[index])
                checked += 1
    assert checked == data["combos"] == 25_088


def test_inheriting_matches_every_pair_of_ranges():
    rows = table("intersect")["rows"]
    assert len(rows) == 1849
    for row in rows:
        child, parent = Bounds(**row["child"]), Bounds(**row["parent"])
        result = inherit(child, parent)
        assert ends(result) == row["range"], row
        if row["disjoint"]:
            assert result == parent
        if not row["child"]:
            assert result == parent


def test_narrowing_matches_every_request_of_every_caller():
    rows = table("narrow")["rows"]
    assert len(rows) == 2752
    for row in rows:
        try:
            got = ends(narrow(Bounds(**row["caller"]), parse_bounds(row["request"])))
        except (WiderBoundsError, BoundsError):
            got = None
        assert got == row["range"], row


def test_the_status_view_matches_every_row():
    rows = table("status")["rows"]
    assert len(rows) == 301
    for row in rows:
        model = model_of(row["model"])
        supported = model.supported_levels if model else None
        bounds = Bounds(**row["bounds"])
        assert list(available(bounds, supported)) == row["available"], row
        assert resolved(bounds, supported) == row["view"], row


def test_the_variable_is_written_as_recorded_and_reads_back():
    rows = table("env")["write"]
    assert len(rows) == 43
    for row in rows:
        bounds = Bounds(**row["bounds"])
        assert write_bounds(bounds) == serialise_bounds(bounds) == row["env"]
        assert read_bounds(row["env"]) == bounds


def test_the_variable_is_read_as_recorded():
    data = table("env")
    assert [read_bounds(row["env"]) for row in data["read_ok"]] == [Bounds(**row["bounds"]) for row in data["read_ok"]]
    assert all(read_bounds(value).is_open for value in data["read_unset"])
    assert inherited_bounds({}) == UNBOUNDED
    assert inherited_bounds({VARIABLE: '{"max":"low"}'}) == Bounds(max="low")


@pytest.mark.parametrize("row", table("env")["read_refused"], ids=lambda row: row["why"])
def test_a_malformed_variable_is_refused_and_named(row):
    with pytest.raises(InheritedBoundsError, match=VARIABLE):
        read_bounds(row["env"])


def test_the_message_names_the_variable_the_end_and_the_level_that_was_meant():
    with pytest.raises(InheritedBoundsError) as refusal:
        read_bounds('{"max":"High"}')
    assert str(refusal.value).startswith(f'environment variable {VARIABLE}: max: got "High", wanted one of off')
    assert str(refusal.value).endswith("did you mean 'high'?")


def test_a_deeply_nested_variable_is_refused_too():
    with pytest.raises(InheritedBoundsError):
        read_bounds("[" * 900)
    with pytest.raises(InheritedBoundsError, match="characters"):
        read_bounds("[" * 100_000)


def test_a_wider_request_names_both_sides():
    with pytest.raises(WiderBoundsError) as refusal:
        narrow(Bounds(max="medium"), Bounds(max="high"))
    assert (refusal.value.requested, refusal.value.effective) == (Bounds(max="high"), Bounds(max="medium"))
    assert "off..high" in str(refusal.value)
    assert "off..medium" in str(refusal.value)


def test_omitted_ends_are_the_callers():
    assert narrow(Bounds(min="low", max="high"), Bounds(max="medium")) == Bounds(min="low", max="medium")
    assert narrow(UNBOUNDED, UNBOUNDED).is_open


@pytest.mark.parametrize(
    ("value", "path", "words"),
    [
        ([], "b", "an object"),
        ("low", "b", "an object"),
        (None, "b", "an object"),
        ({"mid": "low"}, "b.mid", "did you mean min"),
        ({"min": None}, "b.min", "got null"),
        ({"min": 1}, "b.min", "got 1"),
        ({"max": "High"}, "b.max", "did you mean 'high'"),
        ({"max": "ultra"}, "b.max", "one of off"),
        ({"min": "high", "max": "low"}, "b.min", "not above"),
    ],
)
def test_what_is_no_bounds_is_refused_with_its_path(value, path, words):
    with pytest.raises(BoundsError, match=words) as refusal:
        parse_bounds(value, "b")
    assert refusal.value.path == path


def test_one_level_may_be_both_ends():
    assert parse_bounds({"min": "low", "max": "low"}) == Bounds(min="low", max="low")


def test_bounds_inside_another_struct_decode_as_strictly():
    class Outer(msgspec.Struct):
        bounds: Bounds

    for bad in ({"min": None}, {"mid": "low"}, {"min": "high", "max": "low"}, {"max": "High"}):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert({"bounds": bad}, Outer)
    assert msgspec.convert({"bounds": {"min": "low"}}, Outer).bounds == Bounds(min="low")
    assert msgspec.json.encode(Outer(Bounds(max="low"))) == b'{"bounds":{"max":"low"}}'


def test_without_a_model_every_level_counts():
    assert clamp_supported("max", UNBOUNDED, None) == "max"
    assert clamp_supported("max", Bounds(max="low"), None) == clamp("max", Bounds(max="low")) == "low"
