"""Argument problems in plain words: which field, what came, what was wanted, and the closest valid name.

It explains msgspec Structs; JSON Schemas are explained by `host_bridge.arguments` with the same `Problem`.
"""

import dataclasses
import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, get_args, get_origin

import msgspec

from host_bridge.type_words import Field, bare, choices, dataclass_fields, wanted

GOT_LIMIT_CHARACTERS = 80
MOST_INSIDE: Final = 5
"""Problems told of one list or dict: a thousand bad rows are told by the first few."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a call's arguments."""

    field: str
    """`level`, `rows[3].score`; empty: the arguments as a whole."""
    got: str
    """As the program wrote it, shortened."""
    wanted: str
    closest: str | None = None
    """The valid name or value that was probably meant."""

    def line(self) -> str:
        """`level: got 'hgih', wanted one of 'low', 'high'; did you mean 'high'?`"""
        hint = f"; did you mean {self.closest!r}?" if self.closest else ""
        return f"{self.field or 'arguments'}: got {self.got}, wanted {self.wanted}{hint}"


class ArgumentValidator(Protocol):
    """Judges arguments against a JSON Schema; implemented where a schema library is at hand."""

    def problems(self, schema: Any, arguments: dict[str, Any]) -> Sequence[Problem]:
        """Every problem, in the order of the fields; empty: valid. Never fetches anything."""


def problems_text(ref: str, problems: Iterable[Problem]) -> str:
    """The refusal: the ref and one line per problem."""
    lines = [problem.line() for problem in problems]
    if len(lines) == 1:
        return f"{ref}: {lines[0]}"
    return "\n".join([f"{ref}: {len(lines)} problems with the arguments", *lines])


def problem_details(problems: Iterable[Problem]) -> dict[str, Any]:
    """The same for programs: what a caught refusal carries as `details`."""
    return {
        "problems": [
            {"field": p.field, "got": p.got, "wanted": p.wanted, **({"closest": p.closest} if p.closest else {})}
            for p in problems
        ]
    }


def show(value: Any) -> str:
    """A value as a program would write it, shortened."""
    text = repr(value)
    return text if len(text) <= GOT_LIMIT_CHARACTERS else text[: GOT_LIMIT_CHARACTERS - 1] + "…"


def closest(got: object, names: Iterable[str]) -> str | None:
    """The valid name nearest to what was written; None when nothing comes near."""
    if not isinstance(got, str):
        return None
    folded = {name.casefold(): name for name in names}
    found = difflib.get_close_matches(got[:100].casefold(), folded, n=1, cutoff=0.5)
    return folded[found[0]] if found else None


def struct_problems(parameters: type[msgspec.Struct], arguments: dict[str, Any], error: Exception) -> list[Problem]:
    """Why `arguments` do not decode into `parameters`; `error` is what msgspec said, used when it knows more."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(parameters)}
    return _fields_problems(fields, arguments, error, closed=parameters.__struct_config__.forbid_unknown_fields)


def _fields_problems(
    fields: Mapping[str, Field], arguments: dict[str, Any], error: Exception, *, closed: bool
) -> list[Problem]:
    names = list(fields)
    # A field that was given is not what a misspelt one meant.
    missing_first = [name for name in names if name not in arguments] or names
    problems = [
        Problem(name, show(arguments[name]), f"one of {', '.join(names)}", closest(name, missing_first))
        if names
        else Problem(name, show(arguments[name]), "no arguments")
        for name in arguments
        if name not in fields and closed
    ]
    for name, field in fields.items():
        if name not in arguments:
            if field.required:
                problems.append(Problem(name, "nothing", wanted(field.type)))
            continue
        value = arguments[name]
        try:
            msgspec.convert(value, field.type, strict=True, str_keys=True)
        except (msgspec.ValidationError, RecursionError) as fault:
            problems += _explained(name, value, field.type, fault)
    if not problems:
        # The fields are fine one by one: a rule between them (`__post_init__`) refused.
        # It may name its own field: `turns: got 3, wanted no turns`.
        own, named, rest = _reason(error).partition(": got ")
        got, _, wish = rest.partition(", wanted ")
        whole = Problem("", show(arguments), _reason(error))
        root = own.partition(".")[0].partition("[")[0]
        problems.append(Problem(own, got, wish) if named and wish and root in fields else whole)
    return problems


def _explained(name: str, value: Any, kind: Any, fault: Exception) -> list[Problem]:
    """Every problem inside one value, each under its own path: `place.lat`, `rows[3].score`."""
    plain = bare(kind)
    inside: list[Problem] = []
    if isinstance(value, dict) and isinstance(plain, type) and issubclass(plain, msgspec.Struct):
        inside = struct_problems(plain, value, fault)
    elif isinstance(value, dict) and dataclasses.is_dataclass(plain) and isinstance(plain, type):
        inside = _fields_problems(dataclass_fields(plain), value, fault, closed=False)
    if inside:
        return [replace(one, field=f"{name}.{one.field}" if one.field else name) for one in inside]
    origin, parts = get_origin(plain), get_args(plain)
    items: Iterable[tuple[str, Any]] = ()
    if isinstance(value, list) and origin in (list, set, frozenset) and parts:
        items = ((f"{name}[{index}]", item) for index, item in enumerate(value))
    elif isinstance(value, dict) and origin is dict and len(parts) > 1:
        items = ((f"{name}.{key}", item) for key, item in value.items())
    for path, item in items:
        try:
            msgspec.convert(item, parts[-1], strict=True, str_keys=True)
        except (msgspec.ValidationError, RecursionError) as error:
            inside += _explained(path, item, parts[-1], error)
        if len(inside) >= MOST_INSIDE:
            break
    return inside or [_field_problem(name, value, kind, fault)]


def _field_problem(name: str, value: Any, kind: Any, fault: Exception) -> Problem:
    """The problem of one field; a fault deeper inside it is named by its own path."""
    reason, _, path = str(fault).partition(" - at `$")
    if path:
        inner = path.removesuffix("`")
        return Problem(name + inner, show(_at(value, inner)), _lower_first(reason.replace("`", "")))
    return Problem(name, show(value), wanted(kind), closest(value, [c for c in choices(kind) if isinstance(c, str)]))


def _at(value: Any, path: str) -> Any:
    """The value under `.rows[3].score`, as far as it can be followed."""
    for part in path.replace("[", ".[").split("."):
        try:
            if part.startswith("["):
                value = value[int(part[1:-1])]
            elif part:
                value = value[part]
        except (KeyError, IndexError, TypeError, ValueError):
            break
    return value


def _reason(error: Exception) -> str:
    return _lower_first(str(error).split(" - at `$")[0])


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
