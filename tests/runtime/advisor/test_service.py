"""The advisor on a real host over a real session file; and random histories against a replay from scratch."""

from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from host_bridge.descriptor import Descriptor
from runtime.advisor.advisor import AdvisorState
from runtime.advisor.episodes import Episodes
from runtime.advisor.replay import HINT_TYPE, RUN_TYPE
from runtime.advisor.service import AdvisorService, well_formed
from runtime.advisor.settings import AdvisorySettings
from runtime.advisor.smoke import Smoke
from runtime.events import PromptSubmitted, SessionStarted, ToolCalled, TreeNavigated
from runtime.hosts.local import LocalHost
from runtime.transcript.store import TranscriptStore
from tests.runtime.advisor.live import live_catalog

FAL = "mcp:fal-ai"


def descriptors() -> list[Descriptor]:
    """The live catalog as actions."""
    return [
        Descriptor(
            ref=f"{'mcp' if one['namespace'].startswith('mcp:') else 'ext'}.{one['name']}",
            risk="read",
            description=one["description"],
            namespace=one["namespace"],
            tool_name=one["name"].split(".")[-1],
        )
        for one in live_catalog()
    ]


def service(store: TranscriptStore, **set_: Any) -> AdvisorService:
    made = AdvisorService(LocalHost(store), AdvisorySettings(**set_))
    made.set_source("registered", descriptors())
    return made


async def started(store: TranscriptStore, **set_: Any) -> AdvisorService:
    made = service(store, **set_)
    await made.session_started(SessionStarted("resume", store.branch()))
    return made


async def submit(made: AdvisorService, text: str) -> None:
    made._host.store.append_message({"role": "user", "content": text})
    await made.prompt_submitted(PromptSubmitted(text))


def hints(store: TranscriptStore) -> list[Any]:
    return [entry for entry in store.branch() if entry.custom_type == HINT_TYPE]


async def test_a_hint_is_a_custom_message_with_content_details_and_display():
    store = TranscriptStore.in_memory()
    made = await started(store)
    await submit(made, "check the status of my fal job")
    (entry,) = hints(store)
    assert entry.type == "custom_message"
    assert entry.get("content").startswith("mcp:fal-ai · 11 tools matched your prompt.")
    assert 'tools.describe({ref: "mcp.fal_ai.check_job"})' in entry.get("content")
    assert entry.get("display") is True
    assert entry.details["matches"][0] == {
        "namespace": FAL,
        "label": FAL,
        "score": 4,
        "matchedTerms": ["check", "status", "fal", "job"],
        "names": ["fal_ai.check_job", "fal_ai.submit_job"],
        "descriptions": [
            "Check the status of a queued media job. Helpful for long videos.",
            "Submit a media job to the background queue. Poll it afterwards.",
        ],
        "omitted": 9,
    }
    assert made.state.ash[FAL].at == entry.timestamp
    assert made.state.spent_hints == 1


async def test_the_hint_names_the_ref_that_a_program_calls():
    store = TranscriptStore.in_memory()
    made = await started(store)
    await submit(made, "blast radius of edited files")
    assert "ext.codemap_impact — Estimate" in hints(store)[0].get("content")


@pytest.mark.parametrize(("mode", "shown"), [("enabled", [True]), ("hidden", [False]), ("disabled", [])])
async def test_the_mode_decides_who_sees_the_hint(mode, shown):
    store = TranscriptStore.in_memory()
    await submit(await started(store, mode=mode), "check the status of my fal job")
    assert [entry.get("display") for entry in hints(store)] == shown


class FailingHost(LocalHost):
    async def append_custom_message(self, *_args: Any, **_kwargs: Any) -> Any:
        raise OSError("disk full")


async def test_nothing_burns_if_the_line_cannot_be_written():
    made = AdvisorService(FailingHost(TranscriptStore.in_memory()))
    made.set_source("registered", descriptors())
    with pytest.raises(OSError, match="disk full"):
        await submit(made, "check the status of my fal job")
    assert (dict(made.state.ash), made.state.spent_hints, made.state.echoes) == ({}, 0, frozenset())


class SlowHost(LocalHost):
    async def append_custom_message(self, *args: Any, **kwargs: Any) -> Any:
        entry = await super().append_custom_message(*args, **kwargs)
        await trio.sleep(1)
        return entry


async def test_a_cancellation_never_parts_the_line_from_its_burn(autojump_clock):
    store = TranscriptStore.in_memory()
    made = AdvisorService(SlowHost(store))
    made.set_source("registered", descriptors())
    with trio.move_on_after(0.5):
        await submit(made, "check the status of my fal job")
    assert len(hints(store)) == made.state.spent_hints == 1


