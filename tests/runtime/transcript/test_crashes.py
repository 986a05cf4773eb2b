"""A writer killed at random moments, a full disk, a failing disk: nothing acknowledged is lost, nothing is torn inside."""

import errno
import os
import random
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from runtime.transcript.errors import WriteFailedError
from runtime.transcript.store import TranscriptStore
from tests.runtime.transcript.lines import line, session

ROOT = Path(__file__).parents[3]


def kill_writers(path: Path, times: int, seed: int, durability: str) -> None:
    rng = random.Random(seed)
    acknowledged: list[str] = []
    for _ in range(times):
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.runtime.transcript.writer_process", "write", str(path), durability],
            cwd=ROOT,
            stdout=subprocess.PIPE,
        )
        with process:
            assert process.stdout.readline() == b"ready\n"  # the guard of the killed one was free at once
            # Real time on purpose: the moment of the kill is what is random here.
            killer = threading.Timer(rng.uniform(0, 0.05), process.send_signal, [signal.SIGKILL])
            killer.start()
            output = process.stdout.read()
            killer.join()
        acknowledged += [word.decode() for word in output.split(b"\n")[:-1]]
        with TranscriptStore.open(path, read_only=True) as store:
            present = set(store.branch_ids())
            assert present.issuperset(acknowledged)
            assert len(store.branch()) == len(store)  # one chain: every life went on where the last one ended
            for finding in store.damage:
                assert finding.kind in {"torn", "malformed"}
    lines = path.read_bytes().split(b"\n")
    whole = sum(1 for text in lines if text.startswith(b"{") and text.endswith(b"}"))
    torn = [text for text in lines if text and not text.endswith(b"}")]
    assert whole == len(present) + 1
    assert len(torn) <= times  # at most the last line of each life, and never one that was acknowledged
    assert acknowledged


@pytest.mark.parametrize("durability", ["run", "entry"])
def test_a_writer_killed_at_random_moments_loses_nothing_it_acknowledged(tmp_path, durability):
    kill_writers(session(tmp_path / "s.jsonl"), 10, 1, durability)


@pytest.mark.soak
@pytest.mark.parametrize("durability", ["none", "run", "entry"])
def test_hundreds_of_kills_lose_nothing_that_was_acknowledged(tmp_path, durability):
    for number in range(10):
        kill_writers(session(tmp_path / f"{number}.jsonl"), 20, number, durability)


def test_a_disk_that_fills_up_takes_whole_entries_or_none(tmp_path):
    """The file size limit cuts a write short exactly as a full disk does."""
    path = session(tmp_path / "s.jsonl", line("a"))
    limit = path.stat().st_size + 10_000
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with TranscriptStore.open(path) as store:
        entries = []
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            with pytest.raises(WriteFailedError):
                while True:
                    entries.append(store.append_custom("t", "x" * 1_000))
            full = path.read_bytes()
            assert full.endswith(entries[-1].raw + b"\n")
            assert store.leaf_id == entries[-1].id
            entries.append(store.append_custom("t", "small"))  # what still fits is written
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        entries.append(store.append_custom("t", "x" * 5_000))
        assert store.branch_ids() == ["a", *(entry.id for entry in entries)]
    with TranscriptStore.open(path, read_only=True) as store:
        assert store.branch_ids() == ["a", *(entry.id for entry in entries)]
        assert not store.damage


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
@pytest.mark.parametrize("written", [0, 1, 50, None])
def test_an_error_in_the_middle_of_a_write_leaves_no_byte_and_memory_as_it_was(tmp_path, monkeypatch, code, written):
    path = session(tmp_path / "s.jsonl", line("a"))
    real = os.write
    with TranscriptStore.open(path) as store:
        before = path.read_bytes()
        calls = []

        def failing(fd: int, data: bytes) -> int:
            calls.append(len(data))
            if len(calls) == 1 and written != 0:
                return real(fd, data[: len(data) - 1 if written is None else written])
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(os, "write", failing)
        with pytest.raises(WriteFailedError) as caught:
            store.append_custom("t", "x" * 100)
        monkeypatch.setattr(os, "write", real)
        assert os.strerror(code) in str(caught.value)
        assert path.read_bytes() == before
        assert (store.leaf_id, len(store)) == ("a", 1)
        again = store.append_custom("t")
        assert again.parent_id == "a"
    with TranscriptStore.open(path, read_only=True) as store:
        assert store.branch_ids() == ["a", again.id]
        assert not store.damage


def test_a_short_write_is_finished(tmp_path, monkeypatch):
    path = session(tmp_path / "s.jsonl", line("a"))
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:10]))
    with TranscriptStore.open(path) as store:
        entry = store.append_custom("t", "x" * 100)
    assert path.read_bytes().endswith(b"\n" + entry.raw + b"\n")


@pytest.mark.parametrize("durability", ["entry", "run"])
def test_a_failed_fsync_is_told_and_nothing_more_is_acknowledged_until_the_session_is_opened_again(
    tmp_path, monkeypatch, durability
):
    path = session(tmp_path / "s.jsonl", line("a"))
    real = os.fdatasync

    def failing(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    store = TranscriptStore.open(path, durability=durability)
    monkeypatch.setattr(os, "fdatasync", failing)
    kept = ["a"]
    with pytest.raises(WriteFailedError):
        kept.append(store.append_custom("t").id)
        store.sync()
    monkeypatch.setattr(os, "fdatasync", real)
    with pytest.raises(WriteFailedError, match="again"):
        store.append_custom("t")
    assert store.branch_ids() == kept
    store.close()
    with TranscriptStore.open(path) as store:
        assert store.branch_ids() == kept
        store.append_custom("t")


def test_an_interrupt_inside_the_write_leaves_memory_and_file_in_agreement(tmp_path, monkeypatch):
    path = session(tmp_path / "s.jsonl", line("a"))
    real = os.write

    def interrupted(fd: int, data: bytes) -> int:
        real(fd, data)
        raise KeyboardInterrupt

    with TranscriptStore.open(path) as store:
        monkeypatch.setattr(os, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.append_custom("t")
        monkeypatch.setattr(os, "write", real)
        entry = store.append_custom("t")
        assert store.branch_ids() == ["a", entry.id]
    with TranscriptStore.open(path, read_only=True) as store:
        assert store.branch_ids() == ["a", entry.id]
        assert not store.damage


def test_torn_bytes_that_cannot_be_taken_back_stop_the_writer_and_the_next_open_goes_on_behind_them(
    tmp_path, monkeypatch
):
    path = session(tmp_path / "s.jsonl", line("a"))
    real = os.write

    def torn(fd: int, data: bytes) -> int:
        real(fd, data[:20])
        raise OSError(errno.EIO, "bad disk")

    def refused(*_: int) -> None:
        raise OSError(errno.EIO, "bad disk")

    store = TranscriptStore.open(path)
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", torn)
        patched.setattr(os, "ftruncate", refused)
        with pytest.raises(WriteFailedError):
            store.append_custom("t")
    with pytest.raises(WriteFailedError, match="again"):
        store.append_custom("t")
    store.close()
    with TranscriptStore.open(path) as store:
        assert [finding.kind for finding in store.skipped] == ["torn"]
        entry = store.append_custom("t")
    with TranscriptStore.open(path, read_only=True) as store:
        assert store.branch_ids() == ["a", entry.id]
