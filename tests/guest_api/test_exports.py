"""Every callable that a program can name is walked: none is a module, none turns a string into an attribute or code."""

import ast
import copy
import functools
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from guest_api.inside import guards
from guest_api.inside.compile_policy import compile_program
from guest_api.inside.modules.namespace import FrozenNamespace, members_of
from guest_api.inside.modules.table import MODULES, import_module
from tests.guest_api.harness import GuestServer

FORBIDDEN_BY_IDENTITY = [
    getattr,
    setattr,
    delattr,
    vars,
    globals,
    locals,
    dir,
    eval,
    exec,
    compile,
    open,
    type,
    __import__,
    breakpoint,
    __import__("functools").update_wrapper,
    __import__("functools").wraps,
    __import__("functools").singledispatch,
    __import__("functools").singledispatchmethod,
    __import__("operator").attrgetter,
    __import__("operator").methodcaller,
    __import__("typing").get_type_hints,
    __import__("typing").ForwardRef,
    __import__("typing").NamedTuple,
    __import__("typing").TypedDict,
    __import__("dataclasses").make_dataclass,
    __import__("dataclasses").fields,
    __import__("dataclasses").field,
    __import__("dataclasses").dataclass,
    __import__("collections").namedtuple,
    __import__("enum").Enum,
    __import__("string").Formatter,
    __import__("time").sleep,
    __import__("collections").UserString,
]


def exports() -> Iterator[tuple[str, Any]]:
    for name, value in guards.BUILTINS.items():
        if not (name.startswith("__") and name.endswith("__")):
            yield name, value
    for module, namespace in MODULES.items():
        for name, value in members_of(namespace).items():
            yield f"{module}.{name}", value


EXPORTS = dict(exports())


@pytest.mark.parametrize(
    "forbidden", FORBIDDEN_BY_IDENTITY, ids=lambda value: getattr(value, "__qualname__", repr(value))
)
def test_no_export_is_a_gadget(forbidden: Any) -> None:
    assert [name for name, value in EXPORTS.items() if value is forbidden] == []


def test_no_export_is_or_leads_in_one_public_step_to_a_module() -> None:
    found = []
    for name, value in EXPORTS.items():
        assert not isinstance(value, types.ModuleType), name
        for attribute in dir(value):
            if attribute.startswith("__"):
                continue
            try:
                reached = getattr(value, attribute)
            except Exception:
                continue
            if isinstance(reached, types.ModuleType | types.CodeType | types.FrameType):
                found.append(f"{name}.{attribute}")
    assert found == []


class Probe:
    """Notes which attributes are looked up on it by a string that the program gave."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.asked.append(name)
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **keywords: 1


SECRET = "q_secret_attribute"


def _ways(function: Callable[..., Any]) -> Iterator[tuple[Any, ...]]:
    yield from (
        (lambda p: (p, SECRET)),
        (lambda p: (SECRET, p)),
        (lambda p: (p, SECRET, 1)),
        (lambda p: (SECRET, p, 1)),
        (lambda p: (p, [SECRET])),
        (lambda p: ([p], SECRET)),
        (lambda p: (SECRET, [p])),
        (lambda p: ("{0." + SECRET + "}", p)),
        (lambda p: (p, "{0." + SECRET + "}")),
    )


NEEDS_A_PROGRAM = {"asyncio", "time"}
MAKES_TROUBLE = {"print", "itertools.count", "itertools.cycle", "itertools.repeat", "hashlib.scrypt", "random.seed"}


def test_no_export_turns_a_guest_string_into_an_attribute_access() -> None:
    caught = []
    for name, value in EXPORTS.items():
        if not callable(value) or name.split(".")[0] in NEEDS_A_PROGRAM or name in MAKES_TROUBLE:
            continue
        for way in _ways(value):
            probe = Probe()
            made = None
            try:
                made = value(*way(probe))
            except BaseException:
                pass
            for follow in (lambda: made(probe), lambda: next(made), lambda: made(probe, SECRET)):
                try:
                    follow()
                except BaseException:
                    pass
            if SECRET in probe.asked:
                caught.append(name)
    assert caught == []


def test_the_probe_finds_the_gadgets_it_is_meant_to_find() -> None:
    """The walk above discriminates: the real gadgets do not get past it."""
    import functools
    import operator

    for gadget, arguments in ((getattr, lambda p: (p, SECRET)), (operator.attrgetter, lambda p: (SECRET,))):
        probe = Probe()
        made = gadget(*arguments(probe))
        if gadget is operator.attrgetter:
            made(probe)
        assert SECRET in probe.asked
    probe = Probe()
    functools.update_wrapper(lambda: 1, probe, assigned=(SECRET,), updated=())
    assert SECRET in probe.asked


def test_no_export_runs_a_string_as_code() -> None:
    ran: list[str] = []
    code = "(_ for _ in ()).throw(ZeroDivisionError('ran'))"
    for name, value in EXPORTS.items():
        if not callable(value) or name.split(".")[0] in NEEDS_A_PROGRAM or name in MAKES_TROUBLE:
            continue
        for arguments in ((code,), (code, code), ("A", code), ("A", [(code, code)]), ("A", {"x": code}), (code, {})):
            try:
                value(*arguments)
            except ZeroDivisionError as error:
                if "ran" in str(error):
                    ran.append(name)
            except BaseException:
                pass
    assert ran == []


COPIES_OR_READS_BY_STRING = {
    copy.deepcopy: "copy.deepcopy hands its memo to `__deepcopy__`, and takes the names of attributes out of it",
    functools.update_wrapper: "copies attributes",
    functools.wraps: "copies attributes",
    operator.attrgetter: "reads attributes",
    operator.methodcaller: "calls methods",
}
HARMLESS = {
    "ContextDecorator.__call__": "overridden by ours",
    "AsyncContextDecorator.__call__": "overridden by ours",
    "_recursive_repr": "wraps the __repr__ that dataclass has just made",
}


class Walk:
    """Every Python function that an export leads to: by its class, its closure, or the globals that it names."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        self._seen: set[int] = set()

    def visit(self, value: Any) -> None:
        value = getattr(value, "__func__", value)
        if id(value) in self._seen or isinstance(value, types.ModuleType):
            return
        self._seen.add(id(value))
        if isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, type):
            for each in value.__mro__:
                for member in vars(each).values():
                    self.visit(member)
        elif isinstance(value, property):
            for accessor in (value.fget, value.fset, value.fdel):
                self.visit(accessor)
        elif type(value).__module__ != "builtins":
            self.visit(type(value))

    def _function(self, function: types.FunctionType) -> None:
        for cell in function.__closure__ or ():
            if cell != types.CellType():
                self.visit(cell.cell_contents)
        for code in _codes(function.__code__):
            named = [function.__globals__.get(name) for name in code.co_names]
            modules = [value for value in named if isinstance(value, types.ModuleType)]
            named += [vars(module).get(name) for module in modules for name in code.co_names]
            for value in named:
                if isinstance(value, types.FunctionType | type) and value in COPIES_OR_READS_BY_STRING:
                    self.found.add(function.__qualname__)
                elif isinstance(value, types.FunctionType | type):
                    self.visit(value)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def test_no_export_leads_to_a_library_function_that_reads_or_writes_attributes_by_string() -> None:
    walk = Walk()
    for value in EXPORTS.values():
        walk.visit(value)
    assert walk.found == set(HARMLESS)


