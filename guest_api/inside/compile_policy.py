"""Source to code, or a refusal: the names a program may spell are decided here, before anything runs.

The body becomes one `async def`, which gives top-level `await` and `return` and keeps every line number. Names
are checked,
opcodes stay plain: the guest process holds no host object, so guarding each load would cost speed and buy nothing.
Invariant: code that compiles mentions no refused name as an attribute, variable, argument, import or pattern,
in any spelling
(the parser normalises look-alikes before this file sees them); syntax without a visitor here is refused.
Attacked by `tests/escapes/programs` and `tests/guest_api/test_policy_fuzz.py`.
"""

# ruff: noqa: D102, N802, N815  a visitor's name is that of its node, and says what it does

import ast
import builtins
import sys
from dataclasses import dataclass
from types import CodeType
from typing import Any, Final

from RestrictedPython.compile import compile_restricted_exec
from RestrictedPython.transformer import RestrictingNodeTransformer

from guest_api.inside import names
from guest_api.inside.formatting import template_problem

PROGRAM_FILENAME: Final = "<program>"
"""Marks the program's own code; a traceback is filtered by it."""
ENTRY_NAME: Final = "__program__"
"""The async function that holds the body. No program can spell it."""

# Helpers of ours that rewritten code calls. A program cannot spell them, so it can neither call nor shadow them.
FORMAT_CALL: Final = "__format_call__"
FORMAT_MAP_CALL: Final = "__format_map_call__"
TYPE_CALL: Final = "__type_call__"
GETATTR_CALL: Final = "__getattr_call__"
HASATTR_CALL: Final = "__hasattr_call__"
ANNOTATION_ANY: Final = "__annotation_any__"
ANNOTATION_CLASSVAR: Final = "__annotation_classvar__"
ANNOTATION_INITVAR: Final = "__annotation_initvar__"
ANNOTATION_KW_ONLY: Final = "__annotation_kw_only__"
ANNOTATION_GENERIC: Final = "__annotation_generic__"

_VISITOR_RECURSION: Final = 4000
"""Python frames while visiting; each level of nesting takes three, and they use no C stack."""
_PRESET: Final = frozenset(dir(builtins)) | {"input", "asyncio"}
"""Names that have a value before the program gives them one: `input = input["rows"]` must read the old one."""
_LEAVES: Final = frozenset(
    {
        *(ast.Load, ast.Store, ast.Del),
        *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift),
        *(ast.BitOr, ast.BitXor, ast.BitAnd, ast.And, ast.Or, ast.Invert, ast.Not, ast.UAdd, ast.USub),
        *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn),
    }
)
"""Syntax that was reviewed and has nothing inside: no visit is needed to allow it."""
_CLASS_KEYWORDS: Final = frozenset({"total"})


