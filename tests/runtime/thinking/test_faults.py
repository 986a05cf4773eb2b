"""A full disk, a slow host, a cancelled caller: what was acknowledged holds, and nothing is half done."""

import errno

import pytest
import trio

from guest_api.bounds import Bounds
from guest_api.levels import Level
from runtime.hosts.local import LocalHost
from runtime.thinking.controller import STEP_DEADLINE_SECONDS, HostUnresponsiveError, LevelOutsideBoundsError
from tests.runtime.thinking.sessions import FULL, PLAIN, started


def full_disk(session, *, after: int = 0) -> None:
    """Appends fail from the `after`-th on, until `session.store.append` is put back."""
    real, left = session.store.append, [after]

    def append(kind, fields=None):
        if left[0] == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        left[0] -= 1
        return real(kind, fields)

    session.store.append = append


async def test_a_set_on_a_full_disk_applies_nothing_and_keeps_the_override_before_it():
    session = await started(model=FULL)
    await session.set("low", "turns", 3)
    before = session.status
    full_disk(session)
    with pytest.raises(OSError, match="No space"):
        await session.set("high")
    assert session.status == before
    del session.store.append
    await session.end_run()
    assert session.status["override"]["remainingTurns"] == 2


async def test_a_disk_that_fills_between_entry_and_level_leaves_the_old_override_in_force_and_says_so_later():
    session = await started(model=FULL)
    await session.set("low", "session")
    before = session.status
    full_disk(session, after=1)
    with pytest.raises(OSError, match="No space"):
        await session.set("high")
    del session.store.append
    assert session.status == before
    session.host.append_user_message("on")
    assert [record["level"] for record in session.records()] == ["low", "high", "low"]
    assert session.level == "low"


async def test_a_revert_on_a_full_disk_restores_and_records_later(tmp_path):
    path = tmp_path / "s.jsonl"
    session = await started(path, model=FULL)
    await session.set("high")
    full_disk(session, after=1)
    await session.end_run()
    assert session.level == "medium"
    assert "override" not in session.status
    assert any("could not be recorded" in warning for warning in session.warnings)
    del session.store.append
    session.host.append_user_message("on")
    assert session.kinds() == ["override", "high", "medium", "null", "message"]


async def test_a_foreign_end_on_a_full_disk_is_recorded_with_the_next_entry():
    session = await started(model=FULL)
    await session.set("high")
    full_disk(session, after=1)
    await session.person("low")
    assert "override" not in session.status
    del session.store.append
    session.host.append_user_message("on")
    assert session.kinds() == ["override", "high", "low", "null", "message"]


class SlowHost(LocalHost):
    """Takes a second for each append, as a host behind a socket might."""

    seconds = 1.0

    async def append_custom(self, custom_type, data):
        await trio.sleep(self.seconds)
        return await super().append_custom(custom_type, data)


async def test_cancelling_the_caller_never_leaves_an_entry_without_its_level(autojump_clock):
    session = await started(model=FULL, host_type=SlowHost)
    with trio.move_on_after(0.5):
        await session.set("high", "session")
    assert session.kinds() == ["override", "high"]
    assert session.status["override"]["level"] == session.level == "high"


async def test_sets_at_the_same_time_are_made_one_after_the_other(autojump_clock):
    session = await started(model=FULL, host_type=SlowHost)
    results = []

    async def one(level):
        results.append(await session.set(level))

    async with trio.open_nursery() as nursery:
        for level in ("low", "high", "xhigh"):
            nursery.start_soon(one, level)
    assert all(result["level"] == result["override"]["level"] for result in results)
    assert len({result["level"] for result in results}) == 3
    assert {result["baseline"] for result in results} == {"medium"}
    await session.end_run()
    assert session.level == "medium"


async def test_a_person_who_chooses_while_a_set_is_being_written_owns_its_baseline(autojump_clock):
    session = await started(model=FULL, host_type=SlowHost)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(session.set, "high")
        await trio.sleep(0.5)
        nursery.start_soon(session.person, "low")
    assert (session.status["override"]["level"], session.status["baseline"]) == ("high", "low")
    assert session.level == "high"
    await session.end_run()
    assert session.level == "low"
    assert "override" not in session.status


async def test_a_person_who_chooses_while_a_count_is_being_written_ends_the_override(autojump_clock):
    session = await started(model=FULL, host_type=SlowHost)
    await session.set("high", "turns", 5)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(session.end_run)
        await trio.sleep(0.5)
        nursery.start_soon(session.person, "low")
    assert session.level == "low"
    assert "override" not in session.status
    assert session.records()[-1] is None


async def test_a_person_who_chooses_while_a_reset_waits_is_not_overruled_by_it(autojump_clock):
    session = await started(model=FULL, host_type=SlowHost)
    await session.set("high", "session")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(session.end_run)
        nursery.start_soon(session.person, "low")
        await trio.sleep(0.1)
        nursery.start_soon(session.reset)
    assert session.level == "low"
    assert session.records()[-1] is None


async def test_a_host_that_never_answers_is_given_up_on(autojump_clock):
    session = await started(model=FULL, host_type=SlowHost)
    session.host.seconds = float("inf")
    start = trio.current_time()
    with pytest.raises(HostUnresponsiveError, match="did not answer"):
        await session.set("high")
    assert trio.current_time() - start == pytest.approx(STEP_DEADLINE_SECONDS)
    assert session.level == "medium"
    assert "override" not in session.status


class OvershootingHost(LocalHost):
    """Makes max of everything above low, whatever the catalog says."""

    async def set_level(self, level: Level | None, *, replayed: bool = False) -> Level:
        return await super().set_level("max" if level in ("medium", "high") else level, replayed=replayed)


async def test_a_level_that_the_host_takes_outside_the_bounds_is_set_back():
    session = await started(model=FULL, bounds=Bounds(max="high"), host_type=OvershootingHost)
    await session.person("low")
    with pytest.raises(LevelOutsideBoundsError, match="max"):
        await session.set("high")
    assert session.level == "low"
    assert "override" not in session.status
    assert session.records()[-1] is None


async def test_a_status_during_a_set_is_the_hosts_level_now(autojump_clock):
    session = await started(model=PLAIN, host_type=SlowHost)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(session.set, "high")
        await trio.sleep(0.5)
        assert session.status["level"] == "medium"
        assert "override" not in session.status
    assert session.status["level"] == "high"
