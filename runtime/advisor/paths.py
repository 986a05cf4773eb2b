"""Which terms of a prompt stand only inside file paths, file names and URLs. It knows no weights.

Spans are found from their anchors (`://`, `/`, a listed ending) and then extended to the left, never by trying a
pattern at every character: a long run without an anchor costs nothing, so a hostile prompt stays linear.
"""

import re
from bisect import bisect_right
from math import inf
from typing import Final

from runtime.advisor.sentences import WHITESPACE
from runtime.advisor.stopwords import FILENAME_ENDINGS
from runtime.advisor.tokens import tokens

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS: Final = "0123456789"
_WORD_CHARACTERS: Final = _LETTERS + _DIGITS + "_"
_SCHEME_CHARACTERS: Final = _LETTERS + _DIGITS + "+.-"
_NAME_CHARACTERS: Final = _WORD_CHARACTERS + "~-"
_RUN_CHARACTERS: Final = _NAME_CHARACTERS + "."

_URL_REST: Final = re.compile(rf"[^{WHITESPACE}\"'`<>()\[\]]+")
_PATH_REST: Final = re.compile(r"[A-Za-z0-9_.~\-/]+")
_ENDING: Final = re.compile(
    rf"\.(?:{'|'.join(sorted(FILENAME_ENDINGS, key=len, reverse=True))})(?![A-Za-z0-9_])", re.ASCII | re.IGNORECASE
)


def path_spans(text: str) -> list[tuple[int, int]]:
    """The spans of paths, names and URLs in `text`, leftmost first, without overlap.

    Of two that start together the first form wins: URL, path, bare name.

    Seed: combustion:path:examples, combustion:path:extension-list
    """
    endings = [match.span() for match in _ENDING.finditer(text)] if "." in text else []
    if "/" not in text and not endings:
        return []
    spans: list[tuple[int, int]] = []
    position = 0
    url, path, bare = _url(text, 0), _path(text, 0), _bare_name(text, 0, endings)
    while (span := min((url, path, bare), key=_start)) is not None:
        spans.append(span)
        position = span[1]
        # A candidate that starts later stays the leftmost of its form: each anchor is looked at once.
        if _start(url) < position:
            url = _url(text, position)
        if _start(path) < position:
            path = _path(text, position)
        if _start(bare) < position:
            bare = _bare_name(text, position, endings)
    return spans


def _start(span: tuple[int, int] | None) -> float:
    """Where `span` starts; no span starts after everything."""
    return inf if span is None else span[0]


def _url(text: str, position: int) -> tuple[int, int] | None:
    """A scheme, `://`, and what follows up to whitespace, quotes and brackets."""
    low = position
    while (anchor := text.find("://", low)) >= 0:
        run = text[low:anchor]
        scheme = run[len(run.rstrip(_SCHEME_CHARACTERS)) :].lstrip(_DIGITS + "+.-")
        if scheme and (rest := _URL_REST.match(text, anchor + 3)) is not None:
            return anchor - len(scheme), rest.end()
        low = anchor + 3
    return None


def _path(text: str, position: int) -> tuple[int, int] | None:
    """A run of name characters and dots, `/`, and at least one more of those or of `/`."""
    low = position
    while (anchor := text.find("/", low)) >= 0:
        run = text[low:anchor]
        start = low + len(run.rstrip(_RUN_CHARACTERS))
        if start < anchor and (rest := _PATH_REST.match(text, anchor + 1)) is not None:
            return start, rest.end()
        low = anchor + 1
    return None


def _bare_name(text: str, position: int, endings: list[tuple[int, int]]) -> tuple[int, int] | None:
    """A name that starts at a word boundary, before a listed ending."""
    low = position
    for index in range(bisect_right(endings, (position, len(text) + 1)), len(endings)):
        dot, end = endings[index]
        run = text[low:dot]
        start = low + len(run.rstrip(_NAME_CHARACTERS))
        while start < dot and not _starts_word(text, start):
            start += 1
        if start < dot:
            return start, end
        low = dot + 1
    return None


def _starts_word(text: str, position: int) -> bool:
    """Whether an ASCII word boundary lies before `position`."""
    before = position > 0 and text[position - 1] in _WORD_CHARACTERS
    return before != (text[position] in _WORD_CHARACTERS)


def path_only_terms(text: str) -> frozenset[str]:
    """The terms that some span holds and the rest of `text` does not.

    Seed: combustion:path:half, combustion:path:free-prose
    """
    spans = path_spans(text)
    if not spans:
        return frozenset()
    inside: set[str] = set()
    rest = []
    position = 0
    for start, end in spans:
        inside.update(tokens(text[start:end]))
        rest.append(text[position:start])
        position = end
    rest.append(text[position:])
    return frozenset(inside.difference(tokens(" ".join(rest))))
