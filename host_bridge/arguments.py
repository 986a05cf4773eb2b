"""Whether a call's arguments fit a JSON Schema, and in plain words where not; it knows no action and no policy.

Invariant: a schema is data from a stranger: nothing it names is ever fetched, and an unusable one refuses its calls.
Attacked by `tests/host_bridge/test_arguments.py`.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn

from host_bridge.argument_errors import Problem, closest, show

SHOWN_PROBLEMS: Final = 20
"""One line per problem, but a list of 10 000 bad items must not become 10 000 lines."""
SHOWN_NAMES: Final = 12
KEPT_SCHEMAS: Final = 4096
"""Compiled schemas kept; a compiled schema of a real tool is about 10 kB."""

_KINDS: Final = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
    "array": "a list",
    "object": "a dict",
}


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
        raise SchemaUnusableError(_first_line(str(getattr(error, "message", error)))) from None


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"a schema may not point to {uri}: nothing outside the schema is read")


def _explain(error: Any, schema: Mapping[str, Any]) -> Iterable[Problem]:
    where = _path(error.instance_path)
    kind = error.kind
    got = show(error.instance)
    match kind.name:
        case "required":
            return _missing(error, _subschema(schema, error.schema_path[:-1]))
        case "additionalProperties" | "unevaluatedProperties":
            known = _property_names(_subschema(schema, error.schema_path[:-1]))
            given = error.instance if isinstance(error.instance, dict) else {}
            return [_unknown([*error.instance_path, name], name, given, known) for name in kind.unexpected]
        case "type":
            return [Problem(where, got, _either(_KINDS.get(name, name) for name in kind.types))]
        case "enum":
            return [Problem(where, got, _one_of(kind.options), closest(error.instance, _texts(kind.options)))]
        case "const":
            return [Problem(where, got, show(kind.expected_value))]
        case "anyOf" | "oneOf":
            return _branches(error, schema, where)
        case "propertyNames":
            return [Problem(where, got, f"fields with allowed names: {_first_line(kind.error.message)}")]
        case _:
            return [Problem(where, got, _rule(kind))]


def _missing(error: Any, subschema: Any) -> list[Problem]:
    """A missing field, and the misspelt one beside it: many schemas let unknown names pass, a reader does not."""
    name = error.kind.property
    problems = [Problem(_path([*error.instance_path, name]), "nothing", _wanted(_property(subschema, name)))]
    known = _property_names(subschema)
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
    alternatives = _subschema(schema, error.schema_path)
    options = alternatives if isinstance(alternatives, list) else []
    text = _either(dict.fromkeys(_wanted(option) for option in options)) if options else "one of the allowed forms"
    if error.kind.name == "oneOf" and not all(context):
        text = f"a value that fits only one of: {text}"
    choices = [choice for option in options if isinstance(option, Mapping) for choice in _texts(option.get("enum"))]
    return [Problem(where, show(error.instance), text, closest(error.instance, choices))]


def _is_other_kind(inner: Any, outer: Any) -> bool:
    """True: this alternative is not even for a value of this kind."""
    return len(inner.instance_path) == len(outer.instance_path) and inner.kind.name in ("type", "enum", "const")


def _rule(kind: Any) -> str:
    value = kind.value
    rules = {
        "minimum": f"at least {value}",
        "maximum": f"at most {value}",
        "exclusiveMinimum": f"more than {value}",
        "exclusiveMaximum": f"less than {value}",
        "minLength": f"at least {value} characters",
        "maxLength": f"at most {value} characters",
        "minItems": f"at least {value} items",
        "maxItems": f"at most {value} items",
        "minProperties": f"at least {value} fields",
        "maxProperties": f"at most {value} fields",
        "pattern": f"text matching {value}",
        "format": f"text in the form of a {value}",
        "multipleOf": f"a multiple of {value}",
        "uniqueItems": "items that all differ",
        "not": "something else",
        "contains": "at least one fitting item",
        "additionalItems": f"at most {value} items",
    }
    return rules.get(kind.name) or f"what the rule {kind.name} allows"


def _unknown(steps: list[str | int], name: str, given: Mapping[str, Any], known: list[str]) -> Problem:
    if not known:
        return Problem(_path(steps), show(given.get(name)), "no such field")
    names = ", ".join(known[:SHOWN_NAMES]) + (" …" if len(known) > SHOWN_NAMES else "")
    # A field that was given is not what a misspelt one meant.
    missing = [field for field in known if field not in given] or known
    return Problem(_path(steps), show(given.get(name)), f"one of {names}", closest(name, missing))


def _wanted(schema: Any) -> str:
    """What a subschema asks for, in a few words."""
    if not isinstance(schema, Mapping):
        return "a value"
    if isinstance(schema.get("enum"), list):
        return _one_of(schema["enum"])
    if "const" in schema:
        return show(schema["const"])
    kind = schema.get("type")
    if isinstance(kind, str):
        return _KINDS.get(kind, kind)
    if isinstance(kind, list):
        return _either(_KINDS.get(str(name), str(name)) for name in kind)
    for keyword in ("anyOf", "oneOf"):
        if isinstance(schema.get(keyword), list):
            return _either(dict.fromkeys(_wanted(option) for option in schema[keyword]))
    reference = schema.get("$ref")
    title = schema.get("title") or (reference.rpartition("/")[2] if isinstance(reference, str) else "")
    return str(title) if title else "a value"


def _one_of(options: Iterable[Any]) -> str:
    shown = [show(option) for option in options]
    if len(shown) == 1:
        return shown[0]
    return f"one of {', '.join(shown[:SHOWN_NAMES])}" + (" …" if len(shown) > SHOWN_NAMES else "")


def _either(options: Iterable[str]) -> str:
    return " or ".join(options)


def _texts(options: Any) -> list[str]:
    return [option for option in options if isinstance(option, str)] if isinstance(options, list) else []


def _subschema(schema: Any, path: Iterable[str | int]) -> Any:
    """Follow an error's path; local references inside it are resolved, None where that fails."""
    root, current = schema, schema
    for step in path:
        current = _resolved(root, current)
        try:
            current = current[step]
        except (KeyError, IndexError, TypeError):
            return None
    return _resolved(root, current)


def _resolved(root: Any, schema: Any) -> Any:
    for _ in range(16):
        if not isinstance(schema, Mapping) or not isinstance(schema.get("$ref"), str):
            return schema
        pointer = schema["$ref"]
        if not pointer.startswith("#/"):
            return None
        target: Any = root
        for part in pointer[2:].split("/"):
            key = part.replace("~1", "/").replace("~0", "~")
            target = target.get(key) if isinstance(target, Mapping) else None
        schema = target
    return None


def _property(schema: Any, name: str) -> Any:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties.get(name) if isinstance(properties, Mapping) else None


def _property_names(schema: Any) -> list[str]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return [str(name) for name in properties] if isinstance(properties, Mapping) else []


def _path(steps: Iterable[str | int]) -> str:
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else (f".{step}" if text else str(step))
    return text


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:300]
