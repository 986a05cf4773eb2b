"""How much of a result is shown, and where the whole of it is kept: one cap for every source; it knows no tool.

A program gets a value whole. What people, models and traces are shown of it is at most `SHOWN_BYTES`: head, an explicit
marker with the path of the whole text, tail. The whole text lies once in a private file of the run.
Invariant: nothing is shortened without a marker, and no file here is readable by another user.
Attacked by `tests/host_bridge/test_results.py`.
"""

import errno
import hashlib
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from host_bridge import strict_json
from host_bridge.excerpt import SHOWN_BYTES, cut
from host_bridge.spill import Spill

ARRIVAL_BYTES: Final = 32 * 1024 * 1024
"""The most that one result of any source may weigh when it arrives; counted while it is read, before it is decoded."""
FOLDER_BYTES: Final = 256 * 1024 * 1024
"""What one run may keep in files."""
KEPT_SECONDS: Final = 7 * 24 * 3600.0
"""How long a run's files stay; a sweep at start removes older ones."""
_SAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
_JSON: Final = msgspec.json.Encoder()


class ResultTooLargeError(Exception):
    """More arrived, or was to be kept, than the limit that the message names."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A value as it is shown."""

    value: Any
    """The value itself, or text with a marker in place of it or of its long strings."""
    omitted_bytes: int = 0
    """0: nothing was left out."""
    path: Path | None = None
    """The file that holds the whole value; None: nothing was left out, or it could not be kept."""


class ResultFolder:
    """The private files of one run: made at the first need, 0700 with 0600 files, never followed through a link."""

    def __init__(self, root: Path, run_id: str, *, limit_bytes: int = FOLDER_BYTES) -> None:
        self.path = root / (_SAFE.sub("_", run_id).strip(".") or "run")
        self.limit_bytes = limit_bytes
        self.kept_bytes = 0
        self._by_digest: dict[bytes, Path] = {}
        self._made = False

    def keep_text(self, text: str, stem: str = "result") -> Path:
        """The file that holds `text`; the same text twice is one file.

        Raises: ResultTooLargeError: the run's folder is full. OSError: it cannot be written.
        """
        return self.keep_bytes(text.encode("utf-8", "surrogatepass"), stem, ".txt")

    def keep_bytes(self, data: bytes, stem: str = "result", suffix: str = ".bin") -> Path:
        """The file that holds `data`; the same bytes twice are one file.

        Raises: ResultTooLargeError: the run's folder is full. OSError: it cannot be written.
        """
        digest = hashlib.sha256(data).digest()
        known = self._by_digest.get(digest)
        if known is not None:
            return known
        self._reserve(len(data))
        name = f"{_SAFE.sub('_', stem)[:80]}-{digest.hex()[:12]}{suffix}"
        with self.create(name) as file:
            file.write(data)
        self._by_digest[digest] = self.path / name
        return self.path / name

    def spill(self, stem: str, *, memory_bytes: int = SHOWN_BYTES, whole_bytes: int = SHOWN_BYTES) -> Spill:
        """A capture of a stream that moves into a file when it grows past `memory_bytes`; the file is kept when the
        stream grows past `whole_bytes`.
        """
        name = f"{_SAFE.sub('_', stem)[:80]}-{os.urandom(6).hex()}.txt"

        def kept(count: int) -> None:
            self.kept_bytes += count

        return Spill(
            self.path / name,
            lambda: self.create(name),
            memory_bytes=memory_bytes,
            whole_bytes=whole_bytes,
            limit_bytes=self.limit_bytes - self.kept_bytes,
            kept=kept,
        )

    def create(self, name: str) -> BinaryIO:
        """A new file of this folder, for writing; an existing name is an error, a link is never followed."""
        folder = self._open()
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            return os.fdopen(os.open(name, flags, 0o600, dir_fd=folder), "wb")
        finally:
            os.close(folder)

    def _reserve(self, count: int) -> None:
        if self.kept_bytes + count > self.limit_bytes:
            raise ResultTooLargeError(
                f"this run already keeps {self.kept_bytes} bytes of results; {self.limit_bytes} is the most"
            )
        self.kept_bytes += count

    def _open(self) -> int:
        if not self._made:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):
                self.path.mkdir(mode=0o700)
            self._made = True
        folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        found = os.fstat(folder)
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
            os.close(folder)
            raise PermissionError(errno.EPERM, "this folder is not private to you", str(self.path))
        return folder


