"""Which projects' settings a person trusts: one small file in the person's own configuration folder.

Invariant: only a person's command writes it, and a file that cannot be read trusts nothing and says so.
"""

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from runtime import jsonc

TRUST_FILE: Final = "pi-fabric-trust.json"
AGENT_DIR_VARIABLE: Final = "PI_CODING_AGENT_DIR"


class TrustFileError(ValueError):
    """The record of trusted projects is unusable; nothing is trusted until it is repaired."""


def agent_dir(environment: Mapping[str, str]) -> Path:
    """The person's configuration folder: `$PI_CODING_AGENT_DIR`, else `~/.pi/agent`."""
    chosen = environment.get(AGENT_DIR_VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    home = environment.get("HOME")
    return (Path(home) if home else Path.home()) / ".pi" / "agent"


class TrustStore:
    """The trusted projects of one person."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / TRUST_FILE

    def projects(self) -> tuple[str, ...]:
        """Absolute real paths, sorted.

        Raises: TrustFileError: the file is there and is not what we wrote.
        """
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ()
        except (OSError, UnicodeDecodeError) as error:
            raise TrustFileError(f"{self.path}: {error}") from None
        try:
            value = jsonc.decode(text)
        except jsonc.JsonTextError as error:
            raise TrustFileError(f"{self.path}: {error}") from None
        found = value.get("projects") if isinstance(value, dict) and value.get("version") == 1 else None
        if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
            raise TrustFileError(f'{self.path}: wanted {{"version": 1, "projects": [paths]}}')
        return tuple(sorted(set(found)))

    def is_trusted(self, project: Path) -> bool:
        """Whether exactly this folder was trusted; a folder inside or around it does not count.

        Raises: TrustFileError: see `projects`.
        """
        return os.path.realpath(project) in self.projects()

    def trust(self, project: Path) -> bool:
        """Record the folder; False: it was trusted before.

        Raises: TrustFileError: see `projects`.
        """
        return self._change(os.path.realpath(project), add=True)

    def revoke(self, project: Path) -> bool:
        """Forget the folder; False: it was not trusted.

        Raises: TrustFileError: see `projects`.
        """
        return self._change(os.path.realpath(project), add=False)

    def _change(self, project: str, *, add: bool) -> bool:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            before = set(self.projects())
            after = before | {project} if add else before - {project}
            if after == before:
                return False
            text = msgspec.json.format(msgspec.json.encode({"version": 1, "projects": sorted(after)}), indent=2)
            scratch = self.path.with_suffix(f".{os.getpid()}.new")
            with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(text + b"\n")
                file.flush()
                os.fsync(file.fileno())
            scratch.replace(self.path)
            return True
        finally:
            os.close(lock)
