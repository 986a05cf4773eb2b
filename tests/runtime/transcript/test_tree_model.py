"""Tree, branch, fork and reload against a model that is nothing but a list of (id, parent) and a walk."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from runtime.transcript.store import TranscriptStore
from tests.runtime.transcript.lines import HEADER, line


def naive_branch(parents: dict[str, str | None], leaf: str | None) -> list[str]:
    path: list[str] = []
    while leaf is not None and leaf in parents:
        path.append(leaf)
        leaf = parents[leaf]
    return path[::-1]


class StoreAgainstModel(RuleBasedStateMachine):
    """Appends, navigation (plain and durable), reloads and forks in any order."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "s.jsonl"
        self.store = TranscriptStore.create(self.path, durability="none")
        self.parents: dict[str, str | None] = {}
        self.kinds: dict[str, str] = {}
        self.leaf: str | None = None
        self.forks = 0

    def added(self, entry, kind: str) -> None:
        self.parents[entry.id] = self.leaf
        self.kinds[entry.id] = kind
        self.leaf = entry.id

    @rule(kind=st.sampled_from(["x", "y", "z"]), data=st.text(max_size=5))
    def append(self, kind: str, data: str) -> None:
        self.added(self.store.append_custom(kind, data), kind)

    @rule(choice=st.integers(0, 10**6))
    def navigate(self, choice: int) -> None:
        targets = [None, *self.parents]
        self.leaf = targets[choice % len(targets)]
        self.store.navigate(self.leaf)

    @rule(choice=st.integers(0, 10**6))
    def navigate_durably(self, choice: int) -> None:
        if self.parents:
            self.leaf = list(self.parents)[choice % len(self.parents)]
            self.added(self.store.navigate_durably(self.leaf), "label")

    @rule()
    def reload(self) -> None:
        self.store.close()
        self.store = TranscriptStore.open(self.path, durability="none")
        self.leaf = next(reversed(self.parents), None)

    @rule(choice=st.integers(0, 10**6))
    def fork(self, choice: int) -> None:
        if self.parents:
            target = list(self.parents)[choice % len(self.parents)]
            self.forks += 1
            with self.store.fork(self.path.with_name(f"f{self.forks}.jsonl"), target, durability="none") as fork:
                assert fork.branch_ids() == naive_branch(self.parents, target)
                assert [entry.raw for entry in fork.branch()] == [entry.raw for entry in self.store.branch(target)]
                assert not fork.damage

    @invariant()
    def agrees_with_the_model(self) -> None:
        branch = naive_branch(self.parents, self.leaf)
        assert self.store.leaf_id == self.leaf
        assert self.store.branch_ids() == branch
        assert [entry.id for entry in self.store.branch()] == branch
        for kind in ("x", "y"):
            latest = self.store.latest_custom(kind)
            expected = next((entry_id for entry_id in reversed(branch) if self.kinds[entry_id] == kind), None)
            assert (latest.id if latest else None) == expected

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()


StoreAgainstModel.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestStoreAgainstModel = StoreAgainstModel.TestCase

_ids = st.sampled_from(list("abcdefgh"))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(_ids, st.one_of(st.none(), _ids)), max_size=14))
def test_any_file_of_any_parents_loads_as_the_id_map_says_and_every_walk_ends(tmp_path, rows):
    """Duplicates, orphans, forward parents and cycles in every mixture; where no cycle is, the branch is Pi's."""
    path = tmp_path / "any.jsonl"
    path.write_bytes(HEADER + b"".join(line(entry_id, parent) for entry_id, parent in rows))
    parents = dict(rows)
    with TranscriptStore.open(path, read_only=True) as store:
        assert store.leaf_id == (rows[-1][0] if rows else None)
        cyclic = False
        for entry_id in parents:
            branch = store.branch_ids(entry_id)
            assert len(set(branch)) == len(branch)
            assert branch[-1] == entry_id
            seen, walk = [], entry_id
            while walk is not None and walk in parents and walk not in seen:
                seen.append(walk)
                walk = parents[walk]
            if walk in seen:
                cyclic = True
                assert set(branch) <= set(seen)
            else:
                assert branch == seen[::-1]
        kinds = [finding.kind for finding in store.damage]
        assert ("cycle" in kinds) == cyclic
        assert kinds.count("duplicate") == len(rows) - len(parents)
        assert kinds.count("orphan") == sum(parent is not None and parent not in parents for parent in parents.values())


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(st.binary(max_size=40), st.sampled_from([line("a"), line("b", "a"), b"\n", b"\r\n", b"\0", b"{"])),
        max_size=8,
    )
)
def test_any_bytes_behind_a_header_open_append_and_open_again(tmp_path, parts):
    path = tmp_path / "bytes.jsonl"
    data = HEADER + b"".join(parts)
    path.write_bytes(data)
    with TranscriptStore.open(path, durability="none") as store:
        before = store.branch_ids()
        entry = store.append_custom("t")
    assert path.read_bytes().startswith(data)
    with TranscriptStore.open(path, read_only=True) as store:
        assert store.branch_ids() == [*before, entry.id]
