"""`pi-fabric agents`: what child agents did and do, for this person; it reads records and stops runs."""

import os
import sys
from itertools import islice
from typing import Any, NoReturn

import click

from runtime.help_examples import examples


@click.group(epilog=examples("pi-fabric agents list --status running", "pi-fabric agents log r01a22d185d2684c7d16616"))
def command() -> None:
    """List, show, log and stop child agents: live and past runs of every session."""


def _records() -> Any:
    from child_agents.records import RunRecords
    from runtime.agent_service import agent_folders

    return RunRecords(agent_folders(os.environ))


def _fail(message: str) -> NoReturn:
    click.echo(f"pi-fabric agents: {message}", err=True)
    sys.exit(1)


def _check_status(status: str) -> None:
    from child_agents.errors import RequestError
    from child_agents.request import status_word

    try:
        status_word(status)
    except RequestError as error:
        raise click.BadParameter(str(error), param_hint="--status") from None


def _print_json(value: Any) -> None:
    click.echo(_json_text(value))


def _json_text(value: Any) -> str:
    from host_bridge import strict_json

    return strict_json.encode(value, lone_surrogates=True).decode()


def _shown(record: Any) -> dict[str, Any]:
    """A record as these commands show it; what a run that is not over has cost stands in its root's ledger."""
    from child_agents.ledger import Ledger
    from child_agents.runs import record_status

    shown = record_status(record)
    started = [event["at"] for event in _records().events(record.id) if event.get("type") == "started"]
    if started:
        shown["startedAt"] = started[0]
    if (
        record.result is None
        and (ledger := Ledger(_records().folders.ledgers, record.request.run.root_id)).path.exists()
    ):
        shown["cost"] = ledger.totals().cost_by_run.get(record.id, 0.0)
    shown["session"] = record.request.run.owner_session
    return shown


@command.command("list", epilog=examples("pi-fabric agents list", "pi-fabric agents list --status running --json"))
@click.option("--status", help="Only runs with this status: running, completed, failed …")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="The newest ones.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
def list_runs(status: str | None, limit: int, as_json: bool) -> None:
    """List live and past runs, newest first, with level, bounds, time and cost."""
    records = _records()
    if status is not None:
        _check_status(status)
    newest = (record for run_id in reversed(records.ids()) for record in records.some(run_id))
    found = (record for record in newest if status in (None, record.status))
    shown = [_shown(record) for record in islice(found, limit)]
    if as_json:
        _print_json(shown)
        return
    if not shown:
        click.echo("no agent runs")
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("id", "agent", "status", "level", "bounds", "time", "cost"):
        table.add_column(title, no_wrap=True)
    for run in shown:
        table.add_row(
            run["id"],
            "/".join(run["path"]),
            run["status"],
            _level(run),
            _bounds(run),
            _time(run),
            f"{run.get('cost', 0.0):.4f}",
        )
    # A pipe has no width, and a cut id is no id.
    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=400)
    console.print(table)


@command.command("show", epilog=examples("pi-fabric agents show AGENT_ID", "pi-fabric agents show AGENT_ID --json"))
@click.argument("run_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(run_id: str, as_json: bool) -> None:
    """Show one run: what was decided for it, where each value came from, and its result."""
    import msgspec

    from child_agents.request import result_to_wire

    record = _record(run_id)
    shown = _shown(record)
    shown["request"] = msgspec.to_builtins(record.request.run)
    shown["environmentNames"] = record.request.environment_names
    if record.result is not None:
        shown["result"] = result_to_wire(record.result)
    if as_json:
        _print_json(shown)
        return
    lines = {
        "id": record.id,
        "agent": "/".join(shown["path"]),
        "status": shown["status"],
        "runner": shown["runner"],
        "level": _level(shown),
        "bounds": _bounds(shown),
        "time": _time(shown),
        "cost": f"{shown.get('cost', 0.0):.4f} US dollars",
        "created": shown["createdAt"],
        "folder": str(record.folder),
    }
    for title, value in lines.items():
        click.echo(f"{title:<10}{value}")
    for name, source in shown["sources"].items():
        click.echo(f"  {name:<18}from {source}")
    if record.result is not None:
        from host_bridge.neutral_text import neutralise

        error = record.result.error
        said = f"result    {record.result.text}" if error is None else f"error     {error.kind}: {error.message}"
        click.echo(neutralise(said, keep_newlines=True))


@command.command("log", epilog=examples("pi-fabric agents log AGENT_ID"))
@click.argument("run_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
def log(run_id: str, as_json: bool) -> None:
    """Print what happened in a run, oldest first."""
    record = _record(run_id)
    events = _records().events(record.id)
    if as_json:
        _print_json(events)
        return
    from host_bridge.neutral_text import neutralise

    for event in events:
        rest = {name: value for name, value in event.items() if name not in ("at", "type")}
        text = _json_text(rest) if rest else ""
        click.echo(f"{event.get('at', '')!s}  {neutralise(str(event.get('type', ''))):<14} {neutralise(text)}")


@command.command("stop", epilog=examples("pi-fabric agents stop AGENT_ID"))
@click.argument("run_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def stop(run_id: str, as_json: bool) -> None:
    """End a running agent: ask it, then TERM, then KILL.

    A durable run is ended through its resident host; a run of a living session through that session's own process.
    """
    record = _record(run_id)
    if record.status in ("queued", "running"):
        from child_agents.owner_socket import end_run

        problem = end_run(_records().folders, record.request.owner, record.id, "stopped by a person")
        if problem is not None:
            _fail(problem)
        record = _record(run_id)
    shown = _shown(record)
    if as_json:
        _print_json(shown)
    else:
        click.echo(f"{record.id} is {shown['status']}")


def _record(run_id: str) -> Any:
    from child_agents.errors import UnknownRunError

    records = _records()
    matches = [one for one in records.ids() if run_id and one.startswith(run_id)]
    if run_id in matches:
        matches = [run_id]
    if len(matches) != 1:
        _fail(f"no run has the id {run_id!r:.80}; `pi-fabric agents list` shows them")
    try:
        return records.read(matches[0])
    except UnknownRunError:
        _fail(f"the record of {matches[0]} cannot be read: its host ended while it wrote it")


def _level(run: dict[str, Any]) -> str:
    level = run.get("thinking") or "-"
    return f"{level} (asked {run['requestedThinking']})" if "requestedThinking" in run else level


def _bounds(run: dict[str, Any]) -> str:
    bounds = run.get("thinkingBounds")
    return "-" if not bounds else f"{bounds.get('min', 'off')}..{bounds.get('max', 'max')}"


def _time(run: dict[str, Any]) -> str:
    if run["status"] == "indeterminate":
        return "-"
    if "wallMs" in run:
        return f"{run['wallMs'] / 1000:.1f} s"
    from datetime import UTC, datetime

    begun = run.get("startedAt")
    if begun is None:
        return "-"
    seconds = (datetime.now(UTC) - datetime.fromisoformat(begun)).total_seconds()
    return f"{seconds:.0f} s so far"
