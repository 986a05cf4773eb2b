"""Syntax of newer Pythons than this one may be: its nodes are made by hand where the parser does not know them."""

import ast
from types import SimpleNamespace
from typing import Any

import pytest

from guest_api.inside import compile_policy, guards
from guest_api.inside.compile_policy import ENTRY_NAME, ProgramRefusedError, compile_program


def run(source: str) -> Any:
    space = guards.program_globals([], None, print)
    exec(compile_program(source).code, space)
    try:
        space[ENTRY_NAME]().send(None)
    except StopIteration as stop:
        return stop.value[0]
    raise AssertionError("it waits")


def with_parameters(monkeypatch: pytest.MonkeyPatch, **parameters: list[Any]) -> None:
    """From now on definitions of these names have these type parameters."""
    parse = ast.parse

    def parsed(*arguments: Any, **keywords: Any) -> Any:
        tree = parse(*arguments, **keywords)
        for node in ast.walk(tree):
            if getattr(node, "name", None) in parameters:
                node.type_params = parameters[node.name]  # type: ignore[attr-defined]
        return tree

    monkeypatch.setattr(compile_policy.ast, "parse", parsed)


def parameter(name: str, **inside: str) -> Any:
    parts = {key: ast.parse(text, mode="eval").body for key, text in inside.items()}
    return SimpleNamespace(name=name, **parts)


def test_a_type_parameter_is_no_object_of_the_real_typing(monkeypatch: pytest.MonkeyPatch) -> None:
    with_parameters(monkeypatch, f=[parameter("T", bound="int")], Stack=[parameter("U")])
    source = (
        "def f(x):\n    return T\n"
        "class Stack:\n    def kind(self):\n        return [U, f(1)]\n"
        "class Ints(Stack[int]):\n    pass\n"
        "return Stack[str]().kind() + Ints().kind()"
    )
    assert run(source) == [object] * 4


def test_a_name_that_the_program_binds_is_not_taken_by_a_type_parameter(monkeypatch: pytest.MonkeyPatch) -> None:
    with_parameters(monkeypatch, f=[parameter("T")])
    assert run("T = 5\ndef f():\n    return T\nreturn [f(), T]") == [5, 5]


@pytest.mark.parametrize(
    "given",
    [
        parameter("__class__"),
        parameter("T", bound="().__class__"),
        parameter("T", default_value="(1).__class__"),
    ],
)
def test_type_parameters_mention_no_refused_name(monkeypatch: pytest.MonkeyPatch, given: Any) -> None:
    with_parameters(monkeypatch, f=[given])
    with pytest.raises(ProgramRefusedError, match='"__class__" is refused'):
        compile_program("def f():\n    pass")


@pytest.mark.parametrize("source", ["import json", "from json import loads"])
def test_a_lazy_import_is_refused(monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    parse = ast.parse

    def parsed(*arguments: Any, **keywords: Any) -> Any:
        tree = parse(*arguments, **keywords)
        tree.body[0].is_lazy = 1
        return tree

    monkeypatch.setattr(compile_policy.ast, "parse", parsed)
    with pytest.raises(ProgramRefusedError, match="lazy imports are refused"):
        compile_program(source)


def test_syntax_that_nobody_has_reviewed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Novelty(ast.expr):
        _fields = ()

    parse = ast.parse

    def parsed(*arguments: Any, **keywords: Any) -> Any:
        tree = parse(*arguments, **keywords)
        tree.body[0].value = ast.copy_location(Novelty(), tree.body[0].value)
        return tree

    monkeypatch.setattr(compile_policy.ast, "parse", parsed)
    with pytest.raises(ProgramRefusedError, match="Novelty syntax is refused"):
        compile_program("return 1")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("class A:\n    if True:\n        x: int = 3\nreturn A.x", 3),
        ("class A:\n    for n in range(2):\n        x: int\nreturn 1", 1),
        ("class A:\n    class B:\n        x: int = 1\n    y = 2\nreturn A.B.x", 1),
        (
            "import dataclasses as d\n@d.dataclass\nclass A:\n    if True:\n        x: int = 3\n    y: int = 4\nreturn d.astuple(A())",
            (3, 4),
        ),
    ],
)
def test_a_class_annotates_names_at_any_depth_of_its_body(source: str, expected: Any) -> None:
    assert run(source) == expected


GENERIC = "from typing import Generic, NamedTuple, Protocol, TypeVar\nT = TypeVar('T')\n"


@pytest.mark.parametrize(
    "source",
    [
        "class A(Generic[T]):\n    pass\nreturn A[int]() is not None",
        "class A(Generic[T]):\n    pass\nclass B(A[T], Generic[T]):\n    pass\nreturn isinstance(B[int](), A)",
        "class A(Generic[T]):\n    pass\nclass B(Generic[T], A[T]):\n    pass\nreturn isinstance(B[int](), A)",
        "class A(Protocol[T]):\n    pass\nclass B(A[int]):\n    pass\nreturn issubclass(B, A)",
        "class A(Protocol, Generic[T]):\n    pass\nclass B(A[int]):\n    pass\nreturn issubclass(B, A)",
        "class P(NamedTuple, Generic[T]):\n    a: T\nreturn P(1).a == 1",
        "class E(Exception, Generic[T]):\n    pass\ntry:\n    raise E[int]('x')\nexcept E as e:\n    return e.args == ('x',)",
    ],
)
def test_generic_classes_can_be_subscripted_and_inherited_from(source: str) -> None:
    assert run(GENERIC + source) is True
