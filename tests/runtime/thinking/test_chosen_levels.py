"""What a person chose is still their choice after a reload, also where it equals what a model makes of something else."""

from itertools import pairwise

from runtime.hosts.local import LocalHost
from runtime.transcript.store import TranscriptStore
from tests.runtime.thinking.sessions import CATALOG, FULL, GAPS, Session, new_file, reopened


async def after_reload_on(path, model) -> Session:
    session = await Session(reopened(path)).start()
    await session.set_model(model)
    return session


async def test_a_level_chosen_at_the_start_survives_a_reload_and_another_model(tmp_path):
    """On GAPS the default amounts to high as well; the file must not read as if nobody had chosen."""
    path = tmp_path / "s.jsonl"
    with new_file(path) as store:
        session = await Session(store, model=GAPS).start()
        await session.person("high")
    session = await after_reload_on(path, FULL)
    assert (session.level, session.host.level_is_set) == ("high", True)
    session.store.close()


async def test_a_level_chosen_together_with_a_model_survives_although_the_clamp_would_explain_it(tmp_path):
    path = tmp_path / "s.jsonl"
    with new_file(path) as store:
        session = await Session(store, model=FULL).start()
        await session.person("medium")
    with reopened(path) as store:
        session = await Session(store, model=GAPS).start()
        assert session.level == "high"
        await session.person("high")
    session = await after_reload_on(path, FULL)
    assert session.level == "high"
    session.store.close()


async def test_a_choice_that_equals_what_the_model_made_of_an_earlier_one_is_written(tmp_path):
    path = tmp_path / "s.jsonl"
    with new_file(path) as store:
        session = await Session(store, model=GAPS).start()
        await session.person("medium")
        await session.person("high")
    session = await after_reload_on(path, FULL)
    assert session.level == "high"
    session.store.close()


async def test_the_levels_of_overrides_and_baselines_never_stand_right_behind_a_model_change(tmp_path):
    """There they would read as the model's doing: a reload would take the override's level for the person's."""
    path = tmp_path / "s.jsonl"
    with new_file(path) as store:
        session = await Session(store, model=FULL).start()
        await session.person("max")
        await session.set("medium", "session")
    with reopened(path) as store:
        session = await Session(store, model=GAPS).start()
        await session.reset()
        kinds = [entry.type for entry in store.branch()]
        assert ("model_change", "thinking_level_change") not in list(pairwise(kinds))
        assert session.level == "max"
    session = await after_reload_on(path, FULL)
    assert session.level == "max"
    session.store.close()


async def test_a_choice_with_a_model_switch_ends_the_override_even_if_killed_right_behind_its_line(tmp_path):
    path = tmp_path / "s.jsonl"
    with new_file(path) as store:
        session = await Session(store, model=FULL).start()
        await session.set("max", "session")
    with reopened(path) as store:
        session = await Session(store, model=GAPS).start()
        await session.person("low")
        cut = next(entry for entry in store.branch() if entry.thinking_level == "low")
    data = path.read_bytes()
    path.write_bytes(data[: data.index(cut.raw) + len(cut.raw) + 1])
    with reopened(path) as store:
        session = await Session(store).start()
        assert session.thinking.override is None
        assert session.level == "low"


async def test_the_first_level_of_a_session_that_pi_wrote_is_a_choice(tmp_path):
    """Pi begins every session with its model and, right behind it, the level."""
    with TranscriptStore.in_memory() as store:
        store.append_model_change("t", "gaps")
        store.append_thinking_level_change("high")
        host = LocalHost(store, catalog=CATALOG)
        await host.set_model(FULL)
        assert (host.level, host.level_is_set) == ("high", True)
