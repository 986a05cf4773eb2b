"""A line nested deeper than the decoders go, read without recursion: its members, the deep ones as raw bytes.

It decides nothing but whether a line is JSON, and knows no entry. Such lines are rare, so it may be slow; it is linear.
"""

import re
from typing import Any, Final

import msgspec

from host_bridge import strict_json

_STRING: Final = rb'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
_TOKEN: Final = re.compile(
    rb"[ \t\r\n]*+(?:(?P<opens>\[++|\{)|(?P<closes>\]++|\}++)|(?P<comma>,)|(?P<colon>:)|(?P<string>"
    + _STRING
    + rb")|(?P<scalar>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null))"
)
_SPACE: Final = re.compile(rb"[ \t\r\n]*+")
_LIST: Final = ord("[")
_OBJECT: Final = ord("{")


def decode_line(line: bytes) -> Any:
    """The JSON value of a session line, as tolerant as Pi's reader and at any depth.

    Of an object that is nested too deeply for the decoders, the members that are become `msgspec.Raw`.
    Raises: ValueError: the line is no JSON, or a list nested too deeply.
    """
    try:
        return strict_json.decode(line)
    except strict_json.NestedTooDeeplyError:
        return _members(line)


def _members(line: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, start, end in _spans(line):
        value = line[start:end]
        try:
            found[strict_json.decode(name)] = strict_json.decode(value)
        except strict_json.NestedTooDeeplyError:
            # Bytes that are no UTF-8 read as U+FFFD, as they do everywhere else.
            found[strict_json.decode(name)] = msgspec.Raw(value.decode("utf-8", "replace"))
    return found


def _spans(line: bytes) -> list[tuple[bytes, int, int]]:
    """Name, start and end of each member of the outermost object; the whole line is checked on the way."""
    spans: list[tuple[bytes, int, int]] = []
    stack = bytearray()
    """What is open, outermost first: a byte for each bracket."""
    position, expects = 0, "value"
    name, started = b"", 0
    may_close = False
    """Whether the innermost bracket has nothing in it yet."""
    while stack or expects == "value":
        token = _TOKEN.match(line, position)
        if token is None:
            raise ValueError(f"no JSON at byte {position}")
        kind, text = str(token.lastgroup), token[str(token.lastgroup)]
        begins, position = token.start(kind), token.end()
        if kind == "string" and expects == "name":
            if len(stack) == 1:
                name = text
            expects, may_close = "colon", False
            continue
        if kind == "colon" and expects == "colon":
            expects = "value"
            continue
        if kind == "comma" and expects == "next":
            expects = "name" if stack[-1] == _OBJECT else "value"
            continue
        if kind == "closes" and (expects == "next" or may_close):
            opened = _OBJECT if text[:1] == b"}" else _LIST
            if len(text) > len(stack) or stack[-len(text) :].count(opened) != len(text):
                raise ValueError(f"a bracket too many at byte {begins}")
            del stack[-len(text) :]
            expects, may_close = "next", False
        elif kind in ("opens", "string", "scalar") and expects == "value":
            if len(stack) == 1:
                started = begins
            may_close = kind == "opens"
            if may_close:
                stack += text
                if stack[0] != _OBJECT:
                    raise ValueError("no object")
                expects = "name" if text == b"{" else "value"
            else:
                expects = "next"
        else:
            raise ValueError(f"no JSON at byte {begins}")
        if expects == "next" and (len(stack) == 1 and name):
            # A run of brackets closes the member and never the object around it: those are of another kind, or end it.
            spans.append((name, started, position))
            name = b""
        elif expects == "next" and not stack and name:
            spans.append((name, started, position - 1))
    if _SPACE.fullmatch(line, position) is None:
        raise ValueError(f"text after the value at byte {position}")
    return spans