def test_the_walk_finds_what_the_standard_library_leads_to() -> None:
    import contextlib
    import dataclasses

    walk = Walk()
    walk.visit(dataclasses.asdict)
    walk.visit(contextlib.contextmanager)
    assert {"_asdict_inner", "contextmanager"} <= walk.found


def test_builtins_are_frozen_and_a_program_gets_its_own_copy() -> None:
    with pytest.raises(TypeError):
        guards.BUILTINS["x"] = 1  # type: ignore[index]
    first = guards.program_globals([], None, print)
    second = guards.program_globals([], None, print)
    assert first["__builtins__"] is not second["__builtins__"]


def test_namespaces_are_read_only_and_have_no_readable_name() -> None:
    namespace = MODULES["json"]
    with pytest.raises(TypeError, match="read only"):
        namespace.dumps = print  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        namespace.__name__
    with pytest.raises(TypeError):
        type("Sub", (FrozenNamespace,), {})


def test_every_module_and_every_export_can_be_imported_by_a_program(guests: GuestServer) -> None:
    lines = [f"import {module}" for module in MODULES if module != "__future__"]
    for module, namespace in MODULES.items():
        lines += [f"from {module} import {name} as x{i}" for i, name in enumerate(members_of(namespace))]
    outcome = guests.run("\n".join(lines) + "\nreturn 'all'")
    assert outcome.failed is None, outcome.failed
    assert outcome.value == "all"


def test_the_modules_of_the_architecture_are_importable() -> None:
    wanted = (
        "math json re datetime statistics itertools functools collections dataclasses enum decimal fractions random textwrap "
        "string heapq bisect difflib base64 hashlib uuid copy typing operator time asyncio contextlib"
    )
    assert [name for name in wanted.split() if name not in MODULES] == []


def test_an_import_from_c_code_is_the_only_private_one() -> None:
    import_module("_strptime")
    with pytest.raises(ImportError):
        import_module("_thread")


def test_no_helper_of_ours_can_be_spelled_by_a_program() -> None:
    hidden = [name for name in guards.BUILTINS if name.startswith("__")]
    assert hidden
    for name in hidden:
        with pytest.raises(Exception, match="refused"):
            compile_program(f"return {name}")


def test_internal_slots_of_objects_that_programs_hold_are_dunders() -> None:
    """So that no program can name one; see the scheduler's invariant."""
    from guest_api.inside import scheduler

    for cls in (scheduler.Future, scheduler.Pending, scheduler.Task):
        assert [slot for slot in cls.__slots__ if not (slot.startswith("__") and slot.endswith("__"))] == []
    assert ast.parse("1")
