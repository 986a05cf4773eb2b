"""What a Python annotation asks for, in plain words: `a whole number from 1 to 20`. For schemas: `schema_words`."""

import dataclasses
import datetime as dt
import decimal
import types
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal, Protocol, Union, get_args, get_origin, get_type_hints

import msgspec

_TEXT_FORMS: Final[Mapping[type, str]] = {
    dt.datetime: "a date and time as text, 2026-01-31T12:00:00Z",
    dt.date: "a date as text, 2026-01-31",
    dt.time: "a time as text, 12:00:00",
    dt.timedelta: "a duration as text, PT5M",
    uuid.UUID: "a UUID as text",
    decimal.Decimal: "a number as text",
    bytes: "base64 text",
}


def wanted(kind: Any) -> str:
    """A type in words: `text`, `a whole number from 1 to 20`, `one of 'low', 'high'`."""
    if hasattr(kind, "__metadata__"):
        return wanted(kind.__origin__) + "".join(
            _constraint(m) for m in kind.__metadata__ if isinstance(m, msgspec.Meta)
        )
    origin = get_origin(kind)
    if origin is Literal:
        return _one_of(get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _one_of(member.value for member in kind)
    if origin in (Union, types.UnionType):
        parts = [wanted(part) for part in get_args(kind) if part not in (type(None), msgspec.UnsetType)]
        return " or ".join(dict.fromkeys(parts))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        fields = msgspec.structs.fields(kind)
        return "a dict with " + ", ".join(f.encode_name + ("" if f.required else "?") for f in fields)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        named = dataclass_fields(kind)
        return "a dict with " + ", ".join(name + ("" if field.required else "?") for name, field in named.items())
    if isinstance(kind, type) and kind in _TEXT_FORMS:
        return _TEXT_FORMS[kind]
    words: dict[Any, str] = {
        str: "text", int: "a whole number", float: "a number", bool: "true or false", type(None): "nothing",
        list: "a list", tuple: "a list", set: "a list", dict: "a dict", Any: "any value",
    }  # fmt: skip
    return words.get(origin or kind) or str(getattr(kind, "__name__", kind))


class Field(Protocol):
    """What is asked of a field, of a Struct's or a dataclass's."""

    @property
    def type(self) -> Any:
        """Its annotation."""

    @property
    def required(self) -> bool:
        """Whether it has no default."""


@dataclass(frozen=True, slots=True)
class DataclassField:
    """One of a dataclass's."""

    type: Any
    required: bool


def bare(kind: Any) -> Any:
    """A type without its constraints, and without the `None` of an optional one."""
    if hasattr(kind, "__metadata__"):
        return bare(kind.__origin__)
    if get_origin(kind) in (Union, types.UnionType):
        parts = [part for part in get_args(kind) if part not in (type(None), msgspec.UnsetType)]
        return bare(parts[0]) if len(parts) == 1 else kind
    return kind


def dataclass_fields(kind: type) -> dict[str, DataclassField]:
    """What a dataclass takes."""
    hints = get_type_hints(kind, include_extras=True)
    missing = dataclasses.MISSING
    return {
        field.name: DataclassField(
            hints.get(field.name, Any), field.default is missing and field.default_factory is missing
        )
        for field in dataclasses.fields(kind)
        if field.init
    }


def choices(kind: Any) -> list[Any]:
    """The values that a closed type allows; empty: it is not closed."""
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [member.value for member in kind]
    return [choice for part in get_args(kind) for choice in choices(part)]


def _constraint(meta: msgspec.Meta) -> str:
    texts = []
    if meta.ge is not None and meta.le is not None:
        texts.append(f"from {meta.ge} to {meta.le}")
    elif meta.ge is not None:
        texts.append(f"of at least {meta.ge}")
    elif meta.le is not None:
        texts.append(f"of at most {meta.le}")
    if meta.gt is not None:
        texts.append(f"above {meta.gt}")
    if meta.lt is not None:
        texts.append(f"below {meta.lt}")
    if meta.max_length is not None:
        texts.append(f"of length at most {meta.max_length}")
    if meta.min_length is not None:
        texts.append(f"of length at least {meta.min_length}")
    if meta.pattern is not None:
        texts.append(f"matching {meta.pattern}")
    return "".join(f" {text}" for text in texts)


def _one_of(values: Iterable[Any]) -> str:
    return "one of " + ", ".join(repr(value) for value in values)
