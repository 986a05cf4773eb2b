"""The advisor in a whole host, with a real MCP server and real programs."""

import subprocess
import sys
from pathlib import Path

import trio

from runtime import open_host
from runtime.advisor.replay import HINT_TYPE, RUN_TYPE
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


async def test_a_prompt_hints_at_a_server_that_was_never_started_before(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    with trio.fail_after(60):
        async with open_host(config=git_config(), session=tmp_path / "s.jsonl") as host:
            await host.submit(PROMPT)
            (entry,) = hints(host.session.host.store)
            assert entry.get("content").startswith("mcp:git · ")
            await host.submit(PROMPT)
            assert len(hints(host.session.host.store)) == 1


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
