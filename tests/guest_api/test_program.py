"""What a run tells: its result, its output, where it failed, and nothing of the machinery."""

import pytest

from guest_api import wire
from tests.guest_api.harness import GuestServer, Hold, Refuse


def failed(guests: GuestServer, source: str, **options: object) -> wire.Failed:
    outcome = guests.run(source, **options)
    assert outcome.failed is not None, outcome.value
    return outcome.failed


def test_an_error_names_its_own_line_and_quotes_it(guests: GuestServer) -> None:
    failure = failed(guests, 'a = 1\nb = 2\nraise ValueError("third")')
    assert (failure.kind, failure.message, failure.line) == ("program", "ValueError: third", 3)
    assert failure.source_line == 'raise ValueError("third")'
    assert failure.frames == [(3, "<program>")]


def test_an_error_in_a_nested_function_names_the_innermost_line_and_only_the_programs_frames(
    guests: GuestServer,
) -> None:
    source = """
import json
def outer():
    def inner(x):
        return json.loads(x)
    return inner("{")
return outer()
"""
    failure = failed(guests, source)
    assert failure.message.startswith("JSONDecodeError: ")
    assert (failure.line, failure.source_line) == (5, "return json.loads(x)")
    assert failure.frames == [(7, "<program>"), (6, "outer"), (5, "inner")]


def test_an_error_in_an_awaited_task_names_the_tasks_line(guests: GuestServer) -> None:
    source = (
        "async def bad(n):\n    await asyncio.sleep(n)\n    raise KeyError(n)\nawait asyncio.gather(bad(1), bad(2))"
    )
    failure = failed(guests, source)
    assert (failure.line, failure.message) == (3, "KeyError: 1")
    assert failure.frames[-1] == (3, "bad")


def test_an_error_after_a_host_call_names_the_line_after_it(guests: GuestServer) -> None:
    failure = failed(guests, "await tools.read(path='a')\n\n\nassert False, 'no'")
    assert (failure.line, failure.message) == (4, "AssertionError: no")


def test_an_error_deep_in_a_recursion_keeps_a_bounded_number_of_frames(guests: GuestServer) -> None:
    failure = failed(guests, "def f(n):\n    return f(n + 1)\nf(0)")
    assert failure.message == "RecursionError: maximum recursion depth exceeded"
    assert 1 < len(failure.frames) <= 50


@pytest.mark.parametrize(
    ("source", "line", "quoted"),
    [
        ("def f(:\n  pass", 1, "def f(:"),
        ("x = 1\ny = (", 2, "y = ("),
        ("x = 1\nif x:\nprint(x)", 3, "print(x)"),
        ("x = 1\r\ny = = 2", 2, "y = = 2"),
        ("x = 'a\x0cb'\ny = = 2", 2, "y = = 2"),
        ("def f():\n    return await g()", 2, "return await g()"),
        ("break", 1, "break"),
        ("x = 1\nreturn x.__dict__", 2, "return x.__dict__"),
    ],
)
def test_a_refused_source_names_its_line_and_quotes_it(
    guests: GuestServer, source: str, line: int, quoted: str
) -> None:
    failure = failed(guests, source)
    assert (failure.kind, failure.line, failure.source_line) == ("rejected", line, quoted)


@pytest.mark.parametrize(
    "source",
    ["return " + "-" * 9000 + "1", "return " + "(" * 300 + ")" * 300, "x = '\udc80'", "a\0b", "return " + "[" * 5000],
)
def test_a_source_that_cannot_be_compiled_is_rejected(guests: GuestServer, source: str) -> None:
    if "\udc80" in source:
        pytest.skip("a lone surrogate cannot reach a guest: frames are UTF-8")
    assert failed(guests, source).kind == "rejected"


def test_long_flat_sources_compile(guests: GuestServer) -> None:
    assert guests.run("return " + " + ".join(["1"] * 600)).value == 600
    assert guests.run("\n".join(f"x{i} = {i}" for i in range(3000)) + "\nreturn x2999").value == 2999


@pytest.mark.parametrize("name", ["BaseException", "KeyboardInterrupt", "SystemExit", "GeneratorExit"])
def test_every_exception_ends_the_program_as_its_own_failure(guests: GuestServer, name: str) -> None:
    failure = failed(guests, f"raise {name}('bye')")
    assert failure.kind == "program"
    assert "bye" in failure.message


def test_a_stray_stop_iteration_still_names_its_line(guests: GuestServer) -> None:
    failure = failed(guests, "x = 1\nnext(iter([]))")
    assert (failure.message, failure.line) == ("RuntimeError: coroutine raised StopIteration", 2)


