"""`pi-fabric agents` and the live lines of `pi-fabric run`, as a person sees them."""

import io
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from child_agents.ledger import Ledger
from child_agents.records import RunRecords, indeterminate
from host_bridge import strict_json
from runtime.agent_display import LINES_SHOWN, AgentProgress, UndisturbedApprover
from runtime.agent_service import agent_folders
from runtime.commands.agents import command
from tests.child_agents.helpers import ScriptRunner, resolved
from tests.journeys.command import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def agents(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """`pi-fabric agents …` in this process; what the whole command does is seen once per file."""
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(desk.agent_dir))
    return lambda *arguments: CliRunner().invoke(command, list(arguments))


def test_past_runs_are_listed_shown_and_logged(desk: Desk, agents: Callable[..., Result]) -> None:
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
    table = agents("list").output
    assert run_id in table
    assert "off..low" in table
    shown = json.loads(agents("show", run_id[:-2], "--json").output)
    assert shown["result"]["value"] == 5
    assert shown["sources"]["thinking"] == "request, clamped into thinkingBounds"
    assert "from request" in agents("show", run_id).output
    events = json.loads(agents("log", run_id, "--json").output)
    assert [event["type"] for event in events] == ["started", "log", "finished"]
    assert agents("stop", run_id).output == f"{run_id} is completed\n"
    assert json.loads(agents("list", "--status", "running", "--json").output) == []


def test_an_integer_as_long_as_may_cross_is_exact_in_a_child_its_record_and_what_is_shown(
    desk: Desk, agents: Callable[..., Result]
) -> None:
    """The interpreter alone reads and writes 4300 digits."""
    program = "r = await agents.run(program='return input + 1', input=2**65000)\nreturn [r.id, r.value == 2**65000 + 1]"
    ended = desk.run(program, "--allow", "agent").json
    assert ended["ok"], ended
    run_id, exact = ended["value"]
    assert exact
    shown = strict_json.decode_strict(agents("show", run_id, "--json").output)
    assert shown["result"]["value"] == 2**65000 + 1
    for arguments in (("log", run_id), ("log", run_id, "--json"), ("show", run_id), ("list",)):
        assert agents(*arguments).exit_code == 0


def test_an_unknown_run_or_status_is_refused(agents: Callable[..., Result]) -> None:
    for wrong in ("r123", "", "../../etc/passwd", "x" * 200):
        ended = agents("show", wrong)
        assert ended.exit_code == 1
        assert f"no run has the id {wrong!r:.80}" in ended.output
    assert agents("list").output == "no agent runs\n"
    assert "did you mean 'running'?" in agents("list", "--status", "runing").output


@pytest.mark.parametrize("order", ["show", "log", "stop"])
@pytest.mark.parametrize("left", [b"", b'{"version":1,"ru', None])
def test_a_run_whose_host_ended_while_it_wrote_its_record_is_named_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str, left: bytes | None
) -> None:
    from click.testing import CliRunner

    from runtime.commands.agents import command

    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path))
    folder = tmp_path / "fabric" / "agents" / "runs" / "r0torn"
    folder.mkdir(parents=True)
    if left is not None:
        (folder / "request.json").write_bytes(left)
    for name in ("r0torn", "r0t"):
        result = CliRunner().invoke(command, [order, name])
        assert result.exit_code == 1
        assert result.stderr == (
            "pi-fabric agents: the record of r0torn cannot be read: its host ended while it wrote it\n"
        )


def test_a_live_run_of_another_process_can_be_stopped(desk: Desk, agents: Callable[..., Result]) -> None:
    program = "h = await agents.spawn(program=\"import asyncio\\nprint('up')\\nawait asyncio.sleep(60)\", name='long')\nr = await agents.wait(h)\nreturn [r.status, r.error.message]"
    (desk.folder / "p.py").write_text(program)
    running = subprocess.Popen(
        desk.argv("run", "p.py", "--allow", "agent", "--json", "--no-session"), cwd=desk.folder, env=desk.environment, stdout=subprocess.PIPE, text=True
    )  # fmt: skip
    try:
        while not (found := json.loads(agents("list", "--status", "running", "--json").output)):
            assert running.poll() is None
        assert json.loads(agents("stop", found[0]["id"], "--json").output)["status"] == "stopped"
        out, _ = running.communicate(timeout=30)
        status, message = json.loads(out)["value"]
        assert status == "stopped"
        assert "stopped by a person" in message
    finally:
        running.kill()
        running.communicate()


def test_what_a_child_says_cannot_draw_on_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path))
    folders = agent_folders({"PI_CODING_AGENT_DIR": str(tmp_path)})
    folders.make()
    records = RunRecords(folders)
    run = resolved("x", name="kid")
    records.create(run, owner="o", detached=True)
    records.append_event(run.id, "\x1b[2Jtold", {"text": "\x1b[31mred\u202e"})
    ended = indeterminate(run, "\x1b]0;title\x07\nsecond line")
    records.finish(ended)
    Ledger(folders.ledgers, run.root_id).spend(run.id, cost=1.25)
    for arguments in (("log", run.id), ("show", run.id), ("list",)):
        shown = CliRunner().invoke(command, list(arguments))
        assert shown.exit_code == 0, shown.output
        assert shown.output.replace("\n", "").isprintable(), shown.output
    (folders.runs / run.id / "result.json").unlink()
    (listed,) = json.loads(CliRunner().invoke(command, ["list", "--json"]).output)
    assert listed["cost"] == 1.25  # of a run without a result, from its root's ledger


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


async def test_nothing_is_drawn_while_a_person_is_asked_and_all_of_it_afterwards():
    shown, out = progress(terminal=True)
    first, second = live(1), live(2)
    shown(first)
    asked = UndisturbedApprover(Asking(out, shown, second, first), shown)
    before = len(out.getvalue())
    assert await asked.ask(None) == "deny"
    assert asked._approver.drawn == 0
    after = out.getvalue()[before:]
    assert "kid1 failed" in after
    assert "kid2" in after
    shown.close()


class Asking:
    """A person who takes a while: meanwhile one child begins and another fails, without a message."""

    def __init__(self, out, shown, begins, ends) -> None:
        self._out, self._shown, self._begins, self._ends = out, shown, begins, ends
        self.drawn = -1

    async def ask(self, _request):
        start = len(self._out.getvalue())
        self._shown(self._begins)
        self._ends.status = "failed"
        self._ends.result = indeterminate(self._ends.resolved, "")
        self._shown(self._ends)
        self.drawn = len(self._out.getvalue()) - start
        return "deny"


async def test_a_change_of_status_is_drawn_at_once_however_fast_it_comes():
    shown, out = progress(terminal=True)
    run = live(1)
    shown(run)
    run.status = "running"
    shown(run)
    assert "kid1: running" in out.getvalue()
    shown.close()
