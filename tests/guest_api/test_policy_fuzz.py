"""Generated programs through the policy: whatever compiles mentions no refused name, in any spelling."""

import types

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guest_api.inside import names
from guest_api.inside.compile_policy import (
    ANNOTATION_ANY,
    ANNOTATION_CLASSVAR,
    ANNOTATION_GENERIC,
    ANNOTATION_INITVAR,
    ANNOTATION_KW_ONLY,
    ENTRY_NAME,
    FORMAT_CALL,
    FORMAT_MAP_CALL,
    GETATTR_CALL,
    HASATTR_CALL,
    TYPE_CALL,
    ProgramRefusedError,
    compile_program,
)

REFUSED = [
    "__class__", "__globals__", "__dict__", "__import__", "__builtins__", "__subclasses__", "__getattribute__", "__reduce_ex__",
    "gi_frame", "cr_frame", "ag_code", "tb_frame", "f_back", "f_globals", "co_code", "obj", "with_traceback", "mro", "format",
    "format_map", "__setattr__", "__del__", "__await__", "__match_args__", "__new__", "__format_call__", "__ref__", "__finish__",
]  # fmt: skip
FINE = ["a", "b", "items", "value", "_private", "__name__", "total", "x1", "__init__", "__len__", "size"]

HELPERS = {
    ENTRY_NAME, FORMAT_CALL, FORMAT_MAP_CALL, TYPE_CALL, GETATTR_CALL, HASATTR_CALL,
    ANNOTATION_ANY, ANNOTATION_CLASSVAR, ANNOTATION_INITVAR, ANNOTATION_KW_ONLY, ANNOTATION_GENERIC,
}  # fmt: skip
MADE_BY_THE_COMPILER = {
    "__module__",
    "__qualname__",
    "__annotations__",
    "__classcell__",
    "__class__",
    "__doc__",
    "__slots__",
}
"""What class bodies and zero-argument super put into code objects by themselves."""


def _full_width(name: str) -> str:
    return "".join(chr(ord(letter) + 0xFEE0) if letter.isascii() and letter.isalnum() else letter for letter in name)


def _one_wide(name: str) -> str:
    for index, letter in enumerate(name):
        if letter.isalpha():
            return name[:index] + chr(ord(letter) + 0xFEE0) + name[index + 1 :]
    return name


spelled = st.sampled_from(REFUSED + FINE).flatmap(
    lambda name: st.sampled_from(
        [name, name, name, _full_width(name), _one_wide(name), name.replace("_", "_" + chr(0xFF3F), 0)]
    )
)

TEMPLATES = [
    "x.{n}", "x.{n} = 1", "x.{n} += 1", "del x.{n}", "{n} = 1", "{n}", "for {n} in y: pass", "with y as {n}: pass",
    "import {n}", "import a as {n}", "from a import {n}", "from a import b as {n}", "from {n} import b", "def {n}(): pass",
    "def f({n}): pass", "def f({n}, /): pass", "def f(*, {n}=1): pass", "def f(*{n}): pass", "def f(**{n}): pass",
    "class {n}: pass", "class A({n}=1): pass", "class A(B.{n}): pass", "lambda {n}: 1", "[{n} for {n} in y]", "({n} := 1)",
    "f({n}=1)", "try: pass\nexcept E as {n}: pass", "match y:\n case {n}: pass", "match y:\n case C({n}=1): pass",
    "match y:\n case C({n}=z): pass", "match y:\n case {{**{n}}}: pass", "match y:\n case [*{n}]: pass",
    "match y:\n case {{'k': {n}}}: pass", "def f():\n global {n}", "def g():\n z = 1\n def f():\n  nonlocal {n}",
    "f'{{x.{n}}}'", "f'{{x:{{y.{n}}}}}'", "x: y.{n} = 1", "def f(a: y.{n}): pass", "def f() -> y.{n}: pass",
    "@x.{n}\ndef f(): pass", "x.{n}.{n}(1)", "x[y.{n}]", "await x.{n}()", "async for {n} in y: pass",
    "async with y as {n}: pass", "class A:\n {n} = 1", "class A:\n def {n}(self): pass", "class A:\n x: int = y.{n}",
    "class A:\n async def {n}(self): pass", "class A:\n def f(self): super().{n}()", "class A:\n def f(self): super().x.{n}",
    "class A:\n __slots__ = ('{n}',)", "getattr(x, '{n}')", "hasattr(x, '{n}')", "'{{0.{n}}}'.format(x)",
    "'{{0:{{1.{n}}}}}'.format(x, y)", "x.format(y.{n})", "'{{a.{n}}}'.format_map(y)", "x, ({n}, z) = y", "x = {n} = 1",
    "{n}: int", "{n}: int = 1", "thinking.{n}()", "thinking.a().{n}", "return x.{n}", "raise x.{n}", "assert x.{n}",
    "x if y.{n} else z", "x < y.{n} < z", "(yield x.{n})", "def f():\n yield x.{n}", "def f():\n yield from x.{n}",
    "{{**x.{n}}}", "[*x.{n}]", "f(*x.{n}, **y.{n})", "type(x).{n}", "lambda: x.{n}", "not x.{n}", "-x.{n}", "x @ y.{n}",
]  # fmt: skip

