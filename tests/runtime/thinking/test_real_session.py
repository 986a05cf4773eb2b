"""Thinking inside the real session and host: what starts when, children, managed hosts, whole programs."""

import json

import pytest

from guest_api.bounds import Bounds
from runtime import open_host
from runtime.hosts.local import LocalHost
from runtime.session import Session
from runtime.thinking.controller import ThinkingController
from runtime.transcript.store import TranscriptStore
from tests.runtime.thinking.sessions import CATALOG, only

OFF_LOW_MAX = only("gap", "off", "low", "max")
MODELS = {
    "providers": {
        "t": {
            "models": [
                {
                    "id": "gap",
                    "reasoning": True,
                    "thinkingLevelMap": {"minimal": None, "medium": None, "high": None, "max": "m"},
                },
                {"id": "off-only", "reasoning": False},
                {"id": "plain", "reasoning": True},
            ]
        }
    }
}
INHERITED = '{"min":"low","max":"high"}'


def lines(path, kind: str) -> list[dict]:
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in found if kind in (line["type"], line.get("customType"))]


async def test_a_child_that_is_given_high_on_a_model_with_off_low_max_starts_at_low(tmp_path, monkeypatch):
    monkeypatch.setenv("PI_FABRIC_THINKING_BOUNDS", INHERITED)
    path = tmp_path / "child.jsonl"
    async with open_host({"models": MODELS}, session=path, model="t/gap", level="high") as host:
        assert host.session.level == "low"
        async with host.session.agent_run():
            assert host.session.level == "low"
        assert host.session.level == "low"
    assert [line["thinkingLevel"] for line in lines(path, "thinking_level_change")] == ["low"]
    assert lines(path, "pi-fabric-thinking") == []


async def test_a_child_whose_model_has_nothing_inside_starts_and_warns_once(tmp_path, monkeypatch):
    monkeypatch.setenv("PI_FABRIC_THINKING_BOUNDS", INHERITED)
    warnings = []
    async with open_host({"models": MODELS}, model="t/off-only", warn=warnings.append) as host:
        assert host.session.level == "off"
    assert len([warning for warning in warnings if "thinking" in warning]) == 1


async def test_a_root_keeps_the_level_it_was_given(tmp_path):
    config = {"models": MODELS, "thinking": {"bounds": {"max": "low"}}}
    async with open_host(config, model="t/plain", level="high") as host:
        assert host.session.level == "high"


@pytest.mark.parametrize("level", ["low", "high"])
async def test_a_level_given_on_resume_ends_the_override_without_restoring(tmp_path, level):
    path = tmp_path / "s.jsonl"
    async with open_host({"models": MODELS}, session=path, model="t/plain", level="medium") as host:
        thinking = host.session.thinking
        await thinking.set(_request("high", "session"))
    async with open_host({"models": MODELS}, session=path, level=level) as host:
        assert "override" not in host.session.thinking.status()
        async with host.session.agent_run():
            pass
        assert host.session.level == level
    records = [line["data"]["override"] for line in lines(path, "pi-fabric-thinking")]
    assert [bool(record) for record in records] == [True, False]


async def test_a_pending_revert_needs_neither_guest_nor_tools(tmp_path):
    """Only the session, as it is before anything else of the runtime is active."""
    store = TranscriptStore.create(tmp_path / "s.jsonl", cwd="/project", durability="none")
    store.append_thinking_level_change("low")
    record = {"level": "high", "baseline": "low", "scope": "turn", "setAt": 1}
    store.append_custom("pi-fabric-thinking", {"version": 1, "override": record})
    store.append_thinking_level_change("high")
    local = LocalHost(store, catalog=CATALOG)
    thinking = ThinkingController(local, Bounds())
    local.due = thinking
    session = Session(local, thinking=thinking, advisor=None)
    await session.start("resume")
    assert session.level == "high"
    async with session.agent_run():
        pass
    assert session.level == "low"


async def test_a_managed_host_offers_no_thinking_but_still_reverts_and_keeps_inherited_bounds(tmp_path, monkeypatch):
    path = tmp_path / "s.jsonl"
    async with open_host(session=path, level="low") as host:
        await host.session.thinking.set(_request("high", "turn"))
    async with open_host(session=path, managed=True) as host:
        assert host.registry.lookup("thinking.status") is None
        assert "thinking." not in repr(host.registry.catalog())
        async with host.session.agent_run():
            assert host.session.level == "high"
        assert host.session.level == "low"
        refused = await host.run_program("return await thinking.status()")
        assert (refused.error.kind, refused.calls[0].error.kind) == ("program", "rejected")
    monkeypatch.setenv("PI_FABRIC_THINKING_BOUNDS", '{"max":"low"}')
    async with open_host(managed=True) as host:
        assert host.session.level == "low"


async def test_a_failed_run_reverts_too(tmp_path):
    async with open_host(level="low", allow=["write"]) as host:
        result = await host.run_program("await thinking.set(level='high')\nraise ValueError('x')")
        assert result.error.kind == "program"
        assert host.session.level == "low"
        assert [change.level for change in result.level.changes] == ["high", "low"]


async def test_programs_may_use_keywords_or_one_dict_and_not_both():
    async with open_host(level="low", allow=["write"]) as host:
        result = await host.run_program(
            "a = await thinking.set(level='high', scope='turn')\n"
            "b = await thinking.set({'level': 'high', 'scope': 'turn'})\n"
            "del a['override']['setAt'], b['override']['setAt']\n"
            "try:\n"
            "    await thinking.set({'level': 'high'}, scope='turn')\n"
            "    mixed = 'accepted'\n"
            "except Exception as error:\n"
            "    mixed = str(error)\n"
            "return [a == b, a, mixed]"
        )
        assert result.ok, result.error
        same, status, mixed = result.value
        assert same
        assert status["override"] == {"level": "high", "scope": "turn"}
        assert mixed != "accepted"


def _request(level, scope):
    from runtime.thinking.override import SetRequest

    return SetRequest(level=level, scope=scope)
