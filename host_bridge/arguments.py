"""Whether a call's arguments fit a JSON Schema, and in plain words where not; it knows no action and no policy.

Invariant: a schema is data from a stranger: nothing it names is ever fetched, and an unusable one refuses its calls.
Attacked by `tests/host_bridge/test_arguments.py`.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn

from host_bridge.argument_errors import Problem, closest, show
from host_bridge.schema_words import (
    KINDS,
    SHOWN_NAMES,
    either,
    field_path,
    one_of,
    property_names,
    property_of,
    rule,
    subschema_at,
    texts,
    wanted,
)

SHOWN_PROBLEMS: Final = 20
"""One line per problem, but a list of 10 000 bad items must not become 10 000 lines."""
KEPT_SCHEMAS: Final = 4096
"""Compiled schemas kept; a compiled schema of a real tool is about 10 kB."""


class SchemaUnusableError(Exception):
    """A schema that cannot be compiled: malformed, or it points outside itself."""


class SchemaLibraryMissingError(SchemaUnusableError):
    """The optional validator is not installed; the message names the extra."""


class SchemaValidator:
    """`argument_errors.ArgumentValidator` for JSON Schema; each schema is compiled once, whoever asks."""

    def __init__(self) -> None:
        self._compiled: OrderedDict[int, tuple[object, Any]] = OrderedDict()

    def compile(self, schema: Mapping[str, Any]) -> Any:
        """The compiled validator of `schema`, made at the first call.

        Raises: SchemaUnusableError: malformed, or a `$ref` that leaves the schema; nothing was fetched.
        """
        known = self._compiled.get(id(schema))
        if known is not None:
            self._compiled.move_to_end(id(schema))
            if isinstance(known[1], SchemaUnusableError):
                raise known[1].with_traceback(None)
            return known[1]
        try:
            compiled = _compile(schema)
        except SchemaUnusableError as error:
            self._keep(schema, error)
            raise
        self._keep(schema, compiled)
        return compiled

    def problems(self, schema: Mapping[str, Any] | None, arguments: object) -> list[Problem]:
        """What is wrong with `arguments`; empty: they fit. An unusable schema is itself a problem: its tool is refused.

        Raises: nothing.
        """
        if schema is None:
            return [] if isinstance(arguments, dict) else [Problem("", show(arguments), "a dict")]
        try:
            return self._problems(schema, arguments)
        except SchemaUnusableError as error:
            return [Problem("", "a call", f"a tool with a usable input schema; this one's is not: {error}")]

    def _problems(self, schema: Mapping[str, Any], arguments: object) -> list[Problem]:
        found: dict[str, Problem] = {}
        for error in self.compile(schema).iter_errors(arguments):
            for problem in _explain(error, schema):
                found.setdefault(problem.line(), problem)
            if len(found) > SHOWN_PROBLEMS:
                kept = list(found.values())[:SHOWN_PROBLEMS]
                return [*kept, Problem("", "more problems than these", "none")]
        return list(found.values())

    def _keep(self, schema: object, compiled: object) -> None:
        # The schema itself is kept beside its result, so that its id cannot be given to another object.
        self._compiled[id(schema)] = (schema, compiled)
        if len(self._compiled) > KEPT_SCHEMAS:
            self._compiled.popitem(last=False)


def _compile(schema: Mapping[str, Any]) -> Any:
    try:
        import jsonschema_rs
    except ImportError:
        raise SchemaLibraryMissingError(
            "checking it needs the extra `schema`: pip install 'pi-fabric-py[schema]'"
        ) from None
    try:
        # The library's own default would fetch: a schema must never make this process open anything.
        return jsonschema_rs.validator_for(dict(schema), retriever=_refuse)
    except RecursionError:
        raise SchemaUnusableError("it is nested too deeply") from None
    except Exception as error:
        # The library tells of what it could not read in many words before ours.
        told = str(getattr(error, "message", error)).rpartition("retrieving it failed: ValueError: ")[2]
        raise SchemaUnusableError(_first_line(told)) from None


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"a schema may not point to {uri}: nothing outside the schema is read")


def _explain(error: Any, schema: Mapping[str, Any]) -> Iterable[Problem]:
    where = field_path(error.instance_path)
    kind = error.kind
    got = show(error.instance)
    match kind.name:
        case "required":
            return _missing(error, subschema_at(schema, error.schema_path[:-1]))
        case "additionalProperties" | "unevaluatedProperties":
            known = property_names(subschema_at(schema, error.schema_path[:-1]))
            given = error.instance if isinstance(error.instance, dict) else {}
            return [_unknown([*error.instance_path, name], name, given, known) for name in kind.unexpected]
        case "type":
            return [Problem(where, got, either(KINDS.get(name, name) for name in kind.types))]
        case "enum":
            return [Problem(where, got, one_of(kind.options), closest(error.instance, texts(kind.options)))]
        case "const":
            return [Problem(where, got, show(kind.expected_value))]
        case "anyOf" | "oneOf":
            return _branches(error, schema, where)
        case "propertyNames":
            return [Problem(where, got, f"fields with allowed names: {_first_line(kind.error.message)}")]
        case _:
            return [Problem(where, got, rule(kind))]


def _missing(error: Any, subschema: Any) -> list[Problem]:
    """A missing field, and the misspelt one beside it: many schemas let unknown names pass, a reader does not."""
    name = error.kind.property
    problems = [Problem(field_path([*error.instance_path, name]), "nothing", wanted(property_of(subschema, name)))]
    known = property_names(subschema)
    if isinstance(error.instance, dict) and not _forbids_others(subschema):
        unknown = [given for given in error.instance if given not in known]
        near = closest(name, unknown)
        if near is not None:
            problems.append(_unknown([*error.instance_path, near], near, error.instance, known))
    return problems


def _forbids_others(subschema: Any) -> bool:
    """Whether unknown names are a problem of their own already."""
    return isinstance(subschema, Mapping) and subschema.get("additionalProperties") is False


def _branches(error: Any, schema: Mapping[str, Any], where: str) -> Iterable[Problem]:
    """The alternative that came closest speaks; when none fits even in kind, the kinds are listed."""
    context = getattr(error.kind, "context", None) or []
    fitting = [branch for branch in context if branch and not any(_is_other_kind(inner, error) for inner in branch)]
    if fitting and (error.kind.name != "oneOf" or len(fitting) == 1):
        nearest = min(fitting, key=len)
        return [problem for inner in nearest for problem in _explain(inner, schema)]
    alternatives = subschema_at(schema, error.schema_path)
    options = alternatives if isinstance(alternatives, list) else []
    text = either(dict.fromkeys(wanted(option) for option in options)) if options else "one of the allowed forms"
    if error.kind.name == "oneOf" and not all(context):
        text = f"a value that fits only one of: {text}"
    choices = [choice for option in options if isinstance(option, Mapping) for choice in texts(option.get("enum"))]
    return [Problem(where, show(error.instance), text, closest(error.instance, choices))]


def _is_other_kind(inner: Any, outer: Any) -> bool:
    """True: this alternative is not even for a value of this kind."""
    return len(inner.instance_path) == len(outer.instance_path) and inner.kind.name in ("type", "enum", "const")


def _unknown(steps: list[str | int], name: str, given: Mapping[str, Any], known: list[str]) -> Problem:
    if not known:
        return Problem(field_path(steps), show(given.get(name)), "no such field")
    names = ", ".join(known[:SHOWN_NAMES]) + (" …" if len(known) > SHOWN_NAMES else "")
    # A field that was given is not what a misspelt one meant.
    missing = [field for field in known if field not in given] or known
    return Problem(field_path(steps), show(given.get(name)), f"one of {names}", closest(name, missing))


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:300]
