"""What the store promises its callers: append, branch, fork, label, name, navigate, subscribe, durability, strictness."""

import errno
import json
import os
import threading

import pytest

from host_bridge.strict_json import NotJsonError
from runtime.transcript.entries import Entry
from runtime.transcript.errors import (
    ChangedOnDiskError,
    ReadOnlyTranscriptError,
    SessionOwnedError,
    UnknownEntryError,
    WriteFailedError,
)
from runtime.transcript.store import TranscriptStore
from tests.runtime.transcript.lines import HEADER, line, session


@pytest.fixture
def path(tmp_path):
    return tmp_path / "s.jsonl"


def reopened(path):
    with TranscriptStore.open(path, read_only=True) as store:
        return store.branch_ids(), store.leaf_id, list(store.branch())


def test_a_new_session_is_on_disk_before_its_first_entry(path):
    with TranscriptStore.create(path, cwd="/project", session_id="mine") as store:
        assert store.header.version == 3
        assert path.read_bytes().count(b"\n") == 1
        assert store.leaf_id is None
        assert len(store.branch()) == 0
    assert reopened(path) == ([], None, [])


def test_create_never_replaces_a_file(path):
    path.write_bytes(b"precious")
    with pytest.raises(FileExistsError):
        TranscriptStore.create(path)
    assert path.read_bytes() == b"precious"
    assert [item.name for item in path.parent.iterdir()] == ["s.jsonl"]


def test_each_entry_is_one_whole_line_on_the_file_when_append_returns(path):
    with TranscriptStore.create(path) as store:
        before = path.read_bytes()
        for number in range(5):
            entry = store.append_custom("t", {"n": number})
            before += entry.raw + b"\n"
            assert path.read_bytes() == before
            assert store.leaf_id == entry.id
        assert list(store.branch()) == reopened(path)[2]


def test_each_entry_is_one_write(path, monkeypatch):
    written = []
    real = os.write
    with TranscriptStore.create(path) as store:
        monkeypatch.setattr(os, "write", lambda fd, data: written.append(bytes(data)) or real(fd, data))
        entry = store.append_message({"role": "user", "content": "x" * 200_000})
    assert written == [entry.raw + b"\n"]


@pytest.mark.parametrize(("durability", "after_append", "after_sync"), [("entry", 1, 1), ("run", 0, 1), ("none", 0, 0)])
def test_durability_decides_when_the_disk_is_synced(path, monkeypatch, durability, after_append, after_sync):
    TranscriptStore.create(path).close()
    synced = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    with TranscriptStore.open(path, durability=durability) as store:
        store.append_custom("t")
        assert len(synced) == after_append
        store.sync()
        store.sync()
        assert len(synced) == after_sync


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"rows": [{"score": float("nan")}]}, "$.data.rows[0].score"),
        ([1, float("inf")], "$.data[1]"),
        ({"k": {1: 2}}, "$.data.k"),
        ({"s": {1, 2}}, "$.data.s"),
        ({"b": b"x"}, "$.data.b"),
        ({"t": "\ud800"}, "$.data.t"),
    ],
)
def test_what_strict_json_cannot_carry_is_refused_with_its_path_and_nothing_is_written(path, value, place):
    with TranscriptStore.create(path) as store:
        before = path.read_bytes()
        with pytest.raises(NotJsonError) as caught:
            store.append_custom("t", value)
        assert caught.value.path == place
        assert path.read_bytes() == before
        assert store.leaf_id is None


def test_integers_are_exact_at_any_size(path):
    numbers = [2**53 + 1, -(2**64), 10**60, -(10**5_000), 7**20_000]
    with TranscriptStore.create(path) as store:
        store.append_custom("t", numbers)
    assert reopened(path)[2][0].data == numbers


def test_navigation_moves_the_leaf_in_memory_and_writes_nothing(path):
    with TranscriptStore.create(path) as store:
        first, second = store.append_custom("t"), store.append_custom("t")
        before = path.read_bytes()
        store.navigate(first.id)
        assert path.read_bytes() == before
        assert store.branch_ids() == [first.id]
        third = store.append_custom("t")
        assert third.parent_id == first.id
        store.navigate(None)
        assert store.append_custom("t").parent_id is None
        with pytest.raises(UnknownEntryError):
            store.navigate("gone")
        assert second.id in store


def test_after_navigation_alone_a_reload_is_back_at_the_last_line(path):
    with TranscriptStore.create(path) as store:
        first, second = store.append_custom("t"), store.append_custom("t")
        store.navigate(first.id)
    assert reopened(path)[1] == second.id


