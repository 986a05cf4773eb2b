"""Damage costs the damaged line and nothing else: it is named with its line number, and no byte of the file changes."""

import json

import pytest

from runtime.transcript.errors import NotASessionError
from runtime.transcript.store import TranscriptStore
from tests.runtime.transcript.lines import HEADER, line, session

A, B, C = line("a"), line("b", "a"), line("c", "b")
TORN = b'{"type":"custom","id":"zz","parentId":"b","da'

TABLE = {
    # name: (bytes, branch of the leaf, [(line, kind)])
    "sound": (HEADER + A + B, ["a", "b"], []),
    "torn last line": (HEADER + A + B + TORN, ["a", "b"], [(4, "torn")]),
    "unterminated but whole last line": (HEADER + A + B[:-1], ["a", "b"], []),
    "malformed in the middle": (HEADER + A + b"{oops\n" + B, ["a", "b"], [(3, "malformed")]),
    "several malformed": (HEADER + b"x\n" + A + b"[1,\n\n" + B, ["a", "b"], [(2, "malformed"), (4, "malformed")]),
    "orphan": (HEADER + A + line("o", "gone"), ["o"], [(3, "orphan")]),
    "child of a malformed line": (
        HEADER + A + TORN + b"\n" + line("c", "zz"),
        ["c"],
        [(3, "malformed"), (4, "orphan")],
    ),
    "duplicate id": (HEADER + A + B + line("b", "a", data=2) + line("c", "b"), ["a", "b", "c"], [(4, "duplicate")]),
    "cycle": (HEADER + line("a", "c") + B + C, ["a", "b", "c"], [(2, "cycle")]),
    "self parent": (HEADER + line("a", "a") + B, ["a", "b"], [(2, "cycle")]),
    "cycle made by a duplicate": (HEADER + A + B + C + line("a", "c") + line("d", "b"), ["b", "d"], None),
    "parent after its child": (HEADER + B + A + C, ["a", "b", "c"], []),
    "NUL block in the middle": (HEADER + A + b"\0" * 5000 + b"\n" + B, ["a", "b"], [(3, "nul")]),
    "NUL block at the end": (HEADER + A + B + b"\0" * 5000, ["a", "b"], [(4, "nul")]),
    "CRLF": ((HEADER + A + B).replace(b"\n", b"\r\n"), ["a", "b"], []),
    "mixed line ends": (HEADER + A.replace(b"\n", b"\r\n") + B, ["a", "b"], []),
    "BOM": (b"\xef\xbb\xbf" + HEADER + A + B, ["a", "b"], [(1, "bom")]),
    "blank lines": (HEADER + b"\n" + A + b"   \n\r\n" + B, ["a", "b"], []),
    "second header": (HEADER + A + HEADER + B, ["a", "b"], [(3, "extra-header")]),
    "JSON that is no entry": (
        HEADER + A + b'5\n"x"\n{"q":1}\n' + B,
        ["a", "b"],
        [(3, "not-an-entry"), (4, "not-an-entry"), (5, "not-an-entry")],
    ),
    "NaN in a line": (
        HEADER + A + b'{"type":"custom","id":"n","parentId":"a","data":NaN}\n' + B,
        ["a", "b"],
        [(3, "malformed")],
    ),
    "welded lines": (HEADER + A + B[:-1] + C + line("d", "a"), ["a", "d"], [(3, "malformed")]),
    "a value across two lines beside welded ones": (
        HEADER + b'{"id":"p","type":"x"}{"id":\n' + b'"q","type":"x"}\n' + A,
        ["a"],
        [(2, "malformed"), (3, "malformed")],
    ),
    "broken UTF-8 inside a string": (
        HEADER + A + line("b", "a", data="??").replace(b"??", b"\xff\xfe"),
        ["a", "b"],
        [],
    ),
    "lone surrogate": (HEADER + A + line("b", "a", data="??").replace(b"??", b"\\ud800"), ["a", "b"], []),
    "garbage before the header": (b"garbage\n" + HEADER + A, ["a"], [(1, "malformed")]),
    "unknown types and fields": (
        HEADER + A + b'{"type":"new","id":"b","parentId":"a","x":{"y":[1]}}\n',
        ["a", "b"],
        [],
    ),
    "entry without a type": (HEADER + A + b'{"id":"b","parentId":"a"}\n', ["a", "b"], []),
    "header only": (HEADER, [], []),
}


