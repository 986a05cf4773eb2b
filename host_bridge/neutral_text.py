"""Foreign text made safe to show: control characters, bidirectional overrides and invisible ones as visible escapes."""

import json
import unicodedata
from typing import Any, Final

import msgspec

_UNSAFE_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Controls (ANSI starts with one), formats (bidi, zero width, tags), surrogates, private, unassigned, separators."""
_INVISIBLE: Final = frozenset({"\u115f", "\u1160", "\u3164", "\uffa0", "\u00ad", "\u034f", "\u2800"})
"""Letters and marks that draw nothing, and would hide text from a reader."""


def neutralise(text: str, *, keep_newlines: bool = False) -> str:
    r"""`text` with every character that could move the cursor, reorder or hide text written as `\u202e`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character if (character == "\n" and keep_newlines) or not _unsafe(character) else _escape(character)
        for character in text
    )


def arguments_text(arguments: Any, *, indent: int = 0) -> str:
    """The arguments as JSON, neutralised: each escape is JSON's own, so nothing is ambiguous."""
    try:
        data = msgspec.json.encode(arguments)
    except (TypeError, ValueError, RecursionError, OverflowError):
        # Integers past the interpreter's limit for decimal text, and what is no JSON at all.
        return neutralise(_approximate(arguments), keep_newlines=indent > 0)
    if indent:
        data = msgspec.json.format(data, indent=indent)
    return neutralise(data.decode(), keep_newlines=indent > 0)


def neutral_copy(value: Any) -> Any:
    """The same JSON value with all its texts (keys too) neutralised."""
    if isinstance(value, str):
        return neutralise(value)
    if isinstance(value, list | tuple):
        return [neutral_copy(item) for item in value]
    if isinstance(value, dict):
        return {neutralise(str(key)): neutral_copy(item) for key, item in value.items()}
    return value


def _approximate(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))}: {_approximate(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_approximate(item) for item in value) + "]"
    if isinstance(value, int) and not isinstance(value, bool):
        return hex(value) if value.bit_length() > 64 else str(value)
    if isinstance(value, str):
        return json.dumps(value)
    return repr(value)


def _unsafe(character: str) -> bool:
    if character in _INVISIBLE or unicodedata.category(character) in _UNSAFE_CATEGORIES:
        return True
    return 0xFE00 <= ord(character) <= 0xFE0F or 0xE0100 <= ord(character) <= 0xE01EF


def _escape(character: str) -> str:
    code = ord(character)
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    high, low = 0xD800 + ((code - 0x10000) >> 10), 0xDC00 + ((code - 0x10000) & 0x3FF)
    return f"\\u{high:04x}\\u{low:04x}"
