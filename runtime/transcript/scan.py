"""One pass over a session's bytes: header, tree and skipped lines. It keeps offsets and lets go of every line.

Invariant: every line is decoded by itself, so that a value never reaches across a line break. Where all lines of a run
are entries, they are entered together; where anything about one of them is unusual, the run is looked at line by line.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from guest_api.bounds import shown
from runtime.transcript.damage import DamageKind, Finding
from runtime.transcript.deep_lines import decode_line
from runtime.transcript.errors import NotASessionError
from runtime.transcript.header import Header, UnknownVersionError
from runtime.transcript.places import Place
from runtime.transcript.sources import LineSource
from runtime.transcript.tree import Tree

HEADER_SCAN_BYTES: Final = 128 * 1024 * 1024
"""A file that shows no header within these bytes is no session; Pi gives up after 1 MiB when it lists sessions."""
_BOM: Final = b"\xef\xbb\xbf"


class _Envelope(msgspec.Struct, gc=False, rename="camel"):
    """What the tree needs of a line; the decoder steps over the rest without building it."""

    type: str = ""
    id: str | None = None
    parent_id: str | None = None
    custom_type: str | None = None


_decode_envelope: Final = msgspec.json.Decoder(_Envelope).decode
_get_id: Final = attrgetter("id")
_get_parent_id: Final = attrgetter("parent_id")
_get_kind: Final = attrgetter("type", "custom_type")
_JSON_BEGINS: Final = [bytes([byte]) for byte in b'{["tfn-0123456789']
RUN_BYTES: Final = 64 * 1024
"""Bytes of a run: its lines and what is decoded of them stay in the processor's cache."""


@dataclass(slots=True)
class Scan:
    """What a pass found."""

    header: Header
    tree: Tree
    skipped: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    """Damage of the file as a whole (a BOM), beside the tree's own findings."""
    size_bytes: int = 0
    terminated: bool = True
    """False where the last line has no newline: the next append begins with one."""
    last_line: int = 1
    """Number of the last line that holds a byte."""

    @property
    def damage(self) -> list[Finding]:
        """Everything found, by line."""
        return sorted([*self.skipped, *self.notes, *self.tree.findings], key=lambda finding: finding.line)


def scan(source: LineSource, path: Path | None = None) -> Scan:
    """Read a session.

    Raises: NotASessionError: the first JSON line is no session header, or there is none.
    """
    reader = _Reader(path)
    with _collector_paused(), source.lines() as file:
        reader.seek_header(file)
        while lines := file.readlines(RUN_BYTES):
            reader.take(lines)
        return reader.finish()


def read_header(source: LineSource, path: Path | None = None) -> Header:
    """Only the header; stops at the line that holds it.

    Raises: NotASessionError: as `scan`.
    """
    with source.lines() as file:
        return _Reader(path).seek_header(file)