async def test_a_call_burns_its_namespace_and_marks_the_hint_as_used():
    made = await started(TranscriptStore.in_memory())
    await submit(made, "check the status of my fal job")
    made.tool_called(ToolCalled("mcp.fal_ai.check_job", FAL))
    await made.turn_ended()
    assert made.state.smoke == Smoke(0)
    made.tool_called(ToolCalled("ext.post_send", None))  # resolved from the catalog
    made.tool_called(ToolCalled("mcp.git.status", None))  # by the shape of the ref
    made.tool_called(ToolCalled("pi.read", None))  # no source
    assert [(one.namespace, one.origin) for one in made.state.ash.values()] == [
        (FAL, "fired"),
        ("extension:pi-post", "organic"),
        ("mcp:git", "organic"),
    ]


async def test_sources_refresh_on_their_own():
    made = await started(TranscriptStore.in_memory())
    made.set_source(
        "git",
        [
            Descriptor(ref="mcp.git.blame", risk="read", description="Blame lines.", namespace="mcp:git"),
            Descriptor(ref="pi.read", risk="read"),
        ],
    )
    assert made.index.document_frequency("blame") == 1
    made.set_source("git", [])
    assert made.index.document_frequency("blame") == 0
    assert made.index.named(FAL) is not None


async def test_a_reload_keeps_ash_echoes_and_the_spent_count_and_forgets_the_rest(tmp_path: Path):
    path = tmp_path / "s.jsonl"
    with TranscriptStore.create(path) as store:
        made = await started(store)
        await submit(made, "check the status of my fal job")
        await submit(made, "query rows")
        before = made.state
        assert before.heat
    with TranscriptStore.open(path) as store:
        made = await started(store)
        assert (made.state.ash, made.state.echoes, made.state.spent_hints) == (before.ash, before.echoes, 1)
        assert (dict(made.state.heat), made.state.smoke, made.state.episodes) == ({}, Smoke(), Episodes())
        await submit(made, "query rows")
        assert made.state.heat["extension:pi-ledger"] == 0.75


async def test_a_fork_inherits_what_lies_before_its_fork_point(tmp_path: Path):
    with TranscriptStore.create(tmp_path / "s.jsonl") as store:
        made = await started(store)
        await submit(made, "check the status of my fal job")
        point = store.leaf_id
        await submit(made, "send or draft mail messages")
        assert made.state.spent_hints == 2
        with store.fork(tmp_path / "fork.jsonl", point) as forked:
            there = await started(forked)
    assert there.state.spent_hints == 1
    assert list(there.state.ash) == [FAL]


async def test_a_fresh_session_starts_empty(tmp_path: Path):
    with TranscriptStore.create(tmp_path / "s.jsonl") as store:
        assert (await started(store)).state == AdvisorState()


async def test_a_rewind_returns_the_budget_the_ash_and_the_words():
    store = TranscriptStore.in_memory()
    made = await started(store)
    points = []
    for prompt in ("blast radius of edited files", "send or draft mail messages", "check the status of my fal job"):
        points.append(store.leaf_id)
        await submit(made, prompt)
    assert made.state.spent_hints == 3
    assert "queued" in made.state.echoes
    store.navigate(points[2])
    await made.tree_navigated(TreeNavigated(store.branch()))
    assert made.state.spent_hints == 2
    assert "queued" not in made.state.echoes
    await submit(made, "check the status of my fal job")
    assert made.state.spent_hints == 3


async def test_tools_of_a_source_that_comes_late_burn_when_it_comes():
    store = TranscriptStore.in_memory()
    store.append_message(
        {"role": "assistant", "content": [{"type": "toolCall", "name": "post_send", "id": "1", "arguments": {}}]}
    )
    made = AdvisorService(LocalHost(store))
    await made.session_started(SessionStarted("resume", store.branch()))
    assert dict(made.state.ash) == {}
    made.set_source("registered", descriptors())
    assert [(one.namespace, one.origin) for one in made.state.ash.values()] == [("extension:pi-post", "organic")]


async def test_a_source_that_comes_late_burns_in_the_place_where_its_calls_stand():
    store = TranscriptStore.in_memory()
    store.append_custom(RUN_TYPE, {"calls": [{"ref": "ext.post_send", "risk": "read", "decision": "allowed"}]})
    store.append_custom_message(
        HINT_TYPE, "x", display=True, details={"matches": [{"namespace": "mcp:q"}, {"namespace": "extension:pi-post"}]}
    )
    made = AdvisorService(LocalHost(store))
    await made.session_started(SessionStarted("resume", store.branch()))
    made.tool_called(ToolCalled("mcp.git.log", "mcp:git"))
    made.set_source("registered", descriptors())
    assert [(one.namespace, one.origin) for one in made.state.ash.values()] == [
        ("extension:pi-post", "organic"),
        ("mcp:q", "fired"),
        ("mcp:git", "organic"),
    ]


