"""`dataclasses`, `enum`, `typing` and `collections.namedtuple` without their ways from a string to code.

The standard library's versions write source text from field names (`dataclasses`, `namedtuple`), define
methods by string
(functional `Enum`) and evaluate strings (`ForwardRef`, `get_type_hints`). Here a name comes from the program's
own syntax,
which the compile policy has read, or it is checked by the same rules.
Attacked by `tests/escapes/programs` (gadget programs).
"""

# ruff: noqa: ARG001, ARG002, D102  signatures are those of what stands here instead

import collections
import dataclasses
import enum
import inspect
import sys
import typing
from collections.abc import Callable, Iterable
from typing import Any, Final, NoReturn, final

from guest_api.inside import names
from guest_api.inside.modules.functions import deep_copy

# --- dataclasses


@final
class FieldSpec:
    """What `field(...)` answers. A real `Field` is mutable, and its name would be written into generated source."""

    __slots__ = ("__options__",)

    def __init__(self, options: dict[str, Any]) -> None:
        self.__options__ = options

    def __repr__(self) -> str:
        return "field(...)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a field cannot be copied")


def field(
    *,
    default: Any = dataclasses.MISSING,
    default_factory: Any = dataclasses.MISSING,
    init: bool = True,
    repr: bool = True,  # noqa: A002
    hash: bool | None = None,  # noqa: A002
    compare: bool = True,
    metadata: Any = None,
    kw_only: Any = dataclasses.MISSING,
) -> Any:
    """`dataclasses.field`."""
    if default is not dataclasses.MISSING and default_factory is not dataclasses.MISSING:
        raise ValueError("cannot specify both default and default_factory")
    options = {"init": bool(init), "repr": bool(repr), "hash": hash, "compare": bool(compare), "metadata": metadata}
    if default is not dataclasses.MISSING:
        options["default"] = default
    if default_factory is not dataclasses.MISSING:
        options["default_factory"] = default_factory
    if kw_only is not dataclasses.MISSING:
        options["kw_only"] = bool(kw_only)
    return FieldSpec(options)


def dataclass(
    cls: Any = None,
    /,
    *,
    init: bool = True,
    repr: bool = True,  # noqa: A002
    eq: bool = True,
    order: bool = False,
    unsafe_hash: bool = False,
    frozen: bool = False,
    match_args: bool = True,
    kw_only: bool = False,
    slots: bool = False,
) -> Any:
    """`dataclasses.dataclass`."""

    def decorate(target: Any) -> Any:
        if not isinstance(target, type):
            raise TypeError(f"dataclass() decorates a class, got {type(target).__name__}")
        _check_fields(target)
        specs = {name: value for name, value in vars(target).items() if type(value) is FieldSpec}
        for name, spec in specs.items():
            type.__setattr__(target, name, dataclasses.field(**spec.__options__))
        return dataclasses.dataclass(
            init=bool(init),
            repr=bool(repr),
            eq=bool(eq),
            order=bool(order),
            unsafe_hash=bool(unsafe_hash),
            frozen=bool(frozen),
            match_args=bool(match_args),
            kw_only=bool(kw_only),
            slots=bool(slots),
        )(target)

    return decorate if cls is None else decorate(cls)


def _check_fields(target: type) -> None:
    """The policy has read the names of annotated fields; whatever way others come, they obey the same rule.

    `asdict` and class patterns read attributes of these names, from more than instances of this class.
    """
    for name in inspect.get_annotations(target):
        problem = names.attribute_problem(_plain(name))
        if problem is not None:
            raise TypeError(f"a field cannot have this name: {problem}")


@final
class FieldName:
    """One entry of `fields(x)`: its name, and nothing that could be changed."""

    __slots__ = ("__label__",)

    def __init__(self, label: str) -> None:
        self.__label__ = label

    @property
    def name(self) -> str:
        """The field's name."""
        return self.__label__

    def __repr__(self) -> str:
        return f"Field(name={self.__label__!r})"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a field cannot be copied")


