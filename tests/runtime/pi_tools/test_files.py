"""read, ls, write and edit: whole and exact, or refused."""

import os
from pathlib import Path

import pytest
import trio

from runtime.pi_tools import files
from tests.runtime.pi_tools.tools import Tools, project_in


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    return Tools(project_in(tmp_path))


async def test_read_returns_the_text_or_the_lines_asked_for(tools: Tools) -> None:
    assert await tools.value("read", path="src/a.py") == "import os\nfoo = 1\nbar = foo\n"
    assert await tools.value("read", path="src/a.py", offset=2) == "foo = 1\nbar = foo"
    assert await tools.value("read", path="src/a.py", offset=2, limit=1) == "foo = 1"
    assert await tools.value("read", path="src/a.py", limit=1) == "import os"
    assert await tools.value("read", path="src/a.py", offset=4) == ""
    assert await tools.refusal("read", path="src/a.py", offset=9) == (
        "rejected",
        "pi.read: offset 9 is past the end of src/a.py, which has 3 lines",
    )


async def test_a_large_file_is_read_whole(tools: Tools) -> None:
    text = "line é\n" * 200_000
    (tools.root / "big.txt").write_text(text)
    assert await tools.value("read", path="big.txt") == text


async def test_a_file_larger_than_a_result_is_refused_and_readable_in_parts(
    tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "ARRIVAL_BYTES", 1000)
    (tools.root / "big.txt").write_text("0123456789\n" * 1000)
    kind, message = await tools.refusal("read", path="big.txt")
    assert (kind, "read it with offset and limit" in message) == ("limit", True)
    assert await tools.value("read", path="big.txt", offset=999, limit=1) == "0123456789"


async def test_what_is_no_text_is_refused_and_an_image_is_base64(tools: Tools) -> None:
    (tools.root / "data.bin").write_bytes(b"abc\xff\xfe")
    kind, message = await tools.refusal("read", path="data.bin")
    assert (kind, message) == ("host", "pi.read: data.bin is no UTF-8 text (byte 3); use pi.bash for binary files")
    (tools.root / "p.png").write_bytes(b"\x89PNG\r\n\x1a\n....")
    image = await tools.value("read", path="p.png")
    assert (image["type"], image["mimeType"], image["data"]) == ("image", "image/png", "iVBORw0KGgouLi4u")


async def test_missing_and_wrong_kinds_are_named(tools: Tools) -> None:
    assert await tools.refusal("read", path="none") == ("host", "pi.read: none: No such file or directory")
    assert await tools.refusal("read", path="src") == ("host", "pi.read: src: Is a directory")
    assert await tools.refusal("ls", path="README.md") == ("host", "pi.ls: README.md: Not a directory")
    kind, message = await tools.refusal("read", pth="x")
    assert (kind, "did you mean 'path'?" in message) == ("rejected", True)


async def test_ls_sorts_as_people_do_and_marks_folders(tools: Tools) -> None:
    (tools.root / "Zeta").touch()
    (tools.root / "alpha").touch()
    (tools.root / ".hidden").touch()
    (tools.root / "link").symlink_to("src")
    assert (await tools.value("ls")).split("\n") == [".hidden", "alpha", "link", "README.md", "src/", "Zeta"]
    assert await tools.value("ls", path="src/deep") == "b.py"
    (tools.root / "empty").mkdir()
    assert await tools.value("ls", path="empty") == ""
    kind, message = await tools.refusal("ls", limit=2)
    assert (kind, message) == ("limit", "pi.ls: . has 7 entries, more than limit=2; raise limit")


async def test_write_creates_folders_and_overwrites(tools: Tools) -> None:
    assert await tools.value("write", path="new/deep/file.txt", content="é") == {
        "ok": True,
        "path": "new/deep/file.txt",
        "bytes": 2,
        "created": True,
    }
    assert (tools.root / "new/deep/file.txt").read_text() == "é"
    (tools.root / "new/deep/file.txt").chmod(0o640)
    again = await tools.value("write", path="new/deep/file.txt", content="")
    assert (again["created"], again["bytes"]) == (False, 0)
    assert (tools.root / "new/deep/file.txt").stat().st_mode & 0o777 == 0o640


async def test_write_refuses_what_utf8_cannot_carry_before_touching_the_file(tools: Tools) -> None:
    with pytest.raises(Exception, match="lone surrogate"):
        files.write(files.Project(tools.root), "README.md", "\ud800")
    assert (tools.root / "README.md").read_text() == "# Foo\n"


async def test_edits_are_all_made_or_none(tools: Tools) -> None:
    done = await tools.value(
        "edit",
        path="src/a.py",
        edits=[{"oldText": "bar = foo", "newText": "bar = 2"}, {"oldText": "import os\n", "newText": ""}],
    )
    assert (done["replaced"], done["firstChangedLine"]) == (2, 1)
    assert "-import os" in done["diff"]
    assert (tools.root / "src/a.py").read_text() == "foo = 1\nbar = 2\n"
    kind, _ = await tools.refusal(
        "edit",
        path="src/a.py",
        edits=[{"oldText": "foo = 1", "newText": "foo = 3"}, {"oldText": "missing", "newText": ""}],
    )
    assert kind == "rejected"
    assert (tools.root / "src/a.py").read_text() == "foo = 1\nbar = 2\n"


async def test_an_edit_may_come_alone_or_as_old_and_new_text(tools: Tools) -> None:
    await tools.value("edit", path="README.md", edits={"oldText": "Foo", "newText": "Bar"})
    await tools.value("edit", path="README.md", oldText="Bar", newText="Baz")
    assert (tools.root / "README.md").read_text() == "# Baz\n"
    for arguments in ({}, {"oldText": "x"}, {"edits": [], "oldText": "a", "newText": "b"}):
        assert (await tools.refusal("edit", path="README.md", **arguments))[0] == "rejected"


async def test_a_byte_order_mark_and_the_line_breaks_stay(tools: Tools) -> None:
    (tools.root / "w.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree")
    await tools.value("edit", path="w.txt", oldText="one\ntwo", newText="1\n2\n2b")
    assert (tools.root / "w.txt").read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n2b\r\nthree"


async def test_many_edits_at_once_of_one_file_do_not_lose_each_other(tools: Tools) -> None:
    (tools.root / "n.txt").write_text("".join(f"<{number}>\n" for number in range(30)))
    async with trio.open_nursery() as nursery:
        for number in range(30):
            change = {"path": "n.txt", "oldText": f"<{number}>", "newText": f"[{number}]"}
            nursery.start_soon(lambda change=change: tools.value("edit", **change))
    assert (tools.root / "n.txt").read_text() == "".join(f"[{number}]\n" for number in range(30))


async def test_a_file_that_changes_under_the_edit_is_left_alone(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    real = files.edited

    def interfering(*args: object) -> object:
        (tools.root / "README.md").write_text("# Foo, by somebody else\n")
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(files, "edited", interfering)
    kind, message = await tools.refusal("edit", path="README.md", oldText="Foo", newText="Bar")
    assert (kind, "was changed by somebody else meanwhile" in message) == ("host", True)
    assert (tools.root / "README.md").read_text() == "# Foo, by somebody else\n"


async def test_a_read_only_file_is_a_named_failure(tools: Tools) -> None:
    (tools.root / "locked").mkdir(mode=0o555)
    os.chmod(tools.root / "README.md", 0o444)
    if os.geteuid() == 0:
        pytest.skip("root writes everywhere")
    assert await tools.refusal("write", path="README.md", content="x") == (
        "host",
        "pi.write: README.md: Permission denied",
    )