def test_durable_navigation_survives_a_reload_and_keeps_the_label(path):
    with TranscriptStore.create(path) as store:
        first = store.append_custom("t")
        store.append_label(first.id, "here")
        store.append_custom("t")
        moved = store.navigate_durably(first.id)
        assert moved.parent_id == first.id
    with TranscriptStore.open(path) as store:
        assert store.branch_ids() == [first.id, moved.id]
        assert store.labels == {first.id: "here"}
        plain = store.append_custom("t")
        store.navigate_durably(plain.id)
        assert store.labels == {first.id: "here"}


def test_labels_and_names_follow_the_last_word(path):
    with TranscriptStore.create(path) as store:
        entry = store.append_custom("t")
        assert (store.name, store.labels) == (None, {})
        store.append_label(entry.id, "one")
        store.append_label(entry.id, "two")
        store.append_session_info("first")
        store.append_session_info(" a\r\nb ")
        assert (store.name, store.labels) == ("a  b", {entry.id: "two"})
        store.append_label(entry.id, None)
        store.append_session_info("")
        assert (store.name, store.labels) == (None, {})
        with pytest.raises(UnknownEntryError):
            store.append_label("gone", "x")


def test_the_latest_entry_of_a_kind_is_the_branch_s_not_the_file_s(path):
    with TranscriptStore.create(path) as store:
        one = store.append_custom("thinking", 1)
        two = store.append_custom("thinking", "malformed")
        store.append_custom("other")
        assert store.latest_custom("thinking") == two
        store.navigate(one.id)
        store.append_custom("other")
        assert store.latest_custom("thinking") == one
        assert store.latest_custom("nobody") is None
        assert store.latest("custom").custom_type == "other"
        assert store.latest_custom("thinking", leaf_id=two.id) == two


def test_only_the_asked_line_is_read_when_the_latest_is_looked_for(path, monkeypatch):
    lines = [line("a", customType="wanted"), *(line(f"n{i}", f"n{i - 1}" if i else "a") for i in range(1_000))]
    with TranscriptStore.open(session(path, *lines), read_only=True) as store:
        reads = []
        real = os.pread
        monkeypatch.setattr(os, "pread", lambda fd, length, offset: reads.append(length) or real(fd, length, offset))
        assert store.latest_custom("wanted").id == "a"
        assert len(store.branch()) == 1_001
        assert reads == [len(lines[0])]


def test_fork_copies_the_branch_verbatim_and_leaves_the_source_alone(path, tmp_path):
    odd = b'{ "type":"new" , "id":"b","parentId":"a", "unknown":{"x":1.0,"y":1e3,"dup":1,"dup":2}, "big":123456789012345678901234567890}\n'
    session(path, line("a"), odd, line("side", "a"), line("c", "b"))
    before = path.read_bytes()
    with TranscriptStore.open(path) as store, store.fork(tmp_path / "f.jsonl", "c") as fork:
        assert fork.branch_ids() == ["a", "b", "c"]
        assert fork.entry("b").raw + b"\n" == odd
        assert fork.header.parent_session == str(path)
        assert fork.header.id != store.header.id
        assert "side" not in fork
        fork.append_custom("t")
    assert path.read_bytes() == before
    with TranscriptStore.open(path) as store, pytest.raises(UnknownEntryError):
        store.fork(tmp_path / "g.jsonl", "gone")
    assert not (tmp_path / "g.jsonl").exists()


def test_clone_copies_the_present_branch(path, tmp_path):
    session(path, line("a"), line("side", "a"), line("c", "a"))
    with TranscriptStore.open(path) as store:
        store.navigate("side")
        with store.clone(tmp_path / "f.jsonl", cwd="/elsewhere") as clone:
            assert clone.branch_ids() == ["a", "side"]
            assert clone.header.cwd == "/elsewhere"
        with pytest.raises(FileExistsError):
            store.clone(tmp_path / "f.jsonl")


def test_a_fork_out_of_a_cycle_is_no_cycle(path, tmp_path):
    session(path, line("a", "c"), line("b", "a"), line("c", "b"))
    with TranscriptStore.open(path) as store, store.fork(tmp_path / "f.jsonl") as fork:
        assert fork.branch_ids() == ["a", "b", "c"]
        assert not fork.damage
        assert fork.entry("a").fields["parentId"] is None


