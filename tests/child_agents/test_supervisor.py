"""Real processes under a supervisor: results, limits, endings, records."""

import errno
import json
import os
import signal

import pytest
import trio
import trio.testing

from child_agents.conclusion import Ending
from child_agents.errors import LaunchRefusedError
from child_agents.ledger import Ledger
from child_agents.records import RunRecords
from child_agents.settings import AgentFolders, AgentSettings
from tests.child_agents.helpers import marked, resolved, supervisor

SAY = "import json; print(json.dumps({'value': %s}))"
SLEEP = "import time; time.sleep(60)"


async def test_a_child_returns_its_value_and_leaves_a_record(tmp_path):
    async with supervisor(tmp_path) as boss:
        run = resolved(SAY % "{'n': 10**40}", thinking="high")
        result = await boss.run(run)
        assert (result.status, result.value, result.turns) == ("completed", {"n": 10**40}, 1)
        record = boss.records.read(run.id)
    assert record.result.value == {"n": 10**40}
    assert record.request.run.thinking == "high"
    assert record.request.run.environment == {}
    assert "PATH" in record.request.environment_names
    assert [event["type"] for event in RunRecords(AgentFolders(root=tmp_path)).events(run.id)][-1] == "finished"


async def test_the_worker_exports_bounds_and_deletes_stale_ones(tmp_path):
    show = "import json, os; print(json.dumps({'value': dict(os.environ)}))"
    async with supervisor(tmp_path) as boss:
        bounded = await boss.run(resolved(show, thinkingBounds={"min": "low", "max": "medium"}))
        open_run = resolved(show)
        stale = open_run.environment | {"PI_FABRIC_THINKING_BOUNDS": "{}"}
        import msgspec

        unbounded = await boss.run(msgspec.structs.replace(open_run, environment=stale))
    assert bounded.value["PI_FABRIC_THINKING_BOUNDS"] == '{"min":"low","max":"medium"}'
    assert bounded.value["PI_FABRIC_DEPTH"] == "1"
    assert bounded.value["PI_FABRIC_PARENT_RUN"] == "root1"
    assert bounded.value["PI_FABRIC_AGENT_NAME"].startswith("script-")
    assert "PI_FABRIC_THINKING_BOUNDS" not in unbounded.value


async def test_a_value_outside_its_schema_is_the_childs_failure_with_the_path(tmp_path):
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "integer"}}}}
    async with supervisor(tmp_path) as boss:
        result = await boss.run(resolved(SAY % "{'rows': [1, 'x']}", schema=schema))
    assert (result.status, result.error.kind, result.error.path) == ("failed", "schema", "$.rows[1]")


async def test_a_crash_says_the_signal_and_what_stood_on_standard_error(tmp_path):
    crash = "import os, sys; print('about to go', file=sys.stderr, flush=True); os.kill(os.getpid(), 11)"
    async with supervisor(tmp_path) as boss:
        result = await boss.run(resolved(crash))
    assert result.status == "failed"
    assert "signal 11" in result.error.message
    assert "about to go" in result.error.message


async def test_a_child_that_ignores_term_is_killed_with_its_whole_group(tmp_path):
    stubborn = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if os.fork() == 0:\n    os.setsid()\n"
        "if os.fork() == 0:\n    time.sleep(60)\n"
        'print(\'{"progress": "ready"}\', flush=True)\ntime.sleep(60)'
    )
    ready = trio.Event()
    async with supervisor(tmp_path, watch=lambda run: run.last_event == "ready" and ready.set()) as boss:
        run = boss.launch(resolved(stubborn), detached=True)
        with trio.fail_after(20):
            await ready.wait()
            result = await boss.stop(run)
        assert result.status == "stopped"
        assert run.ended_by == "kill"
        owned = [pid for pid in marked(boss.options.owner)]
        assert len(owned) <= 3  # guardian, its inner half, template: nothing of the child


async def test_the_group_is_killed_although_its_leader_left_on_term(tmp_path):
    program = (
        "import os, signal, sys, time\n"
        "if os.fork() == 0:\n"
        "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    time.sleep(60)\n"
        'print(\'{"progress": "ready"}\', flush=True)\ntime.sleep(60)'
    )
    ready = trio.Event()
    async with supervisor(tmp_path, watch=lambda run: run.last_event == "ready" and ready.set()) as boss:
        run = boss.launch(resolved(program), detached=True)
        with trio.fail_after(20):
            await ready.wait()
            result = await boss.stop(run)
        assert (result.status, run.ended_by) == ("stopped", "term")
        assert len(marked(boss.options.owner)) <= 3


