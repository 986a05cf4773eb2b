"""What a JSON Schema asks for, in a few plain words, and where an error's path leads in it; it validates nothing."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from host_bridge.argument_errors import show

SHOWN_NAMES: Final = 12
KINDS: Final = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
    "array": "a list",
    "object": "a dict",
}


def rule(kind: Any) -> str:
    """What the violated rule allows."""
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


def wanted(schema: Any) -> str:
    """What a subschema asks for, in a few words."""
    if not isinstance(schema, Mapping):
        return "a value"
    if isinstance(schema.get("enum"), list):
        return one_of(schema["enum"])
    if "const" in schema:
        return show(schema["const"])
    kind = schema.get("type")
    if isinstance(kind, str):
        return KINDS.get(kind, kind)
    if isinstance(kind, list):
        return either(KINDS.get(str(name), str(name)) for name in kind)
    for keyword in ("anyOf", "oneOf"):
        if isinstance(schema.get(keyword), list):
            return either(dict.fromkeys(wanted(option) for option in schema[keyword]))
    reference = schema.get("$ref")
    title = schema.get("title") or (reference.rpartition("/")[2] if isinstance(reference, str) else "")
    return str(title) if title else "a value"


def one_of(options: Iterable[Any]) -> str:
    """A choice among values."""
    shown = [show(option) for option in options]
    if len(shown) == 1:
        return shown[0]
    return f"one of {', '.join(shown[:SHOWN_NAMES])}" + (" …" if len(shown) > SHOWN_NAMES else "")


def either(options: Iterable[str]) -> str:
    """A choice among words."""
    return " or ".join(options)


def texts(options: Any) -> list[str]:
    """The texts among some options."""
    return [option for option in options if isinstance(option, str)] if isinstance(options, list) else []


def subschema_at(schema: Any, path: Iterable[str | int]) -> Any:
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


def property_of(schema: Any, name: str) -> Any:
    """The subschema of one field; None: there is none."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties.get(name) if isinstance(properties, Mapping) else None


def property_names(schema: Any) -> list[str]:
    """The fields that a schema names."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return [str(name) for name in properties] if isinstance(properties, Mapping) else []


def field_path(steps: Iterable[str | int]) -> str:
    """A path as people write it: `rows[3].score`."""
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else (f".{step}" if text else str(step))
    return text
