"""What is known of every run, on disk: request, events, result; one folder a run, readable after any crash.

Requests and results are written whole and renamed into place; events are appended one line a write, and a torn last
line is skipped. A run without a result whose owner is gone reads as `indeterminate`: never as running, never as done.
"""

import contextlib
import fcntl
import glob
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import msgspec

from child_agents.errors import UnknownRunError
from child_agents.request import FINAL_STATUSES, AgentResult, Failure, Status, Usage
from child_agents.resolver import ResolvedRun
from child_agents.settings import AgentFolders
from host_bridge import strict_json

REQUEST: Final = "request.json"
EVENTS: Final = "events.jsonl"
RESULT: Final = "result.json"
CLAIM: Final = "claim"
EVENT_FILE_LIMIT_BYTES: Final = 8 * 1024 * 1024
"""Further events of a run are dropped, with one marker."""
SECONDS_PER_DAY: Final = 86_400
Mark = Literal["waited", "delivered", "claim"]
T = TypeVar("T")
_ID: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


def new_id(prefix: str = "r") -> str:
    """An id that sorts by time and is safe as a file name."""
    return f"{prefix}{time.time_ns() // 1_000_000:012x}{secrets.token_hex(5)}"


def now_text() -> str:
    """The wall clock as records carry it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class StoredRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`request.json`: what was decided before a process existed."""

    version: int = 1
    run: ResolvedRun
    owner: str
    """The host process that is responsible; its lock in `owners` tells whether it lives."""
    detached: bool
    """Spawned, not run: somebody must be told when it finishes and nobody waited."""
    execution: str | None = None
    created_at: str
    environment_names: list[str]
    """Which variables the child got; their values are never written."""


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One run as the disk knows it."""

    id: str
    request: StoredRequest
    result: AgentResult | None
    status: Status
    finished_at: str | None
    waited: bool
    delivered: bool
    folder: Path


class StoredResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`result.json`."""

    version: int = 1
    result: AgentResult
    finished_at: str


class OwnerLock:
    """A locked file that says: this host lives. The lock ends with the process, however it ends."""

    def __init__(self, folders: AgentFolders, owner: str) -> None:
        self.owner = owner
        self.path = folders.owners / f"{owner}.lock"
        # Locked before it has its name: a sweep never meets the file of a living owner without its lock.
        unnamed = self.path.with_suffix(".new")
        self._descriptor = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            os.write(self._descriptor, msgspec.json.encode({"pid": os.getpid(), "startedAt": now_text()}))
            unnamed.replace(self.path)
        except OSError:
            os.close(self._descriptor)
            unnamed.unlink(missing_ok=True)
            raise

    def release(self) -> None:
        """Forget the owner; its records are final by now."""
        with contextlib.suppress(OSError):
            self.path.unlink()
        os.close(self._descriptor)


