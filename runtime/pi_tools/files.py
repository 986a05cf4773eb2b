"""`pi.read`, `pi.ls`, `pi.write`, `pi.edit` on files of the project; it decides no approval.

A program gets text whole or a refusal, never a shortened text that looks like the file.
"""

import base64
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from host_bridge.errors import HandlerError
from host_bridge.results import ARRIVAL_BYTES
from runtime.pi_tools.confined import OutsideProjectError, Project
from runtime.pi_tools.editing import EditRefusedError, Replacement, edited

LIST_LIMIT: Final = 500
"""As Pi's `ls`."""
IMAGE_BYTES: Final = 8 * 1024 * 1024
PROTECTED: Final = (".pi/fabric.json",)
"""What decides over a program's own rights is not written by programs."""
_IMAGES: Final = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


def read(project: Project, path: str, offset: int | None, limit: int | None) -> Any:
    """The text of a file, or of `limit` lines from line `offset` (1-based); an image as base64 with its type.

    Raises: HandlerError: it cannot be read, is no text, or is larger than a result may be.
    """
    try:
        with os.fdopen(project.open_file(path, os.O_RDONLY), "rb") as file:
            start = file.read(12)
            image = _image_type(start)
            if image is not None:
                data = start + file.read(IMAGE_BYTES)
                if len(data) > IMAGE_BYTES:
                    raise HandlerError(f"pi.read: {path} is an image of more than {IMAGE_BYTES} bytes")
                return {"type": "image", "mimeType": image, "data": base64.b64encode(data).decode(), "note": path}
            file.seek(0)
            if offset is None and limit is None:
                data = file.read(ARRIVAL_BYTES + 1)
            else:
                data = _lines(file, path, offset or 1, limit)
    except (OSError, ValueError) as error:
        raise _failure("pi.read", path, error) from None
    if len(data) > ARRIVAL_BYTES:
        raise HandlerError(
            f"pi.read: {path} is larger than the {ARRIVAL_BYTES} bytes of one result; read it with offset and limit",
            "limit",
        )
    return _text("pi.read", path, data)


def listing(project: Project, path: str, limit: int) -> str:
    """The names in a folder, one a line, folders with `/`, sorted as people sort; empty: the folder is empty.

    Raises: HandlerError: it cannot be listed, or has more than `limit` entries.
    """
    names: list[str] = []
    try:
        with project.folder(path) as handle, os.scandir(handle) as entries:
            for entry in entries:
                folder = False
                with suppress(OSError):
                    # A link's target is not looked at: it may lie outside.
                    folder = entry.is_dir(follow_symlinks=False)
                names.append(entry.name + ("/" if folder else ""))
    except (OSError, ValueError) as error:
        raise _failure("pi.ls", path, error) from None
    if len(names) > limit:
        raise HandlerError(f"pi.ls: {path} has {len(names)} entries, more than limit={limit}; raise limit", "limit")
    names.sort(key=lambda name: (name.casefold(), name))
    return "\n".join(name.encode("utf-8", "replace").decode() for name in names)


def write(project: Project, path: str, content: str) -> dict[str, Any]:
    """Create or overwrite a file, with the folders above it.

    Raises: HandlerError: it cannot be written; a full disk may leave it short.
    """
    data = _encoded("pi.write", content)
    try:
        _refuse_protected(project, path)
        project.make_parents(path)
        handle, created = _open_to_write(project, path)
        with os.fdopen(handle, "wb") as file:
            file.truncate(0)
            file.write(data)
    except (OSError, ValueError) as error:
        raise _failure("pi.write", path, error) from None
    return {"ok": True, "path": path, "bytes": len(data), "created": created}


