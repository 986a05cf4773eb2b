"""Files of many runs against a reader of a few lines: chains with side branches, orphans, duplicates and odd lines."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.transcript import scan
from runtime.transcript.store import TranscriptStore
from tests.runtime.transcript.lines import HEADER

ODD_LINES = {
    "blank": b"",
    "broken": b'{"type":',
    "nul": b"\0" * 9,
    "no id": b'{"type":"custom"}',
    "empty id": b'{"type":"custom","id":""}',
    "second header": HEADER.rstrip(b"\n"),
    "array": b"[]",
}


def odd_file(seed: int, count: int, oddness: float) -> bytes:
    """Mostly a chain; now and then something else."""
    rng = random.Random(seed)
    lines, ids = [HEADER.rstrip(b"\n")], []
    for number in range(count):
        entry_id = f"e{number}"
        parent = ids[-1] if ids else None
        end = b""
        if rng.random() < oddness:
            what = rng.choice(["side", "root", "orphan", "duplicate", "crlf", "spaces", *ODD_LINES])
            if what == "side" and ids:
                parent = rng.choice(ids)
            elif what == "root":
                parent = None
            elif what == "orphan":
                parent = "nowhere"
            elif what == "duplicate" and ids:
                entry_id = rng.choice(ids)
                parent = None  # a root: no cycle, which only we cut
            elif what in ODD_LINES:
                lines.append(ODD_LINES[what])
            end = {"crlf": b"\r", "spaces": b"  "}.get(what, b"")
        ids.append(entry_id)
        fields = {
            "type": "custom",
            "customType": f"t{rng.randrange(3)}",
            "id": entry_id,
            "parentId": parent,
            "n": number,
        }
        lines.append(json.dumps({**fields, "x": "y" * rng.randrange(90)}).encode() + end)
    return b"\n".join(lines) + b"\n"


@settings(max_examples=60, deadline=None)
@given(
    st.integers(min_value=0, max_value=2**32),
    st.integers(min_value=1, max_value=400),
    st.sampled_from([0.0, 0.01, 0.05, 0.3]),
    st.sampled_from([300, 2_000, 64 * 1024]),
)
def test_every_entry_branch_line_and_byte_is_what_a_plain_reader_finds(
    tmp_path_factory, seed, count, oddness, run_bytes
):
    data = odd_file(seed, count, oddness)
    path = tmp_path_factory.mktemp("long") / "s.jsonl"
    path.write_bytes(data)
    by_id, places, last = {}, {}, None
    for number, raw in enumerate(data.split(b"\n")[1:], 2):
        try:
            fields = json.loads(raw)
        except ValueError:
            continue
        if not isinstance(fields, dict) or fields["type"] == "session" or not fields.get("id"):
            continue
        last = fields["id"]
        by_id[last], places[last] = fields, (number, raw.rstrip(b"\r"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "RUN_BYTES", run_bytes)
        store = TranscriptStore.open(path, read_only=True)
    assert (store.leaf_id, len(store)) == (last, len(by_id))
    rng = random.Random(seed)
    for leaf in [last, *rng.sample(sorted(by_id), min(8, len(by_id)))]:
        branch, at = [], leaf
        while at in by_id:
            branch.append(at)
            at = by_id[at]["parentId"]
        branch.reverse()
        assert store.branch_ids(leaf) == branch
        entries = list(store.branch(leaf))
        assert [entry.raw for entry in entries] == [places[entry_id][1] for entry_id in branch]
        assert [entry.parent_id for entry in entries] == [by_id[entry_id]["parentId"] for entry_id in branch]
        wanted = [entry_id for entry_id in branch if by_id[entry_id]["customType"] == "t1"]
        found = store.latest_custom("t1", leaf_id=leaf)
        assert (found.id if found else None) == (wanted[-1] if wanted else None)
    nodes = [store.tree.node(entry_id) for entry_id in by_id]
    assert [place.line for place in store.tree.places.of(nodes)] == [places[entry_id][0] for entry_id in by_id]
    for node, entry_id in zip(nodes, by_id, strict=True):
        assert store.tree.place(node).line == places[entry_id][0]
        assert store.entry(entry_id).raw == places[entry_id][1]