async def test_a_refresh_reads_the_branch_only_if_it_names_a_tool_that_was_called_before():
    class CountingHost(LocalHost):
        reads = 0

        def branch(self) -> Any:
            self.reads += 1
            return super().branch()

    store = TranscriptStore.in_memory()
    store.append_custom(RUN_TYPE, {"calls": [{"ref": "pi.read", "risk": "read"}, {"ref": "ext.post_send"}]})
    host = CountingHost(store)
    made = AdvisorService(host)
    await made.session_started(SessionStarted("resume", store.branch()))
    host.reads = 0
    made.set_source("git", [Descriptor(ref="mcp.git.blame", risk="read", namespace="mcp:git")])
    made.set_source("git", [])
    assert host.reads == 0
    made.set_source("registered", descriptors())
    assert host.reads == 1


async def test_prompts_that_overlap_never_hint_at_one_source_twice(autojump_clock):
    store = TranscriptStore.in_memory()

    class HesitatingHost(LocalHost):
        async def append_custom_message(self, *args: Any, **kwargs: Any) -> Any:
            await trio.sleep(1)
            return await super().append_custom_message(*args, **kwargs)

    made = AdvisorService(HesitatingHost(store))
    made.set_source("registered", descriptors())
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(submit, made, "check the status of my fal job")
    assert len(hints(store)) == made.state.spent_hints == 1


async def test_no_prompt_looks_for_unknown_servers_once_the_hints_are_spent():
    made = await started(TranscriptStore.in_memory(), max_per_session=1)
    asked = []

    made.look_for_sources = lambda: asked.append(1)
    await submit(made, "check the status of my fal job")
    await submit(made, "send or draft mail messages")
    assert asked == [1]


async def test_half_a_surrogate_pair_left_by_a_cut_reaches_the_transcript_as_a_mark():
    assert well_formed("x\ud83d…") == "x\ufffd…"
    store = TranscriptStore.in_memory()
    made = AdvisorService(LocalHost(store))
    made.set_source(
        "a",
        [
            Descriptor(
                ref="mcp.long.tool",
                risk="read",
                description="Anvil bellows " + "x" * 48 + "😀" * 9,
                namespace="mcp:long",
            )
        ],
    )
    await submit(made, "anvil bellows")
    assert len(hints(store)) == 1


PROMPTS = (
    "check the status of my fal job",
    "query rows",
    "focus impact",
    "send or draft mail messages",
    "edit note blocks",
    "refactor helper",
    "请用 fal 画一张图",
    "",
    "prefer captured tools",
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("prompt"), st.sampled_from(PROMPTS)),
        st.tuples(
            st.just("call"), st.sampled_from(("mcp.fal_ai.check_job", "ext.post_send", "ext.ledger_query", "pi.read"))
        ),
        st.tuples(st.just("turn"), st.none()),
        st.tuples(st.just("reload"), st.none()),
        st.tuples(st.just("compact"), st.none()),
        st.tuples(st.just("navigate"), st.integers(0, 30)),
    ),
    max_size=25,
)


@pytest.fixture(scope="module")
def catalog() -> list[Descriptor]:
    return descriptors()


@settings(max_examples=60, deadline=None)
@given(STEPS, st.sampled_from([0.4, 0.9]), st.sampled_from([1, 3, 50]))
def test_random_histories_with_reloads_and_navigations_equal_a_replay_from_scratch(steps, threshold, cap):
    trio.run(_live, steps, threshold, cap)


async def _live(steps, threshold, cap):
    store = TranscriptStore.in_memory()
    made = await started(store, threshold=threshold, max_per_session=cap)
    namespaces = {one.ref: one.namespace for one in descriptors()}
    for step, value in steps:
        match step:
            case "prompt":
                await submit(made, value)
            case "call":
                made.tool_called(ToolCalled(value, namespaces.get(value)))
                store.append_custom(RUN_TYPE, {"version": 1, "calls": [{"ref": value, "ok": True}]})
            case "turn":
                await made.turn_ended()
            case "compact":
                store.append("compaction", {"summary": "s", "firstKeptEntryId": store.leaf_id, "tokensBefore": 1})
            case "reload":
                made = await started(store, threshold=threshold, max_per_session=cap)
                _transients_are_gone(made.state)
            case "navigate":
                ids = store.branch_ids()
                store.navigate(ids[value % len(ids)] if ids else None)
                await made.tree_navigated(TreeNavigated(store.branch()))
                _transients_are_gone(made.state)
        scratch = (await started(store)).state
        assert list(made.state.ash) == list(scratch.ash)
        assert [one.origin for one in made.state.ash.values()] == [one.origin for one in scratch.ash.values()]
        assert made.state.echoes == scratch.echoes
        assert made.state.spent_hints == scratch.spent_hints


def _transients_are_gone(state: AdvisorState) -> None:
    assert (dict(state.heat), state.smoke, state.episodes) == ({}, Smoke(), Episodes())
