"""What can go wrong with a session file; a class exists where some caller reacts differently."""

from pathlib import Path


class TranscriptError(Exception):
    """Base of every refusal of the store; `path` is the session file, or None in memory."""

    def __init__(self, path: Path | None, message: str) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path
        self.message = message


class NotASessionError(TranscriptError):
    """The file is no session file; not a byte of it was changed."""


class UnknownEntryError(TranscriptError):
    """No entry has this id; `entry_id` says which was asked for."""

    def __init__(self, path: Path | None, entry_id: str) -> None:
        super().__init__(path, f"no entry {entry_id!r} in this session")
        self.entry_id = entry_id


class ReadOnlyTranscriptError(TranscriptError):
    """The session was opened for reading, or its version is one that is never appended to."""


class SessionOwnedError(TranscriptError):
    """Another process owns the session for writing; `owner` says who, as far as it is known."""

    def __init__(self, path: Path | None, owner: "object") -> None:
        super().__init__(path, f"session is being written by {owner}; end it, or open the session read-only")
        self.owner = owner


class ChangedOnDiskError(TranscriptError):
    """Somebody without the guard changed the file under us (a live Pi takes no lock); reopen it to go on."""


class WriteFailedError(TranscriptError):
    """The line is not in the session: disk full, an I/O error. Memory still says what the file says."""
