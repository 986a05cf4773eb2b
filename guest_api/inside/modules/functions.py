"""`functools`, `contextlib`, `copy` and `operator`: own versions of what would copy or read attributes by string."""

import contextlib
import copy
import functools
import operator
from collections.abc import Callable
from types import MethodType
from typing import Any, Final, NoReturn, final

_KEPT: Final = ("__name__", "__qualname__", "__doc__")
"""What a wrapper takes over from the wrapped function. Fixed: `updated=("__globals__",)` was an attack."""


def wraps(wrapped: Any) -> Callable[[Any], Any]:
    """`functools.wraps` with fixed attributes."""

    def decorate(wrapper: Any) -> Any:
        _take_over(wrapper, wrapped)
        return wrapper

    return decorate


def _take_over(wrapper: Any, wrapped: Any) -> None:
    for name in _KEPT:
        value = getattr(wrapped, name, None)
        if isinstance(value, str) and not str.__str__(value).endswith("__"):
            try:
                setattr(wrapper, name, str.__str__(value))
            except (AttributeError, TypeError):
                return


def lru_cache(maxsize: Any = 128, typed: bool = False) -> Any:
    """`functools.lru_cache`."""
    if callable(maxsize):
        return _cached(maxsize, 128, False)
    size = None if maxsize is None else max(0, int(maxsize))

    def decorate(function: Any) -> Any:
        return _cached(function, size, bool(typed))

    return decorate


def cache(user_function: Any, /) -> Any:
    """`functools.cache`."""
    return _cached(user_function, None, False)


def _cached(function: Any, size: int | None, typed: bool) -> Any:
    make: Any = functools._lru_cache_wrapper
    wrapper = make(function, size, typed, vars(functools)["_CacheInfo"])
    _take_over(wrapper, function)
    return wrapper


@final
class CachedProperty:
    """`functools.cached_property`: computed once for each instance."""

    __slots__ = ("__function__", "__label__")

    def __init__(self, func: Callable[[Any], Any]) -> None:
        self.__function__ = func
        self.__label__: str | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        self.__label__ = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        if self.__label__ is None:
            raise TypeError("cached_property is for the body of a class")
        values = instance.__dict__
        if self.__label__ not in values:
            values[self.__label__] = self.__function__(instance)
        return values[self.__label__]

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a property cannot be copied")


FUNCTOOLS: Final[dict[str, Any]] = {
    "cache": cache,
    "cached_property": CachedProperty,
    "cmp_to_key": functools.cmp_to_key,
    "lru_cache": lru_cache,
    "partial": functools.partial,
    "reduce": functools.reduce,
    "total_ordering": functools.total_ordering,
    "wraps": wraps,
}


def contextmanager(func: Callable[..., Any]) -> Callable[..., Any]:
    """`contextlib.contextmanager`."""
    make = contextlib.contextmanager(_call(func))

    def helper(*arguments: Any, **keywords: Any) -> Any:
        return make(*arguments, **keywords)

    _take_over(helper, func)
    return helper


def asynccontextmanager(func: Callable[..., Any]) -> Callable[..., Any]:
    """`contextlib.asynccontextmanager`."""
    make = contextlib.asynccontextmanager(_call(func))

    def helper(*arguments: Any, **keywords: Any) -> Any:
        return make(*arguments, **keywords)

    _take_over(helper, func)
    return helper


def _call(func: Callable[..., Any]) -> Callable[..., Any]:
    # A plain function in between: contextlib copies the attributes of what it is given.
    def call(*arguments: Any, **keywords: Any) -> Any:
        return func(*arguments, **keywords)

    return call


CONTEXTLIB: Final[dict[str, Any]] = {
    "AbstractAsyncContextManager": contextlib.AbstractAsyncContextManager,
    "AbstractContextManager": contextlib.AbstractContextManager,
    "AsyncExitStack": contextlib.AsyncExitStack,
    "ExitStack": contextlib.ExitStack,
    "aclosing": contextlib.aclosing,
    "asynccontextmanager": asynccontextmanager,
    "closing": contextlib.closing,
    "contextmanager": contextmanager,
    "nullcontext": contextlib.nullcontext,
    "suppress": contextlib.suppress,
}


def shallow_copy(x: Any) -> Any:
    """`copy.copy`. A bound method is its own copy: the standard one reads the function's name from its owner, and a
    program chooses both.
    """
    return x if isinstance(x, MethodType) else copy.copy(x)


def deep_copy(x: Any, memo: Any = None) -> Any:
    """`copy.deepcopy`. The memo is a plain dict, or the copying of anything would run through a program's methods."""
    if memo is not None and type(memo) is not dict:
        raise TypeError(f"memo is a dict, not {type(memo).__name__}")
    return copy.deepcopy(x, memo)


COPY: Final[dict[str, Any]] = {"Error": copy.Error, "copy": shallow_copy, "deepcopy": deep_copy}

OPERATOR: Final[dict[str, Any]] = {
    name: getattr(operator, name)
    for name in [
        "abs",
        "add",
        "and_",
        "concat",
        "contains",
        "countOf",
        "delitem",
        "eq",
        "floordiv",
        "ge",
        "getitem",
        "gt",
        "iadd",
        "iand",
        "iconcat",
        "ifloordiv",
        "ilshift",
        "imatmul",
        "imod",
        "imul",
        "index",
        "indexOf",
        "inv",
        "invert",
        "ior",
        "ipow",
        "irshift",
        "is_",
        "is_not",
        "isub",
        "itemgetter",
        "itruediv",
        "ixor",
        "le",
        "length_hint",
        "lshift",
        "lt",
        "matmul",
        "mod",
        "mul",
        "ne",
        "neg",
        "not_",
        "or_",
        "pos",
        "pow",
        "rshift",
        "setitem",
        "sub",
        "truediv",
        "truth",
        "xor",
    ]
}
