"""No path leaves the project: not by `..`, not by links, not by links that are swapped in meanwhile."""

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from runtime.pi_tools.confined import OutsideProjectError, Project
from tests.runtime.pi_tools.tools import Tools, project_in


@pytest.fixture(params=["kernel", "walk"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Project:
    made = Project(project_in(tmp_path))
    made._use_openat2 = request.param == "kernel"
    return made


def read(project: Project, path: str) -> str:
    with os.fdopen(project.open_file(path, os.O_RDONLY)) as file:
        return file.read()


ESCAPES = [
    "../secret.txt",
    "src/../../secret.txt",
    "src/deep/../../../secret.txt",
    "/etc/passwd",
    "~/x",
    "link",
    "absolute",
    "folder/secret.txt",
    "chain",
    "src/up/up/secret.txt",
    "process/etc/passwd",
]


def plant(root: Path) -> None:
    (root / "link").symlink_to("../secret.txt")
    (root / "absolute").symlink_to("/etc/passwd")
    (root / "folder").symlink_to("..")
    (root / "chain").symlink_to("link")
    (root / "src" / "up").symlink_to("..")
    (root / "up").symlink_to("..")
    (root / "process").symlink_to("/proc/self/root")


@pytest.mark.parametrize("path", ESCAPES)
def test_every_way_out_is_refused(project: Project, path: str) -> None:
    plant(project.root)
    with pytest.raises((OutsideProjectError, NotADirectoryError)):
        read(project, path)
    with pytest.raises(OSError):
        project.open_file(path, os.O_WRONLY | os.O_CREAT)
    with pytest.raises(OSError):
        project.make_parents(f"{path}/below/x")
    assert (project.root.parent / "secret.txt").read_text() == "outside"


@pytest.mark.parametrize("path", ["src/a.py", "./src/a.py", "src/deep/../a.py", "@src/a.py", "{root}/src/a.py"])
def test_every_way_of_writing_a_path_inside_works(project: Project, path: str) -> None:
    assert read(project, path.format(root=project.root)).startswith("import os")


def test_a_link_that_stays_inside_is_followed_where_the_kernel_vouches_for_it(tmp_path: Path) -> None:
    project = Project(project_in(tmp_path))
    (project.root / "inside").symlink_to("src/a.py")
    assert read(project, "inside").startswith("import os")


def test_a_project_that_is_itself_reached_by_a_link_works_by_both_names(tmp_path: Path) -> None:
    root = project_in(tmp_path)
    (tmp_path / "alias").symlink_to(root)
    project = Project(tmp_path / "alias")
    for path in (f"{tmp_path}/alias/src/a.py", f"{root}/src/a.py", "src/a.py"):
        assert read(project, path).startswith("import os")


@pytest.mark.parametrize("path", ["", "\0", "a\0b"])
def test_what_is_no_path_is_refused(project: Project, path: str) -> None:
    with pytest.raises(ValueError, match="is no path"):
        project.relative(path)


def test_a_fifo_and_a_device_are_refused_without_waiting(project: Project) -> None:
    os.mkfifo(project.root / "pipe")
    with pytest.raises(OSError, match="Not a regular file"):
        project.open_file("pipe", os.O_RDONLY)
    with pytest.raises(OSError):
        project.open_file("pipe", os.O_WRONLY)


@pytest.fixture
def swapping(tmp_path: Path) -> Iterator[Path]:
    """A project in which `door` is a folder and a way out, in turn, as fast as the machine can."""
    root = project_in(tmp_path)
    (root / "real").mkdir()
    (root / "real" / "secret.txt").write_text("inside")
    (root / "out").symlink_to("..")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for target in ("real", ".."):
                with suppress(OSError):
                    (root / "next").symlink_to(target)
                    (root / "next").replace(root / "door")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield root
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("kernel", [True, False])
def test_a_link_swapped_in_between_check_and_use_leads_nowhere(swapping: Path, kernel: bool) -> None:
    project = Project(swapping)
    project._use_openat2 = kernel
    seen = set()
    for _ in range(1500):
        try:
            seen.add(read(project, "door/secret.txt"))
        except OSError as error:
            seen.add(type(error).__name__)
    assert "outside" not in seen


def test_outside_can_be_allowed(tmp_path: Path) -> None:
    project = Project(project_in(tmp_path), outside=True)
    assert read(project, "../secret.txt") == "outside"
    assert read(project, str(tmp_path / "secret.txt")) == "outside"


@pytest.mark.parametrize("path", ESCAPES)
async def test_no_action_follows_a_way_out(tmp_path: Path, path: str) -> None:
    tools = Tools(project_in(tmp_path))
    plant(tools.root)
    for name, arguments in (
        ("read", {"path": path}),
        ("write", {"path": path, "content": "x"}),
        ("edit", {"path": path, "oldText": "outside", "newText": "x"}),
        ("ls", {"path": path}),
        ("grep", {"pattern": "outside", "path": path}),
        ("find", {"pattern": "*", "path": path}),
    ):
        kind, _ = await tools.refusal(name, **arguments)
        assert kind in ("denied", "host"), name
    assert (tmp_path / "secret.txt").read_text() == "outside"
    assert not list(tmp_path.glob("x*"))


@pytest.mark.parametrize(
    "path",
    [".pi/fabric.json", "./.pi/../.pi/fabric.json", "settings", "folder/fabric.json", "hard", "{root}/.pi/fabric.json"],
)
async def test_the_settings_that_decide_over_programs_are_not_written(tmp_path: Path, path: str) -> None:
    tools = Tools(project_in(tmp_path))
    settings = tools.root / ".pi" / "fabric.json"
    settings.parent.mkdir()
    settings.write_text("{}")
    (tools.root / "settings").symlink_to(".pi/fabric.json")
    (tools.root / "folder").symlink_to(".pi")
    (tools.root / "hard").hardlink_to(settings)
    path = path.format(root=tools.root)
    assert (await tools.refusal("write", path=path, content="x"))[0] == "denied"
    assert (await tools.refusal("edit", path=path, oldText="{", newText="x"))[0] == "denied"
    assert settings.read_text() == "{}"


async def test_missing_settings_are_not_created_either(tmp_path: Path) -> None:
    tools = Tools(project_in(tmp_path))
    (tools.root / ".pi").mkdir()
    (tools.root / "folder").symlink_to(".pi")
    for path in (".pi/fabric.json", "folder/fabric.json"):
        assert (await tools.refusal("write", path=path, content="x"))[0] == "denied"
    assert list((tools.root / ".pi").iterdir()) == []
