"""Child runs: their sentences are claimed in `thinking.py` and `card.py`, which name the tests of `tests/child_agents`."""

from tests.seeds.row import Row

ROWS: dict[str, Row] = {}