class ProgramRefusedError(Exception):
    """The source is not run: `message` says what, `line` where, and the text of that line is quoted."""

    def __init__(self, message: str, line: int | None, source_line: str | None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.source_line = source_line


@dataclass(frozen=True, slots=True)
class CompiledProgram:
    """Code whose execution defines `ENTRY_NAME`."""

    code: CodeType


def compile_program(source: str, namespaces: tuple[str, ...] = ()) -> CompiledProgram:
    """The code of an async function body, checked against the policy.

    `namespaces` are the root names of the host's actions; a chain rooted at one may not name anything private.

    Raises: ProgramRefusedError: no Python, too deeply nested, or a refused name.
    """
    try:
        return CompiledProgram(_compile(source, namespaces))
    except SyntaxError as error:
        line = error.lineno if error.lineno is None or error.lineno > 0 else None
        raise _refused(source, f"SyntaxError: {error.msg}", line) from None
    except RecursionError:
        raise _refused(source, "the source is too deeply nested", None) from None
    except MemoryError:
        raise _refused(source, "the source is too large or too deeply nested to compile", None) from None
    except UnicodeEncodeError as error:
        line = source.count("\n", 0, error.start) + 1
        raise _refused(source, "the source holds a lone surrogate, which is not in UTF-8", line) from None
    except (ValueError, OverflowError) as error:
        raise _refused(source, f"the source cannot be compiled: {error}", None) from None


def quoted_line(source: str, line: int | None) -> str | None:
    """The text of one line of the program, without its indentation and at most 200 characters long."""
    if line is None or line < 1:
        return None
    # Only what the parser counts as a line end; str.splitlines would also split at form feeds and the like.
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[line - 1].strip()[:200] if line <= len(lines) else None


def _refused(source: str, message: str, line: int | None) -> ProgramRefusedError:
    return ProgramRefusedError(message, line, quoted_line(source, line))


def _compile(source: str, namespaces: tuple[str, ...]) -> CodeType:
    tree = ast.parse(source.removeprefix("\ufeff"), PROGRAM_FILENAME)
    body = tree.body or [ast.Pass(lineno=1, col_offset=0)]
    entry = ast.AsyncFunctionDef(
        name=ENTRY_NAME,
        args=ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[]),
        body=body,
        decorator_list=[],
        lineno=1,
        col_offset=0,
    )
    if sys.version_info >= (3, 12):
        entry.type_params = []
    module = ast.Module(body=[entry], type_ignores=[])
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _VISITOR_RECURSION))
    try:
        _roots[0] = frozenset(namespaces)
        result = compile_restricted_exec(module, PROGRAM_FILENAME, policy=ProgramPolicy)
    finally:
        sys.setrecursionlimit(limit)
    if result.errors:
        line, _, message = result.errors[0].removeprefix("Line ").partition(": ")
        raise _refused(source, message, int(line) if line.isdigit() else None)
    code = result.code
    assert code is not None  # noqa: S101  there were no errors
    return code


_roots: Final = [frozenset[str]()]
"""The root names of the program that is compiled now. RestrictedPython makes the policy's instance itself, and a class
for each set of names would cost a small program a tenth of its start."""


def _named(name: str, node: ast.AST) -> ast.Name:
    return ast.copy_location(ast.Name(name, ast.Load()), node)


