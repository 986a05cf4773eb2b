"""The four rooms stand in a row: a package imports only packages to its left."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("guest_api", "host_bridge", "child_agents", "runtime")
GUEST_LIBRARIES = {"msgspec", "RestrictedPython"}
ASYNCIO_ADAPTERS: set[str] = set()


def imported_roots(path: Path) -> set[str]:
    roots: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            roots.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            roots.add(node.module.partition(".")[0])
        elif isinstance(node, ast.ImportFrom) and node.level:
            pytest.fail(f"{path}: relative imports hide the room they come from")
    return roots


def sources(room: str) -> list[Path]:
    files = sorted((ROOT / room).rglob("*.py"))
    assert files, f"{room} has no source"
    return files


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_rooms_to_its_left(room: str) -> None:
    to_the_right = set(ROOMS[ROOMS.index(room) + 1 :])
    wrong = {
        str(path.relative_to(ROOT)): roots for path in sources(room) if (roots := imported_roots(path) & to_the_right)
    }
    assert wrong == {}


def test_the_guest_room_needs_nothing_but_the_standard_library_msgspec_and_restrictedpython() -> None:
    import sys

    allowed = set(sys.stdlib_module_names) | GUEST_LIBRARIES | {"guest_api"}
    wrong = {
        str(path.relative_to(ROOT)): roots for path in sources("guest_api") if (roots := imported_roots(path) - allowed)
    }
    assert wrong == {}


@pytest.mark.parametrize("room", ROOMS)
def test_asyncio_appears_only_in_adapters(room: str) -> None:
    users = {str(path.relative_to(ROOT)) for path in sources(room) if "asyncio" in imported_roots(path)}
    assert users <= ASYNCIO_ADAPTERS


@pytest.mark.parametrize("room", ROOMS)
def test_every_file_says_in_its_first_line_what_it_knows(room: str) -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in sources(room)
        if path.stat().st_size and not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert silent == []


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_is_marked_as_typed(room: str) -> None:
    assert (ROOT / room / "py.typed").exists()