WRAPPERS = [
    "{body}", "def w():\n{indented}", "class W:\n{indented}", "async def w():\n{indented}", "if x:\n{indented}",
    "try:\n{indented}\nfinally: pass", "class W:\n def m(self):\n{indented2}", "for q in y:\n{indented}",
    "match y:\n case 1:\n{indented2}", "with y:\n{indented}",
]  # fmt: skip


def _indent(text: str, depth: int) -> str:
    return "\n".join(" " * 2 * depth + line for line in text.splitlines())


@st.composite
def programs(draw: st.DrawFn) -> str:
    statements = []
    for _ in range(draw(st.integers(1, 3))):
        body = draw(st.sampled_from(TEMPLATES)).format(n=draw(spelled))
        for _ in range(draw(st.integers(0, 2))):
            wrapper = draw(st.sampled_from(WRAPPERS))
            body = wrapper.format(body=body, indented=_indent(body, 1), indented2=_indent(body, 2))
        statements.append(body)
    return "\n".join(statements)


def code_objects(code: types.CodeType) -> list[types.CodeType]:
    found = [code]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found += code_objects(constant)
    return found


def mentioned(code: types.CodeType) -> set[str]:
    """Every name that the code can use, from the code object itself: no tree of ours is asked."""
    found: set[str] = set()
    for each in code_objects(code):
        found |= {*each.co_names, *each.co_varnames, *each.co_cellvars, *each.co_freevars}
        for constant in each.co_consts:
            if isinstance(constant, tuple):  # keyword names of calls, attribute names of class patterns
                found |= {item for item in constant if isinstance(item, str)}
    return found


def refused(name: str) -> bool:
    if name in HELPERS or name in MADE_BY_THE_COMPILER or name in names.CLASS_METHODS or name in names.READABLE:
        return False
    if name == "__name__" or name in {"obj", "format", "format_map", "mro", "with_traceback"}:
        return False  # judged below: they are refused behind a dot only
    return names.variable_problem(name) is not None and name != "super"


def attributes_of(code: types.CodeType) -> set[str]:
    import dis

    wanted = {"LOAD_ATTR", "STORE_ATTR", "DELETE_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"}
    return {
        str(instruction.argval)
        for each in code_objects(code)
        for instruction in dis.get_instructions(each)
        if instruction.opname in wanted
    }


def check(source: str) -> bool:
    try:
        code = compile_program(source, ("thinking",)).code
    except ProgramRefusedError:
        return False
    assert [name for name in mentioned(code) if refused(name)] == [], source
    bad = [name for name in attributes_of(code) if names.attribute_problem(name, allow_methods=True) is not None]
    assert bad == [], source
    return True


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_whatever_compiles_mentions_no_refused_name(source: str) -> None:
    check(source)


@pytest.mark.soak
@settings(max_examples=60_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_whatever_compiles_mentions_no_refused_name_in_a_long_run(source: str) -> None:
    check(source)


@pytest.mark.parametrize("template", TEMPLATES)
def test_each_template_compiles_for_a_fine_name_where_python_allows_it(template: str) -> None:
    """So that the fuzz above is not vacuous: a template that is always refused would prove nothing."""
    source = template.format(n="total")
    try:
        compile(f"async def p():\n{_indent(source, 1)}", "<check>", "exec")
    except SyntaxError:
        pytest.skip("not Python")
    never = {"class A(total=1): pass", "(yield x.total)", "class A:\n def f(self): super().total()"}
    if source in never or "import" in source or "thinking" in source:
        return
    assert check(source)


@pytest.mark.parametrize("name", REFUSED)
def test_each_refused_name_is_refused_behind_a_dot_in_every_spelling(name: str) -> None:
    for spelling in {name, _full_width(name), _one_wide(name)}:
        with pytest.raises(ProgramRefusedError, match=r"refused|may only be"):
            compile_program(f"y = 1\nx = y.{spelling}")


@pytest.mark.parametrize("name", sorted(names.CLASS_METHODS))
def test_each_allowed_method_may_be_defined_and_called_on_super(name: str) -> None:
    compile_program(f"class A:\n    def {name}(self, *a):\n        return super().{name}(*a)")
    with pytest.raises(ProgramRefusedError, match="refused"):
        compile_program(f"def {name}(self): pass")
    if name != "__init__":
        with pytest.raises(ProgramRefusedError):
            compile_program(f"x = y.{name}")
