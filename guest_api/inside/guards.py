"""The builtins of a program, as one frozen expression, and the globals that it starts with.

Intentionally absent: bare `type`, `getattr`, `setattr`, `delattr`, `vars`, `globals`, `locals`, `dir`, `eval`,
`exec`, `compile`,
`open`, `input`, `breakpoint`, `help`, exception groups. Rewritten calls reach the helpers of dunder names at
the end, which a
program cannot spell.
Invariant: no callable here turns a string into an attribute access or into code.
Attacked by `tests/escapes/programs` and `tests/guest_api/test_exports.py`.
"""

import builtins
import datetime as dt
from collections.abc import Callable, Sequence
from types import GenericAlias, MappingProxyType
from typing import Any, Final

from guest_api import errors, proxies
from guest_api.inside import formatting
from guest_api.inside.compile_policy import FORMAT_CALL, FORMAT_MAP_CALL, GETATTR_CALL, HASATTR_CALL, TYPE_CALL
from guest_api.inside.modules import classes
from guest_api.inside.modules.namespace import FrozenNamespace
from guest_api.inside.modules.table import MODULES, import_module
from guest_api.inside.scheduler import DeadlockError

_PLAIN: Final = (
    "Ellipsis False None NotImplemented True abs aiter all anext any ascii bin bool bytearray bytes callable "
    "chr classmethod "
    "complex dict divmod enumerate filter float format frozenset hash hex id int isinstance issubclass iter len "
    "list map max "
    "memoryview min next object oct ord pow property range repr reversed round set slice sorted staticmethod "
    "str sum super "
    "tuple zip"
)
_GROUPS: Final = frozenset({"BaseExceptionGroup", "ExceptionGroup"})


def _type_of(value: Any) -> type:
    """`type(x)` with one argument. The type of a class is not told: calling it would make classes from strings."""
    kind = type(value)
    if issubclass(kind, type):
        raise TypeError("type(x) of a class is not offered: compare classes with `is` or issubclass")
    if kind in _NOT_TO_BE_MADE or issubclass(kind, GenericAlias):
        raise TypeError(f"type(x) of {value!r} is not offered")
    return kind


_NOT_TO_BE_MADE: Final = frozenset({FrozenNamespace, proxies.HostNamespace})
"""Their objects may have attributes of any name, and the interpreter looks some up on an object, not on its class. The
same is true of what `list[int]` answers: it has every attribute of what it was made from."""
_ERRORS: Final[tuple[type[errors.ActionError], ...]] = (errors.ActionError, *errors.BY_KIND.values())
_MISSING: Final = object()


def _get_attribute(value: Any, name: str, default: Any = _MISSING) -> Any:
    """`getattr` with a literal name that the policy has checked."""
    if default is _MISSING:
        return getattr(value, name)
    return getattr(value, name, default)


BUILTINS: Final = MappingProxyType(
    {
        **{name: getattr(builtins, name) for name in _PLAIN.split()},
        **{
            name: value
            for name, value in vars(builtins).items()
            if isinstance(value, type) and issubclass(value, BaseException) and name not in _GROUPS
        },
        **{each.__name__: each for each in _ERRORS},
        "DeadlockError": DeadlockError,
        "__build_class__": builtins.__build_class__,
        "__import__": import_module,
        FORMAT_CALL: formatting.format_call,
        FORMAT_MAP_CALL: formatting.format_map_call,
        TYPE_CALL: _type_of,
        GETATTR_CALL: _get_attribute,
        HASATTR_CALL: hasattr,
        **classes.ANNOTATIONS,
    }
)

MISSING_BUILTINS: Final = MappingProxyType(
    {
        "type": "type(x) works as a direct call only",
        "getattr": 'getattr(x, "name") works with a literal, public name only',
        "hasattr": 'hasattr(x, "name") works with a literal, public name only',
        "setattr": "write x.name = value, or use a dict",
        "delattr": "write del x.name, or use a dict",
        "vars": "use dataclasses.asdict(x), or keep the data in a dict",
        "globals": "keep the data in a dict",
        "locals": "keep the data in a dict",
        "dir": "dataclasses.fields(x) names the fields of a dataclass",
        "compile": "text never becomes code here",
        "eval": "text never becomes code here; json.loads reads data",
        "exec": "text never becomes code here",
        "open": "the guest has no files: call a host action such as pi.read or pi.write",
        "input": "`input` is the program's input",
        "exit": "use return",
        "quit": "use return",
        "sys": "the guest has no interpreter settings",
        "os": "the guest has no files, environment or processes: call a host action",
        "ExceptionGroup": "exception groups do not occur here",
        "BaseExceptionGroup": "exception groups do not occur here",
    }
)


def missing_name_hint(name: str | None) -> str:
    """What to write instead of a name that is not there."""
    if name is None:
        return ""
    if name in MISSING_BUILTINS:
        return f" ({MISSING_BUILTINS[name]})"
    if name in MODULES:
        return f" (write `import {name}` first)"
    return ""


def program_globals(namespaces: Sequence[str], given: Any, print_function: Callable[..., None]) -> dict[str, Any]:
    """What a program starts with: its builtins, its input, the host's roots, and `asyncio`."""
    space: dict[str, Any] = {
        "__builtins__": {**BUILTINS, "print": print_function},
        "__name__": "__main__",
        "asyncio": MODULES["asyncio"],
        "input": given,
    }
    for name in namespaces:
        space[name] = proxies.HostNamespace(name)
    return space


def preimport() -> None:
    """Make the standard library do its late imports now."""
    import encodings.ascii
    import encodings.idna
    import encodings.latin_1
    import encodings.utf_8
    import encodings.utf_16  # noqa: F401

    now = dt.datetime.strptime("2026-01-02", "%Y-%m-%d")  # noqa: DTZ007
    now.strftime("%A %d %B %Y")
    for name in ("utf-8", "ascii", "latin-1", "utf-16", "utf-32", "cp1252", "unicode_escape", "rot13", "hex", "base64"):
        __import__("codecs").lookup(name)
