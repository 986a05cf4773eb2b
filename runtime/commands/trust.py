"""`pi-fabric trust`: let a project's `.pi/fabric.json` take effect, take that back, or list what is trusted."""

import os
import sys
from pathlib import Path
from typing import NoReturn

import click
import msgspec

from runtime.config import CONFIG_FILE, PROJECT_FOLDER
from runtime.help_examples import examples
from runtime.trust import TrustFileError, TrustStore, agent_dir


@click.command(
    "trust",
    epilog=examples("pi-fabric trust", "pi-fabric trust ~/work", "pi-fabric trust --revoke", "pi-fabric trust --list"),
)
@click.argument("directory", required=False, type=click.Path(path_type=Path), metavar="[DIR]")
@click.option("--revoke", is_flag=True, help="Take the trust back.")
@click.option("--list", "list_all", is_flag=True, help="Show every trusted project.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(directory: Path | None, *, revoke: bool, list_all: bool, as_json: bool) -> None:
    """Trust the project in DIR (default: this folder): its .pi/fabric.json takes effect from now on.

    Exit status: 0 done, 2 no such folder or the record is unreadable.
    """
    store = TrustStore(agent_dir(os.environ))
    try:
        if list_all:
            if revoke or directory is not None:
                raise click.UsageError("--list stands alone")
            _show_all(store, as_json=as_json)
            return
        project = (directory or Path()).absolute()
        # A folder that is gone can still be forgotten.
        if not revoke and not project.is_dir():
            _fail(f"{project}: no such folder", as_json=as_json)
        changed = store.revoke(project) if revoke else store.trust(project)
    except (TrustFileError, OSError) as error:
        _fail(str(error), as_json=as_json)
    real, file = os.path.realpath(project), project / PROJECT_FOLDER / CONFIG_FILE
    if as_json:
        _print({"project": real, "trusted": not revoke, "changed": changed, "record": str(store.path)})
    elif revoke:
        click.echo(f"{real} is no longer trusted." if changed else f"{real} was not trusted.")
    else:
        click.echo(f"{real} is trusted." if changed else f"{real} was trusted already.")
        if not file.exists():
            click.echo(f"It has no {PROJECT_FOLDER}/{CONFIG_FILE} yet.")
        click.echo(f"Recorded in {store.path}")


def _show_all(store: TrustStore, *, as_json: bool) -> None:
    projects = store.projects()
    if as_json:
        _print({"projects": list(projects), "record": str(store.path)})
    elif projects:
        click.echo("\n".join(projects))
    else:
        click.echo("No project is trusted.")


def _fail(message: str, *, as_json: bool) -> NoReturn:
    if as_json:
        _print({"error": {"kind": "config", "message": message}})
    click.echo(f"pi-fabric trust: {message}", err=True)
    sys.exit(2)


def _print(value: object) -> None:
    click.echo(msgspec.json.encode(value).decode())
