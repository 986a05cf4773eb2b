"""Which names a program may spell, and what to use instead of a refused one; it knows no syntax tree.

Invariant: compile policy, formatter and every helper that takes a name ask this file, so there is one answer
per name.
Attacked by `tests/escapes/programs` (one program per refused name) and `tests/guest_api/test_policy_fuzz.py`.
"""

from typing import Final

_PLAIN_METHODS: Final = (
    "init post_init repr str bool len hash eq ne lt le gt ge iter next reversed contains getitem setitem "
    "delitem missing "
    "call enter exit aenter aexit aiter anext int float index round trunc floor ceil neg pos abs invert format "
    "copy deepcopy"
)
_OPERATORS: Final = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor"

CLASS_METHODS: Final = frozenset(f"__{name}__" for name in _PLAIN_METHODS.split()) | frozenset(
    f"__{prefix}{name}__" for name in _OPERATORS.split() for prefix in ("", "r", "i")
)
"""What a class may define, and what zero-argument `super().` may name."""
READABLE: Final = frozenset({"__name__", "__qualname__", "__doc__", "__cause__"})
"""The dunder attributes that a program may read."""

_FRAME_NAMES: Final = frozenset(
    [
        "f_back",
        "f_builtins",
        "f_code",
        "f_generator",
        "f_globals",
        "f_lasti",
        "f_lineno",
        "f_locals",
        "f_trace",
        "f_trace_lines",
        "f_trace_opcodes",
        "tb_frame",
        "tb_lasti",
        "tb_lineno",
        "tb_next",
        "co_code",
        "co_consts",
    ]
)
_SUSPENDED_PREFIXES: Final = ("gi_", "cr_", "ag_")
"""Attributes of generators, coroutines and async generators: their frames and code."""
FORMATTERS: Final = frozenset({"format", "format_map"})
READABLE_SUNDER: Final = frozenset(
    {"_value_", "_name_", "_missing_", "_generate_next_value_", "_ignore_", "_order_", "_numeric_repr_", "_"}
)
"""Of the enums' own names. The others are workings of their metaclass: `_convert_` reads any module by its name."""

_HINTS: Final = {
    "__class__": "use type(x)",
    "__dict__": "use dataclasses.asdict(x), or keep the data in a dict",
    "__members__": "iterate over the enum class",
    "__annotations__": "annotations are never evaluated here",
    "__traceback__": "the run reports the line of an uncaught error",
    "__context__": "use __cause__ with `raise ... from ...`",
    "__import__": "use an import statement",
    "__builtins__": "the builtins are already in scope",
    "__file__": "a program has no file",
    "__new__": "use __init__ or a classmethod",
    "__del__": "use a context manager",
    "__getattr__": "use __getitem__, or define the attributes",
    "__setattr__": "use __setitem__ or a property",
    "__await__": "write an async def",
    "__init_subclass__": "use a class decorator",
    "__class_getitem__": "inherit from typing.Generic",
    "__subclasses__": "keep a list of the classes yourself",
    "mro": "use isinstance or issubclass",
    "obj": "the missing attribute's owner is not readable; use another name",
    "with_traceback": "use `raise error` or `raise error from cause`",
    "format": "call it directly: text.format(...), or use an f-string",
    "format_map": "call it directly: text.format_map(values), or use an f-string",
}
_REFUSED_PLAIN: Final = frozenset({"obj", "with_traceback", "mro"}) | FORMATTERS


def is_dunder(name: str) -> bool:
    """Whether the language itself gives this name a meaning."""
    return name.startswith("__") and name.endswith("__")


def attribute_problem(name: str, *, allow_methods: bool = False) -> str | None:
    """Why `x.name` is refused, with what to use instead; None when it is fine."""
    if is_dunder(name):
        if name in READABLE or (allow_methods and name in CLASS_METHODS):
            return None
        if name in CLASS_METHODS:
            return f'"{name}" may only be defined in a class or called on super(); {_operator_hint(name)}'
        return _refusal(name)
    if name.startswith("_") and name.endswith("_") and name not in READABLE_SUNDER:
        return _refusal(name)
    if name in _REFUSED_PLAIN or name in _FRAME_NAMES or name.startswith(_SUSPENDED_PREFIXES):
        return _refusal(name)
    return None


def variable_problem(name: str) -> str | None:
    """Why a variable, argument, function or class may not have this name; None when it is fine."""
    if is_dunder(name) and name != "__":
        return _refusal(name)
    if name in {"super", "builtins", "breakpoint"}:
        return _refusal(name)
    return None


def _refusal(name: str) -> str:
    hint = _HINTS.get(name)
    if hint is None:
        if name.startswith(("tb_", "f_", "co_", *_SUSPENDED_PREFIXES)):
            hint = "frames and code objects are not readable"
        elif name.startswith("_") and name.endswith("_") and not is_dunder(name):
            hint = "names of the form _x_ belong to the enums"
        elif is_dunder(name):
            hint = "names of the form __x__ belong to the language"
        else:
            hint = "choose another name"
    return f'"{name}" is refused: {hint}'


def _operator_hint(name: str) -> str:
    if name == "__init__":
        return "use super().__init__(...)"
    return "use the operator or builtin that it stands for"