class ResultFolders:
    """The folders of all runs of a host, one a run, below one root."""

    def __init__(self, root: Path, *, limit_bytes: int = FOLDER_BYTES) -> None:
        self.root = root
        self._limit = limit_bytes
        self._by_run: dict[str, ResultFolder] = {}

    def of(self, run_id: str) -> ResultFolder:
        """The folder of this run; nothing is created before something is kept."""
        if run_id not in self._by_run:
            self._by_run[run_id] = ResultFolder(self.root, run_id, limit_bytes=self._limit)
        return self._by_run[run_id]

    def forget(self, run_id: str) -> None:
        """The run is over: its files stay until a sweep, its bookkeeping goes."""
        self._by_run.pop(run_id, None)


def shown(value: Any, folder: ResultFolder | None, *, stem: str = "result", limit_bytes: int = SHOWN_BYTES) -> Shown:
    """`value` as it is shown: whole when its JSON fits into `limit_bytes`, else shortened with the path of the whole.

    Long strings are shortened where they stand, so that an object keeps its shape; what is still too long becomes the
    head and tail of its JSON text. Without a folder, or when it cannot be written, the marker says so.
    """
    if isinstance(value, str):
        return _shown_text(value, folder, stem, limit_bytes)
    encoded = _encoded(value)
    if len(encoded) <= limit_bytes:
        return Shown(value)
    path, note = _kept(folder, encoded, stem, ".json")
    shape = _shortened_strings(value, limit_bytes // 8, path, note)
    small = _encoded(shape)
    if len(small) <= limit_bytes:
        return Shown(shape, len(encoded) - len(small), path)
    return Shown(cut(encoded, limit_bytes, path, note), len(encoded) - limit_bytes, path)


def sweep(root: Path, *, kept_seconds: float = KEPT_SECONDS, now: float | None = None) -> list[Path]:
    """Remove the folders of runs older than `kept_seconds`; what was removed. Foreign entries are left alone."""
    limit = (time.time() if now is None else now) - kept_seconds
    removed: list[Path] = []
    for entry in _folders(root):
        with suppress(OSError):
            if entry.stat(follow_symlinks=False).st_mtime < limit:
                shutil.rmtree(entry.path)
                removed.append(Path(entry.path))
    return removed


def _encoded(value: Any) -> bytes:
    try:
        return _JSON.encode(value)
    except (OverflowError, ValueError):  # its integers have an end, ours have none
        return strict_json.encode(value, lone_surrogates=True)


def _folders(root: Path) -> Iterator["os.DirEntry[str]"]:
    try:
        with os.scandir(root) as entries:
            yield from [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return


def _shown_text(text: str, folder: ResultFolder | None, stem: str, limit_bytes: int) -> Shown:
    if len(text) * 4 <= limit_bytes:
        return Shown(text)
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) <= limit_bytes:
        return Shown(text)
    path, note = _kept(folder, encoded, stem, ".txt")
    return Shown(cut(encoded, limit_bytes, path, note), len(encoded) - limit_bytes, path)


def _kept(folder: ResultFolder | None, data: bytes, stem: str, suffix: str) -> tuple[Path | None, str]:
    if folder is None:
        return None, "; it was not kept"
    try:
        return folder.keep_bytes(data, stem, suffix), ""
    except (OSError, ResultTooLargeError) as error:
        return None, f"; it could not be kept: {error}"


def _shortened_strings(value: Any, limit_bytes: int, path: Path | None, note: str) -> Any:
    if isinstance(value, str):
        if len(value) * 4 <= limit_bytes:
            return value
        encoded = value.encode("utf-8", "surrogatepass")
        return value if len(encoded) <= limit_bytes else cut(encoded, limit_bytes, path, note)
    if isinstance(value, dict):
        return {key: _shortened_strings(item, limit_bytes, path, note) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened_strings(item, limit_bytes, path, note) for item in value]
    return value
