"""One cap for results: head, marker, tail, and the whole text once in a private file."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host_bridge import results
from host_bridge.results import ResultFolder, ResultFolders, ResultTooLargeError, shown, sweep


def test_a_short_value_is_shown_as_it_is_and_nothing_is_kept(tmp_path: Path) -> None:
    folder = ResultFolder(tmp_path, "run")
    for value in ("text", {"a": [1, 2.5, None]}, 2**200, [], None):
        assert shown(value, folder) == results.Shown(value)
    assert not folder.path.exists()


def test_a_long_text_is_shown_with_head_marker_path_and_tail(tmp_path: Path) -> None:
    """RS-03: visible output within the limit, an explicit note, a path to the whole."""
    text = "HEAD" + "x" * 5_000_000 + "TAIL"
    found = shown(text, ResultFolder(tmp_path, "run"))
    assert len(found.value.encode()) <= results.SHOWN_BYTES
    assert found.value.startswith("HEAD")
    assert found.value.endswith("TAIL")
    assert found.path is not None
    assert f"of {len(text)} bytes are left out here; all of it is in {found.path}" in found.value
    assert found.path.read_text() == text
    assert found.omitted_bytes > 0


def test_a_large_object_keeps_its_shape_and_shortens_its_strings(tmp_path: Path) -> None:
    found = shown({"ok": True, "rows": [{"id": 1, "body": "y" * 200_000}]}, ResultFolder(tmp_path, "run"))
    assert found.value["ok"] is True
    assert found.value["rows"][0]["id"] == 1
    assert "left out here" in found.value["rows"][0]["body"]
    assert len(json.dumps(found.value).encode()) <= results.SHOWN_BYTES
    assert found.path is not None
    assert json.loads(found.path.read_text())["rows"][0]["body"] == "y" * 200_000


def test_a_long_list_of_small_values_becomes_its_json_text(tmp_path: Path) -> None:
    value = list(range(100_000))
    found = shown(value, ResultFolder(tmp_path, "run"))
    assert isinstance(found.value, str)
    assert found.value.startswith("[0,1,2")
    assert found.value.endswith("99999]")
    assert found.path is not None
    assert json.loads(found.path.read_text()) == value


def test_files_are_private_and_the_folder_too(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        folder = ResultFolder(tmp_path / "deep" / "root", "run")
        path = folder.keep_text("secret")
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_same_text_is_stored_once(tmp_path: Path) -> None:
    folder = ResultFolder(tmp_path, "run")
    assert folder.keep_text("a" * 100, "one") == folder.keep_text("a" * 100, "two")
    assert len(list(folder.path.iterdir())) == 1


def test_a_folder_that_others_may_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(mode=0o755)
    (tmp_path / "run").chmod(0o755)
    with pytest.raises(PermissionError, match="not private"):
        ResultFolder(tmp_path, "run").keep_text("secret")


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "run").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError):
        ResultFolder(tmp_path, "run").keep_text("secret")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_run_id_cannot_leave_the_root(tmp_path: Path) -> None:
    for run_id in ("../../x", "..", "", "/etc", "a/b"):
        assert ResultFolder(tmp_path / "root", run_id).path.parent == tmp_path / "root"


def test_a_full_folder_is_said_in_the_marker(tmp_path: Path) -> None:
    folder = ResultFolder(tmp_path, "run", limit_bytes=1000)
    with pytest.raises(ResultTooLargeError, match="1000 is the most"):
        folder.keep_text("x" * 1001)
    found = shown("x" * 100_000, folder)
    assert found.path is None
    assert "it could not be kept" in found.value


def test_without_a_folder_the_marker_says_that_nothing_was_kept() -> None:
    assert "it was not kept" in shown("x" * 100_000, None).value


@given(st.text(min_size=1), st.integers(600, 3000))
def test_a_shortened_text_never_tears_a_character(piece: str, limit: int) -> None:
    text = piece * (6000 // len(piece))
    found = shown(text, None, limit_bytes=limit).value
    assert "\ufffd" in piece or "\ufffd" not in found
    assert len(found.encode("utf-8", "surrogatepass")) <= max(limit, 700)


def test_a_stream_stays_in_memory_until_it_is_long(tmp_path: Path) -> None:
    folder = ResultFolder(tmp_path, "run")
    with folder.spill("bash", memory_bytes=1000) as output:
        output.write(b"a" * 1000)
        assert output.path is None
        output.write(b"b" * 500_000)
        output.write(b"END")
        assert output.ending(5) == "bbEND"
    assert output.path is not None
    assert output.path.read_bytes() == b"a" * 1000 + b"b" * 500_000 + b"END"
    text = output.text(1000)
    assert text.startswith("aaa")
    assert text.endswith("END")
    assert f"of 501003 bytes are left out here; all of it is in {output.path}" in text
    assert stat.S_IMODE(output.path.stat().st_mode) == 0o600


def test_a_stream_comes_whole_up_to_its_cap_and_then_leaves_no_file(tmp_path: Path) -> None:
    folder = ResultFolder(tmp_path, "run")
    for count in (0, 1000, 200_000):
        with folder.spill("bash", memory_bytes=1000, whole_bytes=200_000) as output:
            output.write(b"a" * count)
            assert (output.path is not None) == (count > 1000)
            assert output.text() == "a" * count
            assert output.path is None
    assert (list(tmp_path.rglob("*.txt")), folder.kept_bytes) == ([], 0)
    with folder.spill("bash", memory_bytes=1000, whole_bytes=200_000) as output:
        output.write(b"\xff" * 100_000)  # grows threefold as text
        assert "of 100000 bytes are left out here" in output.text()
    assert output.path is not None
    assert (output.path.stat().st_size, folder.kept_bytes) == (100_000, 100_000)


def test_a_stream_past_the_folders_limit_is_cut_with_a_note(tmp_path: Path) -> None:
    folder = ResultFolder(tmp_path, "run", limit_bytes=5000)
    with folder.spill("bash", memory_bytes=100) as output:
        for _ in range(10):
            output.write(b"z" * 1000)
    assert output.path is not None
    assert output.path.stat().st_size == 5000
    assert "the last 5000 bytes went past the limit and are lost" in output.text(100)


def test_old_runs_are_swept_and_nothing_else(tmp_path: Path) -> None:
    old, new = ResultFolder(tmp_path, "old"), ResultFolder(tmp_path, "new")
    old.keep_text("x")
    new.keep_text("y")
    (tmp_path / "file").write_text("foreign")
    (tmp_path / "link").symlink_to(tmp_path / "new")
    os.utime(old.path, (0, 0))
    assert sweep(tmp_path) == [old.path]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link", "new"]
    assert sweep(tmp_path / "missing") == []


def test_each_run_has_its_own_folder(tmp_path: Path) -> None:
    folders = ResultFolders(tmp_path)
    assert folders.of("a") is folders.of("a")
    assert folders.of("a").path != folders.of("b").path
    folders.forget("a")
    assert folders.of("a").path == tmp_path / "a"


def test_integers_beyond_64_bits_are_shown_exactly(tmp_path: Path) -> None:
    value: Any = [2**100] * 5000
    found = shown(value, ResultFolder(tmp_path, "run"))
    assert found.path is not None
    assert json.loads(found.path.read_text()) == value
