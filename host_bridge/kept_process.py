"""Starting a command under a keeper and ending it: whatever becomes of this host, nothing of the command is left.

It knows no protocol and reads no pipe. The keeper itself is `keeper.py`.
"""

import errno
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import trio

from host_bridge.process_tree import kill_tree

_PACKAGES: Final = str(Path(__file__).resolve().parents[1])
# Imported instead of run as a file, so that its compiled form is used.
_KEEPER: Final = f"import sys; sys.path.append({_PACKAGES!r}); from host_bridge.keeper import main; main(sys.argv[1:])"
REAP_SECONDS: Final = 5.0
"""For the kernel to end what was killed; only a process stuck in a device takes longer."""


class KeptProcess:
    """A running command. Its session id is `process.pid`; its status is the command's own."""

    def __init__(self, process: trio.Process, lifeline: int, marker: str | None) -> None:
        self.process = process
        self._lifeline: int | None = lifeline
        self._marker = marker

    def end(self) -> None:
        """Order the end of the whole tree; does not wait, and may be called again."""
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None

    async def reap(self, seconds: float = REAP_SECONDS) -> None:
        """End the tree and wait for that, whatever is cancelled. Afterwards nothing of it runs."""
        self.end()
        with trio.move_on_after(seconds, shield=True):
            await self.process.wait()
        # Only where the keeper itself was killed is anything left to find here.
        kill_tree(self.process.pid, self._marker)
        if self.process.returncode is None:
            with trio.move_on_after(1.0, shield=True):
                await self.process.wait()


async def open_kept(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    cwd: str | Path | None = None,
    marker: str | None = None,
    **pipes: Any,
) -> KeptProcess:
    """Start `command` in a session of its own. `marker` is an entry of its environment as text, `NAME=value`, by which
    its processes are found should they kill the keeper; `pipes` as for `trio.lowlevel.open_process`.

    Raises: OSError, ValueError: it cannot be started.
    """
    program = executable(command[0], environment=environment, cwd=cwd)
    theirs, ours = os.pipe()
    try:
        process = await trio.lowlevel.open_process(
            [sys.executable, "-I", "-S", "-c", _KEEPER, str(theirs), program, *command],
            env=dict(environment),
            cwd=cwd,
            pass_fds=(theirs,),
            start_new_session=True,
            **pipes,
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    return KeptProcess(process, ours, marker)


def executable(name: str, *, environment: Mapping[str, str], cwd: str | Path | None = None) -> str:
    """The file that `name` means to a command with this environment and folder, as an absolute path.

    Raises: FileNotFoundError, PermissionError, NotADirectoryError.
    """
    folder = Path(cwd) if cwd is not None else Path.cwd()
    if not folder.is_dir():
        code = errno.ENOTDIR if folder.exists() else errno.ENOENT
        raise OSError(code, os.strerror(code), str(folder))
    if "/" in name:
        path = folder.absolute() / name
        if not path.is_file():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        if not os.access(path, os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
        return str(path)
    found = shutil.which(name, path=environment.get("PATH", os.defpath))
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    return str(Path(found).absolute())
