"""From a tool's description to what is indexed and what is shown. It knows no tokens and no prompts.

Lengths are counted in UTF-16 units, as the reference does; a character beyond the basic plane is two.
"""

import re
from functools import lru_cache
from typing import Final

from runtime.advisor.limits import ELLIPSIS, FIRST_SENTENCE_MINIMUM_UNITS, SHORT_DESCRIPTION_UNITS

WHITESPACE: Final = (
    "\t\n\v\f\r \u00a0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What counts as whitespace (24): it has U+FEFF and U+00A0, it lacks U+0085 and U+001C to U+001F."""

_PLAIN_HEAD_CHARACTERS: Final = 32
"""How much of a description is looked at before the slow and exact way is taken."""
_RUN: Final = re.compile(f"[{WHITESPACE}]+")
_END_MARK: Final = re.compile(rf"[.!?](?=[{WHITESPACE}]|\Z)")
_CAPTURED: Final = "(captured from "


def utf16_units(text: str) -> int:
    """The length of `text` in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def collapse(text: str) -> str:
    """`text` with every run of whitespace as one blank and none at the ends."""
    return _RUN.sub(" ", text).strip(" ")


def first_sentence(description: str) -> str:
    """The first sentence of `description`, whitespace collapsed; all of it if no end mark counts.

    Seed: combustion:index:name-plus-first-sentence
    """
    for mark in _END_MARK.finditer(description):
        before = collapse(description[: mark.start()] + "|")[:-1]
        if utf16_units(before) >= FIRST_SENTENCE_MINIMUM_UNITS:
            return before + mark.group()
    return collapse(description)


def sentence_to_index(description: str) -> str:
    """`first_sentence`, or a text with the same words: whitespace is not collapsed where the sentence is plain to see.

    In plain ASCII an end mark within the first units of the raw text never counts, and one that has enough characters
    other than whitespace before it always does.
    """
    head = description[:_PLAIN_HEAD_CHARACTERS]
    if head.isascii():
        mark = _END_MARK.search(description, FIRST_SENTENCE_MINIMUM_UNITS)
        if mark is not None:
            end = mark.end()
            before = head if end > len(head) else head[: end - 1]
            if len("".join(before.split())) >= FIRST_SENTENCE_MINIMUM_UNITS:
                return description[:end]
    return first_sentence(description)


@lru_cache(maxsize=1024)
def short_description(description: str) -> str:
    """What a bullet shows of `description`: all of it if it fits, else its first sentence, else a cut.

    The cut is by UTF-16 unit and may leave half of a surrogate pair, as recorded.
    """
    text = collapse(_without_origin(description))
    if utf16_units(text) <= SHORT_DESCRIPTION_UNITS:
        return text
    sentence = first_sentence(text)
    if utf16_units(sentence) <= SHORT_DESCRIPTION_UNITS:
        return sentence
    return _first_units(sentence, SHORT_DESCRIPTION_UNITS - 1) + ELLIPSIS


def _without_origin(description: str) -> str:
    """`description` without one trailing `(captured from …)`; found from its end, in linear time."""
    text = description.rstrip(WHITESPACE)
    if not text.endswith(")"):
        return description
    start = text.find(_CAPTURED, text.rfind(")", 0, -1) + 1)
    return description if start < 0 else text[:start]


def _first_units(text: str, count: int) -> str:
    """The first `count` UTF-16 units of `text`; a pair that is cut through leaves its first half."""
    taken = []
    for character in text:
        units = utf16_units(character)
        if units > count:
            if count:
                taken.append(chr(0xD800 + ((ord(character) - 0x10000) >> 10)))
            break
        taken.append(character)
        count -= units
    return "".join(taken)
