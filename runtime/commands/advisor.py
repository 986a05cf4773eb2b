"""`pi-fabric advisor replay`: counts the differences that `runtime.advisor.scenarios` finds in recorded scenarios."""

import json
import sys
from pathlib import Path
from typing import Any, Final

import click

from runtime.advisor.scenarios import Difference, ScenarioFileError, first_difference, read_scenarios
from runtime.help_examples import examples

REPLAY_EXAMPLES: Final = examples("pi-fabric advisor replay scenarios.jsonl text-vectors.json.gz")
SHOWN_DIFFERENCES: Final = 5
"""How many differing scenarios are printed in full."""


@click.group(epilog=REPLAY_EXAMPLES)
def command() -> None:
    """Replay recorded advisor scenarios."""


@command.command(epilog=REPLAY_EXAMPLES)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
def replay(files: tuple[Path, ...]) -> None:
    """Run scenario files and text-vector files, plain or gzipped.

    Prints the first differences and ends with the counts. Exit status 1 on any mismatch, 2 on a file that holds no
    scenarios. Only the groups restore-throws and collation-unicode may differ: those differences are accepted.
    """
    scenarios = 0
    differences: list[Difference] = []
    try:
        for file in files:
            for scenario in read_scenarios(file):
                scenarios += 1
                difference = first_difference(scenario)
                if difference is not None:
                    differences.append(difference)
    except ScenarioFileError as error:
        click.echo(f"pi-fabric advisor replay: {error}", err=True)
        sys.exit(2)
    mismatches = [difference for difference in differences if not difference.accepted]
    for difference in [*mismatches, *(one for one in differences if one.accepted)][:SHOWN_DIFFERENCES]:
        click.echo(describe(difference))
    if len(mismatches) > SHOWN_DIFFERENCES:
        click.echo(f"… and {len(mismatches) - SHOWN_DIFFERENCES} more mismatches")
    click.echo(
        f"{scenarios} scenarios, {len(mismatches)} mismatches,"
        f" {len(differences) - len(mismatches)} accepted differences"
    )
    sys.exit(1 if mismatches else 0)


def describe(difference: Difference) -> str:
    """One difference on three lines: the first place where the two outcomes part."""
    kind = "accepted" if difference.accepted else "mismatch"
    place, expected, actual = _first_place("", difference.expected, difference.actual)
    return (
        f"{kind}: {difference.scenario} (group {difference.group}), step {difference.step}"
        f"{f', at {place}' if place else ''}\n"
        f"  expected: {json.dumps(expected)}\n"
        f"  actual:   {json.dumps(actual)}"
    )


def _first_place(place: str, expected: Any, actual: Any) -> tuple[str, Any, Any]:
    """The innermost values that differ, and where they stand; the whole outcomes if they have nothing in common."""
    if isinstance(expected, dict) and isinstance(actual, dict) and expected.keys() == actual.keys():
        for key, value in expected.items():
            if value != actual[key]:
                return _first_place(f"{place}.{key}" if place else key, value, actual[key])
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, value in enumerate(expected):
            if value != actual[index]:
                return _first_place(f"{place}[{index}]", value, actual[index])
    return place, expected, actual