@contextmanager
def _collector_paused() -> Iterator[None]:
    # A million young objects make the collector run over all of them again and again: 2 to 4 times the load time.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Reader:
    def __init__(self, path: Path | None) -> None:
        self.header: Header | None = None
        self._path = path
        self._tree = Tree()
        self._skipped: list[Finding] = []
        self._notes: list[Finding] = []
        self._lines = 0
        self._size = 0
        self._terminated = True

    def finish(self) -> Scan:
        assert self.header is not None  # noqa: S101  `seek_header` found it or raised
        self._tree.settle()
        return Scan(
            self.header, self._tree, self._skipped, self._notes, self._size, self._terminated, max(self._lines, 1)
        )

    def seek_header(self, file: BinaryIO) -> Header:
        """Step over blank and broken lines to the header, and leave the file behind it."""
        while line := file.readline(HEADER_SCAN_BYTES):
            offset, self._size = self._size, self._size + len(line)
            if self._size >= HEADER_SCAN_BYTES:
                raise NotASessionError(self._path, f"no session header within {HEADER_SCAN_BYTES // 1024**2} MiB")
            self._lines += 1
            self._terminated = line.endswith(b"\n")
            if offset == 0 and line.startswith(_BOM):
                self._notes.append(Finding(1, "bom", "the file begins with a byte order mark; Pi does not open it"))
                line = line.removeprefix(_BOM)
            if line.strip():
                self._take_first(line)
            if self.header is not None:
                return self.header
        raise NotASessionError(self._path, "no session header in this file" if self._size else "the file is empty")

    def take(self, lines: list[bytes]) -> None:
        """A run of lines, each with its line break; only the last one of the file may have none."""
        offset, first = self._size, self._lines + 1
        lengths = list(map(len, lines))
        self._size += sum(lengths)
        self._lines += len(lines)
        self._terminated = lines[-1].endswith(b"\n")
        if self._take_whole(lines, lengths, offset, first):
            return
        last = self._lines
        for number, line in enumerate(lines, first):
            self._take_line(offset, line, number, torn=number == last and not self._terminated)
            offset += len(line)

    def _take_first(self, line: bytes) -> None:
        try:
            # A long log is refused without trying to decode each of its lines.
            value = decode_line(line if line.lstrip()[:1] in _JSON_BEGINS else b"")
        except ValueError:
            self._skip(self._lines, "nul" if b"\0" in line else "malformed", "no JSON before the header; skipped")
            return
        if not value:
            return  # Pi steps over null, false, 0 and "" alike
        try:
            self.header = Header.from_fields(value)
        except UnknownVersionError as error:
            raise NotASessionError(self._path, f"line {self._lines}: {error}") from None
        if self.header is None:
            raise NotASessionError(self._path, f"line {self._lines} is JSON, yet no session header")

    def _take_whole(self, lines: list[bytes], lengths: list[int], offset: int, first: int) -> bool:
        """All lines in a few C passes; False (and nothing taken) where anything about one of them is unusual."""
        try:
            envelopes = list(map(_decode_envelope, lines))
        except (msgspec.MsgspecError, RecursionError, ValueError):
            return False
        ids: list[Any] = list(map(_get_id, envelopes))
        if not all(ids):
            return False
        codes = self._tree.codes(map(_get_kind, envelopes))
        if self._tree.has_type("session", codes):
            return False
        return self._tree.extend(ids, list(map(_get_parent_id, envelopes)), codes, lengths, offset, first)

    def _take_line(self, offset: int, line: bytes, number: int, *, torn: bool) -> None:
        if not line.strip():
            return
        try:
            envelope = _decode_envelope(line)
        except (msgspec.MsgspecError, RecursionError, ValueError):
            # The strict decoder refused it; Pi's reader may still take it.
            try:
                fields = decode_line(line)
            except ValueError:
                self._skip_unreadable(line, number, torn=torn)
                return
            envelope = _loose_envelope(fields)
        if envelope.type == "session":
            self._skip(number, "extra-header", "a second session header; only the first counts")
        elif not envelope.id:
            self._skip(number, "not-an-entry", "JSON, yet no entry with an id; skipped")
        else:
            kind = (envelope.type, envelope.custom_type)
            self._tree.add(envelope.id, envelope.parent_id, kind, Place(offset, len(line), number))

    def _skip_unreadable(self, line: bytes, number: int, *, torn: bool) -> None:
        if b"\0" in line:
            self._skip(number, "nul", f"{line.count(0)} NUL bytes where an entry should be; skipped")
        elif torn:
            self._skip(number, "torn", "the last line is torn; skipped, the next append begins on a fresh line")
        else:
            self._skip(number, "malformed", "no JSON; skipped")

    def _skip(self, line: int, kind: DamageKind, message: str) -> None:
        self._skipped.append(Finding(line, kind, message))


def _loose_envelope(fields: object) -> _Envelope:
    if not isinstance(fields, dict):
        return _Envelope()

    def text(name: str) -> str | None:
        value = fields.get(name)
        if not isinstance(value, str):
            return None
        return value

    parent = fields.get("parentId")
    # A parent that is no string names nothing in this file; Pi's walk ends at such an entry as well.
    return _Envelope(
        text("type") or "",
        text("id"),
        parent if isinstance(parent, str) or not parent else f"{shown(parent)} (no text)",
        text("customType"),
    )
