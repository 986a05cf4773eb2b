"""Whether a call's arguments fit a JSON Schema, and in plain words where not; it knows no action and no policy.

Invariant: a schema is data from a stranger: nothing it names is ever fetched, and an unusable one refuses its calls.
Attacked by `tests/host_bridge/test_arguments.py`.
"""

import difflib
import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn

SHOWN_CHARACTERS: Final = 80
"""How much of an offending value a message quotes."""
SHOWN_PROBLEMS: Final = 20
"""One line per problem, but a list of 10 000 bad items must not become 10 000 lines."""
SHOWN_NAMES: Final = 12
KEPT_SCHEMAS: Final = 4096
"""Compiled schemas kept; a compiled schema of a real tool is about 10 kB."""

_KINDS: Final = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
}


class SchemaUnusableError(Exception):
    """A schema that cannot be compiled: malformed, or it points outside itself."""


class SchemaLibraryMissingError(SchemaUnusableError):
    """The optional validator is not installed; the message names the extra."""


class SchemaValidator:
    """Compiled schemas by identity: each is compiled once, whoever asks."""

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

    def problems(self, schema: Mapping[str, Any] | None, arguments: object) -> list[str]:
        """What is wrong with `arguments`, one line each (field, got, want, closest name); empty: they fit.

        Raises: SchemaUnusableError: the schema itself is unusable; the caller refuses the call by the tool's name.
        """
        if schema is None:
            return [] if isinstance(arguments, dict) else [f"arguments: got {_shown(arguments)}, want an object"]
        lines: list[str] = []
        for error in self.compile(schema).iter_errors(arguments):
            for line in _lines(error, schema):
                if line not in lines:
                    lines.append(line)
            if len(lines) > SHOWN_PROBLEMS:
                del lines[SHOWN_PROBLEMS:]
                lines.append("(and more)")
                break
        return lines

    def _keep(self, schema: object, compiled: object) -> None:
        # The schema itself is kept beside its result, so that its id cannot be given to another object.
        self._compiled[id(schema)] = (schema, compiled)
        if len(self._compiled) > KEPT_SCHEMAS:
            self._compiled.popitem(last=False)


_shared: Final = SchemaValidator()


def problems(schema: Mapping[str, Any] | None, arguments: object) -> list[str]:
    """`SchemaValidator.problems` of the process-wide validator.

    Raises: SchemaUnusableError: the schema is unusable.
    """
    return _shared.problems(schema, arguments)


def _compile(schema: Mapping[str, Any]) -> Any:
    try:
        import jsonschema_rs
    except ImportError:
        raise SchemaLibraryMissingError(
            "checking arguments needs the extra `schema`: pip install 'pi-fabric-py[schema]'"
        ) from None
    try:
        # The library's own default would fetch: a schema must never make this process open anything.
        return jsonschema_rs.validator_for(dict(schema), retriever=_refuse)
    except RecursionError:
        raise SchemaUnusableError("the schema is nested too deeply") from None
    except Exception as error:
        raise SchemaUnusableError(_first_line(str(getattr(error, "message", error)))) from None


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"a schema may not point to {uri}: nothing outside the schema is read")


def _lines(error: Any, schema: Mapping[str, Any]) -> Iterable[str]:
    where = _path(error.instance_path)
    kind = error.kind
    keyword = kind.name
    if keyword == "required":
        field = _path([*error.instance_path, kind.property])
        wanted = _wanted(_property(_subschema(schema, error.schema_path[:-1]), kind.property))
        return [f"{field}: got nothing, want {wanted}"]
    if keyword in ("additionalProperties", "unevaluatedProperties"):
        known = _property_names(_subschema(schema, error.schema_path[:-1]))
        return [_unknown(_path([*error.instance_path, name]), name, known) for name in kind.unexpected]
    if keyword == "type":
        return [f"{where}: got {_shown(error.instance)}, want {_either(_KINDS.get(t, t) for t in kind.types)}"]
    if keyword == "enum":
        options = [_quoted(option) for option in kind.options]
        return [
            f"{where}: got {_shown(error.instance)}, want {_either(options)}{_closest(error.instance, kind.options)}"
        ]
    if keyword == "const":
        return [f"{where}: got {_shown(error.instance)}, want {_quoted(kind.expected_value)}"]
    if keyword in ("anyOf", "oneOf"):
        return _branches(error, schema, where)
    if keyword == "propertyNames":
        return [f"{where}: a name is not allowed: {_first_line(kind.error.message)}"]
    return [f"{where}: got {_shown(error.instance)}, want {_rule(kind)}"]


