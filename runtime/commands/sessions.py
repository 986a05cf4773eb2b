"""`pi-fabric sessions`: list, show, tree, check and migrate session files. Only `migrate` writes: a new file."""

import itertools
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any, Final, ParamSpec

import click
import msgspec

from runtime.long_output import with_progress, write_lines
from runtime.thinking.entry import encode
from runtime.thinking.replay import replay
from runtime.transcript.branch import Branch
from runtime.transcript.entries import CAPABILITY_ENTRY, RUN_ENTRY, Entry
from runtime.transcript.errors import TranscriptError
from runtime.transcript.folder import list_sessions, session_dir_for
from runtime.transcript.migrate import write_migrated
from runtime.transcript.model_view import missing_results
from runtime.transcript.outline import describe, details, hinted_namespaces, outline, plain
from runtime.transcript.read_back import encode_as_read
from runtime.transcript.store import TranscriptStore
from runtime.transcript.writer_guard import owner_of

DAMAGED: Final = 1
NO_SESSION: Final = 2
P = ParamSpec("P")

_file = click.argument("file", type=click.Path(path_type=Path))
_json = click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")


def _refusals(function: Callable[P, None]) -> Callable[P, None]:
    """Exit 2 with one line on standard error where the file cannot be used."""

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            function(*args, **kwargs)
        except TranscriptError as error:
            _stop(str(error))
        except OSError as error:
            if not error.filename:
                raise  # standard output: the entry point says so, or nothing where a reader like `head` left
            _stop(f"{error.filename}: {error.strerror}")

    return guarded


@click.group()
def command() -> None:
    """Look at session files. Nothing here changes the file it reads.

    \b
    pi-fabric sessions list
    pi-fabric sessions show session.jsonl --json
    pi-fabric sessions tree session.jsonl
    pi-fabric sessions check session.jsonl
    pi-fabric sessions migrate old.jsonl new.jsonl
    """  # noqa: D301  \b is click's own mark


@command.command("list")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option(
    "--cwd", type=click.Path(path_type=Path), help="The working folder whose sessions are listed (default: here)."
)
@_json
@_refusals
def list_command(folder: Path | None, cwd: Path | None, as_json: bool) -> None:
    """List the sessions of FOLDER, newest first; damaged ones are shown as such.

    Without FOLDER: where Pi keeps the sessions of the working folder.

    \b
    pi-fabric sessions list
    pi-fabric sessions list ~/.pi/agent/sessions/--project-- --json
    """  # noqa: D301  \b is click's own mark
    where = folder if folder is not None else session_dir_for(cwd or Path.cwd())
    if where.is_file():
        _stop(f"{where}: a file; `pi-fabric sessions show` shows one session")
    found = list_sessions(where)
    if as_json:
        _print_json({"folder": str(where), "sessions": [info.as_json() for info in found]})
        return
    if not found:
        click.echo(f"no sessions in {where}")
    for info in found:
        if info.damaged is not None:
            click.echo(plain(f"{info.modified}  {info.path.name}  damaged: {info.damaged}"))
            continue
        title = info.name or info.first_message or "(no messages)"
        damage = f"  {info.damaged_places} damaged places" if info.damaged_places else ""
        owner = f"  open in pid {info.owner.pid}" if info.owner else ""
        counts = f"{info.entries} entries, {info.messages} messages"
        click.echo(plain(f"{info.modified}  {info.path.name}  {counts}{damage}{owner}  {title}"))


@command.command("show")
@_file
@_json
@_refusals
def show_command(file: Path, as_json: bool) -> None:
    """Show the active branch of FILE, root first.

    With --json: leaf, branch (ids, root first), header, and what the branch holds for each service.

    \b
    pi-fabric sessions show session.jsonl
    pi-fabric sessions show session.jsonl --json | jq -r .leaf
    """  # noqa: D301  \b is click's own mark
    with TranscriptStore.open(file, read_only=True) as store:
        if as_json:
            _print_json(_shown(store))
            return
        header = store.header
        click.echo(plain(f"session {header.id}  version {store.version}  {header.timestamp}  cwd {header.cwd}"))
        if header.parent_session:
            click.echo(plain(f"forked from {header.parent_session}"))
        if store.name:
            click.echo(plain(f"name {store.name}"))
        write_lines(_branch_lines(store))
        click.echo(f"leaf {plain(str(store.leaf_id))}, {len(store.branch())} of {len(store)} entries on its branch")
        _mention_damage(store)


