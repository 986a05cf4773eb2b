"""Versions 1 and 2 load, are never appended to, and become version 3 in a new file; the old one keeps every byte."""

import json

import pytest

from runtime.transcript.errors import ReadOnlyTranscriptError, TranscriptError
from runtime.transcript.migrate import write_migrated
from runtime.transcript.store import TranscriptStore
from tests.runtime.transcript.lines import line, session
from tests.runtime.transcript.pi import needs_pi, read_with_pi

V1 = b"".join(
    json.dumps(row).encode() + b"\n"
    for row in (
        {"type": "session", "id": "old", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/project", "extra": 1},
        {"type": "message", "timestamp": "2025-01-01T00:00:01.000Z", "message": {"role": "user", "content": "hi"}},
        {
            "type": "message",
            "timestamp": "2025-01-01T00:00:02.000Z",
            "message": {"role": "hookMessage", "content": "h"},
        },
        {
            "type": "compaction",
            "timestamp": "2025-01-01T00:00:03.000Z",
            "summary": "s",
            "firstKeptEntryIndex": 2,
            "keep": [1],
        },
    )
)
V2_HEADER = b'{"type":"session","version":2,"id":"old2","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/project"}\n'
V2 = (
    V2_HEADER
    + line("a", type="message", message={"role": "hookMessage", "content": "h"})
    + line("b", "a")
    + b"broken\n"
)


@pytest.mark.parametrize("data", [V1, V2], ids=["v1", "v2"])
def test_an_old_version_loads_refuses_appends_by_name_and_stays_as_it_is(tmp_path, data):
    path = tmp_path / "old.jsonl"
    path.write_bytes(data)
    with TranscriptStore.open(path) as store:
        assert len(store.branch()) == (3 if data is V1 else 2)
        assert store.read_only
        assert store.version == (1 if data is V1 else 2)
        with pytest.raises(ReadOnlyTranscriptError, match="sessions migrate"):
            store.append_custom("t")
        assert "hookMessage" not in {(entry.message or {}).get("role") for entry in store.branch()}
    assert path.read_bytes() == data
    with TranscriptStore.open(path) as again:  # its guard was given up: nothing is written to it
        assert again.read_only


def test_migration_writes_a_new_version_3_file_that_takes_appends(tmp_path):
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    old.write_bytes(V1)
    with TranscriptStore.open(old, read_only=True) as store:
        ids = store.branch_ids()
    header = write_migrated(old, new)
    assert (header.version, header.id, header.fields["extra"]) == (3, "old", 1)
    with TranscriptStore.open(new) as store:
        assert store.branch_ids() == ids
        compaction = store.branch()[-1]
        assert compaction.get("firstKeptEntryId") == ids[1]
        assert compaction.get("firstKeptEntryIndex") is None
        assert compaction.get("keep") == [1]
        assert store.branch()[1].message["role"] == "custom"
        store.append_custom("t")
    assert old.read_bytes() == V1
    with pytest.raises(FileExistsError):
        write_migrated(old, new)


def test_a_damaged_line_keeps_its_number_in_an_old_file(tmp_path):
    path = tmp_path / "old.jsonl"
    path.write_bytes(V2)
    with TranscriptStore.open(path, read_only=True) as store:
        assert [finding.line for finding in store.skipped] == [4]


def test_a_version_3_file_needs_no_migration(tmp_path):
    path = session(tmp_path / "s.jsonl", line("a"))
    with pytest.raises(TranscriptError, match="no migration"):
        write_migrated(path, tmp_path / "new.jsonl")
    assert not (tmp_path / "new.jsonl").exists()


@needs_pi
@pytest.mark.parametrize("data", [V1, V2], ids=["v1", "v2"])
def test_pi_reads_what_was_migrated_and_changes_nothing_in_it(tmp_path, data):
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    old.write_bytes(data)
    write_migrated(old, new)
    before = new.read_bytes()
    with TranscriptStore.open(new, read_only=True) as store:
        ours = (store.leaf_id, store.branch_ids())
    (answer,) = read_with_pi(new)
    assert (answer["leaf"], answer["branch"]) == ours
    assert new.read_bytes() == before
