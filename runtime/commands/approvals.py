"""`pi-fabric approvals`: the rules that a person chose to keep, listed and revoked; it asks and judges nothing."""

import sys
from typing import NoReturn

import click
import msgspec

from host_bridge.approval_rules import RuleStore, StoredRule
from host_bridge.errors import RuleFileError
from runtime.help_examples import examples


@click.group("approvals", epilog=examples("pi-fabric approvals list", "pi-fabric approvals revoke 'mcp.git.*'"))
def command() -> None:
    """List and revoke the approval rules that were kept by answering `always`."""


@command.command("list", epilog=examples("pi-fabric approvals list", "pi-fabric approvals list --json"))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_rules(as_json: bool) -> None:
    """Show every stored rule."""
    store = RuleStore()
    rules = _read(store)
    if as_json:
        click.echo(msgspec.json.encode({"path": str(store.path), "rules": rules}).decode())
        return
    if not rules:
        click.echo(f"no stored rules ({store.path})")
    width = max((len(rule.ref) for rule in rules), default=0)
    for rule in rules:
        click.echo(f"{rule.ref:<{width}}  {rule.action}  risk {rule.risk}  since {rule.added_at or 'unknown'}")


@command.command(
    "revoke", epilog=examples("pi-fabric approvals revoke pi.write 'mcp.git.*'", "pi-fabric approvals revoke --all")
)
@click.argument("refs", metavar="REF...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Revoke every stored rule.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def revoke(refs: tuple[str, ...], everything: bool, as_json: bool) -> None:
    """Forget the stored rules of these refs; the next call is asked about again. Exit status 1: one had no rule."""
    if not refs and not everything:
        raise click.UsageError("name a REF, or --all")
    store = RuleStore()
    wanted = tuple(dict.fromkeys(rule.ref for rule in _read(store))) if everything else refs
    gone: list[StoredRule] = []
    missing: list[str] = []
    try:
        for ref in wanted:
            found = store.revoke(ref)
            gone.extend(found)
            if not found:
                missing.append(ref)
    except RuleFileError as error:
        _fail(error)
    if as_json:
        click.echo(msgspec.json.encode({"revoked": gone, "missing": missing}).decode())
    else:
        for rule in gone:
            click.echo(f"revoked {rule.ref} (risk {rule.risk})")
        for ref in missing:
            click.echo(f"no stored rule for {ref}", err=True)
    if missing:
        sys.exit(1)


def _read(store: RuleStore) -> list[StoredRule]:
    try:
        return store.stored()
    except RuleFileError as error:
        _fail(error)


def _fail(error: RuleFileError) -> NoReturn:
    click.echo(f"pi-fabric: {error}", err=True)
    sys.exit(2)