async def test_a_run_that_takes_too_long_times_out_with_the_setting(tmp_path):
    async with supervisor(tmp_path) as boss:
        result = await boss.run(resolved(SLEEP, timeoutMs=50))
    assert (result.status, result.error.kind, result.error.limit) == ("timed_out", "limit", "agents.timeoutMs")


async def test_too_many_turns_or_too_much_cost_end_a_run_with_the_limits_name(tmp_path):
    turns = 'import time\nfor i in range(4): print(\'{"progress": "turn", "turns": 1}\', flush=True)\ntime.sleep(60)'
    cost = 'import time\nprint(\'{"progress": "usage", "cost": 3.5}\', flush=True)\ntime.sleep(60)'
    async with supervisor(tmp_path) as boss:
        looping = await boss.run(resolved(turns, maxTurns=3))
        dear = await boss.run(resolved(cost, maxCost=2))
        totals = boss.ledger("root1").totals()
    assert (looping.status, looping.error.limit, looping.turns) == ("failed", "agents.maxTurns", 4)
    assert (dear.error.limit, dear.usage.cost, totals.cost, totals.live) == ("agents.maxCost", 3.5, 3.5, 0)


async def test_the_cost_of_a_tree_refuses_further_launches(tmp_path):
    async with supervisor(tmp_path) as boss:
        boss.ledger("root1").spend("earlier", cost=12.0)
        with pytest.raises(LaunchRefusedError, match=r"agents\.maxCost"):
            boss.launch(resolved(SLEEP), detached=True)
        assert boss.records.ids() == []


async def test_launches_are_refused_beyond_the_limits_and_leave_nothing(tmp_path):
    settings = AgentSettings(runner="script", max_per_execution=2, max_descendants=3)
    async with supervisor(tmp_path, settings=settings) as boss:
        for _ in range(2):
            boss.launch(resolved(SAY % 1), detached=True, execution="e1")
        with pytest.raises(LaunchRefusedError, match=r"agents\.maxPerExecution"):
            boss.launch(resolved(SAY % 1), detached=True, execution="e1")
        boss.launch(resolved(SAY % 1), detached=True, execution="e2")
        with pytest.raises(LaunchRefusedError, match=r"agents\.maxDescendants"):
            boss.launch(resolved(SAY % 1), detached=True, execution="e2")
        assert len(boss.records.ids()) == 3


async def test_no_more_children_run_at_once_than_allowed(tmp_path):
    settings = AgentSettings(runner="script", max_concurrent=2)
    most = 0

    def watch(_run):
        nonlocal most
        most = max(most, sum(run.status == "running" for run in boss.runs.values()))

    async with supervisor(tmp_path, settings=settings, watch=watch) as boss:
        runs = [boss.launch(resolved(SAY % i), detached=True) for i in range(6)]
        assert {run.status for run in runs} == {"queued"}
        results = [await boss.wait(run) for run in runs]
    assert [result.value for result in results] == list(range(6))
    assert most == 2


async def test_a_queued_run_that_is_stopped_never_gets_a_process(tmp_path):
    settings = AgentSettings(runner="script", max_concurrent=1, stop_grace_seconds=0.2)
    async with supervisor(tmp_path, settings=settings) as boss:
        first = boss.launch(resolved(SLEEP), detached=True)
        second = boss.launch(resolved(SAY % 1), detached=True)
        result = await boss.stop(second)
        assert result.status == "stopped"
        assert second.started_seconds is None
        boss.begin_stop(first, Ending("stopped", "enough"))


async def test_cancelling_run_cancels_the_child(tmp_path):
    started = trio.Event()
    async with supervisor(tmp_path, watch=lambda run: run.status == "running" and started.set()) as boss:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(boss.run, resolved(SLEEP))
            await started.wait()
            nursery.cancel_scope.cancel()
        (run,) = boss.runs.values()
        with trio.fail_after(10):
            await run.done.wait()
        assert run.result.status == "stopped"


async def test_closing_the_host_ends_children_and_leaves_no_process(tmp_path):
    started = trio.Event()
    async with supervisor(tmp_path, watch=lambda run: run.status == "running" and started.set()) as boss:
        run = boss.launch(resolved(SLEEP), detached=True)
        await started.wait()
        owner = boss.options.owner
    assert run.result.status == "stopped"
    assert marked(owner) == []
    assert RunRecords(AgentFolders(root=tmp_path)).read(run.id).status == "stopped"


