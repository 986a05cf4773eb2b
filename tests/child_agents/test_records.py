"""Records and ledger after crashes: torn lines, missing results, lost owners, limits counted once."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from child_agents.errors import LaunchRefusedError, UnknownRunError
from child_agents.ledger import Ledger
from child_agents.records import OwnerLock, RunRecords, indeterminate, new_id, owner_lives
from child_agents.settings import AgentFolders
from child_agents.sweep import sweep
from tests.child_agents.helpers import resolved


@pytest.fixture
def folders(tmp_path):
    made = AgentFolders(root=tmp_path)
    made.make()
    return made


def recorded(folders, owner="o1", **request):
    records = RunRecords(folders)
    run = resolved("return 1", **request)
    records.create(run, owner=owner, detached=True)
    return records, run


def test_a_run_without_result_reads_running_while_its_owner_lives_and_indeterminate_afterwards(folders):
    lock = OwnerLock(folders, "o1")
    records, run = recorded(folders)
    assert records.read(run.id).status == "queued"
    records.append_event(run.id, "started", {})
    assert records.read(run.id).status == "running"
    lock.release()
    assert records.read(run.id).status == "indeterminate"


def test_requested_thinking_and_sources_are_on_disk(folders):
    from child_agents.caller import CallerContext
    from guest_api.bounds import Bounds

    who = CallerContext(root_id="root1", bounds=Bounds(max="medium"))
    records, run = recorded(folders, thinking="high", who=who)
    text = (records.folder(run.id) / "request.json").read_text()
    assert '"requestedThinking":"high"' in text
    assert '"thinkingBounds":{"max":"medium"}' in text
    assert records.read(run.id).request.run.sources["thinking"].startswith("request")


def test_a_host_that_is_killed_while_it_records_a_launch_leaves_no_half_record(folders):
    folders.make()
    records = RunRecords(folders)
    half, whole = resolved("x"), resolved("y")
    pid = os.fork()
    if pid == 0:
        try:
            OwnerLock(folders, "o-dies")
            records.create(whole, owner="o-dies", detached=True)
            Path.rename = lambda *_: os._exit(0)  # killed between the last byte and the name
            records.create(half, owner="o-dies", detached=True)
        finally:
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
    assert records.ids() == [whole.id]
    assert len(list(folders.runs.iterdir())) == 2
    assert sweep(folders, 14).records == (whole.id,)
    assert [entry.name for entry in folders.runs.iterdir()] == [whole.id]


def test_a_torn_event_line_is_skipped_and_the_next_one_starts_afresh(folders):
    records, run = recorded(folders)
    records.append_event(run.id, "one", {})
    with (records.folder(run.id) / "events.jsonl").open("ab") as stream:
        stream.write(b'{"at":"x","type":"to')
    records.append_event(run.id, "two", {"n": 2**80})
    assert [event["type"] for event in records.events(run.id)] == ["one", "two"]
    assert records.events(run.id)[1]["n"] == 2**80


def test_a_torn_result_reads_as_none_and_a_result_is_written_once(folders):
    records, run = recorded(folders)
    (records.folder(run.id) / "result.json").write_bytes(b'{"version":1,"resu')
    assert records.read(run.id).status == "indeterminate"
    (records.folder(run.id) / "result.json").unlink()
    assert records.finish(indeterminate(run, "lost"))
    assert not records.finish(indeterminate(run, "again"))
    assert records.read(run.id).result.error.message == "lost"


def test_a_claimed_run_belongs_to_whoever_claimed_it_before_its_record_says_so(folders):
    session = OwnerLock(folders, "o-session")
    records, run = recorded(folders, owner="o-session")
    assert records.read(run.id).status == "queued"
    assert records.mark(run.id, "claim", "o-resident")
    assert not records.mark(run.id, "claim", "o-other")
    # Claimed, and the resident host died before anything else: its end is not known, although the session lives.
    assert records.read(run.id).status == "indeterminate"
    resident = OwnerLock(folders, "o-resident")
    assert records.read(run.id).status == "queued"
    assert sorted(path.name for path in records.folder(run.id).iterdir()) == ["claim", "request.json"]
    resident.release()
    session.release()


def test_a_hundred_claims_at_once_are_one(folders):
    records, run = recorded(folders)
    with ThreadPoolExecutor(8) as pool:
        claims = list(pool.map(lambda n: records.mark(run.id, "claim", f"o{n}"), range(100)))
    assert claims.count(True) == 1
    assert (records.folder(run.id) / "claim").read_text() == f"o{claims.index(True)}"


def test_ids_from_programs_cannot_leave_the_folder(folders):
    records = RunRecords(folders)
    for wrong in ("../x", "", "a/b", "A", "x" * 65, "."):
        with pytest.raises(UnknownRunError):
            records.read(wrong)


def test_old_finished_records_expire_and_running_ones_stay(folders):
    lock = OwnerLock(folders, "o1")
    records, old = recorded(folders, owner="gone")
    records.finish(indeterminate(old, "x"))
    _, live = recorded(folders, owner="o1")
    for run in (old, live):
        os.utime(records.folder(run.id), (0, 0))
    assert records.expire(14) == [old.id]
    assert records.ids() == [live.id]
    lock.release()


def test_a_sweep_removes_ledgers_configurations_and_copies_that_nothing_used_for_long(folders):
    Ledger(folders.ledgers, "young").reserve("a", depth=1, max_descendants=3, max_cost=1.0)
    old = [
        folders.ledgers / "old.jsonl",
        folders.root / "configurations" / "c.json",
        folders.root / "forks" / "f.jsonl",
    ]
    for path in old:
        path.parent.mkdir(exist_ok=True)
        path.touch()
        os.utime(path, (0, 0))
    sweep(folders, 0)
    assert not any(path.exists() for path in old)
    assert (folders.ledgers / "young.jsonl").exists()


def test_a_sweep_ends_what_a_lost_owner_left_and_leaves_living_owners_alone(folders):
    mine = OwnerLock(folders, "o-mine")
    _, kept = recorded(folders, owner="o-mine")
    (folders.owners / "o-lost.lock").touch()
    records, lost = recorded(folders, owner="o-lost")
    left = subprocess.Popen(
        [sys.executable, "-S", "-c", "import os,time; os.setsid(); print(flush=True); time.sleep(60)"],
        env={"PI_FABRIC_OWNER": "o-lost"}, stdout=subprocess.PIPE,
    )  # fmt: skip
    other = subprocess.Popen(
        [sys.executable, "-S", "-c", "import time; time.sleep(60)"], env={"PI_FABRIC_OWNER": "o-mine"}
    )
    left.stdout.readline()
    try:
        swept = sweep(folders, 14)
        assert (swept.processes, swept.records) == (1, (lost.id,))
        left.wait(5)
        assert other.poll() is None
        assert records.read(lost.id).status == "indeterminate"
        assert records.read(lost.id).result is not None
        assert records.read(kept.id).result is None
        assert not owner_lives(folders, "o-lost")
        assert owner_lives(folders, "o-mine")
    finally:
        for process in (left, other):
            process.kill()
            process.wait()
        left.stdout.close()
        mine.release()


def test_the_ledger_counts_across_processes_and_survives_torn_lines(folders):
    first, second = Ledger(folders.ledgers, "root"), Ledger(folders.ledgers, "root")
    first.reserve("a", depth=1, max_descendants=3, max_cost=1.0)
    with first.path.open("ab") as stream:
        stream.write(b'{"op":"start","ru')
    second.reserve("b", depth=2, max_descendants=3, max_cost=1.0)
    first.spend("a", cost=0.4)
    first.finish("a")
    totals = second.totals()
    assert (totals.descendants, totals.live, totals.deepest, totals.cost) == (2, 1, 2, 0.4)
    second.reserve("c", depth=1, max_descendants=3, max_cost=1.0)
    with pytest.raises(LaunchRefusedError, match=r"agents\.maxDescendants"):
        first.reserve("d", depth=1, max_descendants=3, max_cost=1.0)
    second.spend("b", cost=0.6)
    with pytest.raises(LaunchRefusedError, match=r"agents\.maxCost"):
        Ledger(folders.ledgers, "root").reserve("d", depth=1, max_descendants=9, max_cost=1.0)


def test_what_a_run_may_cost_counts_everything_below_it_and_nothing_beside_it(folders):
    ledger = Ledger(folders.ledgers, "root")

    def start(run, parent, cap):
        Ledger(folders.ledgers, "root").reserve(run, depth=1, max_descendants=99, max_cost=10.0, parent=parent, cap=cap)

    start("mid", "root", 2.0)
    start("leaf", "mid", 1.5)
    start("other", "root", 5.0)
    assert ledger.spend("other", cost=4.0).over_cap("other") is None
    # The tree has cost 4 dollars already: a run that may cost half of one is started all the same.
    start("cheap", "root", 0.5)
    assert ledger.spend("cheap", cost=0.6).over_cap("cheap") == "cheap"
    assert ledger.spend("leaf", cost=1.4).over_cap("leaf") is None
    start("leaf2", "mid", 1.5)
    assert ledger.spend("leaf2", cost=0.7).over_cap("leaf2") == "mid"
    with pytest.raises(LaunchRefusedError, match=r"the run mid and the agents below it cost 2\.1.*agents\.maxCost"):
        start("leaf3", "mid", 1.0)
    with pytest.raises(LaunchRefusedError, match="the run mid"):
        start("deep", "leaf", 0.1)
    with ledger.path.open("ab") as stream:  # a circle, written by nobody of ours
        stream.write(b'{"op":"start","run":"a","parent":"b"}\n{"op":"start","run":"b","parent":"a"}\n')
    assert ledger.spend("a", cost=0.1).over_cap("a") is None


def test_a_hundred_reservations_at_once_never_pass_the_cap(folders):
    def attempt(number):
        try:
            Ledger(folders.ledgers, "root").reserve(f"r{number}", depth=1, max_descendants=40, max_cost=1.0)
        except LaunchRefusedError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(100))) == 40


def test_ids_sort_by_time():
    ids = [new_id() for _ in range(3)]
    assert [one[:13] for one in ids] == sorted(one[:13] for one in ids)
