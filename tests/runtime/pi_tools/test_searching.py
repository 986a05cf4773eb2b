"""grep and find: what is there, in order, without what git ignores; never the host's time."""

from pathlib import Path

import pytest
import trio

from runtime.pi_tools import searching
from runtime.pi_tools.ignored import is_ignored, patterns
from tests.runtime.pi_tools.tools import Tools, project_in


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    return Tools(project_in(tmp_path))


async def test_grep_gives_path_line_and_text(tools: Tools) -> None:
    assert (await tools.value("grep", pattern="foo")).split("\n") == [
        "src/a.py:2: foo = 1",
        "src/a.py:3: bar = foo",
        "src/deep/b.py:1: foo",
    ]
    assert await tools.value("grep", pattern="FOO", ignoreCase=True, glob="*.md") == "README.md:1: # Foo"
    assert await tools.value("grep", pattern="foo", path="src/a.py", limit=5) == "a.py:2: foo = 1\na.py:3: bar = foo"
    assert await tools.value("grep", pattern="nothing here") == ""


async def test_grep_shows_lines_around(tools: Tools) -> None:
    (tools.root / "c.txt").write_text("".join(f"{number}\n" for number in range(1, 10)))
    assert (await tools.value("grep", pattern="^(2|3|8)$", path="c.txt", context=1)).split("\n") == [
        "c.txt-1- 1",
        "c.txt:2: 2",
        "c.txt:3: 3",
        "c.txt-4- 4",
        "--",
        "c.txt-7- 7",
        "c.txt:8: 8",
        "c.txt-9- 9",
    ]


async def test_a_literal_is_no_expression_and_a_bad_expression_is_named(tools: Tools) -> None:
    (tools.root / "l.txt").write_text("a(b\n")
    assert await tools.value("grep", pattern="a(b", literal=True) == "l.txt:1: a(b"
    kind, message = await tools.refusal("grep", pattern="a(b")
    assert (kind, "unterminated subpattern" in message) == ("rejected", True)


async def test_a_search_that_stops_says_so(tools: Tools) -> None:
    lines = (await tools.value("grep", pattern="foo", limit=2)).split("\n")
    assert lines[-1] == "[stopped at 2 matches, there are more; raise limit]"
    assert len(lines) == 3
    assert (await tools.value("find", pattern="*", limit=1)).endswith(
        "[stopped at 1 paths, there are more; raise limit]"
    )


async def test_find_takes_names_at_any_depth_and_paths_from_the_folder(tools: Tools) -> None:
    assert (await tools.value("find", pattern="*.py")).split("\n") == ["src/a.py", "src/deep/b.py"]
    assert await tools.value("find", pattern="src/*.py") == "src/a.py"
    assert (await tools.value("find", pattern="src/**/*.py")).split("\n") == ["src/a.py", "src/deep/b.py"]
    assert await tools.value("find", pattern="deep") == "src/deep/"
    assert await tools.value("find", pattern="*.py", path="src/deep") == "b.py"
    assert await tools.value("find", pattern="*.none") == ""
    assert await tools.refusal("find", pattern="*", path="none") == ("host", "pi.find: none: No such file or directory")


async def test_what_git_ignores_is_left_out_with_the_rules_of_folders_above(tools: Tools) -> None:
    (tools.root / ".git").mkdir()
    (tools.root / ".git" / "config").write_text("foo")
    (tools.root / ".gitignore").write_text("*.log\nbuild/\n/src/a.py\n")
    (tools.root / "src" / "x.log").write_text("foo")
    (tools.root / "build").mkdir()
    (tools.root / "build" / "y.py").write_text("foo")
    (tools.root / "src" / "deep" / ".gitignore").write_text("!keep.log\n")
    (tools.root / "src" / "deep" / "keep.log").write_text("foo")
    assert (await tools.value("grep", pattern="foo")).split("\n") == [
        "src/deep/b.py:1: foo",
        "src/deep/keep.log:1: foo",
    ]
    assert await tools.value("find", pattern="*.py", path="src") == "deep/b.py"


async def test_binary_files_are_left_out_and_long_lines_are_cut_with_a_note(tools: Tools) -> None:
    (tools.root / "bin").write_bytes(b"foo\0bar")
    (tools.root / "long.txt").write_text("needle" + "x" * 5000)
    found = await tools.value("grep", pattern="needle")
    assert found.startswith("long.txt:1: needlexxx")
    assert "… [line has 5006 characters]" in found
    assert found.endswith("[1 binary or very large files were left out]")


async def test_an_expression_that_runs_for_ever_holds_up_nothing(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "SEARCH_SECONDS", 1.0)
    (tools.root / "evil.txt").write_text("a" * 60 + "b\n")
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await trio.sleep(0.05)
            ticks += 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(tick)
        kind, message = await tools.refusal("grep", pattern="^(a+)+$", path="evil.txt")
        nursery.cancel_scope.cancel()
    assert (kind, "narrow the path or the pattern" in message) == ("limit", True)
    assert ticks >= 5


async def test_links_are_not_followed(tools: Tools) -> None:
    (tools.root / "loop").symlink_to(".")
    (tools.root / "out").symlink_to("..")
    assert (await tools.value("find", pattern="*.txt")) == ""
    assert "outside" not in await tools.value("grep", pattern="outside")


@pytest.mark.parametrize(
    ("pattern", "path", "folder", "ignored"),
    [
        ("*.log", "a/b.log", False, True),
        ("/a.log", "b/a.log", False, False),
        ("a/b", "x/a/b", False, False),
        ("**/b", "x/a/b", False, True),
        ("a/**", "a/b/c", False, True),
        ("build/", "build", False, False),
        ("build/", "x/build", True, True),
        ("[ab].txt", "b.txt", False, True),
        ("[!ab].txt", "b.txt", False, False),
        (r"\#x", "#x", False, True),
        ("# comment", "# comment", False, False),
        ("*.{js,ts}", "a.ts", False, True),
    ],
)
def test_the_rules_of_an_ignore_file(pattern: str, path: str, folder: bool, ignored: bool) -> None:
    assert is_ignored(path, patterns(pattern, ""), folder=folder) is ignored


def test_the_last_rule_wins() -> None:
    rules = patterns("*.log\n!keep.log\n", "")
    assert is_ignored("x.log", rules, folder=False)
    assert not is_ignored("keep.log", rules, folder=False)
