"""A host that is killed with SIGKILL takes along what its tools had started."""

import json
import signal
import subprocess
from pathlib import Path

from tests.host_bridge.mcp.calling import raw
from tests.host_bridge.test_kept_process import DEEP, assert_gone, is_alive, pids_in
from tests.journeys.command import Desk
from tests.runtime.trees import below

PROGRAM = """
await mcp.child.go()
await pi.bash(input + "sleep 3608")
"""


def test_a_running_command_and_a_server_with_its_own_child_end_with_the_host(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.write("tools.json", json.dumps({"mcpServers": {"child": raw("child")}}))
    pids = desk.folder / "pids"
    pids.touch()
    script = f"PIDS={pids}\nexport PIDS\n{DEEP}"
    host = subprocess.Popen(
        desk.argv("run", "-", "--no-session", "--config", "tools.json", "--input", json.dumps(script),
                  *("--allow", "network", "--allow", "execute")),
        stdin=subprocess.PIPE, cwd=desk.folder, env=desk.environment, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    assert host.stdin is not None
    host.stdin.write(PROGRAM.encode())
    host.stdin.close()
    tree = below(host.pid, until=lambda: len(pids.read_text().split()) == 5)
    assert all(is_alive(pid) for pid in pids_in(pids))
    host.send_signal(signal.SIGKILL)
    host.wait()
    assert_gone([*tree, *pids_in(pids)])
