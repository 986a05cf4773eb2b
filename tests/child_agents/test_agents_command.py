"""`pi-fabric agents` and the live lines of `pi-fabric run`, as a person sees them."""

import io
import json
import subprocess
from pathlib import Path

import pytest
from rich.console import Console

from runtime.agent_display import LINES_SHOWN, AgentProgress
from tests.child_agents.helpers import ScriptRunner, resolved
from tests.journeys.command import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_past_runs_are_listed_shown_and_logged(desk: Desk) -> None:
    program = "r = await agents.run(program='print(1)\\nreturn 5', name='kid', thinking='max', thinking_bounds={'max': 'low'})\nreturn r.id"
    run_id = desk.run(program, "--allow", "agent").json["value"]
    (listed,) = desk.command("agents", "list", "--json").json
    assert (listed["id"], listed["status"], listed["thinking"], listed["requestedThinking"]) == (
        run_id,
        "completed",
        "low",
        "max",
    )
    assert listed["wallMs"] > 0
    table = desk.command("agents", "list").out
    assert run_id in table
    assert "off..low" in table
    shown = desk.command("agents", "show", run_id[:-2], "--json").json
    assert shown["result"]["value"] == 5
    assert shown["sources"]["thinking"] == "request, clamped into thinkingBounds"
    assert "from request" in desk.command("agents", "show", run_id).out
    events = desk.command("agents", "log", run_id, "--json").json
    assert [event["type"] for event in events] == ["started", "log", "finished"]
    assert desk.command("agents", "stop", run_id).out == f"{run_id} is completed\n"
    assert desk.command("agents", "list", "--status", "running", "--json").json == []


def test_an_unknown_run_is_refused(desk: Desk) -> None:
    ended = desk.command("agents", "show", "r123")
    assert ended.status == 1
    assert "no run has the id 'r123'" in ended.err
    assert desk.command("agents", "list").out == "no agent runs\n"


def test_a_live_run_of_another_process_can_be_stopped(desk: Desk) -> None:
    program = "h = await agents.spawn(program=\"import asyncio\\nprint('up')\\nawait asyncio.sleep(60)\", name='long')\nr = await agents.wait(h)\nreturn [r.status, r.error.message]"
    (desk.folder / "p.py").write_text(program)
    running = subprocess.Popen(
        desk.argv("run", "p.py", "--allow", "agent", "--json", "--no-session"), cwd=desk.folder, env=desk.environment, stdout=subprocess.PIPE, text=True
    )  # fmt: skip
    try:
        while not (found := desk.command("agents", "list", "--status", "running", "--json").json):
            assert running.poll() is None
        assert desk.command("agents", "stop", found[0]["id"], "--json").json["status"] == "stopped"
        out, _ = running.communicate(timeout=30)
        status, message = json.loads(out)["value"]
        assert status == "stopped"
        assert "stopped by a person" in message
    finally:
        running.kill()
        running.communicate()


def live(number: int):
    from child_agents.runs import Run

    return Run(resolved("x", name=f"kid{number}", thinking="low"), ScriptRunner(), True, None, "/tmp")


def progress(terminal: bool) -> tuple[AgentProgress, io.StringIO]:
    out = io.StringIO()
    return AgentProgress(Console(file=out, force_terminal=terminal, width=100), enabled=True), out


async def test_one_line_each_and_one_for_the_rest():
    shown, _out = progress(terminal=True)
    runs = [live(number) for number in range(LINES_SHOWN + 5)]
    for run in runs:
        run.status = "running"
        shown(run)
    lines = shown.lines().plain.splitlines()
    assert len(lines) == LINES_SHOWN + 1
    assert lines[0].strip() == "◦ kid0: running at low"
    assert lines[-1].strip() == "… 5 more"
    runs[0].status = "completed"
    shown(runs[0])
    assert shown.lines().plain.splitlines()[-1].strip() == "… 4 more, 1 completed"
    shown.close()


async def test_nothing_is_shown_when_piped():
    shown, out = progress(terminal=False)
    run = live(1)
    shown(run)
    run.status = "completed"
    shown(run)
    shown.close()
    assert out.getvalue() == ""
