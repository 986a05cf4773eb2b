"""New session files from entries that are there: fork and clone. It writes whole files, atomically, over nothing."""

import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from runtime.transcript.entries import Entry
from runtime.transcript.read_back import encode_as_read
from runtime.transcript.sources import naming


def branch_lines(branch: Sequence[Entry]) -> Iterator[bytes]:
    """The lines of a branch, byte for byte.

    One line may change: where the root of the branch was cut out of a cycle, its parent would be its own descendant
    in the copy, and Pi walks such a circle without end; there it follows nothing.
    """
    if not branch:
        return
    root = branch[0]
    parent = root.get("parentId")
    circular = isinstance(parent, str) and parent in {entry.id for entry in branch}
    yield encode_as_read({**root.fields, "parentId": None}) if circular else root.raw
    for entry in branch[1:]:
        yield entry.raw


def write_new_file(path: Path, lines: Iterable[bytes], *, durable: bool) -> None:
    """Write a file that appears whole or not at all, and never replaces one.

    Raises: FileExistsError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.draft")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with naming(path), os.fdopen(fd, "wb") as file:
            for line in lines:
                file.write(line + b"\n")
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.link(draft, path)  # unlike a rename, this fails where the name is taken
    finally:
        draft.unlink()
    if durable:
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