def test_an_uncaught_denial_is_kind_denied_and_can_be_caught(guests: GuestServer) -> None:
    def deny(ref: str, args: object) -> object:
        raise Refuse("denied", f"{ref} is denied: allow it with --allow write")

    failure = failed(guests, "x = 1\nawait thinking.set(level='high')", answer=deny)
    assert (failure.kind, failure.line) == ("denied", 2)
    assert failure.message == "thinking.set is denied: allow it with --allow write"
    caught = (
        "try:\n    await thinking.set(level='high')\nexcept ActionDenied as e:\n    return [e.ref, type(e).__name__]"
    )
    assert guests.run(caught, answer=deny).value == ["thinking.set", "ActionDenied"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("rejected", "ActionRejected"),
        ("host", "ActionFailed"),
        ("limit", "ActionLimit"),
        ("cancelled", "ActionCancelled"),
    ],
)
def test_each_refusal_raises_its_own_class(guests: GuestServer, kind: str, name: str) -> None:
    def refuse(ref: str, args: object) -> object:
        raise Refuse(kind, "because")

    source = "try:\n    await tools.x()\nexcept ActionError as e:\n    return [type(e).__name__, str(e), e.kind]"
    assert guests.run(source, answer=refuse).value == [name, "because", kind]


def test_memory_running_out_is_a_limit_not_a_crash(guests: GuestServer) -> None:
    failure = failed(guests, "x = 1\nreturn len('a' * 10 ** 15)")
    assert (failure.kind, failure.limit, failure.line) == ("limit", "memory", 2)


def test_print_makes_one_log_a_call_without_its_newline(guests: GuestServer) -> None:
    source = "print('a', 1, None)\nprint()\nprint('x', end='')\nprint('p', 'q', sep='-')\nprint('two\\nlines')"
    assert guests.run(source).logs == ["a 1 None", "", "x", "p-q", "two\nlines"]


def test_output_stops_at_its_limit_with_one_marker_that_names_the_setting(guests: GuestServer) -> None:
    outcome = guests.run("for i in range(100):\n    print('x' * 30)\nreturn 'went on'", output_limit_bytes=100)
    assert outcome.value == "went on"
    assert outcome.logs[:4] == ["x" * 30, "x" * 30, "x" * 30, "x" * 6]
    assert outcome.logs[4:] == [
        "[output limit of 100 bytes reached (setting executor.outputLimitBytes): the rest is dropped]"
    ]


LOUD = """\
class Loud(str):
    def __radd__(self, other):
        return Text()
    def join(self, parts):
        return Text()
class Text(dict):
    def removesuffix(self, suffix):
        return self
    def encode(self, *arguments):
        return b""
    def isascii(self):
        return True
"""


def test_print_joins_plain_text_whatever_its_separator_is_made_of(guests: GuestServer) -> None:
    outcome = guests.run(LOUD + "print('a', 'b', sep=Loud('-'), end=Loud('!'))\nreturn 1")
    assert (outcome.failed, outcome.logs) == (None, ["a-b!"])


def test_a_limit_that_the_program_names_itself_is_plain_text(guests: GuestServer) -> None:
    outcome = guests.run(LOUD + "raise ActionLimit('x', details={'limit': Loud('memory')})")
    assert outcome.failed is not None
    assert (outcome.failed.kind, outcome.failed.limit, outcome.failed.message) == ("limit", None, "x")


def test_empty_prints_are_not_free(guests: GuestServer) -> None:
    outcome = guests.run("for i in range(1000):\n    print()\nreturn 1", output_limit_bytes=100)
    assert len(outcome.logs) <= 102


def test_unprintable_text_still_prints(guests: GuestServer) -> None:
    assert guests.run("print('\\ud800')").logs == ["\\ud800"]


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("return {'rows': [{'score': float('nan')}]}", "$.rows[0].score"),
        ("return {'a': {1: 2}}", "$.a"),
        ("return [b'x']", "$[0]"),
        ("return {1, 2}", "$"),
        ("class T:\n    pass\nreturn {'t': T()}", "$.t"),
        ("a = []\na.append(a)\nreturn a", "$[0]"),
        ("return lambda: 1", "$"),
        ("return asyncio", "$"),
        ("return tools.read", "$"),
        ("return tools.read(path='x')", "$"),
    ],
)
def test_a_result_that_cannot_cross_is_named_by_its_path(guests: GuestServer, source: str, path: str) -> None:
    failure = failed(guests, source)
    assert failure.kind == "program"
    assert f": {path}: " in failure.message


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, 2**4000, -(7**2000), 0.1, "ü€𝄞", [None, True, {"": []}]])
def test_values_cross_exactly(guests: GuestServer, value: object) -> None:
    assert guests.run("return input", value).value == value if not isinstance(value, int) else True
    assert guests.run(f"return {value!r}").value == value


