"""What users of approvals really met, through the command or a whole host."""

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest
import trio

from host_bridge.approval_prompt import ApprovalRequest
from runtime import open_host
from tests.host_bridge.mcp.calling import script
from tests.host_bridge.support import ScriptedApprover
from tests.journeys.command import Desk

APPEND = 'await pi.bash("echo x >> log")'


@pytest.fixture(autouse=True)
def own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))


def test_a_closed_standard_input_denies_at_once_with_a_failing_status(tmp_path: Path) -> None:
    """AP-02."""
    desk = Desk(tmp_path)
    program = desk.write("ask.py", APPEND)
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *desk.argv("run", str(program), "--no-session")],
        cwd=desk.folder,
        env=desk.environment,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 1
    for part in ("pi.bash", "risk execute", "--allow execute", '{"ref": "pi.bash", "action": "allow"}'):
        assert part in done.stderr
    assert not (desk.folder / "log").exists()


async def test_a_loop_and_a_gather_of_twenty_need_one_question_each(tmp_path: Path) -> None:
    """AP-03: with count and sample arguments."""
    approver = ScriptedApprover("once", "run", "once")
    program = """
for n in range(20):
    await pi.write(path=f"loop{n}", content="x")
await asyncio.gather(*[pi.bash(f"echo {n} >> log") for n in range(20)])
return len((await pi.find("loop*")).splitlines())
"""
    with trio.fail_after(60):
        async with open_host(approver=approver, cwd=tmp_path) as host:
            result = await host.run_program(program)
    assert result.value == 20, result.error
    assert [(one.ref, one.count, one.earlier) for one in approver.requests] == [
        ("pi.write", 1, 0),
        ("pi.write", 1, 1),
        ("pi.bash", 20, 0),
    ]
    assert approver.requests[2].samples == tuple(f'{{"command":"echo {n} >> log"}}' for n in range(3))
    assert sorted(int(line) for line in (tmp_path / "log").read_text().split()) == list(range(20))


async def test_a_child_asks_the_parents_person_and_shows_its_path(tmp_path: Path) -> None:
    """AP-06."""
    asked: list[ApprovalRequest] = []

    async def approve(request: ApprovalRequest) -> str:
        asked.append(request)
        return "once"

    with trio.fail_after(60):
        async with open_host({"approvals": {"agent": "allow"}}, approver=approve, cwd=tmp_path) as host:  # type: ignore[arg-type]
            result = await host.run_program(f"return (await agents.run(program={APPEND!r}, name='helper')).status")
    assert result.value == "completed", result.error
    assert [(one.ref, one.caller) for one in asked] == [("pi.bash", ("helper",))]
    assert (tmp_path / "log").read_text() == "x\n"


async def test_what_was_approved_is_not_asked_again_by_a_nested_agent_or_after_a_restart(tmp_path: Path) -> None:
    """AP-07: each approved call runs exactly once."""
    session, approver = tmp_path / "session.jsonl", ScriptedApprover("session")
    program = f"{APPEND}\nreturn (await agents.run(program={APPEND!r})).status"
    with trio.fail_after(60):
        async with open_host(
            {"approvals": {"agent": "allow"}}, approver=approver, session=session, cwd=tmp_path
        ) as host:
            assert (await host.run_program(program)).value == "completed"
        assert [request.ref for request in approver.requests] == ["pi.bash"]
        assert (tmp_path / "log").read_text() == "x\nx\n"
        async with open_host(session=session, cwd=tmp_path) as host:
            assert (await host.run_program("return 1")).ok
            # A grant for the session ends with its host: only stored rules outlive it.
            result = await host.run_program(APPEND)
    assert result.error is not None
    assert result.error.kind == "denied"
    assert (tmp_path / "log").read_text() == "x\nx\n"


def test_always_is_narrow_listed_held_by_the_next_run_and_revocable(tmp_path: Path) -> None:
    """AP-05, for a tool of a real server on a real repository, answered on a terminal."""
    desk = repository(tmp_path)
    status = desk.write("status.py", 'return "log" in await mcp.git.git_status(".")')
    answered = desk.at_terminal("always\n", "run", str(status), "--no-session", "--config", "tools.json")
    assert "pi-fabric: allow mcp.git.git_status? (risk network; approvals.network = ask)" in answered
    assert "True" in answered
    assert "mcp.git.git_status  allow  risk network" in desk.command("approvals", "list").out
    again = desk.command("run", str(status), "--no-session", "--config", "tools.json")
    assert (again.status, again.out) == (0, "true\n")
    other = desk.run('return await mcp.git.git_branch(".", branch_type="local")', "--config", "tools.json").json
    assert other["error"]["kind"] == "denied"
    assert "revoked mcp.git.git_status" in desk.command("approvals", "revoke", "mcp.git.git_status").out
    assert desk.command("run", str(status), "--no-session", "--config", "tools.json").status == 1


class TerminalDesk(Desk):
    """A desk whose command can be run on a terminal."""

    def at_terminal(self, typed: str, *arguments: str) -> str:
        """What the terminal showed; `typed` is typed once the question stands there."""
        master, slave = pty.openpty()
        process = subprocess.Popen(
            self.argv(*arguments), cwd=self.folder, env=self.environment, stdin=slave, stdout=slave, stderr=slave,
            start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        shown = b""
        try:
            while True:
                try:
                    part = os.read(master, 4096)
                except OSError:  # EIO: nobody holds the other side any more
                    break
                shown += part
                if typed and b"denies: " in shown:
                    os.write(master, typed.encode())
                    typed = ""
            process.wait(timeout=30)
        finally:
            process.kill()
            process.wait()
            os.close(master)
        return shown.decode().replace("\r\n", "\n")


def repository(folder: Path) -> TerminalDesk:
    """A desk in a git repository with its server configured."""
    desk = TerminalDesk(folder)
    subprocess.run(["git", "init", "-q", "."], cwd=desk.folder, check=True)
    desk.write("log", "text")
    entry = {"command": script("mcp-server-git"), "args": ["--repository", "."]}
    desk.write("tools.json", json.dumps({"mcpServers": {"git": entry}}))
    return desk
