"""The stand-in for a module: chosen names, read only; it knows no module in particular."""

from collections.abc import Mapping
from typing import Any, NoReturn, final


@final
class FrozenNamespace:
    """What `import x` binds.

    It has no readable `__name__`: `from x import y` falls back to the interpreter's own table of modules under
    `x.__name__ + "." + y` when `y` is missing, and would hand out a real module.
    """

    def __init__(self, title: str, members: Mapping[str, Any]) -> None:
        self.__dict__.update(members)
        self.__dict__["__title__"] = title

    def __getattr__(self, name: str) -> NoReturn:
        title = self.__dict__.get("__title__", "module")
        if name.startswith("__"):
            raise AttributeError(name)
        offered = ", ".join(member for member in sorted(self.__dict__) if not member.startswith("_"))
        raise AttributeError(f"{title}.{name} is not offered here; {title} has: {offered}")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise TypeError(f"{self.__dict__['__title__']} is read only")

    def __delattr__(self, name: str) -> NoReturn:
        raise TypeError(f"{self.__dict__['__title__']} is read only")

    def __repr__(self) -> str:
        return f"<module {self.__dict__['__title__']!r}>"

    def __copy__(self) -> "FrozenNamespace":
        return self

    def __deepcopy__(self, memo: object) -> "FrozenNamespace":
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a module cannot be copied")

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError("this class cannot be inherited from")


def members_of(namespace: FrozenNamespace) -> dict[str, Any]:
    """The exported names; for the import statement and for tests that walk every export."""
    return {name: value for name, value in namespace.__dict__.items() if not name.startswith("_")}
