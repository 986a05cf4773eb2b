"""Every row of the seed map names symbols and tests that exist."""

import ast
from functools import cache
from pathlib import Path

from tests.seeds.__main__ import SEED_MAP, render
from tests.seeds.requirements import requirements, rows

ROOT = Path(__file__).parents[2]


@cache
def names_in(path: Path) -> frozenset[str]:
    """Top-level names of a file, and `Class.member` of its classes."""
    names: set[str] = set()

    def collect(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(prefix + node.name)
                if isinstance(node, ast.ClassDef):
                    collect(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.Assign):
                names.update(prefix + target.id for target in node.targets if isinstance(target, ast.Name))
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names.add(prefix + node.target.id)

    collect(ast.parse(path.read_text()).body, "")
    return frozenset(names)


def missing_symbol(reference: str) -> bool:
    file, _, symbol = reference.partition(":")
    path = ROOT / file
    if not path.exists():
        return True
    return bool(symbol) and path.suffix == ".py" and symbol not in names_in(path)


def missing_test(reference: str) -> bool:
    file, _, name = reference.partition("::")
    path = ROOT / file
    if not path.exists():
        return True
    return bool(name) and name.partition("[")[0].replace("::", ".") not in names_in(path)


def test_the_map_covers_all_requirements_and_no_other() -> None:
    assert set(rows()) == {requirement["id"] for requirement in requirements()}
    assert len(requirements()) == 341


def test_every_symbol_in_the_map_exists() -> None:
    wrong = [(name, symbol) for name, row in rows().items() for symbol in row.symbols if missing_symbol(symbol)]
    assert wrong == []


def test_every_test_in_the_map_exists() -> None:
    wrong = [(name, test) for name, row in rows().items() for test in row.tests if missing_test(test)]
    assert wrong == []


def test_a_row_that_is_not_open_names_a_symbol_and_a_test() -> None:
    bare = [name for name, row in rows().items() if row.missing is None and not (row.symbols and row.tests)]
    assert bare == []


def test_the_page_is_the_one_the_rows_make() -> None:
    assert SEED_MAP.read_text() == render(), "run `make seed-map`"
