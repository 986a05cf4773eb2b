"""Which values may cross the wall, and how integers of any size travel; it knows no frames.

Invariant: a value crosses exactly or it is refused with its path; nothing is silently changed.
Attacked by `tests/properties/test_values.py`.
"""

from typing import Final, TypeAlias

import msgspec

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

MAX_DEPTH: Final = 100
"""Levels of lists and dicts; msgspec recurses in C and 100 is far inside its stack."""
MAX_INTEGER_BITS: Final = 65_536
"""An integer's decimal form costs quadratic time (2 ms here at this size), and the host must print what it accepts."""
INTEGER_EXTENSION_CODE: Final = 1
"""msgpack integers end at 64 bits; larger ones travel as two's complement bytes under this code."""

_INT64_MIN: Final = -(2**63)
_UINT64_MAX: Final = 2**64 - 1
_EXACT_SCALARS: Final = frozenset({type(None), bool, str})


class ValueRefusedError(TypeError):
    """A value that JSON cannot carry exactly: `path` says where (`$.rows[0].score`), `reason` says why."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


def to_wire(value: object, path: str = "$") -> object:
    """`value` as plain JSON data ready for the encoder; integers beyond 64 bits become extension values.

    Tuples travel as lists and dict subclasses as dicts, as JSON does it; every other change is refused.

    Raises: ValueRefusedError: names the first place that cannot cross.
    """
    # Most calls carry a flat dict of plain scalars: no copy and no paths for those.
    if type(value) is dict and all(type(key) is str and key.isascii() and _is_plain(value[key]) for key in value):
        return value
    return _convert(value, path, 0, set())


def from_wire(value: object, path: str = "$") -> JsonValue:
    """The same check for data that came from the other side, which is never trusted to have made it.

    Raises: ValueRefusedError: the peer sent what an honest peer refuses.
    """
    checked: JsonValue = _verify(value, path, 0)
    return checked


def read_extension(code: int, data: memoryview) -> int:
    """The integer behind an extension value.

    Raises: ValueError: an unknown code or an integer past `MAX_INTEGER_BITS`.
    """
    if code != INTEGER_EXTENSION_CODE or len(data) > MAX_INTEGER_BITS // 8 + 1:
        raise ValueError(f"unknown extension {code} of {len(data)} bytes")
    return int.from_bytes(data, "big", signed=True)


def _is_plain(value: object) -> bool:
    kind = type(value)
    if kind is int:
        return _INT64_MIN <= value <= _UINT64_MAX  # type: ignore[operator]
    return value.isascii() if kind is str else kind is bool or value is None  # type: ignore[attr-defined]


def _convert(value: object, path: str, depth: int, above: set[int]) -> object:
    kind = type(value)
    if kind is str:
        return _checked_text(value, path)
    if kind in _EXACT_SCALARS:
        return value
    if kind is int:
        return _convert_integer(value, path)  # type: ignore[arg-type]
    if kind is float:
        return _checked_float(value, path)  # type: ignore[arg-type]
    if isinstance(value, dict | list | tuple):
        if id(value) in above:
            raise ValueRefusedError(path, "a cycle: the value contains itself")
        if depth >= MAX_DEPTH:
            raise ValueRefusedError(path, f"nested deeper than {MAX_DEPTH} levels")
        above.add(id(value))
        if isinstance(value, dict):
            converted: object = {
                _checked_key(key, path): _convert(item, _member(path, key), depth + 1, above)
                for key, item in dict.items(value)
            }
        else:
            iterator = list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
            converted = [_convert(item, f"{path}[{index}]", depth + 1, above) for index, item in enumerate(iterator)]
        above.discard(id(value))
        return converted
    raise ValueRefusedError(path, f"{kind.__name__} is no JSON value{_hint(value)}")


def _verify(value: object, path: str, depth: int) -> JsonValue:
    kind = type(value)
    if kind is str or kind in _EXACT_SCALARS:
        return value  # type: ignore[return-value]
    if kind is int:
        return value  # type: ignore[return-value]
    if kind is float:
        return _checked_float(value, path)  # type: ignore[arg-type]
    if depth >= MAX_DEPTH:
        raise ValueRefusedError(path, f"nested deeper than {MAX_DEPTH} levels")
    if kind is list:
        for index, item in enumerate(value):  # type: ignore[arg-type, var-annotated]
            _verify(item, f"{path}[{index}]", depth + 1)
        return value  # type: ignore[return-value]
    if kind is dict:
        for key, item in value.items():  # type: ignore[attr-defined]
            if type(key) is not str:
                raise ValueRefusedError(path, f"key {key!r} is no string")
            _verify(item, _member(path, key), depth + 1)
        return value  # type: ignore[return-value]
    raise ValueRefusedError(path, f"{kind.__name__} is no JSON value")


def _convert_integer(value: int, path: str) -> object:
    if _INT64_MIN <= value <= _UINT64_MAX:
        return value
    bits = value.bit_length()
    if bits > MAX_INTEGER_BITS:
        raise ValueRefusedError(path, f"integer of {bits} bits; {MAX_INTEGER_BITS} is the most that crosses")
    return msgspec.msgpack.Ext(INTEGER_EXTENSION_CODE, value.to_bytes(bits // 8 + 1, "big", signed=True))


def _checked_float(value: float, path: str) -> float:
    # NaN is the only value unlike itself; the infinities are their own doubles.
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124
        raise ValueRefusedError(path, f"{value!r} is not in JSON")
    return value


def _checked_text(value: object, path: str) -> object:
    text: str = value  # type: ignore[assignment]
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueRefusedError(path, "text with a lone surrogate is not in UTF-8") from None
    return text


def _checked_key(key: object, path: str) -> str:
    if type(key) is not str:
        raise ValueRefusedError(path, f"key {key!r:.80} is {type(key).__name__}; JSON keys are strings")
    _checked_text(key, path)
    return key


def _member(path: str, key: object) -> str:
    return f"{path}.{key}" if isinstance(key, str) and key.isidentifier() else f"{path}[{key!r:.40}]"


def _hint(value: object) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return "; use base64.b64encode(value).decode()"
    if isinstance(value, set | frozenset):
        return "; use sorted(value) or list(value)"
    if hasattr(type(value), "__dataclass_fields__"):
        return "; use dataclasses.asdict(value)"
    if isinstance(value, int | str | float):
        return "; use its plain value"
    return ""