class ProgramPolicy(RestrictingNodeTransformer):
    """The relaxed policy: plain opcodes, checked names, a closed list of syntax."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._namespaces = _roots[0]
        self._scopes: list[str] = []
        self._globals: set[str] = set()
        self._nonlocals: set[str] = set()
        self._top_definitions: set[str] = set()
        self._type_parameters: list[frozenset[str]] = [frozenset()]
        """The last: of all definitions around this place."""
        self._annotated: list[bool] = []
        """For each class around this place: whether a name of its own was annotated."""
        self._bound: frozenset[str] | None = None
        self._root: ast.AST | None = None

    # Names

    def check_variable(self, node: ast.AST, name: str | None) -> None:
        """Refuse a name that would be bound or read as a variable."""
        if name is not None:
            problem = names.variable_problem(name)
            if problem is not None:
                self.error(node, problem)

    def check_attribute(self, node: ast.AST, name: str, *, allow_methods: bool = False) -> None:
        """Refuse a name behind a dot."""
        problem = names.attribute_problem(name, allow_methods=allow_methods)
        if problem is not None:
            self.error(node, problem)

    def not_allowed(self, node: ast.AST) -> None:
        """Syntax that this policy has not reviewed."""
        kind = type(node).__name__
        if kind == "TryStar":
            self.error(node, "except* is refused: exception groups do not occur here; use except")
        else:
            self.error(node, f"{kind} syntax is refused")

    def plain(self, node: Any) -> Any:
        """Keep the node, check what is inside."""
        # What `ast.NodeTransformer.generic_visit` does, in half the time: a small program waits for little else.
        for field in node._fields:
            inside = getattr(node, field, None)
            if isinstance(inside, list):
                inside[:] = self._visit_all(inside)
            elif isinstance(inside, ast.AST) and type(inside) not in _LEAVES:
                changed = self.visit(inside)
                if changed is not inside:
                    setattr(node, field, changed)
        return node

    node_contents_visit = plain

    def _visit_all(self, nodes: list[Any]) -> list[Any]:
        visited: list[Any] = []
        for node in nodes:
            changed = self.visit(node) if isinstance(node, ast.AST) else node
            if isinstance(changed, list):
                visited.extend(changed)
            else:
                visited.append(changed)
        return visited

    visit_Subscript = visit_Slice = visit_Starred = visit_AugAssign = plain
    visit_For = visit_AsyncFor = visit_With = visit_AsyncWith = visit_withitem = visit_Await = plain
    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_comprehension = plain
    visit_Match = visit_match_case = visit_MatchValue = visit_MatchSingleton = visit_MatchSequence = visit_MatchOr = (
        plain
    )
    visit_Constant = visit_arguments = visit_JoinedStr = visit_FormattedValue = visit_NamedExpr = plain

    def visit_Name(self, node: ast.Name) -> ast.AST:
        name = node.id
        if name.startswith("__") and name.endswith("__"):
            self._check_dunder_name(node)
        elif name == "super" and isinstance(node.ctx, ast.Load):
            pass
        elif name in self._type_parameters[-1] and isinstance(node.ctx, ast.Load) and not self._is_bound(name):
            return _named(ANNOTATION_ANY, node)
        else:
            self.check_variable(node, name)
            if not isinstance(node.ctx, ast.Load):
                self._note_binding(name)
        return node

    def _check_dunder_name(self, node: ast.Name) -> None:
        name = node.id
        if isinstance(node.ctx, ast.Load) and name == "__name__":
            return
        if self._scopes[-1:] == ["class"] and name in names.CLASS_METHODS:
            return  # `__repr__ = __str__` and `__hash__ = None` say no more than a def would
        self.check_variable(node, name)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.check_attribute(node, node.attr, allow_methods=_is_plain_super(node.value))
        if node.attr in names.READABLE and not isinstance(node.ctx, ast.Load):
            self.error(node, f'"{node.attr}" can be read, not assigned')
        self._check_host_chain(node)
        return self.plain(node)  # type: ignore[no-any-return]

    def _check_host_chain(self, node: ast.Attribute) -> None:
        if not node.attr.startswith("_"):
            return
        root: ast.AST = node.value
        while isinstance(root, ast.Attribute | ast.Call | ast.Subscript | ast.Await):
            root = root.func if isinstance(root, ast.Call) else root.value
        if isinstance(root, ast.Name) and root.id in self._namespaces and not self._is_bound(root.id):
            self.error(node, f'"{node.attr}" is refused: names that start with _ are not host actions')

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        self.check_variable(node, node.arg)
        return self.plain(node)  # type: ignore[no-any-return]

    # Calls

    def visit_Call(self, node: ast.Call) -> ast.AST:
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr in names.FORMATTERS:
            return self._format_call(node, func)
        helper = self._helper_for(node, func) if isinstance(func, ast.Name) else None
        self.plain(node)
        if helper is not None:
            node.func = _named(helper, func)
        return node

    def _helper_for(self, node: ast.Call, func: ast.Name) -> str | None:
        name = func.id
        if name not in {"exec", "eval", "type", "getattr", "hasattr"} or self._is_bound(name):
            return None
        if name in {"exec", "eval"}:
            self.error(node, f'"{name}" is refused: text never becomes code here')
            return None
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            return None
        if name == "type":
            return TYPE_CALL if len(node.args) == 1 else None
        return self._attribute_helper(node, name)

    def _format_call(self, node: ast.Call, func: ast.Attribute) -> ast.AST:
        if isinstance(func.value, ast.Constant) and isinstance(func.value.value, str):
            problem = template_problem(func.value.value)
            if problem is not None:
                self.error(node, problem)
        helper = FORMAT_CALL if func.attr == "format" else FORMAT_MAP_CALL
        node.func = func.value
        self.plain(node)
        node.args = [node.func, *node.args]
        node.func = _named(helper, func)
        return node

    @staticmethod
    def _attribute_helper(node: ast.Call, name: str) -> str | None:
        """`getattr(x, "size")` says no more than `x.size`; anything less literal finds no builtin at run time."""
        if len(node.args) not in ((2, 3) if name == "getattr" else (2,)):
            return None
        key = node.args[1]
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            return None
        if key.value.startswith("_") or names.attribute_problem(key.value) is not None:
            return None
        return GETATTR_CALL if name == "getattr" else HASATTR_CALL

    def _is_bound(self, name: str) -> bool:
        if self._bound is None:
            self._bound = frozenset(_bound_names(self._root)) if self._root is not None else frozenset()
        return name in self._bound

    # Imports

    def visit_Import(self, node: ast.Import) -> ast.AST:
        self._check_eager(node)
        for alias in node.names:
            self._check_module(node, alias.name)
            self.check_variable(node, alias.asname)
            self._note_binding(alias.asname or alias.name.partition(".")[0])
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        self._check_eager(node)
        if node.module == "__future__":
            return ast.copy_location(ast.Pass(), node)
        if node.level:
            self.error(node, "relative imports are refused: a program is one file")
        self._check_module(node, node.module or "")
        for alias in node.names:
            if alias.name == "*":
                self.error(node, "import * is refused: name what you need")
            elif alias.name.startswith("_"):
                self.error(node, f'"{alias.name}" is refused: names that start with _ are not exported')
            else:
                self.check_variable(node, alias.name)
                if alias.name not in names.FORMATTERS:
                    self.check_attribute(node, alias.name)
            self.check_variable(node, alias.asname)
            self._note_binding(alias.asname or alias.name)
        return node

    def _check_eager(self, node: ast.AST) -> None:
        if getattr(node, "is_lazy", 0):  # 3.15: it goes through a builtin of its own
            self.error(node, "lazy imports are refused: write a plain import")

    def _check_module(self, node: ast.AST, module: str) -> None:
        if any(part.startswith("_") for part in module.split(".")):
            self.error(node, f'"{module}" is refused: modules that start with _ are not importable')

    # Functions and classes

    def visit_Module(self, node: ast.Module) -> ast.AST:
        """The wrapper that holds the program; see `_compile`."""
        entry = node.body[0]
        assert isinstance(entry, ast.AsyncFunctionDef)  # noqa: S101  made by _compile
        self._root = entry
        self._scopes.append("program")
        entry.body = self._visit_all(entry.body)
        self._scopes.pop()
        # `global n` below must mean the program's own n, which would be a local of the wrapper. Functions and
        # classes join
        # them, so that their qualified names are those of a module and calls to them cost what they cost in one.
        shared = self._globals | (self._top_definitions - self._nonlocals)
        if shared:
            entry.body.insert(0, ast.copy_location(ast.Global(sorted(shared)), entry))
        return node  # every node that a visitor makes has its place already; a walk over all would cost a fifth

    def visit_FunctionDef(self, node: Any) -> ast.AST:
        self._check_function_name(node, node.name)
        self._note_definition(node.name)
        self._check_arguments(node.args)
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        self._enter_type_parameters(node)
        node.args = self.visit(node.args)
        if node.returns is not None:
            self.visit(node.returns)
            node.returns = None
        self._scopes.append("function")
        node.body = self._visit_all(node.body)
        self._scopes.pop()
        self._type_parameters.pop()
        return node  # type: ignore[no-any-return]

    visit_AsyncFunctionDef = visit_FunctionDef

    def _note_definition(self, name: str) -> None:
        if self._scopes[-1] == "program":
            self._top_definitions.add(name)

    def _note_binding(self, name: str | None) -> None:
        """A preset name that the program binds is a global, as it would be in a module."""
        if name is not None and self._scopes[-1] == "program" and (name in _PRESET or name in self._namespaces):
            self._top_definitions.add(name)

    def _check_function_name(self, node: ast.AST, name: str) -> None:
        if names.is_dunder(name) and self._scopes[-1] == "class" and name in names.CLASS_METHODS:
            return
        self.check_variable(node, name)

    def _check_arguments(self, arguments: ast.arguments) -> None:
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            self.check_variable(argument, argument.arg)
        for extra in (arguments.vararg, arguments.kwarg):
            if extra is not None:
                self.check_variable(extra, extra.arg)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        if node.annotation is not None:
            self.visit(node.annotation)
            node.annotation = None
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self._check_arguments(node.args)
        node.args = self.visit(node.args)
        self._scopes.append("function")
        node.body = self.visit(node.body)
        self._scopes.pop()
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.check_variable(node, node.name)
        self._note_definition(node.name)
        for keyword in node.keywords:
            if keyword.arg is None:
                self.error(node, "** in a class statement is refused: it could name a metaclass")
            elif keyword.arg not in _CLASS_KEYWORDS:
                self.error(node, f'the class keyword "{keyword.arg}" is refused: use a class decorator')
            elif not isinstance(keyword.value, ast.Constant):
                self.error(node, f'the class keyword "{keyword.arg}" takes True or False')
        node.keywords = []
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        is_generic = self._enter_type_parameters(node)
        node.bases = [self.visit(base) for base in node.bases]
        if is_generic:
            node.bases.append(_named(ANNOTATION_GENERIC, node))
        self._scopes.append("class")
        self._annotated.append(False)
        node.body = self._visit_all(node.body)
        self._type_parameters.pop()
        if self._annotated.pop():
            empty = ast.Assign([ast.Name("__annotations__", ast.Store())], ast.Dict([], []))
            node.body.insert(_docstring_length(node.body), ast.fix_missing_locations(ast.copy_location(empty, node)))
        self._scopes.pop()
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        if self._scopes[-1] == "class" and _assigns_slots(node):
            return self._visit_slots(node)
        return self.plain(node)  # type: ignore[no-any-return]

    def _visit_slots(self, node: Any) -> ast.AST:
        """`__slots__` is a literal: a list that the program still holds could be changed later and read by `copy`."""
        value = node.value
        items = value.elts if isinstance(value, ast.Tuple | ast.List | ast.Set) else [value]
        slots = []
        for item in items:
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                self._check_slot(node, item.value)
                slots.append(item.value)
            else:
                self.error(node, "__slots__ takes literal strings")
        assign = ast.Assign([ast.Name("__slots__", ast.Store())], ast.Constant(tuple(slots)))  # type: ignore[arg-type]
        return ast.fix_missing_locations(ast.copy_location(assign, node))

    def _check_slot(self, node: ast.AST, name: str) -> None:
        self.check_variable(node, name)
        self.check_attribute(node, name)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """Annotations are checked, never evaluated; a class keeps which names were annotated, for its
        dataclass fields.
        """
        if self._scopes[-1] == "class" and _assigns_slots(node):
            return self._visit_slots(node)
        marker = _annotation_marker(node.annotation)
        self.visit(node.annotation)
        target = self.visit(node.target)
        changed: list[ast.stmt] = []
        if node.value is not None:
            changed.append(ast.Assign([target], self.visit(node.value)))
        if self._scopes[-1] == "class" and isinstance(target, ast.Name):
            # A dataclass reads its fields by name, and a class pattern by position, from any registered type.
            self.check_attribute(node, target.id)
            self._annotated[-1] = True
            changed.append(_annotation_mark(target.id, marker))
        elif node.value is None and isinstance(target, ast.Name):
            # Keeps the name local, as Python does; in a function the annotation is not evaluated.
            node.annotation = ast.copy_location(ast.Constant(None), node)
            return node
        for statement in changed:
            ast.fix_missing_locations(ast.copy_location(statement, node))
        return changed or ast.copy_location(ast.Pass(), node)

    def _enter_type_parameters(self, node: Any) -> bool:
        """`def f[T](…)` and `class C[T]` (3.12) lose their parameters, and the name says nothing where it is read: the
        real ones are objects of the real `typing`, whose classes turn strings into code. Whether there were any.
        """
        parameters = getattr(node, "type_params", [])
        for parameter in parameters:
            self.check_variable(node, parameter.name)
            for inside in (getattr(parameter, "bound", None), getattr(parameter, "default_value", None)):
                if inside is not None:
                    self.visit(inside)
        around = self._type_parameters[-1]
        self._type_parameters.append(around.union([each.name for each in parameters]) if parameters else around)
        if parameters:
            node.type_params = []
        return bool(parameters)

    def visit_TypeAlias(self, node: Any) -> ast.AST:
        """`type Name = ...` (3.12) binds a name that nothing evaluates."""
        self._enter_type_parameters(node)
        self.visit(node.value)
        self._type_parameters.pop()
        target = self.visit(node.name)
        return ast.copy_location(ast.Assign([target], _named(ANNOTATION_ANY, node)), node)

    # Scopes

    def visit_Global(self, node: ast.Global) -> ast.AST:
        for name in node.names:
            self.check_variable(node, name)
        self._globals.update(node.names)
        if self._scopes[-1] == "program":
            return ast.copy_location(ast.Pass(), node)
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        for name in node.names:
            self.check_variable(node, name)
        self._nonlocals.update(node.names)
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """The program's own `return value` becomes `return (value, line)`: what cannot cross is quoted there."""
        self.plain(node)
        if self._scopes[-1] == "program":
            value = node.value or ast.copy_location(ast.Constant(None), node)
            line = ast.copy_location(ast.Constant(node.lineno), value)
            node.value = ast.copy_location(ast.Tuple([value, line], ast.Load()), value)
        return node

    def visit_Yield(self, node: Any) -> ast.AST:
        if self._scopes[-1] != "function":
            self.error(node, "yield outside a function is refused: a program returns its result")
        return self.plain(node)  # type: ignore[no-any-return]

    visit_YieldFrom = visit_Yield

    # Handlers and patterns

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        self.check_variable(node, node.name)
        self._note_binding(node.name)
        return self.plain(node)  # type: ignore[no-any-return]

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.AST:
        self.check_variable(node, node.rest)
        self._note_binding(node.rest)
        return self.plain(node)  # type: ignore[no-any-return]

    def visit_MatchStar(self, node: ast.MatchStar) -> ast.AST:
        self.check_variable(node, node.name)
        self._note_binding(node.name)
        return node

    def visit_MatchAs(self, node: ast.MatchAs) -> ast.AST:
        self.check_variable(node, node.name)
        self._note_binding(node.name)
        return self.plain(node)  # type: ignore[no-any-return]

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.AST:
        for name in node.kwd_attrs:
            self.check_attribute(node, name)
        return self.plain(node)  # type: ignore[no-any-return]


