"""One pass over a session's bytes: header, tree and skipped lines. It keeps offsets and lets go of every line.

Invariant: what this pass takes for an entry is one line that is one JSON object, never a value across a line break.
Raw line breaks inside a JSON text can stand only between tokens; a block is decoded as a whole only where every
line begins with `{` and ends with `}`, and between `}` and `{` no JSON value can go on.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate, repeat
from operator import add, attrgetter, itemgetter
from pathlib import Path
from typing import Any, Final

import msgspec

from runtime.transcript import strict_json
from runtime.transcript.damage import DamageKind, Finding
from runtime.transcript.errors import NotASessionError
from runtime.transcript.header import Header
from runtime.transcript.sources import LineSource
from runtime.transcript.tree import BlockPlaces, Place, Tree

HEADER_SCAN_BYTES: Final = 128 * 1024 * 1024
"""A file that shows no header within these bytes is no session; Pi gives up after 1 MiB when it lists sessions."""
_BOM: Final = b"\xef\xbb\xbf"


class _Envelope(msgspec.Struct, gc=False, rename="camel"):
    """What the tree needs of a line; the decoder steps over the rest without building it."""

    type: str = ""
    id: str | None = None
    parent_id: str | None = None
    custom_type: str | None = None


_envelope_decoder: Final = msgspec.json.Decoder(_Envelope)
_get_id: Final = attrgetter("id")
_get_parent_id: Final = attrgetter("parent_id")
_get_kind: Final = attrgetter("type", "custom_type")
_first_byte: Final = itemgetter(0)
_last_byte: Final = itemgetter(-1)
_OPEN: Final = set(b"{")
_CLOSE: Final = set(b"}")
_JSON_BEGINS: Final = [bytes([byte]) for byte in b'{["tfn-0123456789']
BLOCK_BYTES: Final = 512 * 1024
"""Bytes of a block: its lines and what is decoded of them stay in the processor's cache."""


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
    with _collector_paused():
        for offset, block in _line_blocks(source):
            reader.take(offset, block)
        return reader.finish()


def read_header(source: LineSource, path: Path | None = None) -> Header:
    """Only the header; stops at the block that holds it.

    Raises: NotASessionError: as `scan`.
    """
    reader = _Reader(path)
    for offset, block in _line_blocks(source):
        reader.seek_header(offset, block)
        if reader.header is not None:
            return reader.header
    raise NotASessionError(path, "no session header in this file")


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