def fields(class_or_instance: Any) -> tuple[FieldName, ...]:
    """The fields' names, in order."""
    _check_own(class_or_instance)
    return tuple(FieldName(each.name) for each in dataclasses.fields(class_or_instance))


def _check_own(obj: Any) -> None:
    """The fields of an object are those of its class: the standard library asks the object, and reads what they name.

    Raises: TypeError: they are not.
    """
    cls = obj if isinstance(obj, type) else type(obj)
    own = getattr(cls, "__dataclass_fields__", None)
    if own is not None and getattr(obj, "__dataclass_fields__", None) is not own:
        raise TypeError(f"the fields of this {cls.__name__} are not those of its class")


def asdict(obj: Any, *, dict_factory: Callable[[Any], Any] = dict) -> Any:
    """`dataclasses.asdict`."""
    return _taken_apart(_instance(obj, "asdict"), dict_factory)


def astuple(obj: Any, *, tuple_factory: Callable[[Any], Any] = tuple) -> Any:
    """`dataclasses.astuple`."""
    return _taken_apart(_instance(obj, "astuple"), lambda pairs: tuple_factory([value for _, value in pairs]))


def _instance(obj: Any, called: str) -> Any:
    if isinstance(obj, type) or not dataclasses.is_dataclass(type(obj)):
        raise TypeError(f"{called}() should be called on dataclass instances")
    return obj


def _taken_apart(obj: Any, factory: Callable[[list[tuple[str, Any]]], Any]) -> Any:
    """Of the standard library's making, but for the copies at the leaves: those hand a program no memo to write in."""
    kind = type(obj)
    if dataclasses.is_dataclass(kind):
        return factory(
            [(each.name, _taken_apart(getattr(obj, each.name), factory)) for each in dataclasses.fields(kind)]
        )
    if isinstance(obj, tuple) and hasattr(obj, "_fields"):
        return kind(*[_taken_apart(item, factory) for item in obj])
    if isinstance(obj, list | tuple):
        return kind([_taken_apart(item, factory) for item in obj])
    if isinstance(obj, dict):
        pairs = [(_taken_apart(key, factory), _taken_apart(item, factory)) for key, item in obj.items()]
        return kind(obj.default_factory, pairs) if isinstance(obj, collections.defaultdict) else kind(pairs)
    return deep_copy(obj)


def replace(obj: Any, /, **changes: Any) -> Any:
    """`dataclasses.replace`."""
    _check_own(obj)
    return dataclasses.replace(obj, **changes)


def is_dataclass(obj: Any) -> bool:
    """Whether it is a dataclass or an instance of one."""
    return dataclasses.is_dataclass(obj)


DATACLASSES: Final[dict[str, Any]] = {
    "FrozenInstanceError": dataclasses.FrozenInstanceError,
    "MISSING": dataclasses.MISSING,
    "asdict": asdict,
    "astuple": astuple,
    "dataclass": dataclass,
    "field": field,
    "fields": fields,
    "is_dataclass": is_dataclass,
    "replace": replace,
}

# --- enum


class GuestEnumMeta(enum.EnumMeta):
    """The functional API would define any method by string; only class syntax makes enums here."""

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        if not cls._member_map_:
            raise TypeError(f"write an enum as a class: class Name({cls.__name__}): ...")
        if len(arguments) != 1 or keywords:
            raise TypeError(f"{cls.__name__}(value) takes one value")
        return super().__call__(arguments[0])

    def _create_(cls, *arguments: Any, **keywords: Any) -> NoReturn:
        raise TypeError("write an enum as a class")

    def _convert_(cls, *arguments: Any, **keywords: Any) -> NoReturn:
        raise TypeError("write an enum as a class")


class Enum(enum.Enum, metaclass=GuestEnumMeta):
    """`enum.Enum`."""


class IntEnum(enum.IntEnum, metaclass=GuestEnumMeta):
    """`enum.IntEnum`."""


class StrEnum(enum.StrEnum, metaclass=GuestEnumMeta):
    """`enum.StrEnum`."""


class Flag(enum.Flag, metaclass=GuestEnumMeta):
    """`enum.Flag`."""


