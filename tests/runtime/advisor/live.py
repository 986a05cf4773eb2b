"""A catalog shaped like a live one, and a machine that reads like the specification's table."""

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from runtime.advisor.advisor import AdvisorState, end_turn
from runtime.advisor.ash import burned
from runtime.advisor.explain import SourceExplanation, explain
from runtime.advisor.fingerprint import CatalogTool, Fingerprint
from runtime.advisor.scenarios import Difference, Machine, first_difference
from runtime.advisor.settings import AdvisorySettings
from runtime.advisor.smoke import Smoke

DATA = Path(__file__).parents[2] / "data" / "advisor"
SETTINGS = AdvisorySettings()


@cache
def scenarios() -> tuple[dict[str, Any], ...]:
    """Every recorded scenario."""
    with gzip.open(DATA / "advisor-vectors.jsonl.gz", "rt", encoding="utf-8") as file:
        return tuple(json.loads(line) for line in file)


@cache
def scenario(name: str) -> dict[str, Any]:
    return next(one for one in scenarios() if one["id"] == name)


_OUTCOMES: dict[str, Difference | None] = {}


def recorded_difference(one: Mapping[str, Any]) -> Difference | None:
    """`first_difference` of a recorded scenario; each is run once, however many tests ask."""
    if one["id"] not in _OUTCOMES:
        _OUTCOMES[one["id"]] = first_difference(one)
    return _OUTCOMES[one["id"]]


def live_catalog() -> list[dict[str, Any]]:
    """11 fal.ai tools and several extension sources."""
    return scenario("matrix-A-first")["catalog"]


def text_vectors() -> Iterator[dict[str, Any]]:
    with gzip.open(DATA / "text-vectors.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def tool(namespace: str | None, name: str, description: str = "") -> dict[str, Any]:
    return {"namespace": namespace, "name": name, "description": description}


def index_of(*tools: dict[str, Any]) -> Fingerprint:
    index = Fingerprint()
    index.set_slice("captured", [CatalogTool(one["name"], one["description"], one["namespace"]) for one in tools])
    return index


def machine(*tools: dict[str, Any], smoke: int = 0, burned_by: str | None = None, source: str = "") -> Machine:
    """A machine over these tools (default: the live catalog), perhaps with smoke or with ash."""
    made = Machine(list(tools) or live_catalog())
    made.state = AdvisorState(smoke=Smoke(smoke))
    if burned_by is not None:
        made.state = replace(made.state, ash=burned({}, [source], burned_by, ""))  # type: ignore[arg-type]
    return made


def heat(made: Machine, namespace: str) -> float:
    return made.state.heat.get(namespace, 0.0)


def why(made: Machine, prompt: str, namespace: str, settings: AdvisorySettings = SETTINGS) -> SourceExplanation:
    """What the machine would say of one source for this prompt."""
    found = explain(made.state, made.index, prompt, settings).sources
    return next(source for source in found if source.namespace == namespace)


def fire_turn(made: Machine, prompt: str, settings: AdvisorySettings = SETTINGS, most: int = 20) -> str:
    """When the repeated prompt fires: `t2, weak`; `silent` if it never does."""
    for turn in range(1, most + 1):
        hint = made.prompt(prompt, settings)
        made.state = end_turn(made.state)
        if hint is not None:
            return f"t{turn}, {'strong' if hint.register == 'matched' else 'weak'}"
    return "silent"