def _line_blocks(source: LineSource) -> Iterator[tuple[int, bytes]]:
    """Offset and bytes of runs of whole lines; only the last run may end without a newline."""
    offset, wanted = 0, BLOCK_BYTES
    while block := source.block(offset, wanted):
        cut = block.rfind(b"\n") + 1
        if not cut and len(block) == wanted:
            wanted *= 2  # a line of 50 MB is read again for each doubling, never copied for each block
            continue
        whole = block[: cut or len(block)]
        yield offset, whole
        offset += len(whole)
        wanted = BLOCK_BYTES


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
        if self.header is None:
            raise NotASessionError(self._path, "no session header in this file" if self._size else "the file is empty")
        self._tree.settle()
        return Scan(
            self.header, self._tree, self._skipped, self._notes, self._size, self._terminated, max(self._lines, 1)
        )

    def take(self, offset: int, block: bytes) -> None:
        self._size = offset + len(block)
        self._terminated = block.endswith(b"\n")
        if self.header is None:
            offset, block = self.seek_header(offset, block)
        if not block:
            return
        lines = block.split(b"\n")
        if self._terminated:
            lines.pop()
            if self._take_whole(offset, block, lines):
                return
        for line in lines:
            self._lines += 1
            self._take_line(offset, line, last=not self._terminated and offset + len(line) == self._size)
            offset += len(line) + 1

    def seek_header(self, offset: int, block: bytes) -> tuple[int, bytes]:
        """Step over blank and broken lines to the header; what stands behind it comes back."""
        if offset == 0 and block.startswith(_BOM):
            self._notes.append(Finding(1, "bom", "the file begins with a byte order mark; Pi does not open it"))
            offset, block = len(_BOM), block[len(_BOM) :]
        start = 0
        while self.header is None and start < len(block):
            end = block.find(b"\n", start)
            end = len(block) if end < 0 else end
            line = block[start:end]
            self._lines += 1
            if line.strip():
                self._take_first(line)
            start = end + 1
        if self.header is None and offset + start > HEADER_SCAN_BYTES:
            raise NotASessionError(self._path, f"no session header within {HEADER_SCAN_BYTES // 1024**2} MiB")
        return offset + start, block[start:]

    def _take_first(self, line: bytes) -> None:
        try:
            # A long log is refused without trying to decode each of its lines.
            value = strict_json.decode(line if line.lstrip()[:1] in _JSON_BEGINS else b"")
        except ValueError:
            self._skip("nul" if b"\0" in line else "malformed", "no JSON before the header; skipped")
            return
        if not value:
            return  # Pi steps over null, false, 0 and "" alike
        self.header = Header.from_fields(value)
        if self.header is None:
            raise NotASessionError(self._path, f"line {self._lines} is JSON, yet no session header")

    def _take_whole(self, offset: int, block: bytes, lines: list[bytes]) -> bool:
        """The whole block in a few C passes; False where anything about it is unusual."""
        if not all(lines) or set(map(_first_byte, lines)) != _OPEN or set(map(_last_byte, lines)) != _CLOSE:
            return False
        try:
            envelopes = _envelope_decoder.decode_lines(block)
        except (msgspec.MsgspecError, RecursionError, ValueError):
            return False
        count = len(lines)
        ids: list[Any] = list(map(_get_id, envelopes))
        if len(ids) != count or not all(ids):
            return False
        codes = self._tree.codes(map(_get_kind, envelopes))
        if self._tree.has_type("session", codes):
            return False
        lengths = list(map(len, lines))
        offsets = list(accumulate(map(add, lengths, repeat(1)), initial=offset))
        offsets.pop()
        places = BlockPlaces(offsets, lengths, range(self._lines + 1, self._lines + 1 + count))
        if not self._tree.extend(ids, list(map(_get_parent_id, envelopes)), codes, places):
            return False
        self._lines += count
        return True

    def _take_line(self, offset: int, line: bytes, *, last: bool) -> None:
        line = line.removesuffix(b"\r")
        if not line.strip():
            return
        try:
            envelope = _envelope_decoder.decode(line)
        except (msgspec.MsgspecError, RecursionError, ValueError):
            # The strict decoder refused it; Pi's reader may still take it.
            try:
                fields = strict_json.decode(line)
            except ValueError:
                self._skip_unreadable(line, last=last)
                return
            envelope = _loose_envelope(fields)
        if envelope.type == "session":
            self._skip("extra-header", "a second session header; only the first counts")
        elif not envelope.id:
            self._skip("not-an-entry", "JSON, yet no entry with an id; skipped")
        else:
            place = Place(offset, len(line), self._lines)
            self._tree.add(envelope.id, envelope.parent_id, (envelope.type, envelope.custom_type), place)

    def _skip_unreadable(self, line: bytes, *, last: bool) -> None:
        if b"\0" in line:
            self._skip("nul", f"{line.count(0)} NUL bytes where an entry should be; skipped")
        elif last:
            self._skip("torn", "the last line is torn; skipped, the next append begins on a fresh line")
        else:
            self._skip("malformed", "no JSON; skipped")

    def _skip(self, kind: DamageKind, message: str) -> None:
        self._skipped.append(Finding(self._lines, kind, message))


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
        parent if isinstance(parent, str) or not parent else repr(parent),
        text("customType"),
    )
