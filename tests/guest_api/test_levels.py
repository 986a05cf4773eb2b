"""The levels, their order, and what a model supports."""

import gzip
import json
from pathlib import Path

import pytest

from guest_api.levels import LEVELS, closest_name, in_order, is_level, nearest_supported
from runtime.models import Model, ModelCatalog, UnknownModelError, clamp_to_model, default_level

DATA = Path(__file__).parents[1] / "data" / "thinking"


def test_the_order_of_the_seven_levels():
    assert LEVELS == ("off", "minimal", "low", "medium", "high", "xhigh", "max")


def test_only_exact_names_are_levels():
    assert all(is_level(level) for level in LEVELS)
    assert not any(is_level(value) for value in ("High", " low", "ultra", "", None, 2, True, ["low"]))


def test_everything_above_is_tried_before_anything_below():
    assert nearest_supported("medium", {"off", "low", "high"}) == "high"
    assert nearest_supported("medium", {"low", "max"}) == "max"
    assert nearest_supported("medium", {"low", "max"}, highest="high") == "low"
    assert nearest_supported("medium", {"off", "low", "high"}, highest="medium") == "low"
    assert nearest_supported("max", {"off", "low"}) == "low"
    assert nearest_supported("low", set()) is None


def test_in_order_sorts_by_effort_and_drops_repeats():
    assert in_order(["max", "off", "max", "low"]) == ("off", "low", "max")


def test_a_typing_error_finds_the_level_that_was_meant():
    assert closest_name("hgih", LEVELS) == "high"
    assert closest_name("HIGH", LEVELS) == "high"
    assert closest_name("qqq", LEVELS) is None
    assert closest_name(7, LEVELS) is None


def model_of(fields: dict | None) -> Model | None:
    if fields is None:
        return None
    return Model(
        provider="p",
        id="m",
        reasoning=fields.get("reasoning", False),
        thinking_level_map=fields.get("thinkingLevelMap") or {},
    )


def test_supported_levels_match_every_recorded_model():
    rows = json.loads(gzip.decompress((DATA / "thinking-supported.json.gz").read_bytes()))["rows"]
    assert len(rows) > 1000
    for fields, expected in rows:
        model = model_of(fields)
        assert list(LEVELS if model is None else model.supported_levels) == expected, fields


def test_the_models_clamp_is_the_hosts():
    gaps = Model(provider="p", id="m", reasoning=True, thinking_level_map={"minimal": None, "medium": None})
    assert clamp_to_model("medium", gaps) == "high"
    assert clamp_to_model("max", gaps) == "high"
    assert clamp_to_model("high", Model(provider="p", id="m")) == "off"
    assert clamp_to_model("max", None) == "max"
    assert default_level(None) == "medium"
    nothing = Model(provider="p", id="m", reasoning=True, thinking_level_map=dict.fromkeys(LEVELS))
    assert nothing.supported_levels == ()
    assert clamp_to_model("high", nothing) == "off"


def test_a_model_is_found_by_its_key_or_by_a_bare_id_that_only_one_provider_has():
    a, b, c = (Model(provider=p, id=i) for p, i in (("a", "r1"), ("b", "r1"), ("b", "deep/seek")))
    catalog = ModelCatalog([a, b, c])
    assert catalog.find("b/r1") is b
    assert catalog.find("deep/seek") is c
    assert catalog.find("b/deep/seek") is c
    with pytest.raises(UnknownModelError, match="a/r1, b/r1"):
        catalog.find("r1")
    with pytest.raises(UnknownModelError, match="did you mean 'b/r1'"):
        catalog.find("b/r2")
    with pytest.raises(UnknownModelError, match=r"models\.providers"):
        ModelCatalog().find("r1")
