"""`functools`, `contextlib`, `copy` and `operator`: own versions of what would copy or read attributes by string."""

import contextlib
import copy
import copyreg
import functools
import operator
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType
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


class _Manager(contextlib._GeneratorContextManager[Any, Any, Any]):
    """What a context manager function answers; as a decorator it takes over fixed attributes, as `wraps` does."""

    def __call__(self, func: Any) -> Any:
        """Run `func` inside the context."""

        def inner(*arguments: Any, **keywords: Any) -> Any:
            with self._recreate_cm():
                return func(*arguments, **keywords)

        return wraps(func)(inner)


class _AsyncManager(contextlib._AsyncGeneratorContextManager[Any, Any]):
    """The same for an async one."""

    def __call__(self, func: Any) -> Any:
        """Run `func` inside the context."""

        async def inner(*arguments: Any, **keywords: Any) -> Any:
            async with self._recreate_cm():
                return await func(*arguments, **keywords)

        return wraps(func)(inner)


def contextmanager(func: Callable[..., Any]) -> Callable[..., Any]:
    """`contextlib.contextmanager`."""
    return _making(_Manager, func)


def asynccontextmanager(func: Callable[..., Any]) -> Callable[..., Any]:
    """`contextlib.asynccontextmanager`."""
    return _making(_AsyncManager, func)


def _making(manager: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **keywords: Any) -> Any:
        # A plain function in between: contextlib copies the attributes of what it is given.
        return func(*arguments, **keywords)

    def helper(*arguments: Any, **keywords: Any) -> Any:
        return manager(call, arguments, keywords)

    _take_over(helper, func)
    return helper


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
    """`copy.deepcopy`, with a program's memo in view.

    The standard one looks everything up in the memo and leaves everything there, also the dict of attributes from which
    it makes the copy: a program that holds the memo (`__deepcopy__` is handed it) put names of its choice into that
    dict. Here an object's attributes have the names that they had, and classes and functions are never looked up.
    The memo is a plain dict, or the copying of anything would run through a program's methods.
    """
    if memo is not None and type(memo) is not dict:
        raise TypeError(f"memo is a dict, not {type(memo).__name__}")
    return _deep(x, {} if memo is None else memo)


_UNKNOWN: Final = object()
_ATOMS: Final = frozenset(
    {
        *(bool, int, float, complex, bytes, str, range, property),
        *(type(None), type(Ellipsis), type(NotImplemented), BuiltinFunctionType, FunctionType),
    }
)


def _deep(x: Any, memo: dict[int, Any]) -> Any:
    kind = type(x)
    if kind in _ATOMS or issubclass(kind, type):
        return x
    known = memo.get(id(x), _UNKNOWN)
    if known is not _UNKNOWN:
        return known
    made: Any
    if kind is list:
        memo[id(x)] = made = []
        for item in x:
            made.append(_deep(item, memo))
    elif kind is dict:
        memo[id(x)] = made = {}
        for key, item in x.items():
            made[_deep(key, memo)] = _deep(item, memo)
    elif kind is tuple:
        made = _deep_tuple(x, memo)
    elif kind is MethodType:
        made = MethodType(x.__func__, _deep(x.__self__, memo))
    else:
        made = _deep_object(x, memo)
    if made is not x:
        memo[id(x)] = made
        memo.setdefault(id(memo), []).append(x)  # lives as long as the memo: its id means nothing else meanwhile
    return made


def _deep_tuple(x: tuple[Any, ...], memo: dict[int, Any]) -> Any:
    made = tuple([_deep(item, memo) for item in x])
    known = memo.get(id(x), _UNKNOWN)
    if known is not _UNKNOWN:
        return known  # it holds itself, and was copied on the way
    return x if all(new is old for new, old in zip(made, x, strict=True)) else made


def _deep_object(x: Any, memo: dict[int, Any]) -> Any:
    copier = getattr(x, "__deepcopy__", None)
    if copier is not None:
        return copier(memo)
    reduce = copyreg.dispatch_table.get(type(x))
    reduced = reduce(x) if reduce is not None else x.__reduce_ex__(4)
    return x if isinstance(reduced, str) else _rebuilt(x, memo, *reduced)


def _rebuilt(
    x: Any,
    memo: dict[int, Any],
    make: Any,
    arguments: tuple[Any, ...],
    state: Any = None,
    items: Any = None,
    pairs: Any = None,
) -> Any:
    made = make(*[_deep(each, memo) for each in arguments])
    memo[id(x)] = made
    if state is not None:
        state = _deep_state(state, memo)
        if hasattr(made, "__setstate__"):
            made.__setstate__(state)
        else:
            plain, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
            if plain is not None:
                made.__dict__.update(plain)
            for name, value in (slots or {}).items():
                setattr(made, name, value)
    for item in items or ():
        made.append(_deep(item, memo))
    for key, value in pairs or ():
        made[_deep(key, memo)] = _deep(value, memo)
    return made


def _deep_state(state: Any, memo: dict[int, Any]) -> Any:
    """The values are copied, the names are those that were there; the memo never sees what holds them."""
    if type(state) is dict:
        return {name: _deep(value, memo) for name, value in state.items()}
    if type(state) is tuple:
        return tuple([_deep_state(each, memo) for each in state])
    return _deep(state, memo)


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
