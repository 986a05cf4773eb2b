"""Where sessions live, and which there are: names, listing, the newest. One bad file never hides the others."""

import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runtime.transcript.entries import format_timestamp, now_timestamp
from runtime.transcript.errors import NotASessionError, TranscriptError
from runtime.transcript.header import Header, new_session_id
from runtime.transcript.line_file import Durability
from runtime.transcript.scan import read_header
from runtime.transcript.sources import FileSource
from runtime.transcript.store import TranscriptStore
from runtime.transcript.writer_guard import Owner, owner_of


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """What a list shows of one file."""

    path: Path
    modified: str
    """Time of the last change of the file, in Pi's form."""
    size_bytes: int
    id: str = ""
    cwd: str | None = None
    name: str | None = None
    parent_session: str | None = None
    entries: int = 0
    messages: int = 0
    first_message: str | None = None
    damaged_places: int = 0
    """Damaged places within a session that is usable all the same."""
    damaged: str | None = None
    """Why the file cannot be opened at all; None: it can."""
    owner: Owner | None = None
    """Who writes it now."""

    def as_json(self) -> dict[str, Any]:
        """The row for `--json`."""
        row: dict[str, Any] = {
            "path": str(self.path),
            "id": self.id or None,
            "name": self.name,
            "cwd": self.cwd,
            "parentSession": self.parent_session,
            "modified": self.modified,
            "sizeBytes": self.size_bytes,
            "entries": self.entries,
            "messages": self.messages,
            "firstMessage": self.first_message,
            "damagedPlaces": self.damaged_places,
            "damaged": self.damaged,
        }
        if self.owner is not None:
            row["owner"] = {
                "command": self.owner.command,
                "pid": self.owner.pid,
                "host": self.owner.host,
                "since": self.owner.since,
            }
        return row


def agent_dir() -> Path:
    """Pi's own data folder: `$PI_CODING_AGENT_DIR`, or `~/.pi/agent`."""
    given = os.environ.get("PI_CODING_AGENT_DIR")
    return Path(given).expanduser() if given else Path.home() / ".pi" / "agent"


def session_dir_for(cwd: str | os.PathLike[str]) -> Path:
    """The folder Pi keeps the sessions of a working folder in; it may not exist yet."""
    inner = re.sub(r"[/\\:]", "-", re.sub(r"^[/\\]", "", os.path.abspath(cwd)))  # noqa: PTH100
    return agent_dir() / "sessions" / f"--{inner}--"


def new_session_path(folder: str | os.PathLike[str], session_id: str) -> Path:
    """The name Pi would give a session that begins now."""
    return Path(folder) / f"{re.sub('[:.]', '-', now_timestamp())}_{session_id}.jsonl"


def create_session(
    cwd: str | os.PathLike[str],
    *,
    folder: str | os.PathLike[str] | None = None,
    session_id: str | None = None,
    parent_session: str | os.PathLike[str] | None = None,
    durability: Durability = "run",
    deferred: bool = False,
) -> TranscriptStore:
    """A new session where Pi would look for it, or directly in `folder`; `deferred`: no file before it is begun."""
    chosen = session_id or new_session_id()
    path = new_session_path(folder if folder is not None else session_dir_for(cwd), chosen)
    return TranscriptStore.create(
        path,
        cwd=cwd,
        session_id=chosen,
        parent_session=parent_session,
        durability=durability,
        deferred=deferred,
    )


def newest_session(folder: str | os.PathLike[str], *, cwd: str | os.PathLike[str] | None = None) -> Path | None:
    """The session changed last, files that are no session left out; with `cwd` only those of that working folder."""
    for path in _by_age(Path(folder)):
        header = _header_of(path)
        if header is None:
            continue
        if cwd is None or (header.cwd and os.path.abspath(header.cwd) == os.path.abspath(cwd)):  # noqa: PTH100
            return path
    return None


def find_session(folder: str | os.PathLike[str], session_id: str) -> Path | None:
    """The session with exactly this id."""
    return next(
        (
            path
            for path in _by_age(Path(folder))
            if (header := _header_of(path)) is not None and header.id == session_id
        ),
        None,
    )


def list_sessions(folder: str | os.PathLike[str]) -> list[SessionInfo]:
    """Every `.jsonl` file of a folder, newest first; one that cannot be opened is shown as damaged."""
    return [session_info(path) for path in _by_age(Path(folder))]


def session_info(path: Path) -> SessionInfo:
    """The row of one file; never raises for what the file holds."""
    try:
        status = path.stat()
    except OSError as error:
        return SessionInfo(path, "", 0, damaged=str(error.strerror))
    modified = format_timestamp(datetime.fromtimestamp(status.st_mtime, UTC))
    try:
        with TranscriptStore.open(path, read_only=True) as store:
            messages = store.tree.of_type("message")
            return SessionInfo(
                path,
                modified,
                status.st_size,
                id=store.header.id,
                cwd=store.header.cwd,
                name=store.name,
                parent_session=store.header.parent_session,
                entries=len(store),
                messages=len(messages),
                first_message=_first_prompt(store, messages),
                damaged_places=len(store.damage),
                owner=owner_of(path),
            )
    except TranscriptError as error:
        return SessionInfo(path, modified, status.st_size, damaged=error.message)
    except OSError as error:
        return SessionInfo(path, modified, status.st_size, damaged=str(error.strerror))


def _by_age(folder: Path) -> list[Path]:
    try:
        paths = [path for path in folder.iterdir() if path.suffix == ".jsonl" and not path.name.startswith(".")]
    except (FileNotFoundError, NotADirectoryError):
        return []
    ages: list[tuple[int, str, Path]] = []
    for path in paths:
        try:
            ages.append((path.stat().st_mtime_ns, path.name, path))
        except OSError:
            ages.append((0, path.name, path))  # a dangling link; shown as damaged
    return [path for _, _, path in sorted(ages, reverse=True)]


def _header_of(path: Path) -> Header | None:
    try:
        source = FileSource(path)
    except (NotASessionError, OSError):
        return None
    try:
        return read_header(source, path)
    except (NotASessionError, OSError):
        return None
    finally:
        source.close()


def _first_prompt(store: TranscriptStore, messages: list[int]) -> str | None:
    from runtime.transcript.outline import message_text

    for node in messages[:50]:
        message = store.entry(store.tree.id(node)).message
        if message is not None and message.get("role") == "user":
            return message_text(message)[:120]
    return None
