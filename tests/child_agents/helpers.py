"""A runner whose child is a few lines of Python or shell, and a supervisor over it, for tests of real processes."""

import json
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from child_agents import kernel
from child_agents.caller import CallerContext
from child_agents.records import new_id
from child_agents.request import Failure, read_request
from child_agents.resolver import ResolvedRun, resolve
from child_agents.runners.port import LaunchSpec, Outcome, Progress, text_of
from child_agents.settings import AgentFolders, AgentSettings
from child_agents.supervisor import SupervisorOptions, open_supervisor


class ScriptRunner:
    """`program` is Python source, run by a fresh interpreter; a line of JSON on standard output is the outcome."""

    takes_messages = True

    def __init__(self, name: str = "script", command: tuple[str, ...] = (sys.executable, "-S", "-c")) -> None:
        self.name = name
        self.command = command

    def launch(self, run: ResolvedRun, folder: str) -> LaunchSpec:
        return LaunchSpec(
            argv=[*self.command, run.program or ""], stdin=b"", keep_stdin_open=True, speaks_control=False
        )

    def read(self, line: bytes):
        try:
            said = json.loads(line)
        except ValueError:
            return None
        if "progress" in said:
            return Progress(kind=said["progress"], data={}, turns=said.get("turns", 0), cost=said.get("cost", 0.0))
        if "error" in said:
            return Outcome(ok=False, error=Failure(kind="program", message=said["error"]))
        return Outcome(ok=True, value=said.get("value"), text=text_of(said.get("value")), turns=1)

    def message(self, kind: str, text: str) -> bytes:
        return json.dumps({kind: text}).encode() + b"\n"


def environment(**more: str) -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", ""), "HOME": os.environ.get("HOME", "/"), **more}


def options(
    folder: Path, *, settings: AgentSettings | None = None, runners: Any = None, **more: Any
) -> SupervisorOptions:
    runner = ScriptRunner()
    return SupervisorOptions(
        settings=settings or AgentSettings(runner="script", stop_grace_seconds=0.3),
        folders=AgentFolders(root=folder),
        runners=runners or {"script": runner},
        environment=environment(),
        **more,
    )


@asynccontextmanager
async def supervisor(folder: Path, **more: Any):
    async with open_supervisor(options(folder, **more)) as opened:
        yield opened


def caller(**more: Any) -> CallerContext:
    return CallerContext(
        **{
            "root_id": "root1",
            "environment": environment(),
            "risks": {"read": "allow", "write": "allow", "execute": "ask", "network": "ask", "agent": "allow"},
            **more,
        }
    )


def resolved(
    program: str,
    *,
    who: CallerContext | None = None,
    settings: AgentSettings | None = None,
    runner: str = "script",
    **request: Any,
) -> ResolvedRun:
    return resolve(
        read_request(
            {"runner": runner, "program": program, **({"task": "t"} if runner == "script" else {}), **request}
        ),
        who or caller(),
        settings or AgentSettings(),
        run_id=new_id(),
        runners=["script", "program"],
    )


def marked(owner: str) -> list[int]:
    """Processes of this owner that are alive."""
    return kernel.marked_processes(f"PI_FABRIC_OWNER={owner}")
