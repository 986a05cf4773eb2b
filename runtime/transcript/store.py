"""The only writer of a session: encode once, write the whole line, then change memory, then tell the subscribers.

Everything is synchronous: an append is never half-cancelled. Raw lines stay on disk until somebody asks for them.
"""

import errno
import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from runtime.transcript import copies, migrate
from runtime.transcript.beginning import Beginning
from runtime.transcript.branch import Branch
from runtime.transcript.damage import Finding
from runtime.transcript.entries import Entry
from runtime.transcript.errors import (
    ChangedOnDiskError,
    ReadOnlyTranscriptError,
    TranscriptError,
    UnknownEntryError,
    WriteFailedError,
)
from runtime.transcript.header import VERSION, Header, new_entry_id
from runtime.transcript.line_file import Durability, LineFile
from runtime.transcript.places import Place
from runtime.transcript.scan import Scan, read_header, scan
from runtime.transcript.sources import FileSource, LineSource, MemorySource, naming
from runtime.transcript.tree import ROOT, Kind, Tree
from runtime.transcript.writer_guard import WriterGuard

_log: Final = logging.getLogger(__name__)


class TranscriptStore:
    """One session: its tree in memory, its lines where they lie, and the one way to add to it.

    Make one with `create`, `open` or `in_memory`; close it, or use it as a context manager.
    """

    def __init__(
        self, path: Path | None, found: Scan, source: LineSource, file: LineFile | None, refusal: str | None
    ) -> None:
        self._path = path
        self._header = found.header
        self._version = found.header.version
        self._tree: Tree = found.tree
        self._skipped = found.skipped
        self._notes = found.notes
        self._source = source
        self._file = file
        self._refusal = refusal
        self._beginning: Beginning | None = None
        self._last_line = found.last_line
        self._subscribers: list[Callable[[Entry], None]] = []
        self._lock = threading.Lock()

    # --- making one ---

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        session_id: str | None = None,
        parent_session: str | os.PathLike[str] | None = None,
        durability: Durability = "run",
        deferred: bool = False,
    ) -> "TranscriptStore":
        """A new session file with its header on disk; Pi waits for the first message, we do not.

        `deferred`: the file appears with `begin_file` or the first append, whichever comes first.
        Raises: FileExistsError: there is a file already. SessionOwnedError. ValueError: a bad session id.
        """
        target = Path(os.path.abspath(path))  # noqa: PTH100  symlinks stay as the caller named them
        header = Header.new(
            cwd=os.path.abspath(cwd or Path.cwd()),  # noqa: PTH100
            session_id=session_id,
            parent_session=None if parent_session is None else os.path.abspath(parent_session),  # noqa: PTH100
        )
        if deferred:
            if target.exists():
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
            return cls._to_begin(target, header, durability)
        copies.write_new_file(target, [header.encode()], durable=durability != "none")
        return cls.open(target, durability=durability)

    @classmethod
    def _to_begin(cls, target: Path, header: Header, durability: Durability) -> "TranscriptStore":
        beginning = Beginning(target, header, durability)
        beginning.check_folder()
        # The header's line lies where it will lie in the file.
        source = MemorySource(header.encode() + b"\n")
        store = cls(target, scan(source, target), source, None, None)
        store._beginning = beginning
        return store

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, read_only: bool = False, durability: Durability = "run"
    ) -> "TranscriptStore":
        """Open a session file; the leaf is its last entry. Not a byte of it changes.

        Raises: NotASessionError. SessionOwnedError: another process writes it. FileNotFoundError.
        """
        target = Path(os.path.abspath(path))  # noqa: PTH100
        source = _open_source(target)
        if read_only:
            return cls._load(target, source, None, "opened read-only")
        # Before the guard: beside a file that is no session, or that is never appended to, no lock appears.
        if read_header(source, target).version != VERSION:
            return cls._load(target, source, None, None)
        file = _open_for_writing(target, durability)  # the scan runs under the guard: the next append follows it
        try:
            return cls._load(target, source, file, None)
        except BaseException:
            file.close()
            raise

    @classmethod
    def open_or_create(
        cls,
        path: str | os.PathLike[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        durability: Durability = "run",
        deferred: bool = False,
    ) -> "TranscriptStore":
        """Open the session, or begin it where there is no file or an empty one; `deferred` as in `create`.

        Raises: as `open`.
        """
        target = Path(os.path.abspath(path))  # noqa: PTH100
        if target.exists() and (target.stat().st_size > 0 or not target.is_file()):
            return cls.open(target, durability=durability)
        header = Header.new(cwd=os.path.abspath(cwd or Path.cwd()))  # noqa: PTH100
        store = cls._to_begin(target, header, durability)
        if not deferred:
            try:
                store.begin_file()
            except ChangedOnDiskError:
                return cls.open(target, durability=durability)  # another process was faster
        return store

    @classmethod
    def in_memory(cls, *, cwd: str | os.PathLike[str] | None = None) -> "TranscriptStore":
        """A session without a file."""
        source = MemorySource(Header.new(cwd=os.path.abspath(cwd or Path.cwd())).encode() + b"\n")  # noqa: PTH100
        return cls(None, scan(source), source, None, None)

    @classmethod
    def in_memory_copy(cls, path: str | os.PathLike[str]) -> "TranscriptStore":
        """The active branch of a session file, to go on from in memory; the file is only read, whoever owns it.

        Raises: NotASessionError. FileNotFoundError.
        """
        original = cls.open(path, read_only=True)
        lines = [original.header.encode(), *copies.branch_lines(original.branch())]
        source = MemorySource(b"".join(line + b"\n" for line in lines))
        found = scan(source)
        found.skipped = original._skipped  # noqa: SLF001  what the file lacks is still told
        return cls(None, found, source, None, None)

    @classmethod
    def _load(cls, path: Path, source: LineSource, file: LineFile | None, refusal: str | None) -> "TranscriptStore":
        with naming(path):
            found = scan(source, path)
        version = found.header.version
        if version != VERSION:
            if version < VERSION:
                refusal = (
                    f"version {version} is never appended to; `pi-fabric sessions migrate` writes a version 3 file"
                )
                source = MemorySource(migrate.converted(source, path))
                found = scan(source, path)
            else:
                refusal = f"version {version} is newer than {VERSION}, which is what this program writes"
            if file is not None:
                file.close()
                file = None
        if file is not None:
            file.begin(found.size_bytes, terminated=found.terminated)
        store = cls(path, found, source, file, refusal)
        store._version = version
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- what it is ---

    @property
    def path(self) -> Path | None:
        """The file; None in memory."""
        return self._path

    @property
    def header(self) -> Header:
        """Line one."""
        return self._header

    @property
    def version(self) -> int:
        """The version of the file; an older one is shown converted, header included."""
        return self._version

    @property
    def leaf_id(self) -> str | None:
        """The entry the next append follows; None: before every entry."""
        return self._tree.id(self._tree.leaf) if self._tree.leaf >= 0 else None

    @property
    def read_only(self) -> bool:
        """Whether appends are refused."""
        return self._refusal is not None

    @property
    def read_only_reason(self) -> str | None:
        """Why appends are refused; None where they are not."""
        return self._refusal

    @property
    def skipped(self) -> Sequence[Finding]:
        """Lines that gave no entry, each with its number."""
        return tuple(self._skipped)

    @property
    def damage(self) -> Sequence[Finding]:
        """Everything wrong with the file as it was opened, by line."""
        findings = [*self._skipped, *self._notes, *self._tree.findings]
        return tuple(sorted(findings, key=lambda finding: finding.line))

    @property
    def tree(self) -> Tree:
        """The shape, for readers; only the store changes it."""
        return self._tree

    def __len__(self) -> int:
        return len(self._tree)

    def __contains__(self, entry_id: object) -> bool:
        return entry_id in self._tree

    # --- reading ---

    def entry(self, entry_id: str) -> Entry:
        """One entry.

        Raises: UnknownEntryError.
        """
        return self._entry_at(self._node(entry_id))

    def branch(self, leaf_id: str | None = None) -> Branch:
        """From the root to `leaf_id`, or to the leaf; costs its depth, and a line only when it is looked at.

        Raises: UnknownEntryError.
        """
        node = self._tree.leaf if leaf_id is None else self._node(leaf_id)
        return Branch(self, self._tree.path(node))

    def branch_ids(self, leaf_id: str | None = None) -> list[str]:
        """The ids of `branch`, root first; no line is read."""
        node = self._tree.leaf if leaf_id is None else self._node(leaf_id)
        return self._tree.ids(self._tree.path(node))

    def latest(self, type: str, custom_type: str | None = None, *, leaf_id: str | None = None) -> Entry | None:  # noqa: A002
        """The latest entry of a kind on the branch, malformed or not; found from the leaf, no other line is read."""
        node = self._tree.leaf if leaf_id is None else self._node(leaf_id)
        found = self._tree.latest(node, type, custom_type)
        return None if found is None else self._entry_at(found)

    def latest_custom(self, custom_type: str, *, leaf_id: str | None = None) -> Entry | None:
        """The latest `custom` entry of a custom type on the branch."""
        return self.latest("custom", custom_type, leaf_id=leaf_id)

    def entries(self) -> Branch:
        """Every entry of every branch, in file order."""
        return Branch(self, range(len(self._tree)))

    @property
    def name(self) -> str | None:
        """The name given last in file order, as Pi reads it; None where it was cleared or never given."""
        named = self._tree.of_type("session_info")
        if not named:
            return None
        name = self._entry_at(self._tree.places.in_file_order(named)[-1]).get("name")
        return (name.strip() or None) if isinstance(name, str) else None

    @property
    def labels(self) -> dict[str, str]:
        """Labels by the entry they stand on; the last word on an entry counts, and an empty one clears it."""
        found: dict[str, str] = {}
        for node in self._tree.places.in_file_order(self._tree.of_type("label")):
            entry = self._entry_at(node)
            target, label = entry.get("targetId"), entry.get("label")
            if isinstance(target, str):
                found.pop(target, None)
                if isinstance(label, str) and label:
                    found[target] = label
        return found

    # --- writing ---

    def append(self, type: str, fields: Mapping[str, Any] | None = None) -> Entry:  # noqa: A002
        """Append an entry after the leaf and make it the leaf; it is on the file when this returns.

        Raises: ReadOnlyTranscriptError, ChangedOnDiskError, WriteFailedError, NotJsonError: nothing changed.
        """
        if type == "session":
            raise ValueError("a session header is written by `create` alone")
        with self._lock:
            if self._refusal is not None:
                raise ReadOnlyTranscriptError(self._path, self._refusal)
            entry = Entry.make(type, fields, id=self._free_id(), parent_id=self.leaf_id)
            custom_type = (fields or {}).get("customType")
            self._commit(entry, (type, custom_type if isinstance(custom_type, str) else None))
            subscribers = list(self._subscribers)
        for subscriber in subscribers:
            try:
                subscriber(entry)
            except Exception:  # the entry is on the file: a listener's fault must not look like a failed append
                _log.exception("a subscriber of %s failed on %r", self._path, entry)
        return entry

    def begin_file(self) -> None:
        """Put the file of a deferred session on disk, with its header; there already: nothing happens.

        Raises: SessionOwnedError, ChangedOnDiskError: another process began it. WriteFailedError.
        """
        with self._lock:
            self._begin()

    def _begin(self) -> None:
        if self._beginning is None:
            return
        try:
            file = self._beginning.begin()
            try:
                source = FileSource(self._beginning.path)
            except BaseException:
                file.close()
                raise
        except OSError as error:
            raise WriteFailedError(self._path, f"{error.strerror or error}; the session was not begun") from error
        self._file, self._source, self._beginning = file, source, None

    def _commit(self, entry: Entry, kind: Kind) -> None:
        self._begin()
        if self._file is None:
            assert isinstance(self._source, MemorySource)  # noqa: S101  a store that may append has a file or memory
            offset = self._source.append(entry.raw + b"\n")
        else:
            offset = self._file.append(entry.raw)
        try:
            line = self._last_line + 1
            self._tree.add(entry.id, entry.parent_id, kind, Place(offset, len(entry.raw), line))
            self._last_line = line
        except BaseException:
            if self._file is not None and entry.id not in self._tree:
                self._file.withdraw_last(offset)
            raise

    def append_message(self, message: Mapping[str, Any]) -> Entry:
        """Append a message in Pi's shape (`role`, `content`, …)."""
        return self.append("message", {"message": message})

    def append_custom(self, custom_type: str, data: Any = None) -> Entry:
        """Append a custom entry: state that no model sees."""
        return self.append("custom", {"customType": custom_type, "data": data})

    def append_custom_message(
        self, custom_type: str, content: str | Sequence[Mapping[str, Any]], display: bool = False, details: Any = None
    ) -> Entry:
        """Append a custom message: text that the model sees."""
        fields: dict[str, Any] = {"customType": custom_type, "content": content, "display": display}
        if details is not None:
            fields["details"] = details
        return self.append("custom_message", fields)

    def append_thinking_level_change(self, level: str) -> Entry:
        """Record the level that is in force from here on."""
        return self.append("thinking_level_change", {"thinkingLevel": level})

    def append_model_change(self, provider: str, model_id: str) -> Entry:
        """Record the model that is in use from here on."""
        return self.append("model_change", {"provider": provider, "modelId": model_id})

    def append_label(self, target_id: str, label: str | None) -> Entry:
        """Put a label on an entry; None or empty clears it.

        Raises: UnknownEntryError.
        """
        self._node(target_id)
        fields: dict[str, Any] = {"targetId": target_id}
        if label:
            fields["label"] = label
        return self.append("label", fields)

    def append_session_info(self, name: str) -> Entry:
        """Name the session; empty clears the name. Line breaks become spaces, as in Pi."""
        return self.append("session_info", {"name": " ".join(name.replace("\r", "\n").split("\n")).strip()})

    # --- moving ---

    def navigate(self, entry_id: str | None) -> None:
        """Move the leaf in memory, as Pi does; nothing is written, and a reload is back at the file's last entry.

        None: before every entry, so that the next append is a new root.
        Raises: UnknownEntryError.
        """
        self._tree.leaf = ROOT if entry_id is None else self._node(entry_id)

    def navigate_durably(self, entry_id: str) -> Entry:
        """Move the leaf to `entry_id` so that a reload is there too: a label entry after it becomes the leaf.

        The label it has, if any, is repeated; its text does not change.
        Raises: UnknownEntryError, and as `append`.
        """
        node, before = self._node(entry_id), self._tree.leaf
        label = self.labels.get(entry_id)
        self._tree.leaf = node
        try:
            return self.append_label(entry_id, label)
        except BaseException:
            self._tree.leaf = before
            raise

    # --- copying ---

    def fork(
        self,
        path: str | os.PathLike[str],
        entry_id: str | None = None,
        *,
        cwd: str | os.PathLike[str] | None = None,
        durability: Durability = "run",
    ) -> "TranscriptStore":
        """A new session file with the branch up to `entry_id` (or the leaf): same ids, same bytes, `parentSession` set.

        Raises: UnknownEntryError, FileExistsError.
        """
        target = Path(os.path.abspath(path))  # noqa: PTH100
        header = Header.new(
            cwd=os.path.abspath(cwd) if cwd is not None else self._header.cwd or str(Path.cwd()),  # noqa: PTH100
            parent_session=None if self._path is None else str(self._path),
        )
        lines = copies.branch_lines(self.branch(entry_id))
        copies.write_new_file(target, [header.encode(), *lines], durable=durability != "none")
        return TranscriptStore.open(target, durability=durability)

    def clone(
        self,
        path: str | os.PathLike[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        durability: Durability = "run",
    ) -> "TranscriptStore":
        """A new session file with the present branch, as Pi's clone: a fork at the leaf.

        Raises: FileExistsError.
        """
        return self.fork(path, cwd=cwd, durability=durability)

    # --- living with it ---

    def subscribe(self, listener: Callable[[Entry], None]) -> Callable[[], None]:
        """Call `listener` after every append, in order; the returned function ends it."""
        self._subscribers.append(listener)

        def unsubscribe() -> None:
            if listener in self._subscribers:
                self._subscribers.remove(listener)

        return unsubscribe

    def sync(self) -> None:
        """Bring everything acknowledged to the disk (durability `run`: called when a run ends).

        Raises: WriteFailedError.
        """
        if self._file is not None:
            self._file.sync()

    def close(self) -> None:
        """Sync, close the file and free the guard; entries already handed out stay readable."""
        file, self._file, self._beginning = self._file, None, None
        if self._refusal is None:
            self._refusal = "the session was closed"
        if file is not None:
            file.close()

    # --- inside ---

    def _free_id(self) -> str:
        while (entry_id := new_entry_id()) in self._tree:
            pass
        return entry_id

    def _node(self, entry_id: str) -> int:
        node = self._tree.node(entry_id)
        if node is None:
            raise UnknownEntryError(self._path, entry_id)
        return node

    def _entry_at(self, node: int) -> Entry:
        place = self._tree.place(node)
        return self._entry_of(node, self._source.read(place.offset, place.length))

    def _entry_of(self, node: int, raw: bytes) -> Entry:
        tree = self._tree
        return Entry(id=tree.id(node), parent_id=tree.parent_id(node), type=tree.kind(node)[0], raw=raw.rstrip(b"\r\n"))


def _open_for_writing(path: Path, durability: Durability) -> LineFile:
    try:
        guard = WriterGuard.acquire(path)
        try:
            return LineFile(path, guard, durability)
        except BaseException:
            guard.release()
            raise
    except OSError as error:
        if error.errno not in {errno.EACCES, errno.EPERM, errno.EROFS}:
            raise
        raise ReadOnlyTranscriptError(path, f"not writable ({error.strerror}); open it read-only") from error


def _open_source(path: Path) -> FileSource:
    try:
        return FileSource(path)
    except PermissionError as error:
        raise TranscriptError(path, "not readable for this user") from error
