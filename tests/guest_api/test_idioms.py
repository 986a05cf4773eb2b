"""Python as people and models write it runs unchanged in a guest."""

import pytest

from tests.guest_api.harness import GuestServer
from tests.guest_api.idioms import IDIOMS


@pytest.mark.parametrize(("source", "expected"), [row[1:] for row in IDIOMS], ids=[row[0] for row in IDIOMS])
def test_ordinary_python_runs_as_written(guests: GuestServer, source: str, expected: object) -> None:
    outcome = guests.run(source, {"numbers": [1, 2, 3]})
    assert outcome.failed is None, outcome.failed
    if isinstance(outcome.value, list) and outcome.value and not isinstance(outcome.value[0], int | str | list | dict):
        pytest.fail(repr(outcome.value))
    assert _plain(outcome.value) == expected


def _plain(value: object) -> object:
    return value


def test_there_are_at_least_eighty_one_idioms() -> None:
    assert len(IDIOMS) >= 81