class IntFlag(enum.IntFlag, metaclass=GuestEnumMeta):
    """`enum.IntFlag`."""


ENUM: Final[dict[str, Any]] = {
    "Enum": Enum,
    "Flag": Flag,
    "IntEnum": IntEnum,
    "IntFlag": IntFlag,
    "StrEnum": StrEnum,
    "auto": enum.auto,
    "member": enum.member,
    "nonmember": enum.nonmember,
    "unique": enum.unique,
}

# --- namedtuple


def namedtuple(typename: str, field_names: Any, *, rename: bool = False, defaults: Iterable[Any] | None = None) -> Any:
    """`collections.namedtuple`, whose names are checked as the compile policy checks a program's."""
    if isinstance(field_names, str):
        field_names = str.__str__(field_names).replace(",", " ").split()
    plain = [_plain(name) for name in (typename, *field_names)]
    for name in plain:
        problem = names.variable_problem(name) or names.attribute_problem(name)
        if problem is not None:
            raise ValueError(problem)
    # A list that is its own: the caller's iterable is not read a second time.
    make: Any = collections.namedtuple  # noqa: PYI024
    made = make(plain[0], plain[1:], rename=bool(rename), defaults=None if defaults is None else tuple(defaults))
    type.__setattr__(made, "__module__", "__main__")
    return made


def _plain(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"names are strings, got {type(name).__name__}")
    return str.__str__(name)


# --- typing


@final
class TypingForm:
    """A name of `typing`. Annotations are never evaluated, so it only has to survive subscripts, unions and bases."""

    __slots__ = ("__bases_given__", "__label__")

    def __init__(self, label: str, bases: tuple[type, ...] = ()) -> None:
        self.__label__ = label
        self.__bases_given__ = bases

    def __getitem__(self, item: object) -> "TypingForm":
        return self

    def __or__(self, other: object) -> "TypingForm":
        return self

    def __ror__(self, other: object) -> "TypingForm":
        return self

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        if self.__bases_given__ == (GenericBase,):
            before = bases[: next(place for place, base in enumerate(bases) if base is self)]
            if _brings_its_own(bases) or any(base in (TYPING["Generic"], TYPING["Protocol"]) for base in before):
                return ()
        return self.__bases_given__

    def __call__(self, *arguments: Any, **keywords: Any) -> NoReturn:
        raise TypeError(f"{self.__label__} is for annotations and base classes; it cannot be called here")

    def __repr__(self) -> str:
        return f"typing.{self.__label__}"

    def __copy__(self) -> "TypingForm":
        return self

    def __deepcopy__(self, memo: object) -> "TypingForm":
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a typing form cannot be copied")


class GenericBase:
    """Behind `Generic[T]` and `Protocol[T]`: a class that may be subscripted, and is itself then."""

    __slots__ = ()

    def __class_getitem__(cls, item: object) -> Any:
        return cls


def _brings_its_own(bases: tuple[Any, ...]) -> bool:
    """Whether a class with these bases has the generic one already, or may have no such base (a named tuple)."""
    return any(
        issubclass(base, GenericBase) if isinstance(base, type) else base is TYPING["NamedTuple"] for base in bases
    )


def _type_variable(name: str, *constraints: Any, **options: Any) -> TypingForm:
    """`TypeVar`, `ParamSpec`: a name for annotations."""
    del constraints, options
    return TypingForm(_plain(name))


def _new_type(name: str, tp: Any) -> Callable[[Any], Any]:
    """`NewType`: the identity."""
    del name, tp

    def identity(value: Any) -> Any:
        return value

    return identity


def _cast(typ: Any, val: Any) -> Any:
    """`cast`: the value."""
    del typ
    return val


def _unchanged(arg: Any) -> Any:
    """`final`, `override`, `runtime_checkable`, `no_type_check`: marks for a type checker."""
    return arg


def _overload(func: Any) -> Any:
    """`overload`: the last definition counts."""

    def overloaded(*arguments: Any, **keywords: Any) -> NoReturn:
        raise NotImplementedError("an overload has no body of its own")

    del func
    return overloaded


