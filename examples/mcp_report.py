"""A report from two real MCP servers, written by a confined program that finds its tools by searching.

    python examples/mcp_report.py [REPOSITORY]

Needs the servers: pip install mcp-server-git mcp-server-time (`make test` installs them).

You will see: the tool that the search found, the last commits of the repository with the time at which the report was
made, a call with a wrong argument refused in plain words before anything was sent, and the state of both servers.
Nothing was asked, because this embedder allows the class `network` for both servers; without that, each call is asked.
"""

import json
import sys
from pathlib import Path

import trio

from runtime import open_host

PROGRAM = """
found = await tools.search(query="commit history log", namespace="mcp:git", limit=1)
log, now = await asyncio.gather(
    tools.call(ref=found[0]["ref"], args={"repo_path": input["repository"], "max_count": 3}),
    mcp.time.get_current_time(timezone="UTC"),
)
try:
    await mcp.git.git_log(repo_pth=input["repository"])
except ActionRejected as refused:
    wrong = str(refused)
servers = [f"{server.server}: {server.state}, {server.tools} tools" for server in await mcp.servers()]
return {"found": found[0]["ref"], "log": log, "made at": now["datetime"], "refused": wrong, "servers": servers}
"""


def servers(repository: Path) -> dict[str, object]:
    """The usual `mcpServers` section. A server inherits PATH, HOME and the locale, nothing else."""
    beside = Path(sys.executable).parent
    return {
        "git": {"command": str(beside / "mcp-server-git"), "args": ["--repository", str(repository)]},
        "time": {"command": str(beside / "mcp-server-time")},
    }


async def main(repository: Path) -> None:
    """Run the program and print its report."""
    config = {
        "mcpServers": servers(repository),
        "approvals": {"rules": [{"ref": "mcp.git.*", "action": "allow"}, {"ref": "mcp.time.*", "action": "allow"}]},
    }
    async with open_host(config) as host:
        result = await host.run_program(PROGRAM, input={"repository": str(repository)})
        print(json.dumps(result.value, indent=2) if result.ok else result.error)
        for call in result.calls:
            print(f"{call.ref} {'ok' if call.ok else call.error} after {call.ms:.0f} ms")


if __name__ == "__main__":
    trio.run(main, Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve())