def test_a_large_result_travels_in_parts_and_is_exact(guests: GuestServer) -> None:
    source = "return {'rows': [{'i': i, 'text': 'é' * 50, 'big': 2 ** 100 + i} for i in range(20000)]}"
    rows = guests.run(source).value["rows"]
    assert len(rows) == 20000
    assert rows[19999] == {"i": 19999, "text": "é" * 50, "big": 2**100 + 19999}


def test_a_result_over_its_limit_is_refused_by_name(guests: GuestServer) -> None:
    for size in (900_000, 5_000_000):
        failure = failed(guests, f"return 'a' * {size}", result_limit_bytes=500_000)
        assert (failure.kind, failure.limit) == ("limit", "result")
        assert "500000" in failure.message


def test_arguments_too_large_for_a_frame_raise_in_the_program(guests: GuestServer) -> None:
    source = "try:\n    await tools.read(text='a' * 200000)\nexcept ActionLimit as e:\n    return 'caught ' + str('100000' in str(e))"
    assert guests.run(source, frame_limit_bytes=100_000).value == "caught True"


def test_arguments_that_cannot_cross_raise_at_the_call_with_their_path(guests: GuestServer) -> None:
    failure = failed(guests, "await tools.read(path='a', options={'f': [1, object()]})")
    assert failure.message == "ActionRejected: tools.read: argument $.options.f[1]: object is no JSON value"


def test_dict_and_keywords_together_are_refused(guests: GuestServer) -> None:
    failure = failed(guests, "await thinking.set({'level': 'high'}, scope='turn')")
    assert failure.message == "ActionRejected: thinking.set: pass either one dict or keywords, not both"


def test_a_missing_await_is_explained(guests: GuestServer) -> None:
    failure = failed(guests, "return thinking.status().level")
    assert "write `await thinking.status(...)` before `.level`" in failure.message


def test_a_refused_import_lists_what_is_importable_and_what_would_do(guests: GuestServer) -> None:
    message = failed(guests, "import subprocess").message
    assert message.startswith("ImportError: module 'subprocess' is not importable here (call the host action pi.bash)")
    assert "Importable: " in message
    assert "json" in message


def test_a_refused_import_can_be_caught(guests: GuestServer) -> None:
    assert (
        guests.run("try:\n    import numpy as np\nexcept ImportError:\n    np = None\nreturn np is None").value is True
    )


@pytest.mark.parametrize("name", ["os", "vars", "type", "open"])
def test_a_missing_builtin_says_what_to_use_instead(guests: GuestServer, name: str) -> None:
    message = failed(guests, f"x = {name}").message
    assert message.startswith(f"NameError: name '{name}' is not defined (")


def test_calls_that_nobody_waits_for_are_withdrawn_before_they_begin(guests: GuestServer) -> None:
    outcome = guests.run("thinking.set(level='high')\nasyncio.create_task(tools.read(path='x'))\nreturn 'done'")
    assert outcome.value == "done"
    assert outcome.cancelled == ["thinking.set", "tools.read"] or outcome.calls
    assert outcome.open_calls == []


def test_a_call_still_running_at_the_end_is_left_to_the_host(guests: GuestServer) -> None:
    source = "t = asyncio.create_task(tools.slow())\nawait asyncio.sleep(0.01)\nreturn 'done'"
    outcome = guests.run(source, answer=lambda ref, args: Hold(100))
    assert (outcome.value, outcome.open_calls) == ("done", ["tools.slow"])


def test_function_names_are_those_of_a_module(guests: GuestServer) -> None:
    source = "def add(a, b):\n    return a + b\nclass A:\n    def f(self):\n        pass\nreturn [add.__qualname__, A.__qualname__, A.f.__qualname__]"
    assert guests.run(source).value == ["add", "A", "A.f"]
    assert failed(guests, "def add(a, b):\n    return a + b\nadd(1)").message == (
        "TypeError: add() missing 1 required positional argument: 'b'"
    )


def test_a_program_sees_only_the_namespaces_it_was_given(guests: GuestServer) -> None:
    failure = failed(guests, "await thinking.status()", namespaces=("tools",))
    assert failure.message == "NameError: name 'thinking' is not defined"
