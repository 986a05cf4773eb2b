"""One writer at a time, shown with real processes: refused at once by name, free at once after a kill, no lock for readers."""

import contextlib
import fcntl
import gc
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from runtime.transcript.errors import ReadOnlyTranscriptError, SessionOwnedError
from runtime.transcript.store import TranscriptStore
from runtime.transcript.writer_guard import lock_path_of, owner_of
from tests.runtime.transcript.lines import line, session

ROOT = Path(__file__).parents[3]


@pytest.fixture
def path(tmp_path):
    return session(tmp_path / "s.jsonl", line("a"))


@pytest.fixture
def holder(path):
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.runtime.transcript.writer_process", "hold", str(path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout.readline() == b"ready\n"
        yield process
        process.kill()


def test_a_second_writer_fails_at_once_and_is_told_who_owns_the_session(path, holder):
    with pytest.raises(SessionOwnedError) as caught:
        TranscriptStore.open(path)
    owner = caught.value.owner
    assert owner.pid == holder.pid
    assert "writer_process" in owner.command
    assert owner.host == os.uname().nodename
    assert owner.since.endswith("Z")
    assert str(holder.pid) in str(caught.value)
    assert owner_of(path) == owner


def test_the_refused_writer_may_read(path, holder):
    with TranscriptStore.open(path, read_only=True) as store:
        assert store.branch_ids() == ["a"]
        with pytest.raises(ReadOnlyTranscriptError):
            store.append_custom("t")


def test_a_killed_owner_frees_the_session_at_once_and_the_lock_file_stays(path, holder):
    inode = lock_path_of(path).stat().st_ino
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with TranscriptStore.open(path) as store:
        store.append_custom("t")
        assert owner_of(path).pid == os.getpid()
        assert lock_path_of(path).stat().st_ino == inode
    assert owner_of(path) is None
    assert lock_path_of(path).stat().st_ino == inode


def test_readers_never_block_and_leave_the_writer_alone(path):
    with TranscriptStore.open(path) as writer:
        with TranscriptStore.open(path, read_only=True) as reader:
            entry = writer.append_custom("t")
            assert reader.branch_ids() == ["a"]
        with TranscriptStore.open(path, read_only=True) as reader:
            assert reader.leaf_id == entry.id


def test_the_same_process_cannot_open_a_session_twice_for_writing(path):
    with TranscriptStore.open(path), pytest.raises(SessionOwnedError) as caught:
        TranscriptStore.open(path)
    assert caught.value.owner.pid == os.getpid()


def test_two_names_of_one_file_share_the_guard(path, tmp_path):
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    with TranscriptStore.open(path), pytest.raises(SessionOwnedError):
        TranscriptStore.open(link)


def test_the_owner_record_is_json_and_is_emptied_on_release(path):
    with TranscriptStore.open(path):
        record = json.loads(lock_path_of(path).read_bytes())
        assert record.keys() == {"command", "pid", "host", "since"}
    assert lock_path_of(path).read_bytes() == b""


def test_a_stale_record_of_a_killed_owner_is_no_owner(path):
    lock_path_of(path).write_text('{"command":"gone","pid":1,"host":"h","since":"x"}')
    assert owner_of(path) is None
    with TranscriptStore.open(path):
        assert owner_of(path).pid == os.getpid()


def test_a_lock_without_a_readable_record_still_refuses(path):
    with lock_path_of(path).open("wb") as foreign:
        fcntl.flock(foreign, fcntl.LOCK_EX)
        with pytest.raises(SessionOwnedError, match="another process"):
            TranscriptStore.open(path)


def test_the_descriptor_is_closed_in_a_forked_child_which_cannot_write(path):
    store = TranscriptStore.open(path)
    before = path.read_bytes()
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        answer = b"failed"
        try:
            locks = [
                os.readlink(f"/proc/self/fd/{fd}")
                for fd in os.listdir("/proc/self/fd")
                if os.path.exists(f"/proc/self/fd/{fd}")
            ]
            assert not any(name.endswith(".lock") for name in locks)
            try:
                store.append_custom("t")
            except ReadOnlyTranscriptError:
                answer = b"ok"
            os.write(write_end, answer)
            signal.pause()
        finally:
            os._exit(0)
    os.close(write_end)
    assert os.read(read_end, 10) == b"ok"
    os.close(read_end)
    assert path.read_bytes() == before
    store.append_custom("t")
    store.close()
    TranscriptStore.open(path).close()  # the living child does not keep the session
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def test_a_store_that_is_dropped_unclosed_frees_its_session_and_leaves_no_descriptor_to_forked_children(path):
    def descriptors() -> list[str]:
        names = []
        for fd in os.listdir("/proc/self/fd"):
            with contextlib.suppress(FileNotFoundError):  # the listing's own
                names.append(os.readlink(f"/proc/self/fd/{fd}"))
        return [name for name in names if name.startswith(str(path))]

    store = TranscriptStore.open(path)
    assert descriptors()
    store.append_custom("t")
    store.subscribe([store].append)  # a cycle: only the collector finds it
    del store
    gc.collect()
    assert descriptors() == []
    assert owner_of(path) is None
    TranscriptStore.open(path).close()


def test_a_fork_in_another_thread_never_inherits_a_lock_that_is_just_being_taken(path, monkeypatch):
    """The child is forked exactly between the lock and the guard that would drop it there."""
    real, taken, forked = fcntl.flock, threading.Event(), threading.Event()

    def slow(fd: int, how: int) -> None:
        real(fd, how)
        if how & fcntl.LOCK_EX:
            taken.set()
            assert not forked.wait(0.2)  # real time on purpose: the fork must be waiting for us

    monkeypatch.setattr(fcntl, "flock", slow)
    opening = threading.Thread(target=lambda: TranscriptStore.open(path).close())
    opening.start()
    taken.wait()
    running, runs = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(runs, b"r")
        signal.pause()
        os._exit(0)
    forked.set()
    opening.join()
    os.read(running, 1)  # what a fork does first in the child is done by then
    os.close(running)
    os.close(runs)
    monkeypatch.setattr(fcntl, "flock", real)
    with TranscriptStore.open(path) as store:
        names = [os.readlink(entry) for entry in Path(f"/proc/{child}/fd").iterdir()]
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert not [name for name in names if name.endswith(".lock")]
        store.append_custom("t")


def test_a_killed_owner_s_forked_child_does_not_keep_the_session(path):
    code = (
        "import os, sys, signal\nfrom runtime.transcript.store import TranscriptStore\n"
        f"store = TranscriptStore.open({str(path)!r})\n"
        "if os.fork() == 0: os.write(1, f'{os.getpid()}\\n'.encode())\nsignal.pause()\n"
    )
    process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", code], cwd=ROOT, stdout=subprocess.PIPE)
    with process:
        child = int(process.stdout.readline())
        process.kill()
        process.wait()
        try:
            TranscriptStore.open(path).close()
        finally:
            os.kill(child, signal.SIGKILL)


def test_the_descriptors_do_not_survive_exec(path):
    with TranscriptStore.open(path):
        listed = subprocess.run(
            ["ls", "-l", "/proc/self/fd"], capture_output=True, text=True, check=True, close_fds=False
        )
    assert "s.jsonl" not in listed.stdout


def test_a_folder_that_refuses_the_lock_says_to_open_read_only(path, monkeypatch):
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(ReadOnlyTranscriptError, match="read-only"):
        TranscriptStore.open(path)