@command.command("tree")
@_file
@_json
@_refusals
def tree_command(file: Path, as_json: bool) -> None:
    """Show every branch of FILE: `*` marks the active one, `<- leaf` its end.

    Overrides, hints, runs and their calls are written out.

    \b
    pi-fabric sessions tree session.jsonl
    pi-fabric sessions tree session.jsonl --json | jq '.nodes[] | select(.active)'
    """  # noqa: D301  \b is click's own mark
    with TranscriptStore.open(file, read_only=True) as store:
        if as_json:
            _print_tree_json(store)
            return
        write_lines(outline(store))
        _mention_damage(store)


@command.command("check")
@_file
@_json
@_refusals
def check_command(file: Path, as_json: bool) -> None:
    """Report what is damaged in FILE, with line numbers; the file is not changed.

    Exit status: 0 sound, 1 damage found, 2 no session file.

    \b
    pi-fabric sessions check session.jsonl
    pi-fabric sessions check session.jsonl --json | jq '.findings[].line'
    """  # noqa: D301  \b is click's own mark
    with TranscriptStore.open(file, read_only=True) as store:
        damage = store.damage
        skipped = [finding.line for finding in damage if finding.skipped]
        unanswered = _unanswered(store.branch())
        if as_json:
            _print_json(
                {
                    "path": str(store.path),
                    "ok": not damage,
                    "version": store.version,
                    "entries": len(store),
                    "leaf": store.leaf_id,
                    "skipped": skipped,
                    "findings": [finding.as_json() for finding in damage],
                    "notes": _notes(store, unanswered),
                }
            )
        else:
            for finding in damage:
                click.echo(plain(f"line {finding.line}: {finding.kind}: {finding.message}"))
            for note in _notes(store, unanswered):
                click.echo(plain(f"note: {note}"))
            click.echo(f"{len(damage)} damaged places, {len(skipped)} lines skipped, {len(store)} entries usable")
    if damage:
        click.get_current_context().exit(DAMAGED)


@command.command("migrate")
@_file
@click.argument("new_file", required=False, type=click.Path(path_type=Path))
@_json
@_refusals
def migrate_command(file: Path, new_file: Path | None, as_json: bool) -> None:
    """Write the version 3 form of a version 1 or 2 session to NEW_FILE; FILE stays as it is.

    Without NEW_FILE: beside it, as `<name>.v3.jsonl`. A file that is there is never replaced.

    \b
    pi-fabric sessions migrate old.jsonl
    pi-fabric sessions migrate old.jsonl new.jsonl
    """  # noqa: D301  \b is click's own mark
    target = new_file if new_file is not None else file.with_name(f"{file.stem}.v3.jsonl")
    header = write_migrated(file, target)
    if as_json:
        _print_json({"path": str(target), "id": header.id, "version": header.version})
    else:
        click.echo(f"{target}")


def _branch_lines(store: TranscriptStore) -> Iterator[str]:
    labels = store.labels
    for entry in store.branch():
        tail = f"  [{labels[entry.id]}]" if entry.id in labels else ""
        yield plain(f"{entry.id}  {describe(entry)}{tail}")
        for detail in details(entry):
            yield plain(f"    {detail}")


class _Node(msgspec.Struct, gc=False, rename="camel"):
    """An entry in `tree --json`."""

    id: str
    parent_id: str | None
    type: str
    custom_type: str | None
    line: int
    active: bool
    label: str | None
    text: str
    details: list[str]


