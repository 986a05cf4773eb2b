"""The advisor in a whole host, with a real MCP server and real programs."""

import subprocess
import sys
from pathlib import Path

import pytest
import trio
import trio.testing

from runtime import open_host
from runtime.advisor.replay import HINT_TYPE, RUN_TYPE
from runtime.advisor.smoke import Smoke
from runtime.extensions import tool
from tests.runtime.advisor.test_service import hints, started

PROMPT = "Show the working tree status of the repository"


def git_config() -> dict:
    server = Path(sys.executable).parent / "mcp-server-git"
    return {
        "approvals": {"read": "allow", "write": "allow", "execute": "allow", "network": "allow", "agent": "allow"},
        "mcpServers": {"git": {"command": str(server), "args": []}},
    }


def repository(path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(path)], check=True, timeout=30)
    return path


async def test_a_prompt_starts_a_server_that_was_never_seen_and_the_next_one_hints_at_it(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    with trio.fail_after(60):
        async with open_host(config=git_config(), session=tmp_path / "s.jsonl") as host:
            learned = trio.Event()
            host.registry.subscribe(lambda source: learned.set() if source == "mcp:git" else None)
            await host.submit(PROMPT)
            assert hints(host.session.host.store) == []
            await learned.wait()
            await host.submit(PROMPT)
            (entry,) = hints(host.session.host.store)
            assert entry.get("content").startswith("mcp:git · ")
            await host.submit(PROMPT)
            assert len(hints(host.session.host.store)) == 1


async def test_no_prompt_waits_for_a_server_that_never_answers(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    config = {"mcpServers": {"silent": {"command": "sleep", "args": ["600"]}}}
    async with open_host(config=config, actions=[anvil_forge]) as host:
        with trio.fail_after(10):  # its start may take 30 s
            await host.submit("forge anvil bellows")
        assert len(hints(host.session.host.store)) == 1
        (state,) = (await host.run_program("return await mcp.servers()")).value
        assert (state["state"], state["starts"]) == ("starting", 1)


async def test_under_enforce_no_prompt_starts_a_server(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    with trio.fail_after(60):
        async with open_host(config={**git_config(), "schema": {"mode": "enforce"}}) as host:
            await host.submit(PROMPT)
            await trio.testing.wait_all_tasks_blocked()
            result = await host.run_program("return await tools.providers()")
            assert [row["starts"] for row in result.value if row["name"] == "mcp.git"] == [0]


async def test_a_call_in_a_program_burns_live_and_on_replay(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    folder = repository(tmp_path / "repo")
    with trio.fail_after(60):
        async with open_host(config=git_config(), session=tmp_path / "s.jsonl") as host:
            result = await host.run_program(
                "return str(await mcp.git.git_status({'repo_path': input}))[:20]", str(folder)
            )
            assert result.ok, result.error
            store = host.session.host.store
            assert [(one.namespace, one.origin) for one in host.session.advisor.state.ash.values()] == [
                ("mcp:git", "organic")
            ]
            assert any(entry.custom_type == RUN_TYPE for entry in store.branch())
            assert list((await started(store)).state.ash) == ["mcp:git"]
            await host.submit(PROMPT)
            assert not any(entry.custom_type == HINT_TYPE for entry in store.branch())


@tool(risk="write", extension="pi-anvil")
def anvil_forge(count: int) -> int:
    """Forge anvil bellows into hammers."""
    return count


async def test_a_registered_tool_is_hinted_at_and_a_denied_call_of_it_burns_live_and_on_replay(tmp_path: Path):
    with trio.fail_after(60):
        async with open_host(session=tmp_path / "s.jsonl", actions=[anvil_forge], deny=["write"]) as host:
            program = (
                "try:\n    await extensions.anvil_forge(count=input)\nexcept Exception as error:\n    return str(error)"
            )
            result = await host.run_program(program, 3)
            assert "denied" in result.value
            result = await host.run_program("return await mcp.nothing.here()")
            assert not result.ok
            burned = [(one.namespace, one.origin) for one in host.session.advisor.state.ash.values()]
            assert burned == [("extension:pi-anvil", "organic")]
            await host.submit("forge anvil bellows")
            assert hints(host.session.host.store) == []
        async with open_host(session=tmp_path / "s.jsonl", actions=[anvil_forge]) as host:
            assert [(one.namespace, one.origin) for one in host.session.advisor.state.ash.values()] == burned
        async with open_host(actions=[anvil_forge], config={"capture": {"advisory": {"mode": "hidden"}}}) as host:
            await host.submit("forge anvil bellows")
            (entry,) = hints(host.session.host.store)
            assert "▪ extensions.anvil_forge — Forge anvil bellows into hammers." in entry.get("content")
            assert entry.get("display") is False


@pytest.mark.parametrize("mode", ["off", "audit", "enforce"])
async def test_a_refused_call_of_a_server_that_was_never_seen_burns_neither_live_nor_on_replay(
    tmp_path: Path, monkeypatch, mode: str
):
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    config = {"mcpServers": git_config()["mcpServers"], "schema": {"mode": mode}}
    with trio.fail_after(60):
        async with open_host(config, session=tmp_path / "s.jsonl") as host:
            result = await host.run_program("return await mcp.git.git_status(repo_path='.')")
            assert result.error.kind == "denied"
            assert host.session.advisor.state.ash == {}
        async with open_host(config, session=tmp_path / "s.jsonl") as host:
            assert host.session.advisor.state.ash == {}


async def test_a_used_hint_clears_the_smoke_and_an_unused_one_raises_it_turn_by_turn():
    with trio.fail_after(60):
        async with open_host(actions=[anvil_forge], allow=["write"]) as host:
            await host.run_program("return 1", prompt="forge anvil bellows")
            assert host.session.advisor.state.smoke.events
            await host.run_program("return await extensions.anvil_forge(count=1)")
            assert host.session.advisor.state.smoke == Smoke()
        async with open_host(actions=[anvil_forge]) as host:
            for turn in range(2):
                await host.run_program("return 1", prompt=["forge anvil bellows", "thanks"][turn])
            assert host.session.advisor.state.smoke == Smoke(streak=1)