async def test_messages_reach_a_child_that_takes_them(tmp_path):
    program = "import json, sys; print(json.dumps({'progress': 'ready'}), flush=True); print(json.dumps({'value': json.loads(sys.stdin.readline())}))"
    ready = trio.Event()
    async with supervisor(tmp_path, watch=lambda run: run.last_event == "ready" and ready.set()) as boss:
        run = boss.launch(resolved(program), detached=True)
        await ready.wait()
        await boss.message(run, "steer", "left")
        assert (await boss.wait(run)).value == {"steer": "left"}
        assert {"type": "steer", "text": "left"}.items() <= next(
            e for e in boss.records.events(run.id) if e["type"] == "steer"
        ).items()


async def test_a_finished_detached_run_is_reported_once_its_program_is_over_and_nobody_waited(tmp_path):
    told = []

    async def finished(run):
        told.append(run.resolved.name)

    async with supervisor(tmp_path, finished=finished) as boss:
        left = boss.launch(resolved(SAY % 1, name="left"), detached=True, execution="e")
        seen = boss.launch(resolved(SAY % 1, name="seen"), detached=True, execution="e")
        late = boss.launch(resolved("import sys; sys.stdin.readline()", name="late"), detached=True, execution="e")
        await boss.wait(seen)
        await left.done.wait()
        assert told == []
        await boss.execution_ended("e")
        assert told == ["left"]
        await boss.message(late, "steer", "go")
        await late.done.wait()
        with trio.fail_after(5):
            while told != ["left", "late"]:
                await trio.lowlevel.checkpoint()


async def test_a_lost_guardian_fails_its_runs_and_the_next_launch_gets_a_new_one(tmp_path):
    ready = trio.Event()
    say = 'print(\'{"progress": "ready"}\', flush=True)\n' + SLEEP
    async with supervisor(tmp_path, watch=lambda run: run.last_event == "ready" and ready.set()) as boss:
        run = boss.launch(resolved(say), detached=True)
        await ready.wait()
        import os
        import signal

        os.kill(boss._launcher.guardian_pid, signal.SIGKILL)
        with trio.fail_after(20):
            await run.done.wait()
            assert (run.result.status, run.result.error.kind) == ("failed", "crashed")
            again = await boss.run(resolved(SAY % "'back'"))
        assert again.value == "back"
        owner = boss.options.owner
    assert marked(owner) == []
    assert json.dumps([run.result.status]) == '["failed"]'


async def test_a_full_disk_at_the_end_of_a_run_costs_its_record_and_not_its_result(tmp_path, monkeypatch):
    def full(*_arguments, **_options):
        raise OSError(errno.ENOSPC, "No space left on device")

    async with supervisor(tmp_path) as boss:
        for target, method in ((Ledger, "finish"), (Ledger, "spend"), (RunRecords, "finish"), (RunRecords, "mark")):
            monkeypatch.setattr(target, method, full)
        with trio.fail_after(20):
            result = await boss.run(resolved(SAY % "1"))
    assert (result.status, result.value) == ("completed", 1)


async def test_a_fault_of_ours_ends_the_host_and_not_in_a_wait_without_end(tmp_path, monkeypatch):
    async def fault(*_arguments):
        await trio.sleep(0)
        raise RuntimeError("a fault")

    with trio.fail_after(20), pytest.raises(BaseExceptionGroup) as failed:
        async with supervisor(tmp_path) as boss:
            monkeypatch.setattr(boss, "_child", fault)
            runs = [boss.launch(resolved(SLEEP), detached=True) for _ in range(3)]
            await trio.sleep_forever()
    assert failed.group_contains(RuntimeError, match="a fault", depth=1)
    assert all(run.done.is_set() and run.result is not None for run in runs)
    assert "a fault of this host" in runs[0].result.error.message


async def test_a_launcher_that_is_closed_while_it_is_asked_costs_that_run_only(tmp_path):
    async with supervisor(tmp_path) as boss:
        first = await boss.run(resolved(SAY % "1"))
        launcher = boss._launcher
        os.kill(launcher.guardian_pid, signal.SIGSTOP)
        for pid in marked(boss.options.owner):
            os.kill(pid, signal.SIGSTOP)
        second = boss.launch(resolved(SAY % "2"), detached=True)
        await trio.testing.wait_all_tasks_blocked(0.05)
        os.kill(launcher.guardian_pid, signal.SIGKILL)
        with trio.fail_after(20):
            result = await boss.wait(second)
    assert (first.value, result.value) == (1, 2)
