"""How a host's results read inside a program: plain dicts whose keys are attributes too (`status.level`); it
knows no actions.
"""

from typing import Any, NoReturn, final


@final
class Result(dict[str, Any]):
    """A dict from the host. `result.level` reads `result["level"]`; everything else is a dict's own behaviour.

    A key that is also a dict method (`items`, `keys`, `values`, `get`, `copy`, `pop`, `update` …) needs the brackets.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            # The interpreter and its library look such names up on objects; a key must not answer them.
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no {name!r} here; there is {', '.join(map(str, self)) or 'nothing'}") from None

    def __setattr__(self, name: str, value: object) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        try:
            del self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __copy__(self) -> "Result":
        return Result(self)

    def copy(self) -> "Result":
        """A shallow copy that still reads as attributes."""
        return Result(self)

    def __reduce_ex__(self, protocol: object) -> Any:
        return (Result, (dict(self),))

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError("this class cannot be inherited from")


def readable(value: Any) -> Any:
    """The same data with every dict readable by attribute, at any depth."""
    kind = type(value)
    if kind is dict:
        return Result({key: readable(item) for key, item in value.items()})
    if kind is list:
        for index, item in enumerate(value):
            if type(item) is dict or type(item) is list:
                value[index] = readable(item)
    return value
