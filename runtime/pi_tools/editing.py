r"""The rules of an edit, as a pure function on text: exact, unique, all against the same original; it opens no file.

Line breaks are matched as `\n`, so that an edit written with `\n` finds text in a file with `\r\n`; what is put in
gets the line breaks of the place where it is put, and everything else keeps its bytes.
"""

import difflib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

CONTEXT_LINES: Final = 3
DIFF_CHARACTERS: Final = 20_000
LIKENESS: Final = 0.6
SEARCHED_LINES: Final = 5_000
"""Lines in which a near miss is looked for; comparing costs."""


class Replacement(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One change of an edit."""

    old_text: str
    """Exact text that stands exactly once in the file (with `all`: at least once)."""
    new_text: str
    all: bool = False
    """Replace every occurrence."""


class EditRefusedError(ValueError):
    """The edit does not fit the file; nothing was changed. The message names the edit and the way out."""


@dataclass(frozen=True, slots=True)
class Edited:
    """The outcome of an edit that fits."""

    text: str
    replaced: int
    """Places changed."""
    first_line: int
    """1-based, in the new text."""
    diff: str
    """Unified, shortened when it is long."""


def edited(text: str, edits: Sequence[Replacement], path: str) -> Edited:
    """`text` with all edits applied.

    Raises: EditRefusedError: an old text is empty, missing, ambiguous or overlaps another; or nothing would change.
    """
    if not edits:
        raise EditRefusedError("edits: got an empty list, wanted at least one replacement")
    flat = text.replace("\r\n", "\n")
    spans: list[tuple[int, int, str, int]] = []
    for index, edit in enumerate(edits):
        old, new = edit.old_text.replace("\r\n", "\n"), edit.new_text.replace("\r\n", "\n")
        if not old:
            raise EditRefusedError(f"edits[{index}].oldText is empty; to create or replace a file use pi.write")
        places = _places(flat, old, overlapping=not edit.all)
        if not places:
            raise EditRefusedError(_missing(flat, old, index, path))
        if len(places) > 1 and not edit.all:
            lines = ", ".join(str(flat.count("\n", 0, place) + 1) for place in places[:10])
            raise EditRefusedError(
                f"edits[{index}].oldText stands {len(places)} times in {path} (lines {lines}); "
                "give more of the text around it, or all=True to change every one"
            )
        spans += [(place, place + len(old), new, index) for place in places]
    spans.sort()
    for before, after in itertools.pairwise(spans):
        if before[1] > after[0]:
            raise EditRefusedError(f"edits[{before[3]}] and edits[{after[3]}] overlap in {path}; make them one edit")
    result = _spliced(text, flat, spans)
    if result == text:
        raise EditRefusedError(f"the edit would change nothing in {path}")
    first = flat.count("\n", 0, spans[0][0]) + 1
    return Edited(result, len(spans), first, _diff(flat, result.replace("\r\n", "\n"), path))


def _places(text: str, part: str, *, overlapping: bool) -> list[int]:
    """Where `part` stands. Overlapping places count when it must be unique: `aa` stands twice in `aaa`."""
    places, at = [], text.find(part)
    while at >= 0:
        places.append(at)
        at = text.find(part, at + (1 if overlapping else len(part)))
    return places


def _spliced(text: str, flat: str, spans: Sequence[tuple[int, int, str, int]]) -> str:
    """The spans of `flat` replaced in `text`, which may have longer line breaks."""
    if len(text) == len(flat):
        return _joined(text, [(start, end, new) for start, end, new, _ in spans])
    # `flat` offset + number of \r\n before it = `text` offset.
    originals: list[tuple[int, int, str]] = []
    seen, flat_at, text_at = 0, 0, 0

    def original(offset: int) -> int:
        nonlocal seen, flat_at, text_at
        while flat_at < offset:
            step = flat.find("\n", flat_at, offset)
            if step < 0:
                text_at += offset - flat_at
                flat_at = offset
                break
            text_at += step - flat_at
            text_at += 2 if text.startswith("\r\n", text_at) else 1
            flat_at = step + 1
        return text_at

    for start, end, new, _ in spans:
        at, until = original(start), original(end)
        originals.append((at, until, new.replace("\n", _line_break(text, at))))
    return _joined(text, originals)


def _joined(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    parts, at = [], 0
    for start, end, new in spans:
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


def _line_break(text: str, at: int) -> str:
    """That of the line at `at`, or of the line before where it is the last and has none."""
    end = text.find("\n", at)
    if end < 0:
        end = text.rfind("\n", 0, at)
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def _missing(text: str, old: str, index: int, path: str) -> str:
    lines = text.split("\n")
    wanted = old.split("\n")
    first = next((line for line in wanted if line.strip()), wanted[0])
    stripped = [line.strip() for line in lines]
    if first.strip() in stripped:
        number = stripped.index(first.strip()) + 1
        why = (
            f"line {number} differs only in its white space" if len(wanted) == 1 else f"its first line is line {number}"
        )
        return f"edits[{index}].oldText does not stand in {path}: {why}; it must match exactly, white space included"
    near = difflib.get_close_matches(first, lines[:SEARCHED_LINES], n=1, cutoff=LIKENESS) if len(first) < 500 else []
    hint = f"; nearest is line {lines.index(near[0]) + 1}: {near[0].strip()[:120]!r}" if near else ""
    return f"edits[{index}].oldText does not stand in {path}{hint}; it must match exactly, white space included"


def _diff(before: str, after: str, path: str) -> str:
    lines = difflib.unified_diff(before.split("\n"), after.split("\n"), path, path, n=CONTEXT_LINES, lineterm="")
    text = "\n".join(lines)
    return text if len(text) <= DIFF_CHARACTERS else f"{text[:DIFF_CHARACTERS]}\n[… the diff is longer …]"