def test_subscribers_hear_of_entries_that_are_on_the_file_and_cannot_fail_an_append(path, caplog):
    with TranscriptStore.create(path) as store:
        heard = []

        def listener(entry: Entry) -> None:
            assert entry.raw + b"\n" in path.read_bytes()
            assert store.leaf_id == entry.id
            heard.append(entry.id)

        def broken(_: Entry) -> None:
            raise RuntimeError("listener's own fault")

        store.subscribe(broken)
        unsubscribe = store.subscribe(listener)
        first = store.append_custom("t")
        unsubscribe()
        store.append_custom("t")
        assert heard == [first.id]
    assert "subscriber" in caplog.text


def test_read_only_refuses_appends_and_takes_no_lock(path):
    session(path, line("a"))
    with TranscriptStore.open(path, read_only=True) as store:
        assert store.read_only
        with pytest.raises(ReadOnlyTranscriptError):
            store.append_custom("t")
    assert [item.name for item in path.parent.iterdir()] == ["s.jsonl"]


def test_entries_stay_readable_after_close_and_appends_do_not(path):
    store = TranscriptStore.open(session(path, line("a", data=1)))
    branch = store.branch()
    store.close()
    store.close()
    assert branch[0].data == 1
    with pytest.raises(ReadOnlyTranscriptError):
        store.append_custom("t")


def test_a_writer_without_the_guard_is_noticed_before_anything_is_written(path):
    with TranscriptStore.open(session(path, line("a"))) as store:
        with path.open("ab") as foreign:
            foreign.write(line("f", "a"))
        before = path.read_bytes()
        with pytest.raises(ChangedOnDiskError):
            store.append_custom("t")
        assert path.read_bytes() == before
        assert store.leaf_id == "a"
    assert reopened(path)[0] == ["a", "f"]


def test_a_deleted_file_is_noticed(path):
    with TranscriptStore.open(session(path, line("a"))) as store:
        path.unlink()
        with pytest.raises(ChangedOnDiskError):
            store.append_custom("t")