def edit(project: Project, path: str, edits: list[Replacement]) -> dict[str, Any]:
    """Replace exact texts in a file; all of them, or nothing.

    Raises: HandlerError: an edit does not fit, the file is no UTF-8, or it changed while it was edited.
    """
    try:
        _refuse_protected(project, path)
        with os.fdopen(project.open_file(path, os.O_RDWR), "r+b") as file:
            _refuse_protected(project, path, file.fileno())
            before = _identity(file.fileno())
            data = file.read(ARRIVAL_BYTES + 1)
            if len(data) > ARRIVAL_BYTES:
                raise HandlerError(f"pi.edit: {path} is larger than {ARRIVAL_BYTES} bytes", "limit")
            text = _text("pi.edit", path, data)
            mark = "\ufeff" if text.startswith("\ufeff") else ""
            result = edited(text.removeprefix(mark), edits, path)
            new = _encoded("pi.edit", mark + result.text)
            if _identity(file.fileno()) != before:
                raise HandlerError(f"pi.edit: {path} was changed by somebody else meanwhile; read it again")
            file.seek(0)
            file.write(new)
            file.truncate()
    except EditRefusedError as error:
        raise HandlerError(f"pi.edit: {error}", "rejected") from None
    except (OSError, ValueError) as error:
        raise _failure("pi.edit", path, error) from None
    return {
        "ok": True,
        "path": path,
        "replaced": result.replaced,
        "firstChangedLine": result.first_line,
        "diff": result.diff,
    }


def _open_to_write(project: Project, path: str) -> tuple[int, bool]:
    try:
        handle = project.open_file(path, os.O_WRONLY)
    except FileNotFoundError:
        handle = project.open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        made = Path(f"/proc/self/fd/{handle}").readlink()
        if str(made) in _protected(project):
            # A folder above was exchanged between the check by path and the creation.
            made.unlink()
            os.close(handle)
            raise _protected_error(path) from None
        return handle, True
    try:
        _refuse_protected(project, path, handle)
    except BaseException:
        os.close(handle)
        raise
    return handle, False


def _refuse_protected(project: Project, path: str, handle: int | None = None) -> None:
    """Refuse the files that decide over programs, under any of their names: by path, and by what was opened."""
    protected = _protected(project)
    found = os.path.realpath(project.root / project.relative(path))
    same = False
    if handle is not None:
        opened = os.fstat(handle)
        for name in protected:
            with suppress(OSError):
                there = Path(name).stat()
                same = same or (there.st_dev, there.st_ino) == (opened.st_dev, opened.st_ino)
    if same or found in protected:
        raise _protected_error(path)


def _protected(project: Project) -> list[str]:
    return [os.path.realpath(project.root / name) for name in PROTECTED]


def _protected_error(path: str) -> HandlerError:
    return HandlerError(f"{path} decides what programs may do; only a person changes it", "denied")


def _lines(file: Any, path: str, offset: int, limit: int | None) -> bytes:
    """Exactly the asked-for lines, without the last one's line break."""
    kept: list[bytes] = []
    size, number = 0, 0
    for line in iter(lambda: file.readline(ARRIVAL_BYTES + 1), b""):
        number += 1
        if number < offset:
            continue
        if limit is not None and len(kept) >= limit:
            break
        kept.append(line)
        size += len(line)
        if size > ARRIVAL_BYTES:
            break
    if not kept and offset > number + 1:
        raise HandlerError(f"pi.read: offset {offset} is past the end of {path}, which has {number} lines", "rejected")
    data = b"".join(kept)
    return data[:-1].removesuffix(b"\r") if data.endswith(b"\n") else data


def _identity(handle: int) -> tuple[int, int, int]:
    found = os.fstat(handle)
    return found.st_ino, found.st_size, found.st_mtime_ns


def _image_type(start: bytes) -> str | None:
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _IMAGES.items() if start.startswith(magic)), None)


def _text(ref: str, path: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise HandlerError(
            f"{ref}: {path} is no UTF-8 text (byte {error.start}); use pi.bash for binary files"
        ) from None


def _encoded(ref: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise HandlerError(f"{ref}: the text holds a lone surrogate, which is not in UTF-8", "rejected") from None


def _failure(ref: str, path: str, error: Exception) -> HandlerError:
    if isinstance(error, HandlerError):
        return error
    if isinstance(error, OutsideProjectError):
        return HandlerError(f"{ref}: {error}", "denied")
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if isinstance(error, ValueError):
        return HandlerError(f"{ref}: {text}", "rejected")
    return HandlerError(f"{ref}: {path}: {text}")