def _print_tree_json(store: TranscriptStore) -> None:
    """One JSON object, a node at a time: a long session is never whole in memory."""
    encode_node = msgspec.json.Encoder().encode
    active, labels = store.tree.marks(store.tree.leaf), store.labels

    def nodes() -> Iterator[str]:
        between = "["
        entries = store.entries()
        shown = zip(with_progress(entries, len(entries), "reading"), active, store.tree.places.lines(), strict=True)
        for entry, is_active, number in shown:
            node = _Node(
                id=entry.id,
                parent_id=entry.parent_id,
                type=entry.type,
                custom_type=entry.custom_type,
                line=number,
                active=bool(is_active),
                label=labels.get(entry.id),
                text=describe(entry),
                details=details(entry),
            )
            try:
                line = encode_node(node)
            except UnicodeEncodeError:
                line = encode_as_read(node)
            yield between + line.decode()
            between = ","

    leaf = encode_as_read(store.leaf_id).decode()
    write_lines(itertools.chain([f'{{"leaf":{leaf},"nodes":'], nodes(), ["]}" if len(store) else "[]}"]))


def _unanswered(branch: Branch) -> list[str]:
    messages = branch.of_type("message")
    return missing_results(with_progress(messages.lines(), len(messages), "checking"))


def _shown(store: TranscriptStore) -> dict[str, Any]:
    branch = store.branch()
    thinking = replay(branch)
    hinted = (branch[position] for position in branch.positions("custom_message", CAPABILITY_ENTRY))
    hints = [{"id": entry.id, "namespaces": hinted_namespaces(entry)} for entry in hinted]
    ran = (branch[position] for position in branch.positions("custom", RUN_ENTRY))
    runs = [{"id": entry.id, "data": entry.data} for entry in ran]
    levels = (branch[position].thinking_level for position in reversed(branch.positions("thinking_level_change")))
    level = next(filter(None, levels), None)
    changes = branch.positions("model_change")
    model = _model_of(branch[changes[-1]]) if changes else None
    return {
        "path": str(store.path),
        "version": store.version,
        "header": dict(store.header.fields),
        "name": store.name,
        "leaf": store.leaf_id,
        "branch": _id_list(branch.ids),
        "entries": len(store),
        "labels": store.labels,
        "level": level,
        "model": model,
        "override": encode(thinking.state.override)["override"] if thinking.state else None,
        "overrideMalformed": thinking.malformed,
        "hints": hints,
        "runs": runs,
        "missingResults": _unanswered(branch),
        "skipped": [finding.line for finding in store.skipped],
        "readOnlyReason": None if store.read_only_reason == "opened read-only" else store.read_only_reason,
    }


def _id_list(ids: list[str]) -> msgspec.Raw | list[str]:
    """Encoded at once, without a look at each of a million ids; ids with a lone surrogate are left to the long way."""
    try:
        return msgspec.Raw(msgspec.json.encode(ids))
    except UnicodeEncodeError:
        return ids


def _model_of(entry: Entry) -> dict[str, Any]:
    return {"provider": entry.get("provider"), "modelId": entry.get("modelId")}


def _notes(store: TranscriptStore, unanswered: list[str]) -> list[str]:
    """What is no damage and still worth knowing."""
    notes = [f"tool call {call_id} has no result; models are shown an error result for it" for call_id in unanswered]
    if store.version < 3:
        notes.append(f"version {store.version}; appends are refused, `pi-fabric sessions migrate` converts it")
    if store.header.cwd is None:
        notes.append("the header has no cwd; Pi's RPC mode does not open such a session")
    if store.path is not None and (owner := owner_of(store.path)) is not None:
        notes.append(f"being written by {owner}")
    return notes


def _mention_damage(store: TranscriptStore) -> None:
    if store.damage:
        count = len(store.damage)
        click.echo(f"{count} damaged place{'s' * (count != 1)}; `pi-fabric sessions check` lists them", err=True)


def _print_json(value: Any) -> None:
    click.echo(encode_as_read(value).decode())


def _stop(message: str) -> None:
    click.echo(f"pi-fabric: {plain(message)}", err=True)
    sys.exit(NO_SESSION)
