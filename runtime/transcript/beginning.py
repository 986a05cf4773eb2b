"""A session whose file is not there yet: what its first line will be, and how the file begins. It knows no entries.

A host that is refused before its program starts leaves no file; the file is there before anything is acknowledged.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

from runtime.transcript.copies import write_new_file
from runtime.transcript.errors import ReadOnlyTranscriptError
from runtime.transcript.header import Header
from runtime.transcript.line_file import Durability, LineFile
from runtime.transcript.writer_guard import WriterGuard


@dataclass(frozen=True, slots=True)
class Beginning:
    """A file to begin where there is none, or an empty one."""

    path: Path
    header: Header
    durability: Durability
    process: int = field(default_factory=os.getpid)

    def check_folder(self) -> None:
        """Make the folder; a place that takes no file is refused now, and not when the first entry is due.

        Raises: OSError.
        """
        folder = self.path.parent
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(13, "the folder is not writable", str(folder))

    def begin(self) -> LineFile:
        """The file with its header on it, guarded.

        Raises: SessionOwnedError, ChangedOnDiskError: another process was faster. ReadOnlyTranscriptError, OSError.
        """
        if os.getpid() != self.process:
            raise ReadOnlyTranscriptError(self.path, "a forked child does not own the session of its parent")
        line = self.header.encode()
        try:
            write_new_file(self.path, [line], durable=self.durability != "none")
            expected = len(line) + 1
        except FileExistsError:
            expected = 0
        guard = WriterGuard.acquire(self.path)
        try:
            file = LineFile(self.path, guard, self.durability)
        except BaseException:
            guard.release()
            raise
        try:
            file.begin(expected, terminated=True)
            if expected == 0:
                file.append(line)  # refused where the file that was there is not empty
        except BaseException:
            file.close()
            raise
        return file