@pytest.mark.parametrize("name", TABLE)
def test_everything_else_stays_usable_and_the_file_stays_as_it_is(name, tmp_path):
    data, branch, findings = TABLE[name]
    path = tmp_path / "s.jsonl"
    path.write_bytes(data)
    with TranscriptStore.open(path) as store:
        assert [entry.id for entry in store.branch()] == branch
        assert store.leaf_id == (branch[-1] if branch else None)
        if findings is not None:
            assert [(finding.line, finding.kind) for finding in store.damage] == findings
        for entry in store.branch():
            assert entry.fields["id"] == entry.id
            assert not entry.raw.endswith(b"\r")
    assert path.read_bytes() == data


@pytest.mark.parametrize("name", TABLE)
def test_the_next_append_stands_on_a_line_of_its_own(name, tmp_path):
    data, branch, _ = TABLE[name]
    path = tmp_path / "s.jsonl"
    path.write_bytes(data)
    with TranscriptStore.open(path) as store:
        entry = store.append_custom("mine", {"n": 1})
        again = store.append_custom("mine", {"n": 2})
    after = path.read_bytes()
    assert after.startswith(data)
    assert after.endswith((b"" if data.endswith(b"\n") else b"\n") + entry.raw + b"\n" + again.raw + b"\n")
    with TranscriptStore.open(path, read_only=True) as reopened:
        assert reopened.branch_ids() == [*branch, entry.id, again.id]


def test_u2028_and_u0085_inside_strings_split_no_line_and_round_trip(tmp_path):
    text = "one\u2028two\u0085three\u2029\x0b\x0c"
    with TranscriptStore.create(tmp_path / "s.jsonl") as store:
        store.append_message({"role": "user", "content": text})
    data = (tmp_path / "s.jsonl").read_bytes()
    with TranscriptStore.open(tmp_path / "s.jsonl") as store:
        assert [entry.message["content"] for entry in store.branch()] == [text]
        assert not store.damage
    assert (tmp_path / "s.jsonl").read_bytes() == data


def test_raw_u2028_from_another_writer_splits_no_line(tmp_path):
    raw = '{"type":"custom","id":"b","parentId":"a","data":"x\u2028y\u0085z"}\n'.encode()
    with TranscriptStore.open(session(tmp_path / "s.jsonl", A, raw), read_only=True) as store:
        assert store.branch()[1].data == "x\u2028y\u0085z"
        assert not store.damage


def test_a_line_of_50_mb_is_one_entry_among_others(tmp_path):
    big = line("b", "a", data="x" * 50_000_000)
    path = session(tmp_path / "s.jsonl", A, big, C)
    with TranscriptStore.open(path) as store:
        assert store.branch_ids() == ["a", "b", "c"]
        assert len(store.entry("b").data) == 50_000_000
        assert not store.damage
        store.append_custom("t", "y" * 1_000_000)
    with TranscriptStore.open(path, read_only=True) as store:
        assert len(store.branch()) == 4


