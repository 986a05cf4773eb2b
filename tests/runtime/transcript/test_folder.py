"""Sessions are found where Pi keeps them; one bad file hides no other."""

import os
from pathlib import Path

from runtime.transcript.folder import (
    agent_dir,
    create_session,
    find_session,
    list_sessions,
    newest_session,
    session_dir_for,
)
from tests.runtime.transcript.lines import HEADER, line, session


def test_the_default_folder_is_the_one_pi_uses(monkeypatch, tmp_path):
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path))
    assert session_dir_for("/home/user/my:project") == tmp_path / "sessions" / "--home-user-my-project--"
    monkeypatch.delenv("PI_CODING_AGENT_DIR")
    monkeypatch.setenv("HOME", "/home/user")
    assert agent_dir() == Path("/home/user/.pi/agent")


def test_a_new_session_has_pi_s_file_name(monkeypatch, tmp_path):
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path))
    with create_session("/project") as store:
        assert store.path.parent == tmp_path / "sessions" / "--project--"
        assert store.path.name.endswith(f"Z_{store.header.id}.jsonl")
        assert ":" not in store.path.name
        assert store.path.name.count(".") == 1
        assert store.header.cwd == "/project"
        assert find_session(store.path.parent, store.header.id) == store.path


def test_one_bad_file_blocks_no_other_and_is_shown_as_damaged(tmp_path):
    session(
        tmp_path / "good.jsonl", line("a"), line("m", "a", type="message", message={"role": "user", "content": "hello"})
    )
    session(tmp_path / "torn.jsonl", line("a"), b'{"torn')
    (tmp_path / "bad.jsonl").write_bytes(b'{"type":"sess' + line("a"))
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "dangling.jsonl").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "notes.txt").write_text("x")
    found = {info.path.name: info for info in list_sessions(tmp_path)}
    assert found.keys() == {"good.jsonl", "torn.jsonl", "bad.jsonl", "empty.jsonl", "dangling.jsonl", "folder.jsonl"}
    assert (found["good.jsonl"].damaged, found["good.jsonl"].entries, found["good.jsonl"].first_message) == (
        None,
        2,
        "hello",
    )
    assert (found["torn.jsonl"].damaged, found["torn.jsonl"].damaged_places) == (None, 1)
    for name in ("bad.jsonl", "empty.jsonl", "dangling.jsonl", "folder.jsonl"):
        assert found[name].damaged


def test_the_newest_session_is_the_one_changed_last_that_can_be_opened(tmp_path):
    for age, name in enumerate(("bad", "new", "old")):
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(b"no session\n" if name == "bad" else HEADER)
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    assert newest_session(tmp_path) == tmp_path / "new.jsonl"
    assert newest_session(tmp_path, cwd="/project") == tmp_path / "new.jsonl"
    assert newest_session(tmp_path, cwd="/other") is None
    assert newest_session(tmp_path / "nowhere") is None
