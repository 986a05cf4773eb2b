"""Files that real Pi wrote load as Pi loads them, keep every byte, and files we write open in Pi."""

import json
import shutil
from pathlib import Path

import pytest

from runtime.transcript.store import TranscriptStore
from tests.runtime.transcript.pi import needs_pi, read_with_pi

FOLDER = Path(__file__).parents[2] / "data" / "pi-sessions"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())["files"]


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_leaf_branch_and_skipped_lines_are_those_pi_computes(name):
    with TranscriptStore.open(FOLDER / name, read_only=True) as store:
        expected = EXPECTED[name]
        assert store.leaf_id == expected["leaf"]
        assert [entry.id for entry in store.branch()] == expected["branch"]
        assert store.branch_ids() == expected["branch"]
        assert [finding.line for finding in store.skipped] == expected["skipped"]
        assert len(store) == expected["entries"]
        assert store.name == expected["name"]
        assert store.labels == expected["labels"]


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_opening_reading_and_closing_changes_no_byte(name, tmp_path):
    path = tmp_path / name
    shutil.copyfile(FOLDER / name, path)
    before = path.read_bytes()
    with TranscriptStore.open(path) as store:
        for entry in store.entries():
            assert entry.fields["id"] == entry.id
            assert entry.parent_id == entry.fields["parentId"]
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_fork_holds_the_branch_byte_for_byte(name, tmp_path):
    with TranscriptStore.open(FOLDER / name, read_only=True) as store:
        with store.fork(tmp_path / "fork.jsonl") as fork:
            assert fork.branch_ids() == store.branch_ids()
            assert fork.header.parent_session == str(FOLDER / name)
            assert fork.header.cwd == "/project"
        copied = (tmp_path / "fork.jsonl").read_bytes().split(b"\n")[1:-1]
        original = set((FOLDER / name).read_bytes().split(b"\n"))
        assert set(copied) <= original


def test_appending_leaves_what_pi_wrote_as_a_prefix(tmp_path):
    path = tmp_path / "s.jsonl"
    shutil.copyfile(FOLDER / "09-thinking-overrides-scripted-payloads.jsonl", path)
    before = path.read_bytes()
    with TranscriptStore.open(path) as store:
        leaf = store.leaf_id
        entry = store.append_custom("pi-fabric-thinking", {"version": 1, "override": None})
        assert entry.parent_id == leaf
    after = path.read_bytes()
    assert after == before + entry.raw + b"\n"


@needs_pi
def test_recorded_values_are_what_pi_says_now(tmp_path):
    copies = [Path(shutil.copyfile(FOLDER / name, tmp_path / name)) for name in sorted(EXPECTED)]
    for answer in read_with_pi(*copies):
        assert answer == {"file": answer["file"], **EXPECTED[answer["file"]]}


@needs_pi
def test_a_file_we_wrote_opens_in_pi_with_the_same_leaf_branch_labels_and_name(tmp_path):
    path = tmp_path / "ours.jsonl"
    with TranscriptStore.create(path, cwd=tmp_path) as store:
        first = store.append_message({"role": "user", "content": "\u2028 text \u0085 ü 😀", "timestamp": 1})
        store.append_thinking_level_change("high")
        store.append_model_change("fake", "r1")
        store.append_custom("x", {"big": 10**60, "deep": [[[{}]]]})
        store.append_custom_message("pi-fabric-capability", "hint", display=False, details={"matches": []})
        store.append_label(first.id, "here")
        store.append_session_info("a\nname")
        store.append("unknown_type_of_ours", {"field": None})
        store.navigate(first.id)
        store.append_message({"role": "assistant", "content": [], "timestamp": 2})
        store.navigate_durably(first.id)
        with store.fork(tmp_path / "fork.jsonl") as fork:
            forked = (fork.leaf_id, fork.branch_ids())
        ours = (store.leaf_id, store.branch_ids(), store.labels, store.name)
    bytes_before = path.read_bytes()
    answer, fork_answer = read_with_pi(path, tmp_path / "fork.jsonl")
    assert (answer["leaf"], answer["branch"], answer["labels"], answer["name"]) == ours
    assert (fork_answer["leaf"], fork_answer["branch"]) == forked
    assert answer["skipped"] == []
    assert path.read_bytes() == bytes_before