def owner_lives(folders: AgentFolders, owner: str) -> bool:
    """Whether the process that holds this lock is alive; an owner without a file is gone."""
    try:
        descriptor = os.open(folders.owners / f"{owner}.lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # no descriptor is left to look with: that is no sign of anybody's end
    try:
        # Shared: two that look at the same moment must not take each other for the owner.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


class RunRecords:
    """The folder of all runs."""

    def __init__(self, folders: AgentFolders) -> None:
        self.folders = folders
        self._full: set[str] = set()

    def folder(self, run_id: str) -> Path:
        """Where a run's files lie.

        Raises: UnknownRunError: this cannot be an id.
        """
        if not isinstance(run_id, str) or not _ID.fullmatch(run_id):
            raise UnknownRunError(str(run_id))
        return self.folders.runs / run_id

    def create(
        self, run: ResolvedRun, *, owner: str, detached: bool, execution: str | None = None, durable: bool = False
    ) -> Path:
        """The record of a run that is about to be launched; its folder has its name only once its request is whole."""
        folder = self.folder(run.id)
        stored = StoredRequest(
            run=msgspec.structs.replace(run, environment={}),
            owner=owner,
            detached=detached,
            execution=execution,
            created_at=now_text(),
            environment_names=sorted(run.environment),
        )
        # The index first: a record without its entries would never be found, an entry without its record is skipped.
        self._enter(run, owner)
        unnamed = folder.with_name(f".{run.id}.{owner}")
        unnamed.mkdir(mode=0o700, parents=True)
        try:
            _write_whole(unnamed / REQUEST, strict_json.encode(stored, lone_surrogates=True), durable=durable)
            unnamed.rename(folder)
        except OSError:
            shutil.rmtree(unnamed, ignore_errors=True)
            raise
        return folder

    def remove_unfinished(self, owner: str) -> None:
        """Forget what a host that is gone was about to record."""
        for unnamed in self.folders.runs.glob(f".*.{glob.escape(owner)}"):
            shutil.rmtree(unnamed, ignore_errors=True)

    def take_over(self, run_id: str, owner: str) -> None:
        """The resident host becomes responsible for a request that a session wrote."""
        stored = _read(self.folder(run_id) / REQUEST, StoredRequest)
        stored = msgspec.structs.replace(stored, owner=owner)
        self._enter(stored.run, owner)
        _write_whole(self.folder(run_id) / REQUEST, strict_json.encode(stored, lone_surrogates=True), durable=True)

    def append_event(self, run_id: str, kind: str, data: Mapping[str, Any]) -> None:
        """One line in the run's log; never raises: a full disk or a removed record must not end a run.

        `data` may come from a child: it cannot say when or what an event was, and what is no JSON is dropped by name.
        """
        path = self.folder(run_id) / EVENTS
        head = {"at": now_text(), "type": kind}
        try:
            line = strict_json.encode({**head, **data, **head}, lone_surrogates=True)
        except (TypeError, ValueError, RecursionError) as error:
            line = strict_json.encode({**head, "unreadable": f"{error!r:.200}"}, lone_surrogates=True)
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                size = os.fstat(descriptor).st_size
                if size + len(line) > EVENT_FILE_LIMIT_BYTES:
                    if run_id in self._full:
                        return
                    self._full.add(run_id)
                    line = msgspec.json.encode({"at": now_text(), "type": "log_full", "limit": EVENT_FILE_LIMIT_BYTES})
                # After a torn line the next one starts afresh.
                torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
                os.write(descriptor, (b"\n" if torn else b"") + line + b"\n")
            finally:
                os.close(descriptor)

    def finish(self, result: AgentResult, *, durable: bool = False) -> bool:
        """Write the result, once; False: there is one already, or the record was removed."""
        path = self.folder(result.id) / RESULT
        if path.exists() or not path.parent.is_dir():
            return False
        stored = StoredResult(result=result, finished_at=now_text())
        _write_whole(path, strict_json.encode(stored, lone_surrogates=True), durable=durable)
        return True

    def mark(self, run_id: str, mark: Mark, text: str = "") -> bool:
        """Set a mark, whole or not at all; False: it was set already, by whoever."""
        folder = self.folder(run_id)
        try:
            with _finished_file(folder / mark, text.encode(), durable=True) as temporary:
                os.link(temporary, folder / mark)
        except (FileExistsError, FileNotFoundError):
            return False
        return True

    def unmark(self, run_id: str, mark: Mark) -> None:
        """Take a mark back."""
        with contextlib.suppress(OSError):
            (self.folder(run_id) / mark).unlink()

    def is_marked(self, run_id: str, mark: Mark) -> bool:
        """Whether the mark is set."""
        return (self.folder(run_id) / mark).exists()

    def read(self, run_id: str) -> RunRecord:
        """One run.

        Raises: UnknownRunError: no such run, or its request is unreadable.
        """
        folder = self.folder(run_id)
        try:
            request = _read(folder / REQUEST, StoredRequest)
        except (OSError, ValueError):
            raise UnknownRunError(run_id) from None
        stored = self._result(folder)
        result = None if stored is None else stored.result
        status: Status = "indeterminate"
        if result is not None:
            status = result.status
        elif owner_lives(self.folders, self._responsible(folder, request)):
            status = "running" if (folder / EVENTS).exists() else "queued"
        return RunRecord(
            id=run_id,
            request=request,
            result=result,
            status=status,
            finished_at=None if stored is None else stored.finished_at,
            waited=(folder / "waited").exists(),
            delivered=(folder / "delivered").exists(),
            folder=folder,
        )

    def _responsible(self, folder: Path, request: StoredRequest) -> str:
        """The host whose death is the run's: whoever claimed it, from the claim on, else whoever wrote the request."""
        try:
            return (folder / CLAIM).read_text() or request.owner
        except (OSError, ValueError):
            return request.owner

    def _result(self, folder: Path) -> StoredResult | None:
        try:
            return _read(folder / RESULT, StoredResult)
        except (OSError, ValueError):
            return None

    def ids(self) -> list[str]:
        """Every run, oldest first."""
        try:
            names = [entry.name for entry in os.scandir(self.folders.runs)]
        except FileNotFoundError:
            return []
        return sorted(name for name in names if _ID.fullmatch(name))

    def all(self) -> Iterator[RunRecord]:
        """Every readable run, oldest first."""
        return self._read_all(self.ids())

    def some(self, run_id: str) -> Iterator[RunRecord]:
        """The run, or nothing where it cannot be read."""
        return self._read_all([run_id])

    def of(self, *keys: str | None) -> Iterator[RunRecord]:
        """Every readable run of these owners, sessions and parent runs, oldest first; reads no other."""
        found: set[str] = set()
        for key in keys:
            if key is not None:
                with contextlib.suppress(FileNotFoundError):
                    found.update(entry.name for entry in os.scandir(self._index(key)))
        return self._read_all(sorted(found))

    def _read_all(self, ids: Iterable[str]) -> Iterator[RunRecord]:
        for run_id in ids:
            with contextlib.suppress(UnknownRunError):
                yield self.read(run_id)

    def _index(self, key: str) -> Path:
        return self.folders.root / "index" / hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:20]

    def _enter(self, run: ResolvedRun, owner: str) -> None:
        for key in {owner, run.owner_session, run.parent_run} - {None}:
            place = self._index(str(key))
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            (place / run.id).touch(mode=0o600)

    def events(self, run_id: str) -> list[dict[str, Any]]:
        """The run's log, oldest first; lines that a crash tore are left out.

        Raises: UnknownRunError
        """
        folder = self.folder(run_id)
        if not folder.is_dir():
            raise UnknownRunError(run_id)
        found: list[dict[str, Any]] = []
        with contextlib.suppress(FileNotFoundError):
            for line in (folder / EVENTS).read_bytes().split(b"\n"):
                with contextlib.suppress(ValueError):
                    event = strict_json.decode(line)
                    if isinstance(event, dict):
                        found.append(event)
        return found

    def remove(self, run_id: str) -> None:
        """Forget a run."""
        with contextlib.suppress(UnknownRunError):
            request = self.read(run_id).request
            for key in {request.owner, request.run.owner_session, request.run.parent_run} - {None}:
                with contextlib.suppress(OSError):
                    place = self._index(str(key))
                    (place / run_id).unlink(missing_ok=True)
                    place.rmdir()  # only an empty one goes
        shutil.rmtree(self.folder(run_id), ignore_errors=True)
        with contextlib.suppress(OSError):
            (self.folders.root / "forks" / f"{run_id}.jsonl").unlink()

    def expire(self, retention_days: float) -> list[str]:
        """Forget finished runs that are older; which they were."""
        oldest = time.time() - retention_days * SECONDS_PER_DAY
        gone: list[str] = []
        for run_id in self.ids():
            folder = self.folders.runs / run_id
            with contextlib.suppress(OSError):
                if folder.stat().st_mtime > oldest:
                    continue
            try:
                record = self.read(run_id)
            except UnknownRunError:
                self.remove(run_id)  # a crash before its request was whole
                gone.append(run_id)
                continue
            if record.status in FINAL_STATUSES:
                self.remove(run_id)
                gone.append(run_id)
        return gone


def indeterminate(run: ResolvedRun, reason: str) -> AgentResult:
    """The result of a run whose end nobody saw: it may have done anything, and it is never run again by itself."""
    return AgentResult(
        id=run.id,
        name=run.name,
        runner=run.runner,
        status="indeterminate",
        text="",
        usage=Usage(),
        turns=0,
        tool_calls=0,
        thinking=run.thinking,
        error=Failure(kind="crashed", message=reason),
        requested_thinking=run.requested_thinking,
        thinking_bounds=None if run.thinking_bounds is None else run.thinking_bounds.to_dict(),
    )


def _read(path: Path, shape: type[T]) -> T:
    """Raises: OSError, ValueError: not there, or not whole."""
    try:
        return msgspec.convert(strict_json.decode_strict(path.read_bytes()), shape)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from None


def _write_whole(path: Path, data: bytes, *, durable: bool) -> None:
    """Rename a finished file into place: a reader sees all of it or nothing."""
    with _finished_file(path, data, durable=durable) as temporary:
        temporary.replace(path)


@contextlib.contextmanager
def _finished_file(path: Path, data: bytes, *, durable: bool) -> Iterator[Path]:
    """A file beside `path` that holds all of `data`; gone after the block, unless it was renamed."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