def _is_plain_super(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "super"
        and not node.args
        and not node.keywords
    )


def _assigns_slots(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.AnnAssign):
        return isinstance(statement.target, ast.Name) and statement.target.id == "__slots__"
    return (
        isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and isinstance(statement.targets[0], ast.Name)
        and statement.targets[0].id == "__slots__"
    )


def _annotation_mark(name: str, marker: str) -> ast.Assign:
    """`__annotations__["name"] = marker`, in a class body."""
    owner = ast.Name("__annotations__", ast.Load())
    return ast.Assign([ast.Subscript(owner, ast.Constant(name), ast.Store())], ast.Name(marker, ast.Load()))


def _docstring_length(body: list[ast.stmt]) -> int:
    first = body[0]
    is_docstring = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return 1 if is_docstring else 0


def _annotation_marker(annotation: ast.expr) -> str:
    """Which of the three annotations that dataclasses react to this is."""
    node: ast.AST = annotation
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            node = ast.parse(node.value, mode="eval").body
        except SyntaxError:
            return ANNOTATION_ANY
    if isinstance(node, ast.Subscript):
        node = node.value
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    markers = {"ClassVar": ANNOTATION_CLASSVAR, "InitVar": ANNOTATION_INITVAR, "KW_ONLY": ANNOTATION_KW_ONLY}
    return markers.get(name, ANNOTATION_ANY)


def _bound_names(root: ast.AST) -> set[str]:
    """Every name that the program binds anywhere."""
    bound: set[str] = set()
    for node in ast.walk(root):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.alias):
            bound.add(node.asname or node.name)
    return bound