def _runtime_checkable(cls: Any) -> NoReturn:
    """Not offered: it would turn the protocol's method names into attribute reads."""
    raise TypeError("runtime_checkable is not offered: use isinstance with a class, or hasattr(x, 'name')")


def _assert_never(arg: Any, /) -> NoReturn:
    """`assert_never`."""
    raise AssertionError(f"Expected code to be unreachable, but got: {arg!r}")


def _dataclass_transform(**options: Any) -> Callable[[Any], Any]:
    """`dataclass_transform`: a mark for a type checker."""
    del options
    return _unchanged


def _reveal(obj: Any, /) -> Any:
    """`reveal_type`: the value."""
    return obj


_FORMS: Final = [
    "AbstractSet",
    "Annotated",
    "Any",
    "AnyStr",
    "AsyncContextManager",
    "AsyncGenerator",
    "AsyncIterable",
    "AsyncIterator",
    "Awaitable",
    "Callable",
    "ClassVar",
    "Collection",
    "Concatenate",
    "Container",
    "ContextManager",
    "Coroutine",
    "Final",
    "Generator",
    "Generic",
    "Hashable",
    "ItemsView",
    "Iterable",
    "Iterator",
    "KeysView",
    "List",
    "Literal",
    "LiteralString",
    "Mapping",
    "MappingView",
    "Match",
    "MutableMapping",
    "MutableSequence",
    "MutableSet",
    "Never",
    "NoReturn",
    "NotRequired",
    "Optional",
    "ParamSpecArgs",
    "Pattern",
    "Protocol",
    "ReadOnly",
    "Required",
    "Reversible",
    "Self",
    "Sequence",
    "Set",
    "Sized",
    "SupportsAbs",
    "SupportsFloat",
    "SupportsIndex",
    "SupportsInt",
    "SupportsRound",
    "Text",
    "Tuple",
    "Type",
    "TypeAlias",
    "TypeGuard",
    "TypeIs",
    "Union",
    "Unpack",
    "ValuesView",
]

TYPING: Final[dict[str, Any]] = {
    **{name: TypingForm(name) for name in _FORMS},
    "Counter": TypingForm("Counter", (collections.Counter,)),
    "DefaultDict": TypingForm("DefaultDict", (collections.defaultdict,)),
    "Deque": TypingForm("Deque", (collections.deque,)),
    "Dict": TypingForm("Dict", (dict,)),
    "FrozenSet": TypingForm("FrozenSet", (frozenset,)),
    "Generic": TypingForm("Generic", (GenericBase,)),
    "List": TypingForm("List", (list,)),
    "NamedTuple": TypingForm("NamedTuple", (typing._NamedTuple,)),  # type: ignore[attr-defined]
    "NewType": _new_type,
    "OrderedDict": TypingForm("OrderedDict", (collections.OrderedDict,)),
    "ParamSpec": _type_variable,
    "Protocol": TypingForm("Protocol", (GenericBase,)),
    "Set": TypingForm("Set", (set,)),
    "TYPE_CHECKING": False,
    "Tuple": TypingForm("Tuple", (tuple,)),
    "TypeVar": _type_variable,
    "TypeVarTuple": _type_variable,
    "TypedDict": TypingForm("TypedDict", (dict,)),
    "assert_never": _assert_never,
    "cast": _cast,
    "dataclass_transform": _dataclass_transform,
    "final": _unchanged,
    "no_type_check": _unchanged,
    "overload": _overload,
    "override": _unchanged,
    "reveal_type": _reveal,
    "runtime_checkable": _runtime_checkable,
}

ANNOTATIONS: Final[dict[str, Any]] = {
    "__annotation_any__": object,
    "__annotation_classvar__": typing.ClassVar,
    "__annotation_initvar__": dataclasses.InitVar,
    "__annotation_kw_only__": dataclasses.KW_ONLY,
    "__annotation_generic__": TYPING["Generic"],
}
DATACLASSES["InitVar"] = TypingForm("InitVar")
DATACLASSES["KW_ONLY"] = TypingForm("KW_ONLY")

assert sys.version_info >= (3, 11)  # noqa: S101  StrEnum, enum.member
