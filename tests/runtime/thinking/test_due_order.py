"""An entry that is due and a level that must be recorded: which goes first, so that a kill between them loses nothing."""

import pytest

from guest_api.bounds import Bounds
from tests.runtime.thinking.sessions import FULL, Session, new_file, reopened

BOUNDS = Bounds(min="minimal", max="xhigh")


class Killed(BaseException):
    """The process is gone; nothing of ours may catch it."""


async def opened(path) -> Session:
    store = reopened(path) if path.exists() else new_file(path)
    return await Session(store, model=FULL, bounds=BOUNDS).start()


def killed_before_append(session: Session, number: int) -> None:
    """The process dies instead of its `number`-th append from here, counted from 0."""
    real, left = session.store.append, [number]

    def append(kind, fields=None):
        if left[0] == 0:
            raise Killed
        left[0] -= 1
        return real(kind, fields)

    session.store.append = append


async def at_a_half_way_revert_with_another_level_in_force(path) -> Session:
    """The revert was killed before its null entry; elsewhere a person chose off; the leaf is back at the half-way line.

    The branch shows the end of the override without the null entry, and a level that is not in force any more.
    """
    session = await opened(path)
    await session.set("off")
    killed_before_append(session, 1)
    with pytest.raises(Killed):
        await session.end_run()
    session.store.close()
    session = await opened(path)
    half_way = session.store.leaf_id
    await session.end_run()
    assert session.kinds() == ["override", "minimal", "medium", "null"]
    await session.person("off")
    await session.navigate(half_way)
    assert (session.level, session.thinking.override) == ("off", None)
    return session


WHOLE = ["override", "minimal", "medium", "off", "null", "message"]


async def test_the_level_goes_before_the_null_entry_where_the_branch_shows_the_end_already(tmp_path):
    session = await at_a_half_way_revert_with_another_level_in_force(tmp_path / "s.jsonl")
    session.host.append_user_message("go on")
    assert session.kinds() == WHOLE
    session.store.close()


@pytest.mark.parametrize("number", [1, 2])
async def test_a_kill_behind_the_first_line_keeps_the_persons_level_and_the_end(tmp_path, number):
    path = tmp_path / "s.jsonl"
    session = await at_a_half_way_revert_with_another_level_in_force(path)
    killed_before_append(session, number)
    with pytest.raises(Killed):
        session.host.append_user_message("go on")
    session.store.close()
    session = await opened(path)
    assert session.kinds() == WHOLE[: 3 + number]
    assert (session.level, session.thinking.override) == ("off", None)
    session.host.append_user_message("go on")
    assert session.kinds() == WHOLE
    await session.end_run()
    assert (session.level, session.kinds()) == ("off", WHOLE)
    session.store.close()


async def test_a_level_chosen_there_also_goes_first_and_the_null_entry_is_written_with_it(tmp_path):
    path = tmp_path / "s.jsonl"
    session = await at_a_half_way_revert_with_another_level_in_force(path)
    await session.person("minimal")
    assert session.kinds() == ["override", "minimal", "medium", "minimal", "null"]
    session.store.close()


async def test_behind_a_model_change_the_null_entry_goes_first_so_that_the_level_reads_as_a_choice(tmp_path):
    path = tmp_path / "s.jsonl"
    session = await at_a_half_way_revert_with_another_level_in_force(path)
    await session.navigate(session.store.append_model_change("t", "full").id)
    session.host.append_user_message("go on")
    assert session.kinds() == ["override", "minimal", "medium", "null", "off", "message"]
    session.store.close()


async def test_an_end_that_only_memory_knows_is_written_before_a_level(tmp_path):
    """A person chose the override's own level and the disk was full for the null entry; then they choose another."""
    path = tmp_path / "s.jsonl"
    session = await opened(path)
    await session.set("high", "session")
    real = session.store.append

    def full(kind, fields=None):
        raise OSError(28, "No space left on device")

    session.store.append = full
    await session.person("high")
    session.store.append = real
    assert session.thinking.override is None
    killed_before_append(session, 1)
    with pytest.raises(Killed):
        await session.person("low")
    session.store.close()
    session = await opened(path)
    assert session.kinds() == ["override", "high", "null"]
    assert (session.level, session.thinking.override) == ("high", None)
    session.store.close()


async def test_an_override_that_narrower_bounds_clamped_anew_stands_before_its_level(tmp_path):
    path = tmp_path / "s.jsonl"
    session = await opened(path)
    await session.set("xhigh", scope="turns", turns=3)
    session.store.close()
    for number in (0, 1, 2):
        copy = tmp_path / f"{number}.jsonl"
        copy.write_bytes(path.read_bytes())
        session = await Session(reopened(copy), model=FULL, bounds=Bounds(max="high")).start()
        assert session.level == "high"
        killed_before_append(session, number)
        with pytest.raises(Killed):
            await session.end_run()
        session.store.close()
        session = await Session(reopened(copy), model=FULL, bounds=Bounds(max="high")).start()
        override = session.thinking.override
        assert override is not None
        assert (session.level, override.level, override.baseline) == ("high", "high", "medium")
        for _ in range(3):
            await session.end_run()
        assert (session.level, session.thinking.override) == ("medium", None)
        session.store.close()
