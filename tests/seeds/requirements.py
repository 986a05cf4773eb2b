"""Each requirement of the specifications and the design card, with `file:symbol` and the tests that hold it.

The rows live in one file per area beside this one; this file joins them, and what no area claims is open.
"""

import importlib
import json
from pathlib import Path
from typing import Any

from tests.seeds.row import Row

REQUIREMENTS_FILE = Path(__file__).parents[1] / "data" / "requirements.json"
AREAS = ("thinking", "combustion", "children", "card")


def requirements() -> list[dict[str, Any]]:
    """All sentences, in the order of the specifications."""
    loaded: list[dict[str, Any]] = json.loads(REQUIREMENTS_FILE.read_text())
    return loaded


def rows() -> dict[str, Row]:
    """Requirement id to row, for every id; an area may close what another left open, none may claim twice."""
    merged: dict[str, Row] = {}
    for area in AREAS:
        for identifier, row in importlib.import_module(f"tests.seeds.{area}").ROWS.items():
            earlier = merged.get(identifier)
            if earlier is not None and earlier.missing is None and row.missing is None:
                raise ValueError(f"{identifier} is claimed twice")
            if earlier is None or row.missing is None:
                merged[identifier] = row
    return {
        requirement["id"]: merged.pop(requirement["id"], Row.open("no row yet")) for requirement in requirements()
    } | merged
