"""Strict JSON with `//` comments, as people write settings; it knows no setting.

Invariant: comments are blanked out, so every line and column of an error is the file's own.
"""

import json
from typing import Any, Final

from host_bridge import strict_json

NESTING_LIMIT: Final = 60


class JsonTextError(ValueError):
    """Not strict JSON: the message says what and where."""


def decode(text: str) -> Any:
    """The value of a JSON text with comments.

    Raises: JsonTextError: malformed, a key twice in one object, NaN or Infinity, or nested too deeply.
    """
    try:
        value = strict_json.decode_strict(without_comments(text.removeprefix("\ufeff")))
    except json.JSONDecodeError as error:
        raise JsonTextError(f"line {error.lineno} column {error.colno}: {error.msg}") from None
    except ValueError as error:
        raise JsonTextError(str(error)) from None
    _refuse_depth(value, 0)
    return value


def without_comments(text: str) -> str:
    """The text with every `//` comment replaced by blanks; a `//` inside a string is not one."""
    kept: list[str] = []
    position, in_string = 0, False
    while position < len(text):
        char = text[position]
        if in_string:
            step = 2 if char == "\\" else 1
            in_string = char != '"'
        elif text.startswith("//", position):
            end = text.find("\n", position)
            step = (len(text) if end < 0 else end) - position
            kept.append(" " * step)
            position += step
            continue
        else:
            step = 1
            in_string = char == '"'
        kept.append(text[position : position + step])
        position += step
    return "".join(kept)


def _refuse_depth(value: Any, depth: int) -> None:
    if depth > NESTING_LIMIT:
        raise JsonTextError("nested too deeply")
    if isinstance(value, dict):
        for item in value.values():
            _refuse_depth(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _refuse_depth(item, depth + 1)
