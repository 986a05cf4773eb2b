"""`pi-fabric doctor`: shows which isolation layers work here and tries to break out. The probe decides, this prints."""

import json
import sys
from typing import Any, Final

import click
import trio

from host_bridge.confinement_plan import ISOLATION_SETTING, MODES, STRICT_MODE, ConfinementPlan
from host_bridge.isolation_probe import IsolationReport, missing_names, probe
from runtime.help_examples import examples

EXIT_ISOLATION_UNAVAILABLE: Final = 3


@click.command(epilog=examples("pi-fabric doctor", "pi-fabric doctor --json"))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--mode",
    type=click.Choice(MODES),
    default=STRICT_MODE,
    show_default=True,
    help=f"The mode to examine, as in {ISOLATION_SETTING}.",
)
def command(*, as_json: bool, mode: str) -> None:
    """Show which isolation layers work here, what is missing and how to get it, and try to break out.

    The self-test runs inside a real guest with the language layer off and tries a file, a socket, a fork and an exec.
    Exit status: 0 isolated, 3 when isolation is not available or an attempt got through.
    """
    report = trio.run(probe, ConfinementPlan.for_mode(mode))
    if as_json:
        click.echo(json.dumps(as_object(report), ensure_ascii=False))
    elif sys.stdout.isatty():
        print_for_people(report)
    else:
        click.echo("\n".join(plain_lines(report)))
    sys.exit(0 if passed(report) else EXIT_ISOLATION_UNAVAILABLE)


def passed(report: IsolationReport) -> bool:
    """Whether programs are isolated as the mode promises; the weaker mode promises no containment by the kernel."""
    return report.available and (report.contained or report.mode != STRICT_MODE)


def as_object(report: IsolationReport) -> dict[str, Any]:
    """The object of `--json`."""
    return {
        "ok": passed(report),
        "mode": report.mode,
        "available": report.available,
        "machine": report.machine,
        "kernel": report.kernel,
        "layers": [
            {
                "name": layer.protection.name,
                "state": str(layer.state),
                "works": layer.works,
                "detail": layer.detail,
                "keepsAway": layer.protection.keeps_away,
                "needs": layer.protection.kernel_feature,
                "howToGetIt": None if layer.works else layer.protection.how_to_get_it,
            }
            for layer in report.layers
        ],
        "missing": list(missing_names(report.layers)),
        "selfTest": [
            {"name": attempt.name, "tried": attempt.tried, "contained": attempt.contained, "outcome": attempt.outcome}
            for attempt in report.attempts
        ],
        "refusal": report.refusal,
    }


def conclusion(report: IsolationReport) -> str:
    """The last line."""
    if not report.available:
        return f"Guests cannot be started here: {report.refusal}"
    if not report.contained:
        through = ", ".join(attempt.tried for attempt in report.attempts if not attempt.contained)
        return f"NOT CONTAINED ({report.mode}): {through}. Run only programs that you trust."
    lacking = missing_names(report.layers)
    if lacking:
        return f"Isolated, without {', '.join(lacking)}: each run's record says so."
    return "Isolated: every layer works and every attempt failed."


def plain_lines(report: IsolationReport) -> list[str]:
    """For pipes and logs: a line a layer, a line an attempt, a conclusion."""
    lines = [f"mode {report.mode}, {report.kernel}, {report.machine}", "layers:"]
    for layer in report.layers:
        lines.append(
            f"  {'works  ' if layer.works else 'MISSING'} {layer.protection.name} ({layer.state}): {layer.detail}"
        )
        if not layer.works:
            lines.append(f"          needs {layer.protection.kernel_feature}")
            lines.append(f"          to get it: {layer.protection.how_to_get_it}")
    lines.append("self-test, from inside a guest without the language layer:")
    lines.extend(
        f"  {'failed as it must' if attempt.contained else 'WORKED'}: {attempt.tried} ({attempt.outcome})"
        for attempt in report.attempts
    )
    if not report.attempts:
        lines.append("  not run: there is no guest to run it in")
    lines.append(conclusion(report))
    return lines


def print_for_people(report: IsolationReport) -> None:
    """Two tables and a conclusion on a terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    console.print(Text(f"{report.kernel}, {report.machine}, mode {report.mode}", style="dim"))
    layers = Table("layer", "", "state", "here", title="Isolation layers", title_justify="left")
    for layer in report.layers:
        mark = Text("works", style="green") if layer.works else Text("missing", style="bold red")
        here = Text(layer.detail)
        if not layer.works:
            here.append(
                f"\nneeds {layer.protection.kernel_feature}\nto get it: {layer.protection.how_to_get_it}", "yellow"
            )
        layers.add_row(layer.protection.name, mark, str(layer.state), here)
    console.print(layers)
    if report.attempts:
        attempts = Table("tried", "", "outcome", title="Self-test from inside a guest", title_justify="left")
        for attempt in report.attempts:
            mark = Text("failed", style="green") if attempt.contained else Text("WORKED", style="bold red")
            attempts.add_row(attempt.tried, mark, Text(attempt.outcome))
        console.print(attempts)
    console.print(Text(conclusion(report), style="green" if passed(report) and report.contained else "bold red"))
