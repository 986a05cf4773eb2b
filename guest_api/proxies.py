"""What a program sees of the host: roots such as `tools`, whose attribute chains are refs and whose calls are
host calls.

It knows no scheduler: the caller is handed in when a program starts. A proxy holds a ref and nothing else.
"""

from collections.abc import Callable
from typing import Any, Final, NoReturn, final

from guest_api import agents, errors, tools

_FORMS: Final = (
    "pass keywords, one dict, or one text first: {ref}(name=value), {ref}({{'name': value}}) "
    "or {ref}('text', name=value)"
)

Arguments = dict[str, Any] | list[Any]
"""Named arguments; or one text and named ones, `["notes.txt", {"limit": 5}]`: the host knows the text's name."""
Caller = Callable[[str, Arguments], Any]

_caller: list[Caller] = []


def connect(caller: Caller) -> None:
    """From now on calls go through `caller(ref, arguments)`, which answers an awaitable."""
    _caller[:] = [caller]


def call_host(ref: str, arguments: Arguments) -> Any:
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

    def __call__(self, /, *positional: Any, **keywords: Any) -> Any:
        """Start the call; await the answer."""
        ref = str(object.__getattribute__(self, "__ref__"))
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


def arguments_of(ref: str, positional: tuple[Any, ...], keywords: dict[str, Any]) -> Arguments:
    """The arguments of a call as they travel.

    One text may come by position; the host gives it the name of the action's first required parameter.
    `agents.*` may spell its keywords in snake case; `tools.call` may pass its ref and arguments by position.

    Raises: ActionRejected: a dict and keywords at once, or anything else by position.
    """
    if ref == tools.CALL:
        positional, keywords = tools.named(positional, keywords)
    elif positional and ref in agents.OF_RUNS:
        positional, keywords = agents.run_first(positional, keywords)
    first: str | None = None
    if positional:
        if len(positional) == 1 and isinstance(positional[0], str) and ref != tools.CALL:
            first = str(positional[0])
        elif len(positional) > 1 or not isinstance(positional[0], dict):
            got = ", ".join(type(value).__name__ for value in positional)
            raise errors.ActionRejected(f"{ref}: {_FORMS.format(ref=ref)}; got {got} by position", ref=ref)
        elif keywords:
            raise errors.ActionRejected(f"{ref}: pass either one dict or keywords, not both", ref=ref)
        else:
            keywords = dict(positional[0])
    if ref.startswith("agents."):
        keywords = agents.camel_case(ref, keywords)
    return keywords if first is None else [first, keywords]
