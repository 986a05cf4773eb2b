"""The resident host as a real process: survives its starter, claims once, enforces, ends when idle."""

import os
import signal
from contextlib import asynccontextmanager

import msgspec
import pytest
import trio

from child_agents.errors import AgentError
from child_agents.records import RunRecords
from child_agents.residency.client import ResidentClient, ResidentUnavailableError
from child_agents.residency.host import ResidentOptions
from child_agents.settings import AgentFolders
from tests.child_agents.helpers import environment, resolved

SAY = "import json; print(json.dumps({'value': %s}))"
WAIT = "import sys; sys.stdin.readline(); print('{\"value\": 7}')"


def script_runners():
    from tests.child_agents.helpers import ScriptRunner

    return {"script": ScriptRunner()}


def options(folder, idle=0.05):
    return ResidentOptions(
        folder=str(folder), key="k", max_concurrent=4, stop_grace_seconds=0.3, retention_days=14, resident_idle_seconds=idle,
        warm_template=True, pid_namespace=True, runners="tests.child_agents.test_residency:script_runners",
    )  # fmt: skip


@asynccontextmanager
async def client(folder, told=None, **more):
    async def finished(run_id):
        if told is not None:
            told.append(run_id)

    async with trio.open_nursery() as nursery:
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        yield ResidentClient(
            options(folder, **more), environment=environment(PYTHONPATH=root), nursery=nursery, finished=finished
        )
        nursery.cancel_scope.cancel()


def request(records, program, **more):
    run = resolved(program, residency="durable", **more)
    records.create(run, owner="session", detached=True)
    return run


async def gone(folder):
    """Until the idle resident host has left."""
    with trio.fail_after(20):
        while (AgentFolders(root=folder).resident / "k.sock").exists():
            await trio.sleep(0.02)


async def test_a_durable_run_outlives_its_client_and_is_found_again(tmp_path):
    AgentFolders(root=tmp_path).make()
    records = RunRecords(AgentFolders(root=tmp_path))
    run = request(records, WAIT)
    async with client(tmp_path) as first:
        await first.launch(run, records)
    assert records.read(run.id).status in ("queued", "running")
    assert records.is_marked(run.id, "claim")
    async with client(tmp_path) as second:
        while b'"running"' not in await second.call("status", run.id):
            await trio.sleep(0.01)
        await second.call("message", run.id, b"steer\ngo")
        await second.call("wait", run.id)
    assert records.read(run.id).result.value == 7
    await gone(tmp_path)


async def test_a_claimed_request_is_never_started_twice(tmp_path):
    AgentFolders(root=tmp_path).make()
    records = RunRecords(AgentFolders(root=tmp_path))
    run = request(records, SAY % 1)
    async with client(tmp_path) as one:
        await one.launch(run, records)
        with pytest.raises(AgentError, match="claimed before"):
            await one.launch(run, records)
    await gone(tmp_path)


async def test_the_resident_host_enforces_the_bounds_inside_the_request(tmp_path):
    AgentFolders(root=tmp_path).make()
    records = RunRecords(AgentFolders(root=tmp_path))
    run = request(
        records, SAY % "__import__('os').environ.get('PI_FABRIC_THINKING_BOUNDS')", thinkingBounds={"max": "medium"}
    )
    forged = msgspec.structs.replace(
        run, thinking="max", environment=run.environment | {"PI_FABRIC_THINKING_BOUNDS": "{}"}
    )
    async with client(tmp_path) as one:
        await one.launch(forged, records)
        await one.call("wait", run.id)
    result = records.read(run.id).result
    assert (result.value, result.thinking, result.requested_thinking) == ('{"max":"medium"}', "medium", "max")
    await gone(tmp_path)


async def test_a_killed_resident_host_leaves_its_run_indeterminate_and_nothing_running(tmp_path):
    AgentFolders(root=tmp_path).make()
    records = RunRecords(AgentFolders(root=tmp_path))
    run = request(records, WAIT)
    async with client(tmp_path) as one:
        await one.launch(run, records)
        while b'"running"' not in await one.call("status", run.id):
            await trio.sleep(0.01)
        owner = records.read(run.id).request.owner
        os.kill(one.resident_pid, signal.SIGKILL)
        with pytest.raises(ResidentUnavailableError):
            await one.call("wait", run.id, may_start=False)
        from tests.child_agents.helpers import marked

        with trio.fail_after(5):
            while marked(owner):
                await trio.sleep(0.02)
        assert records.read(run.id).status == "indeterminate"
        # The next one starts, sweeps, and does not run it again.
        other = request(records, SAY % 2)
        await one.launch(other, records)
        await one.call("wait", other.id)
        assert records.read(run.id).result.status == "indeterminate"
    await gone(tmp_path)


async def test_a_session_hears_of_its_finished_runs(tmp_path):
    AgentFolders(root=tmp_path).make()
    records = RunRecords(AgentFolders(root=tmp_path))
    run = msgspec.structs.replace(resolved(WAIT, residency="durable"), owner_session="s1")
    records.create(run, owner="session", detached=True)
    told = []
    async with client(tmp_path, told) as one:
        await one.subscribe("s1")
        await one.launch(run, records)
        while b'"running"' not in await one.call("status", run.id):
            await trio.sleep(0.01)
        await one.call("message", run.id, b"steer\ngo")
        with trio.fail_after(10):
            while told != [run.id]:
                await trio.sleep(0.01)
    await gone(tmp_path)


async def test_stop_walks_the_ladder_in_the_resident_host(tmp_path):
    AgentFolders(root=tmp_path).make()
    records = RunRecords(AgentFolders(root=tmp_path))
    run = request(records, "import time; time.sleep(60)")
    async with client(tmp_path) as one:
        await one.launch(run, records)
        await one.call("stop", run.id, b"enough")
    assert records.read(run.id).status == "stopped"
    await gone(tmp_path)
