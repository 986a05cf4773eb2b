"""Public servers from the package index, as anybody would configure them."""

import subprocess
from pathlib import Path

from tests.host_bridge.mcp.calling import opened, script


async def test_mcp_server_time_tells_the_time(tmp_path: Path) -> None:
    async with opened({"time": {"command": script("mcp-server-time")}}, tmp_path) as calls:
        now = await calls.value("mcp.time.get_current_time", timezone="UTC")
        assert now["timezone"] == "UTC"
        kind, message = await calls.refusal("mcp.time.get_current_time", timezone="Mars/Olympus")
        assert (kind, "Mars/Olympus" in message) == ("host", True)
        kind, message = await calls.refusal("mcp.time.get_current_time", zone="UTC")
        assert kind == "rejected"
        assert "timezone: got nothing, wanted text" in message


async def test_mcp_server_git_reads_a_real_repository(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "a.txt").write_text("one\n")
    for command in (
        ["init", "-q", "-b", "main"],
        ["add", "a.txt"],
        ["-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-q", "-m", "First commit"],
    ):
        subprocess.run(["git", *command], cwd=repository, check=True)
    (repository / "a.txt").write_text("two\n")
    entry = {"command": script("mcp-server-git"), "args": ["--repository", str(repository)]}
    async with opened({"git": entry}, tmp_path) as calls:
        status = await calls.value("mcp.git.git_status", repo_path=str(repository))
        assert "a.txt" in status
        log = await calls.value("mcp.git.git_log", repo_path=str(repository), max_count=1)
        assert "First commit" in str(log)
        kind, message = await calls.refusal("mcp.git.git_status", repo_path="/etc")
        assert kind == "host"
        assert message.startswith("mcp.git.git_status")