@pytest.mark.parametrize(
    "data",
    [
        (b"2026-01-01 12:00:00 INFO started" + b"." * 300 + b"\n") * 9_000,
        b'{"level":"info","msg":"a log"}\n' * 3,
        b'{"type":"session","version":3}\n',
        b'[{"type":"session","id":"x"}]\n',
        b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 50,
        b"\0" * 100_000,
        b"",
        b"\n\n\n",
        b'{"type":"sess',
    ],
    ids=["log", "json log", "header without id", "array", "binary", "zeros", "empty", "blank", "torn header"],
)
def test_a_file_that_is_no_session_is_refused_untouched(data, tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(data)
    for read_only in (False, True):
        with pytest.raises(NotASessionError):
            TranscriptStore.open(path, read_only=read_only)
    assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(NotASessionError):
        TranscriptStore.open(tmp_path)


def deep(opening: bytes, closing: bytes) -> bytes:
    data = opening * 100_000 + b"1" + closing * 100_000
    return b'{"type":"custom","id":"d","parentId":"a","customType":"x","data":' + data + b',"other":[1]}\n'


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"a": ', b"} ] ")])
def test_nested_deeper_than_any_decoder_goes_is_an_entry_whose_deep_field_stays_bytes(tmp_path, opening, closing):
    text = deep(opening, closing)
    child = line("c", "d")
    with TranscriptStore.open(session(tmp_path / "s.jsonl", A, text, child)) as store:
        assert (store.branch_ids(), list(store.damage)) == (["a", "d", "c"], [])
        entry = store.entry("d")
        assert entry.raw == text.rstrip()
        assert (entry.custom_type, entry.get("other")) == ("x", [1])
        assert bytes(entry.data) == (opening * 100_000 + b"1" + closing * 100_000).strip()
        store.append_custom("after")
        with store.fork(tmp_path / "fork.jsonl") as fork:
            assert fork.entry("d").raw == text.rstrip()


@pytest.mark.parametrize(
    "broken",
    [
        deep(b"[", b""),
        deep(b"[", b"]").replace(b"1]", b"1]]", 1),
        deep(b"[", b"}"),
        deep(b'{"a":', b"]"),
        deep(b"[", b"]").rstrip() + b"x\n",
        deep(b"[", b"]").replace(b"[1]}", b"[1,]}"),
        b"[" * 100_000 + b"]" * 100_000 + b"\n",
    ],
)
def test_a_deep_line_that_is_no_object_costs_that_line_alone(tmp_path, broken):
    with TranscriptStore.open(session(tmp_path / "s.jsonl", A, broken, B), read_only=True) as store:
        assert store.branch_ids() == ["a", "b"]
        assert [(finding.line, finding.kind) for finding in store.damage] == [(3, "malformed")]


@pytest.mark.parametrize("version", ['"3"', '"abc"', "true", "[3]", "{}", "1e999", "9" * 5000])
def test_a_version_that_is_no_number_is_refused_by_name(tmp_path, version):
    header = HEADER.replace(b'"version":3', b'"version":' + version.encode())
    path = session(tmp_path / "s.jsonl", A, header=header)
    for read_only in (True, False):
        with pytest.raises(NotASessionError, match=r"line 1: version .* is no version number"):
            TranscriptStore.open(path, read_only=read_only)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("version", "read_as"), [("3.0", 3), ("4", 4), ("0", 0), ("null", 1)])
def test_every_number_is_a_version_and_none_is_the_first(tmp_path, version, read_as):
    header = HEADER.replace(b'"version":3', b'"version":' + version.encode())
    with TranscriptStore.open(session(tmp_path / "s.jsonl", A, header=header)) as store:
        assert (store.version, store.read_only) == (read_as, read_as != 3)


def test_a_duplicate_with_the_same_parent_moves_the_entry_to_its_later_line(tmp_path):
    path = session(tmp_path / "s.jsonl", A, B, line("b", "a", data={"later": True}))
    with TranscriptStore.open(path, read_only=True) as store:
        assert store.leaf_id == "b"
        assert store.entry("b").data == {"later": True}
        assert json.loads(json.dumps(store.damage[0].as_json()))["line"] == 4


def test_damage_inside_a_long_file_is_found_at_its_line(tmp_path):
    """Blocks are read as a whole; a damaged one is read line by line and the next ones as a whole again."""
    count = 20_000
    lines = [line(f"{n:08x}", f"{n - 1:08x}" if n else None) for n in range(count)]
    lines[5_000] = b"broken\n"
    lines[15_000] = lines[15_000].replace(b"\n", b"\r\n")
    with TranscriptStore.open(session(tmp_path / "s.jsonl", *lines), read_only=True) as store:
        assert [(finding.line, finding.kind) for finding in store.damage] == [(5_002, "malformed"), (5_003, "orphan")]
        assert len(store.branch()) == count - 5_001
        assert [entry.id for entry in store.branch()] == [f"{n:08x}" for n in range(5_001, count)]
        assert store.tree.place(store.tree.node(f"{count - 1:08x}")).line == count + 1