def _branches(error: Any, schema: Mapping[str, Any], where: str) -> list[str]:
    """The alternative that came closest speaks; when none fits even in kind, the kinds are listed."""
    context = getattr(error.kind, "context", None) or []
    fitting = [branch for branch in context if branch and not any(_is_other_kind(inner, error) for inner in branch)]
    if fitting and (error.kind.name != "oneOf" or len(fitting) == 1):
        nearest = min(fitting, key=len)
        return [line for inner in nearest for line in _lines(inner, schema)]
    alternatives = _subschema(schema, error.schema_path)
    wanted = [_wanted(option) for option in alternatives] if isinstance(alternatives, list) else []
    text = _either(dict.fromkeys(wanted)) if wanted else "one of the allowed forms"
    if error.kind.name == "oneOf" and not all(context):
        text = f"exactly one of {text}; it fits several"
    return [f"{where}: got {_shown(error.instance)}, want {text}"]


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
        "pattern": f"text that matches {value}",
        "format": f"a {value}",
        "multipleOf": f"a multiple of {value}",
        "uniqueItems": "items that all differ",
        "not": "something else",
        "contains": "at least one fitting item",
        "additionalItems": f"at most {value} items",
    }
    return rules.get(kind.name) or f"what the rule {kind.name} allows"


def _unknown(field: str, name: str, known: list[str]) -> str:
    if not known:
        return f"{field}: got an unknown name, want no further field"
    shown = ", ".join(known[:SHOWN_NAMES]) + (" …" if len(known) > SHOWN_NAMES else "")
    return f"{field}: got an unknown name, want one of {shown}{_closest(name, known)}"


def _closest(value: object, options: Iterable[Any]) -> str:
    if not isinstance(value, str):
        return ""
    names = [option for option in options if isinstance(option, str)]
    folded = {name.casefold().replace("_", "").replace("-", ""): name for name in names}
    same = folded.get(value.casefold().replace("_", "").replace("-", ""))
    found = [same] if same else difflib.get_close_matches(value[:SHOWN_CHARACTERS], names, n=1)
    return f" (closest: {found[0]})" if found else ""


def _wanted(schema: Any) -> str:
    """What a subschema asks for, in a few words."""
    if not isinstance(schema, Mapping):
        return "a value"
    if "enum" in schema and isinstance(schema["enum"], list):
        return _either(_quoted(option) for option in schema["enum"])
    if "const" in schema:
        return _quoted(schema["const"])
    kind = schema.get("type")
    if isinstance(kind, str):
        return _KINDS.get(kind, kind)
    if isinstance(kind, list):
        return _either(_KINDS.get(str(name), str(name)) for name in kind)
    for keyword in ("anyOf", "oneOf"):
        if isinstance(schema.get(keyword), list):
            return _either(dict.fromkeys(_wanted(option) for option in schema[keyword]))
    title = schema.get("title") or schema.get("$ref", "").rpartition("/")[2]
    return str(title) if title else "a value"


def _either(options: Iterable[str]) -> str:
    names = list(options)
    if len(names) > SHOWN_NAMES:
        return f"one of {', '.join(names[:SHOWN_NAMES])} …"
    return " or ".join(names) if len(names) < 3 else f"one of {', '.join(names)}"


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
    return text or "arguments"


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return f"an object with {len(value)} fields" if value else "an empty object"
    if isinstance(value, list):
        return f"a list of {len(value)} items"
    kind = {bool: "", type(None): "", str: " (string)", int: " (integer)", float: " (number)"}.get(type(value), "")
    return f"{_quoted(value)}{kind}"


def _quoted(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:300]
