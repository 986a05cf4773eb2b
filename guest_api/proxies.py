"""What a program sees of the host: roots such as `tools`, whose attribute chains are refs and whose calls are host calls.

It knows no scheduler: the caller is handed in when a program starts. A proxy holds a ref and nothing else.
"""

import re
from collections.abc import Callable
from typing import Any, Final, NoReturn, final

from guest_api import errors

_CAMEL: Final = re.compile(r"_([a-z0-9])")
_NO_DICT_NEEDED: Final = "pass keywords, or one dict: {ref}(name=value) or {ref}({{'name': value}})"

_OF_RUNS: Final = frozenset(
    f"agents.{name}" for name in ("wait", "status", "log", "stop", "steer", "followUp", "cleanup")
)
"""Their first argument may be a handle, an id, or a list of both: `await agents.wait(handle)`."""

Caller = Callable[[str, dict[str, Any]], Any]

_caller: list[Caller] = []


def connect(caller: Caller) -> None:
    """From now on calls go through `caller(ref, arguments)`, which answers an awaitable."""
    _caller[:] = [caller]


def call_host(ref: str, arguments: dict[str, Any]) -> Any:
    """Start a host call; await the answer.

    Raises: ActionError: or one of its kinds, at the await.
    """
    return _caller[0](ref, arguments)


@final
class HostNamespace:
    """A root or an inner name of the host's actions. Calling it calls the action of that ref."""

    __slots__ = ("__ref__",)

    def __init__(self, ref: str) -> None:
        object.__setattr__(self, "__ref__", ref)

    def __getattr__(self, name: str) -> "HostNamespace":
        if name.startswith("_"):
            raise AttributeError(f"{self.__ref__}.{name} is refused: names that start with _ are not host actions")
        return HostNamespace(f"{self.__ref__}.{name}")

    def __getitem__(self, name: object) -> "HostNamespace":
        if not isinstance(name, str):
            raise TypeError(f"{self.__ref__}[...] takes the name of an action")
        return self.__getattr__(str(name))

    def __call__(self, *positional: Any, **keywords: Any) -> Any:
        ref = self.__ref__
        return call_host(ref, arguments_of(ref, positional, keywords))

    def __repr__(self) -> str:
        return f"<host action {self.__ref__}>"

    def __await__(self) -> NoReturn:
        raise TypeError(f"{self.__ref__} is an action: call it, `await {self.__ref__}(...)`")

    def __iter__(self) -> NoReturn:
        raise TypeError(f"{self.__ref__} cannot be iterated over; `await tools.list()` lists the actions")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise TypeError(f"{self.__ref__}.{name} cannot be assigned")

    def __delattr__(self, name: str) -> NoReturn:
        raise TypeError(f"{self.__ref__}.{name} cannot be deleted")

    def __copy__(self) -> "HostNamespace":
        return self

    def __deepcopy__(self, memo: object) -> "HostNamespace":
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"{self.__ref__} cannot be copied")

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError("this class cannot be inherited from")


def arguments_of(ref: str, positional: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call as one dict.

    `agents.*` may spell its keywords in snake case; `tools.call` may pass its ref and arguments by position.

    Raises: ActionRejected: both forms at once, or something that is no dict.
    """
    if ref == "tools.call" and positional and isinstance(positional[0], str) and "ref" not in keywords:
        keywords = {"ref": positional[0], **keywords}
        positional = positional[1:]
        if positional and "args" not in keywords:
            keywords["args"] = positional[0]
            positional = positional[1:]
    if positional and ref in _OF_RUNS:
        positional, keywords = _run_first(positional, keywords)
    if positional:
        if len(positional) > 1 or not isinstance(positional[0], dict):
            got = ", ".join(type(value).__name__ for value in positional)
            raise errors.ActionRejected(
                f"{ref}: {_NO_DICT_NEEDED.format(ref=ref)}; got {got} by position", ref=ref
            )
        if keywords:
            raise errors.ActionRejected(f"{ref}: pass either one dict or keywords, not both", ref=ref)
        keywords = dict(positional[0])
    if ref.startswith("agents."):
        return _camel_case(ref, keywords)
    return keywords


def _run_first(positional: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Take a leading handle, id or list of runs, and a message after it; a dict of arguments stays what it is."""
    first, *rest = positional
    if isinstance(first, dict) and "runner" in first and "id" not in keywords:
        keywords = {"id": first.get("id"), **keywords}
    elif isinstance(first, str) and "id" not in keywords:
        keywords = {"id": str(first), **keywords}
    elif isinstance(first, list | tuple) and "ids" not in keywords:
        keywords = {"ids": [one.get("id") if isinstance(one, dict) else one for one in first], **keywords}
    else:
        return positional, keywords
    if rest and isinstance(rest[0], str) and "message" not in keywords:
        keywords["message"] = rest.pop(0)
    return tuple(rest), keywords


def _camel_case(ref: str, keywords: dict[str, Any]) -> dict[str, Any]:
    renamed: dict[str, Any] = {}
    for key, value in keywords.items():
        name = _CAMEL.sub(lambda found: found.group(1).upper(), key) if isinstance(key, str) else key
        if name in renamed:
            raise errors.ActionRejected(f"{ref}: {name!r} is given twice, as {key!r} too", ref=ref)
        renamed[name] = value
    return renamed
