"""Strict JSON in both directions, integers exact at any size; it knows no file and no frame.

Writing is exact or refused: no NaN, no Infinity, no lone surrogate unless asked for.
Reading is tolerant (`decode`: session lines, as tolerant as Pi's reader) or strict (`decode_strict`: what a person,
a parent or another process hands us); neither ever takes NaN.
"""

import json
import sys
from typing import Any, Final, NoReturn

import msgspec

from guest_api.values import MAX_INTEGER_BITS

LONGEST_INTEGER_DIGITS: Final = MAX_INTEGER_BITS * 30_103 // 100_000 + 2
"""The largest integer that crosses (log10(2) is 0.30103) and its sign; more is refused before its time is spent."""
_SAFE_DIGITS: Final = 4000
"""Under the interpreter's limit for one conversion (4300)."""

_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder()


class NotJsonError(ValueError):
    """A value that strict JSON cannot carry: `path` says where (`$.rows[0].score`), `reason` says why."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class NestedTooDeeplyError(ValueError):
    """JSON, as far as it was read, that goes deeper than a decoder does."""

    def __init__(self) -> None:
        super().__init__("nested too deeply")


def encode(value: object, *, lone_surrogates: bool = False) -> bytes:
    """`value` as one line of strict JSON without its newline; `msgspec.Raw` parts go out verbatim.

    `lone_surrogates`: they are kept as JSON's own escapes, for what others said and we only record.

    Raises: NotJsonError: names the first place that JSON cannot carry.
    """
    return _encoder.encode(_checked(value, "$", set(), lone_surrogates))


def decode(line: bytes) -> Any:
    """The JSON value of a line, read as tolerantly as Pi reads it.

    Raises: ValueError: the line is no JSON. NestedTooDeeplyError: it may be, and goes too deep.
    """
    try:
        return _decoder.decode(line)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        pass
    # msgspec is strict about UTF-8 and lone surrogates where JavaScript is not; such lines are rare.
    text = line.decode("utf-8", errors="replace")
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_int=_exact_integer)
    except RecursionError as error:
        raise NestedTooDeeplyError from error


def decode_strict(text: str | bytes) -> Any:
    """The JSON value of a text that must be exactly that.

    Raises: ValueError: malformed (a JSONDecodeError says where), no UTF-8, NaN or Infinity, a key twice in one object,
        an integer that could not cross, or nested too deeply.
    """
    try:
        return json.loads(
            text if isinstance(text, str) else text.decode(),
            object_pairs_hook=_without_repeats,
            parse_constant=_refuse_constant,
            parse_int=_bounded_integer,
        )
    except RecursionError:
        raise NestedTooDeeplyError from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"key {key!r:.80} stands twice in one object")
        found[key] = value
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _bounded_integer(digits: str) -> int:
    if len(digits) > LONGEST_INTEGER_DIGITS:
        raise ValueError(f"an integer of {len(digits)} digits; {LONGEST_INTEGER_DIGITS} is the most that is read")
    return _exact_integer(digits)


def _exact_integer(digits: str) -> int:
    if len(digits) < _SAFE_DIGITS:
        return int(digits)
    # Halving keeps every conversion under the interpreter's digit limit and the value exact.
    sign, digits = (-1, digits[1:]) if digits.startswith("-") else (1, digits)
    half = len(digits) // 2
    scale: int = 10 ** (len(digits) - half)
    return sign * (_exact_integer(digits[:half]) * scale + _exact_integer(digits[half:].lstrip("0") or "0"))


def _integer_digits(value: int) -> str:
    if value < 0:
        return "-" + _integer_digits(-value)
    if value.bit_length() < 13_000:
        return str(value)
    half = value.bit_length() * 3 // 20  # about half of its decimal digits
    high, low = divmod(value, 10**half)
    return _integer_digits(high) + _integer_digits(low).rjust(half, "0")


def _checked(value: object, path: str, above: set[int], surrogates: bool) -> object:
    kind = type(value)
    if kind is str:
        return _checked_text(value, path, surrogates)  # type: ignore[arg-type]
    if value is None or kind is bool or kind is msgspec.Raw:
        return value
    if kind is int:
        number: int = value  # type: ignore[assignment]
        if number.bit_length() < 13_000:
            return number
        return msgspec.Raw(_integer_digits(number).encode())
    if kind is float:
        if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124
            raise NotJsonError(path, f"{value!r} is not in JSON")
        return value
    if isinstance(value, dict | list | tuple):
        if id(value) in above:
            raise NotJsonError(path, "a cycle: the value contains itself")
        if len(above) > sys.getrecursionlimit() // 4:
            raise NotJsonError(path, "nested too deeply")
        above.add(id(value))
        converted: object
        if isinstance(value, dict):
            members = {
                _checked_key(key, path, surrogates): _checked(item, _member(path, key), above, surrogates)
                for key, item in value.items()
            }
            converted = _escaped_object(members) if surrogates and not all(map(_is_utf8, members)) else members
        else:
            converted = [_checked(item, f"{path}[{index}]", above, surrogates) for index, item in enumerate(value)]
        above.discard(id(value))
        return converted
    if isinstance(value, msgspec.Struct):
        return _checked(msgspec.to_builtins(value), path, above, surrogates)
    if isinstance(value, str):  # StrEnum and other subclasses travel as their text
        return _checked_text(str.__str__(value), path, surrogates)
    if isinstance(value, int):
        return _checked(int(value), path, above, surrogates)
    raise NotJsonError(path, f"{kind.__name__} is no JSON value")


def _checked_text(text: str, path: str, surrogates: bool) -> object:
    if _is_utf8(text):
        return text
    if not surrogates:
        raise NotJsonError(path, "text with a lone surrogate is not in UTF-8")
    return msgspec.Raw(json.dumps(text).encode())


def _checked_key(key: object, path: str, surrogates: bool) -> str:
    if not isinstance(key, str):
        raise NotJsonError(path, f"key {key!r:.80} is {type(key).__name__}; JSON keys are strings")
    text = str.__str__(key)
    if not surrogates:
        _checked_text(text, path, surrogates)
    return text


def _escaped_object(members: dict[str, object]) -> msgspec.Raw:
    """An object of checked values with a key that the encoder would not take."""
    pairs = (json.dumps(key).encode() + b":" + _encoder.encode(item) for key, item in members.items())
    return msgspec.Raw(b"{" + b",".join(pairs) + b"}")


def _is_utf8(text: str) -> bool:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return False
    return True


def _member(path: str, key: object) -> str:
    return f"{path}.{key}" if isinstance(key, str) and key.isidentifier() else f"{path}[{key!r:.40}]"