def test_threads_that_append_at_once_make_one_chain_of_whole_lines(path):
    with TranscriptStore.create(path) as store:
        threads = [
            threading.Thread(target=lambda: [store.append_custom("t", "x" * 200_000) for _ in range(5)])
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(store.branch()) == 40
    with TranscriptStore.open(path, read_only=True) as store:
        assert len(store.branch()) == 40
        assert not store.damage


def test_in_memory_sessions_behave_alike(tmp_path):
    with TranscriptStore.in_memory(cwd="/project") as store:
        first = store.append_custom("t", {"n": 1})
        store.append_message({"role": "user", "content": "hi"})
        store.navigate(first.id)
        last = store.append_custom("t", {"n": 2})
        assert store.path is None
        assert [entry.id for entry in store.branch()] == [first.id, last.id]
        with store.fork(tmp_path / "f.jsonl") as fork:
            assert fork.branch_ids() == store.branch_ids()
            assert fork.header.parent_session is None


def test_a_copy_in_memory_goes_on_from_the_branch_and_leaves_the_file_to_its_owner(path):
    session(path, line("a"), line("side", "a"), b"broken\n", line("c", "a"))
    before = path.read_bytes()
    with TranscriptStore.open(path), TranscriptStore.in_memory_copy(path) as copy:
        assert copy.branch_ids() == ["a", "c"]
        assert [finding.line for finding in copy.skipped] == [4]
        assert copy.append_custom("t").parent_id == "c"
    assert path.read_bytes() == before


def test_open_or_create_begins_a_session_where_there_is_none_or_an_empty_file(path):
    with TranscriptStore.open_or_create(path, cwd="/p") as store:
        entry = store.append_custom("t")
    with TranscriptStore.open_or_create(path) as store:
        assert store.leaf_id == entry.id
    path.write_bytes(b"")
    with TranscriptStore.open_or_create(path, cwd="/p") as store:
        assert store.header.cwd == "/p"
        store.append_custom("t")


def test_an_id_collision_is_drawn_again(path, monkeypatch):
    with TranscriptStore.open(session(path, line("00000001"))) as store:
        draws = iter([b"\0\0\0\1", b"\0\0\0\1", b"\0\0\0\2"])
        monkeypatch.setattr(os, "urandom", lambda _: next(draws))
        assert store.append_custom("t").id == "00000002"


def test_the_header_and_the_envelope_belong_to_the_store(path):
    with TranscriptStore.create(path) as store:
        with pytest.raises(ValueError, match="header"):
            store.append("session", {})
        with pytest.raises(ValueError, match="parentId"):
            store.append("custom", {"parentId": "x"})
        for name in ("../x", "", "-a", "a b"):
            with pytest.raises(ValueError, match="session id"):
                TranscriptStore.create(path.with_name("t.jsonl"), session_id=name)


def test_a_newer_version_is_read_and_never_appended_to(path):
    session(path, line("a"), header=HEADER.replace(b":3,", b":4,"))
    with TranscriptStore.open(path) as store:
        assert store.branch_ids() == ["a"]
        with pytest.raises(ReadOnlyTranscriptError, match="newer"):
            store.append_custom("t")


def test_an_entry_is_frozen_and_equal_by_its_line():
    entry = Entry.make("custom", {"customType": "t", "data": 1}, id="a")
    with pytest.raises(AttributeError):
        entry.id = "b"
    assert entry == Entry.parse(entry.raw)
    assert hash(entry) == hash(Entry.parse(entry.raw))
    for bad in (b"5", b"{}", b'{"id":1,"type":"x"}', b"nope"):
        with pytest.raises(ValueError, match=r".+"):
            Entry.parse(bad)


def test_a_deferred_session_has_no_file_until_the_first_append_and_then_all_of_it(tmp_path):
    path = tmp_path / "sub" / "s.jsonl"
    with TranscriptStore.create(path, cwd="/project", session_id="me", deferred=True) as store:
        assert (store.path, store.header.id, store.leaf_id, list(store.branch())) == (path, "me", None, [])
        assert list(path.parent.iterdir()) == []
        entry = store.append_custom("x", {"n": 1})
        assert [json.loads(line)["type"] for line in path.read_bytes().splitlines()] == ["session", "custom"]
        with pytest.raises(SessionOwnedError):
            TranscriptStore.open(path)
        assert store.entry(entry.id).raw == path.read_bytes().splitlines()[1]
        store.append_custom("y")
        assert [one.custom_type for one in store.branch()] == ["x", "y"]
    with TranscriptStore.open(path) as again:
        assert (again.header.id, len(again), list(again.damage)) == ("me", 2, [])


def test_a_deferred_session_that_takes_nothing_leaves_nothing(tmp_path):
    path = tmp_path / "s.jsonl"
    TranscriptStore.create(path, deferred=True).close()
    with TranscriptStore.open_or_create(path, deferred=True) as store:
        store.sync()
    with pytest.raises(ReadOnlyTranscriptError, match="closed"):
        store.append_custom("x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ends", [True, False])
def test_of_two_that_begin_one_session_the_slower_one_is_refused_and_writes_nothing(tmp_path, ends):
    path = tmp_path / "s.jsonl"
    first, second = (TranscriptStore.open_or_create(path, deferred=True) for _ in range(2))
    first.append_custom("first")
    if ends:
        first.close()
    before = path.read_bytes()
    with pytest.raises(ChangedOnDiskError if ends else SessionOwnedError):
        second.append_custom("second")
    assert (path.read_bytes(), second.leaf_id) == (before, None)
    second.close()
    first.close()


def test_an_empty_file_is_begun_in_place(tmp_path):
    path = tmp_path / "s.jsonl"
    path.touch(mode=0o640)
    inode = path.stat().st_ino
    with TranscriptStore.open_or_create(path, deferred=True) as store:
        assert path.stat().st_size == 0
        store.begin_file()
        store.begin_file()
        assert [json.loads(line)["type"] for line in path.read_bytes().splitlines()] == ["session"]
        store.append_custom("x")
    assert path.stat().st_ino == inode
    assert len(TranscriptStore.open(path, read_only=True)) == 1


def test_a_place_that_takes_no_file_is_refused_before_anything_is_due(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # for the superuser every folder is writable
    with pytest.raises(PermissionError, match="not writable"):
        TranscriptStore.create(tmp_path / "s.jsonl", deferred=True)
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"exists|Not a directory"):
        TranscriptStore.create(tmp_path / "file" / "s.jsonl", deferred=True)


def test_a_forked_child_does_not_begin_the_session_of_its_parent(tmp_path):
    path = tmp_path / "s.jsonl"
    store = TranscriptStore.create(path, deferred=True)
    pid = os.fork()
    if pid == 0:
        try:
            store.append_custom("x")
        except ReadOnlyTranscriptError:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert not path.exists()
    store.append_custom("mine")
    store.close()


def test_a_full_disk_at_the_beginning_is_named_and_leaves_nothing(tmp_path, monkeypatch):
    path = tmp_path / "s.jsonl"

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with TranscriptStore.create(path, deferred=True) as store:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(WriteFailedError, match="No space left on device; the session was not begun"):
                store.append_custom("x")
        assert (list(tmp_path.iterdir()), store.leaf_id) == ([], None)
        store.append_custom("y")  # there is space again
    assert len(TranscriptStore.open(path, read_only=True)) == 1
