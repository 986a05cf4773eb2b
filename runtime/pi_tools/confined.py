"""Opening paths below one folder and nowhere else, however they are written and whatever changes meanwhile.

Invariant: a path is resolved by the kernel below the folder's descriptor (`openat2` with RESOLVE_BENEATH), so neither
`..` nor a symbolic link, nor one that is swapped in between check and use, leads out of it. Where the kernel has no
`openat2`, every component is opened by itself and symbolic links are refused altogether.
Attacked by `tests/runtime/pi_tools/test_confined.py`. Standard library only: the search worker loads it too.
"""

import ctypes
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_OPENAT2: Final = 437
"""The same number on every architecture, as all system calls since Linux 5.1."""
_RESOLVE_NO_MAGICLINKS: Final = 0x02
_RESOLVE_BENEATH: Final = 0x08
_TRIES: Final = 64
"""`openat2` answers EAGAIN when the tree is renamed under it."""


class OutsideProjectError(PermissionError):
    """The path leads out of the folder."""

    def __init__(self, path: str, root: Path) -> None:
        super().__init__(
            errno.EXDEV, f"{path!r} leads out of the project {root} (setting tools.outsideProject would allow it)"
        )
        self.path = path

    def __str__(self) -> str:
        """Only the sentence."""
        return str(self.strerror)


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


class Project:
    """One folder whose inside can be opened. `outside` True lifts the confinement and keeps the rest."""

    def __init__(self, root: Path | str, *, outside: bool = False) -> None:
        self.root = Path(root).absolute()
        self.outside = outside
        self._real = Path(os.path.realpath(self.root))
        self._use_openat2 = True

    def relative(self, path: str) -> str:
        """The path as seen from the project's folder; `@` in front is dropped and `~` is the home folder, as in Pi.

        Raises: OutsideProjectError: an absolute path elsewhere. ValueError: it is empty or holds a NUL.
        """
        text = path.removeprefix("@")
        if not text or "\0" in text:
            raise ValueError(f"{path!r} is no path")
        if text == "~" or text.startswith("~/"):
            text = os.path.expanduser(text)  # noqa: PTH111  a Path would fold `..` and a trailing slash
        if not os.path.isabs(text):  # noqa: PTH117
            return text
        for root in (self.root, self._real):
            inside = os.path.relpath(text, root) if _starts_with(text, root) else None
            if inside is not None:
                return inside
        if self.outside:
            return text
        raise OutsideProjectError(path, self.root)

    def open(self, path: str, flags: int, mode: int = 0o666) -> int:
        """A descriptor of `path`; the caller closes it.

        Raises: OutsideProjectError, and the OSError of opening.
        """
        inside = self.relative(path)
        flags |= os.O_CLOEXEC
        if self.outside:
            return os.open(self.root / inside, flags, mode)
        root = os.open(self.root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return self._open_beneath(root, inside, flags, mode)
        except OSError as error:
            if error.errno == errno.EXDEV or (error.errno == errno.ELOOP and not self._use_openat2):
                raise OutsideProjectError(path, self.root) from None
            raise OSError(error.errno, os.strerror(error.errno or 0), path) from None
        finally:
            os.close(root)

    @contextmanager
    def folder(self, path: str) -> Iterator[int]:
        """A descriptor of a folder, open for the block.

        Raises: OutsideProjectError, NotADirectoryError, and the OSError of opening.
        """
        handle = self.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield handle
        finally:
            os.close(handle)

    def open_file(self, path: str, flags: int, mode: int = 0o666) -> int:
        """A descriptor of a regular file: a FIFO, a device or a socket is refused without waiting for it.

        Raises: OutsideProjectError, IsADirectoryError, and the OSError of opening.
        """
        handle = self.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY, mode)
        kind = os.fstat(handle).st_mode
        if stat.S_ISREG(kind):
            return handle
        os.close(handle)
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, "Is a directory", path)
        raise OSError(errno.EINVAL, "Not a regular file", path)

    def make_parents(self, path: str) -> None:
        """Create the missing folders above `path`.

        Raises: OutsideProjectError, and the OSError of creating.
        """
        parent = os.path.dirname(self.relative(path).rstrip("/"))  # noqa: PTH120
        if not parent:
            return
        with suppress(FileNotFoundError), self.folder(parent):
            return
        self.make_parents(parent)
        above, name = os.path.split(parent.rstrip("/"))
        with self.folder(above or ".") as handle, suppress(FileExistsError):
            os.mkdir(name, 0o777, dir_fd=handle)

    def _open_beneath(self, root: int, path: str, flags: int, mode: int) -> int:
        if self._use_openat2:
            try:
                return _openat2(root, path, flags, mode)
            except OSError as error:
                # Some container filters answer EPERM for calls that they do not know.
                if error.errno not in (errno.ENOSYS, errno.EPERM) or not _is_unsupported(root):
                    raise
                self._use_openat2 = False
        return _walk(root, path, flags, mode)


def _openat2(root: int, path: str, flags: int, mode: int) -> int:
    creating = flags & (os.O_CREAT | os.O_TMPFILE) not in (0, os.O_DIRECTORY)
    how = _OpenHow(flags, mode if creating else 0, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
    for _ in range(_TRIES):
        handle = _libc.syscall(_OPENAT2, root, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how))
        if handle >= 0:
            return int(handle)
        code = ctypes.get_errno()
        if code != errno.EAGAIN:
            raise OSError(code, os.strerror(code), path)
    raise OSError(errno.EAGAIN, "the folder keeps changing", path)


def _is_unsupported(root: int) -> bool:
    """Whether `openat2` fails even for the folder itself: then it is missing here, and not the path that is wrong."""
    try:
        os.close(_openat2(root, ".", os.O_PATH | os.O_CLOEXEC, 0))
    except OSError:
        return True
    return False


def _walk(root: int, path: str, flags: int, mode: int) -> int:
    """Component by component, never through a link and never above where it began."""
    handles = [os.dup(root)]
    try:
        parts = [part for part in path.split("/") if part not in ("", ".")]
        for index, part in enumerate(parts):
            last = index == len(parts) - 1
            if part == "..":
                if len(handles) == 1:
                    raise OSError(errno.EXDEV, "Invalid cross-device link", path)
                os.close(handles.pop())
            elif not last:
                step = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                handles.append(os.open(part, step, dir_fd=handles[-1]))
            else:
                return os.open(part, flags | os.O_NOFOLLOW, mode, dir_fd=handles[-1])
        return os.open(".", flags & ~os.O_CREAT, dir_fd=handles[-1])
    finally:
        for handle in handles:
            os.close(handle)


def _starts_with(path: str, root: Path) -> bool:
    text = str(root)
    return path == text or path.startswith(text.rstrip("/") + "/")


_libc: Final = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
