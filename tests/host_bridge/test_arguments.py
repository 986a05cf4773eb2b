"""Arguments against JSON Schema: plain words, nothing fetched, compiled once."""

import http.server
import threading
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from host_bridge.arguments import SHOWN_PROBLEMS, SchemaUnusableError, SchemaValidator

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["issue", "pull"]},
        "limit": {"type": "integer", "minimum": 1},
        "tags": {"type": "array", "items": {"type": "string"}},
        "nested": {
            "type": "object",
            "properties": {"deep": {"type": "number"}},
            "required": ["deep"],
            "additionalProperties": False,
        },
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "either": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "string"}]},
        "one": {"oneOf": [{"type": "integer"}, {"type": "number"}]},
    },
    "required": ["kind"],
    "additionalProperties": False,
    "$defs": {"A": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}},
}


def lines(arguments: Any, schema: dict[str, Any] = SCHEMA) -> list[str]:
    return [problem.line() for problem in SchemaValidator().problems(schema, arguments)]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"kind": "issue"}, []),
        ({"kind": "isue"}, ["kind: got 'isue', wanted one of 'issue', 'pull'; did you mean 'issue'?"]),
        ({"kind": "issue", "limit": "2"}, ["limit: got '2', wanted a whole number"]),
        ({"kind": "issue", "limit": 0}, ["limit: got 0, wanted at least 1"]),
        ({"kind": "issue", "tags": ["a", 1]}, ["tags[1]: got 1, wanted text"]),
        ({"kind": "issue", "nested": {}}, ["nested.deep: got nothing, wanted a number"]),
        ({"kind": "issue", "maybe": 5}, ["maybe: got 5, wanted text or nothing"]),
        ({"kind": "issue", "either": {"x": "1"}}, ["either.x: got '1', wanted a whole number"]),
        (
            {"kind": "issue", "one": 1},
            ["one: got 1, wanted a value that fits only one of: a whole number or a number"],
        ),
        ([], ["arguments: got [], wanted a dict"]),
        (
            {"knd": "issue"},
            [
                "kind: got nothing, wanted one of 'issue', 'pull'",
                "knd: got 'issue', wanted one of kind, limit, tags, nested, maybe, either, one; did you mean 'kind'?",
            ],
        ),
    ],
)
def test_each_problem_names_field_got_and_wanted_in_one_line(arguments: Any, expected: list[str]) -> None:
    assert sorted(lines(arguments)) == sorted(expected)


def test_every_problem_of_a_call_is_told_at_once() -> None:
    found = lines({"limit": "2", "tags": [1], "nested": {"dep": 1}})
    assert {line.partition(":")[0] for line in found} == {"kind", "limit", "tags[0]", "nested.dep", "nested.deep"}


def test_a_misspelt_name_is_told_even_where_the_schema_lets_it_pass() -> None:
    schema = {"properties": {"repo_path": {"type": "string"}}, "required": ["repo_path"]}
    assert lines({"repo_pth": "x"}, schema) == [
        "repo_path: got nothing, wanted text",
        "repo_pth: got 'x', wanted one of repo_path; did you mean 'repo_path'?",
    ]
    assert lines({"other": "x"}, schema) == ["repo_path: got nothing, wanted text"]


def test_a_thousand_bad_items_are_summed_up() -> None:
    found = lines({"kind": "issue", "tags": list(range(1000))})
    assert len(found) == SHOWN_PROBLEMS + 1
    assert found[-1] == "arguments: got more problems than these, wanted none"


def test_no_reference_is_fetched_over_http() -> None:
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *args: Any) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/schema.json"
            for schema in (
                {"$ref": url},
                {"properties": {"a": {"$ref": url}}},
                {"$schema": url},
                {"allOf": [{"$ref": url}]},
            ):
                assert "usable input schema" in lines({"a": 1}, schema)[0]
        finally:
            server.shutdown()
            thread.join()
    assert asked == []


@pytest.mark.parametrize("reference", ["file:///etc/passwd", "other.json", "urn:x:y", "http://127.0.0.1:9/x", "#/nope"])
def test_a_reference_that_leaves_the_schema_refuses_the_call(reference: str) -> None:
    validator = SchemaValidator()
    schema = {"type": "object", "properties": {"a": {"$ref": reference}}}
    with pytest.raises(SchemaUnusableError):
        validator.compile(schema)
    assert len(validator.problems(schema, {})) == 1


@pytest.mark.parametrize("schema", [{"type": "nonsense"}, {"pattern": "("}, {"required": "x"}, {"minimum": "a"}])
def test_a_malformed_schema_refuses_the_call_by_name(schema: dict[str, Any]) -> None:
    assert "wanted a tool with a usable input schema" in lines({}, schema)[0]


def test_local_and_recursive_references_work() -> None:
    schema = {
        "$defs": {"node": {"type": "object", "properties": {"child": {"$ref": "#/$defs/node"}}}},
        "$ref": "#/$defs/node",
    }
    assert lines({"child": {"child": {}}}, schema) == []
    assert lines({"child": {"child": 1}}, schema) == ["child.child: got 1, wanted a dict"]


def test_a_schema_is_compiled_once_even_when_it_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0
    real = jsonschema_rs.validator_for

    def counting(*args: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        return real(*args, **options)

    monkeypatch.setattr(jsonschema_rs, "validator_for", counting)
    validator = SchemaValidator()
    bad = {"type": "nonsense"}
    for _ in range(3):
        validator.problems(SCHEMA, {"kind": "issue"})
        validator.problems(bad, {})
    assert count == 2


def test_a_hostile_pattern_does_not_hang() -> None:
    schema = {"properties": {"s": {"type": "string", "pattern": "^(a+)+$"}}}
    assert len(lines({"s": "a" * 5000 + "b"}, schema)) == 1


def test_integers_of_any_size_are_judged_exactly() -> None:
    schema = {"properties": {"n": {"type": "integer", "maximum": 2**70}}}
    assert lines({"n": 2**70}, schema) == []
    assert lines({"n": 2**70 + 1}, schema) == [f"n: got {2**70 + 1}, wanted at most {2**70}"]


def test_without_a_schema_any_object_passes() -> None:
    assert SchemaValidator().problems(None, {"anything": 1}) == []
    assert len(SchemaValidator().problems(None, [1])) == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_there_are_problems_exactly_when_the_library_says_invalid(value: Any) -> None:
    arguments = {"kind": "issue", "nested": value, "either": value}
    valid = jsonschema_rs.validator_for(SCHEMA).is_valid(arguments)
    assert (lines(arguments) == []) == valid
