"""Strict JSON in both directions for session lines; it knows no entry and no file.

Reading is as tolerant as Pi's reader (lone surrogates, broken UTF-8 inside strings), and never takes NaN.
Writing is exact or refused: no NaN, no Infinity, no lone surrogate, integers exact at any size.
"""

import json
import sys
from typing import Any, Final, NoReturn

import msgspec

_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder()


class NotJsonError(ValueError):
    """A value that strict JSON cannot carry: `path` says where (`$.rows[0].score`), `reason` says why."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


def encode(value: object) -> bytes:
    """`value` as one line of strict JSON without its newline; `msgspec.Raw` parts go out verbatim.

    Raises: NotJsonError: names the first place that JSON cannot carry.
    """
    return _encoder.encode(_checked(value, "$", set()))


def decode(line: bytes) -> Any:
    """The JSON value of a line, read as tolerantly as Pi reads it.

    Raises: ValueError: the line is no JSON.
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
        raise ValueError("nested too deeply") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not in JSON")


def _exact_integer(digits: str) -> int:
    if len(digits) < 4000:
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


def _checked(value: object, path: str, above: set[int]) -> object:
    kind = type(value)
    if kind is str:
        return _checked_text(value, path)  # type: ignore[arg-type]
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
            converted = {
                _checked_key(key, path): _checked(item, _member(path, key), above) for key, item in value.items()
            }
        else:
            converted = [_checked(item, f"{path}[{index}]", above) for index, item in enumerate(value)]
        above.discard(id(value))
        return converted
    if isinstance(value, msgspec.Struct):
        return _checked(msgspec.to_builtins(value), path, above)
    if isinstance(value, str):  # StrEnum and other subclasses travel as their text
        return _checked_text(str.__str__(value), path)
    if isinstance(value, int):
        return _checked(int(value), path, above)
    raise NotJsonError(path, f"{kind.__name__} is no JSON value")


def _checked_text(text: str, path: str) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise NotJsonError(path, "text with a lone surrogate is not in UTF-8") from None
    return text


def _checked_key(key: object, path: str) -> str:
    if not isinstance(key, str):
        raise NotJsonError(path, f"key {key!r:.80} is {type(key).__name__}; JSON keys are strings")
    return _checked_text(str.__str__(key), path)


def _member(path: str, key: object) -> str:
    return f"{path}.{key}" if isinstance(key, str) and key.isidentifier() else f"{path}[{key!r:.40}]"
