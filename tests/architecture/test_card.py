"""The design card: which packages, which folders, and how the parts sit together."""

import ast
import tomllib
from pathlib import Path

import pytest
import trio

from runtime import open_host
from runtime.transcript.store import TranscriptStore

ROOT = Path(__file__).parents[2]


def test_the_core_depends_on_the_cards_packages_and_two_for_the_terminal() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {requirement.partition(">")[0] for requirement in project["dependencies"]}
    assert names == {"trio", "anyio", "msgspec", "RestrictedPython", "rich", "click"}
    assert "pytest-trio" in {requirement.partition(">")[0] for requirement in project["optional-dependencies"]["test"]}
    assert all(">=" in requirement for requirement in project["dependencies"])


@pytest.mark.parametrize(
    "name", ["pyproject.toml", "runtime", "guest_api", "host_bridge", "child_agents", "tests", "examples"]
)
def test_the_top_level_is_the_cards(name: str) -> None:
    assert (ROOT / name).exists()


def test_every_locked_version_satisfies_the_lower_bounds() -> None:
    locked = dict(
        line.strip().lower().replace("_", "-").split("==")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(one for group in project["optional-dependencies"].values() for one in group)]
    for requirement in wanted:
        name, _, bound = requirement.replace("==", ">=").partition(">=")
        version = locked[name.lower().replace("_", "-")].split(".")
        assert [int(part) for part in bound.split(".")] <= [int(part) for part in version if part.isdigit()], name


async def test_guests_run_on_the_trio_loop_of_the_host() -> None:
    async with open_host() as host:
        assert trio.lowlevel.current_trio_token() is not None
        result = await host.run_program("return [str(thinking), str(agents)] and (await thinking.status()).level")
        assert result.value == "medium"


async def test_prompt_and_hint_happen_in_one_trio_run_without_another_thread() -> None:
    import threading

    from host_bridge.actions import action

    def draw(description: str) -> str:
        return description

    drawing = action(
        draw,
        ref="fal.generate_picture",
        risk="read",
        description="Generate picture from description.",
        namespace="mcp:fal",
    )
    before = threading.active_count()
    async with open_host(actions=[drawing]) as host:
        await host.submit("please generate picture from this description")
        kinds = [entry.custom_type for entry in host.session.branch()]
        assert kinds == [None, "pi-fabric-capability"]
        assert threading.active_count() == before


async def test_hints_and_overrides_lie_in_one_file(tmp_path: Path) -> None:
    from host_bridge.actions import action

    def draw(description: str) -> str:
        return description

    drawing = action(
        draw,
        ref="fal.generate_picture",
        risk="read",
        description="Generate picture from description.",
        namespace="mcp:fal",
    )
    path = tmp_path / "s.jsonl"
    async with open_host(actions=[drawing], session=path, allow=["write"]) as host:
        result = await host.run_program(
            'await thinking.set(level="high")', prompt="please generate picture from this description"
        )
        assert result.ok
    with TranscriptStore.open(path, read_only=True) as store:
        kinds = {entry.custom_type for entry in store.branch()}
    assert {"pi-fabric-capability", "pi-fabric-thinking", "pi-fabric-run"} <= kinds


def test_only_the_transcript_package_opens_session_files_for_writing() -> None:
    writers = set()
    for path in (ROOT / "runtime").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr == "O_APPEND":
                writers.add(path.relative_to(ROOT / "runtime").parts[0])
    assert writers <= {"transcript"}
