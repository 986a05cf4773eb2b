"""`str.format` whose fields may name no more than a program could spell; the policy rewrites every call to it.

Invariant: a template reaches an attribute only through `names.attribute_problem`, and a value is formatted by its own
`__format__`, never by a nested template.
Attacked by `tests/escapes/programs` (format programs) and `tests/guest_api/test_formatting.py`.
"""

import _string  # type: ignore[import-not-found]
from collections.abc import Mapping
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any, Final

from guest_api.inside import names

_MAX_NESTING: Final = 2
"""As Python itself: a format spec may hold fields, those may not."""
_STR_FORMAT: Final = str.format
_STR_FORMAT_MAP: Final = str.format_map
_PROGRAM_FILENAME: Final = "<program>"


def template_problem(template: str) -> str | None:
    """Why a literal template is refused at compile time; a malformed one is left to fail when it runs."""
    try:
        for _, field, spec, _ in _string.formatter_parser(template):
            if field is None:
                continue
            _, rest = _string.formatter_field_name_split(field)
            for is_attribute, key in rest:
                problem = _field_problem(key) if is_attribute else None
                if problem is not None:
                    return problem
            problem = template_problem(spec) if spec else None
            if problem is not None:
                return problem
    except ValueError:
        return None
    return None


def format_call(owner: Any, /, *arguments: Any, **keywords: Any) -> Any:
    """What `owner.format(...)` answers."""
    template, found, arguments = _template_of(owner, "format", arguments)
    if template is None:
        return found(*arguments, **keywords)
    return _render(template, arguments, keywords)


def format_map_call(owner: Any, /, *arguments: Any) -> Any:
    """What `owner.format_map(values)` answers."""
    template, found, arguments = _template_of(owner, "format_map", arguments)
    if template is None:
        return found(*arguments)
    if len(arguments) != 1:
        raise TypeError(f"format_map() takes exactly one argument ({len(arguments)} given)")
    return _render(template, (), arguments[0])


def _template_of(owner: Any, method: str, arguments: tuple[Any, ...]) -> tuple[str | None, Any, tuple[Any, ...]]:
    """The template when this is str's own method, however it was reached; else None and the method that was looked at:
    a second look could find another one.
    """
    if type(owner) is str:
        return owner, None, arguments
    found = owner.format if method == "format" else owner.format_map
    if isinstance(found, BuiltinMethodType):
        bound = found.__self__
        if isinstance(bound, str):
            return str.__str__(bound), None, arguments
    if found is _STR_FORMAT or found is _STR_FORMAT_MAP:
        if not arguments or not isinstance(arguments[0], str):
            raise TypeError(f"str.{method} needs a string first")
        return str.__str__(arguments[0]), None, arguments[1:]
    function = found.__func__ if isinstance(found, MethodType) else found
    if isinstance(function, FunctionType) and function.__code__.co_filename != _PROGRAM_FILENAME:
        raise TypeError(f"{type(owner).__name__}.{method} is not offered; use an f-string")
    return None, found, arguments


def _render(template: str, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> str:
    counter = [0]
    return _render_level(template, arguments, keywords, counter, _MAX_NESTING)


def _render_level(
    template: str, arguments: tuple[Any, ...], keywords: Mapping[str, Any], counter: list[int], depth: int
) -> str:
    if depth == 0:
        raise ValueError("Max string recursion exceeded")
    pieces: list[str] = []
    for literal, field, spec, conversion in _string.formatter_parser(template):
        if literal:
            pieces.append(literal)
        if field is None:
            continue
        value = _lookup(field, arguments, keywords, counter)
        if conversion == "r":
            value = repr(value)
        elif conversion == "s":
            value = str(value)
        elif conversion == "a":
            value = ascii(value)
        elif conversion is not None:
            raise ValueError(f"Unknown conversion specifier {conversion!r}")
        if spec and "{" in spec:
            spec = _render_level(spec, arguments, keywords, counter, depth - 1)  # noqa: PLW2901
        pieces.append(format(value, spec or ""))
    return "".join(pieces)


def _lookup(field: str, arguments: tuple[Any, ...], keywords: Mapping[str, Any], counter: list[int]) -> Any:
    first, rest = _string.formatter_field_name_split(field)
    if first == "":
        if counter[0] < 0:
            raise ValueError("cannot switch from manual field specification to automatic field numbering")
        first = counter[0]
        counter[0] += 1
    elif isinstance(first, int):
        if counter[0] > 0:
            raise ValueError("cannot switch from automatic field numbering to manual field specification")
        counter[0] = -1
    if isinstance(first, int):
        if first >= len(arguments):
            raise IndexError(f"Replacement index {first} out of range for positional args tuple")
        value = arguments[first]
    else:
        value = keywords[first]
    for is_attribute, key in rest:
        if is_attribute:
            problem = _field_problem(key)
            if problem is not None:
                raise ValueError(problem)
            value = getattr(value, key)
        else:
            value = value[key]
    return value


def _field_problem(key: str) -> str | None:
    if key.startswith("_"):
        return f'"{key}" is refused in a format field'
    return names.attribute_problem(key)
