"""Child hosts: warm against cold, a trivial child end to end, memory of an idle child, a hundred children."""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import trio

from child_agents import kernel
from child_agents.caller import CallerContext
from child_agents.channel import Channel
from child_agents.launcher import LaunchOptions, open_launcher
from child_agents.process import module_argv
from child_agents.records import new_id
from child_agents.request import read_request
from child_agents.resolver import resolve
from child_agents.settings import AgentFolders, AgentSettings
from child_agents.supervisor import SupervisorOptions, open_supervisor
from child_agents.worker_frames import FROM_WORKER, Job, Output
from runtime.agent_runners import runners
from runtime.agent_service import PRELOAD

ROUNDS = 25
CHILDREN = 100
FIRST_GRANDCHILD = """
import time
started = time.monotonic()
await agents.run(program="return 1 + 1")
return time.monotonic() - started
"""
"""Starts guardian and template of the child on the way."""
READY = "benchmarks.child_ready"
"""A child that says `ready` from inside `trio.run`, with everything imported that a child host imports."""


def main() -> dict:
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        environment |= {"PI_CODING_AGENT_DIR": folder, "PYTHONPATH": str(Path(__file__).parents[1])}
        result = trio.run(_measure, Path(folder), environment)
    for name, value in result.items():
        print(f"{name:<44} {value}")
    return result


async def _measure(folder: Path, environment: dict[str, str]) -> dict:
    warm: list[float] = []
    cold: list[float] = []
    options = LaunchOptions(
        owner=new_id("o"), environment=environment, entries=[READY, "runtime"], preload=[*PRELOAD, READY]
    )
    async with open_launcher(options) as launcher:
        for _ in range(ROUNDS):  # interleaved, so that both meet the same machine
            warm.append(await _warm_ready(launcher, environment))
            cold.append(_cold_ready(environment))
    result = {
        "request to child host ready, warm (p50 ms)": _ms(statistics.median(warm)),
        "request to child host ready, warm (p95 ms)": _ms(sorted(warm)[int(len(warm) * 0.95)]),
        "cold python child, same imports (p50 ms)": _ms(statistics.median(cold)),
        "warm / cold (p50)": round(statistics.median(warm) / statistics.median(cold), 3),
    }
    return result | await _supervised(folder, environment)


async def _warm_ready(launcher, environment: dict[str, str]) -> float:
    started = time.perf_counter()
    worker = await launcher.start_worker("bench")
    channel = Channel(worker.channel, FROM_WORKER)
    await channel.send(Job.of("bench", module_argv(READY), environment, "/", owner="bench"))
    ready = 0.0
    while (frame := await channel.receive()) is not None:
        if isinstance(frame, Output) and not ready:
            ready = time.perf_counter() - started
    channel.close()
    worker.control.close()
    os.close(worker.pidfd)
    return ready


def _cold_ready(environment: dict[str, str]) -> float:
    started = time.perf_counter()
    with subprocess.Popen(module_argv(READY), env=environment, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        return time.perf_counter() - started


async def _supervised(folder: Path, environment: dict[str, str]) -> dict:
    limit = AgentSettings(max_concurrent=CHILDREN, max_descendants=10_000, max_per_execution=10_000)
    options = SupervisorOptions(
        settings=limit,
        folders=AgentFolders(root=folder / "agents"),
        runners=runners(),
        environment=environment,
        preload=PRELOAD,
    )
    risks = {"read": "allow", "agent": "allow"}
    who = CallerContext(root_id="bench", environment=environment, cwd=folder, risks=risks)

    def request(program: str, value=None, *, recursive: bool = False):
        wanted = read_request({"runner": "program", "program": program, "input": value, "recursive": recursive})
        return resolve(wanted, who, limit, run_id=new_id(), runners=["program"])

    async with open_supervisor(options) as boss:
        first = await boss.run(request("return 1 + 1"))
        assert first.value == 2, first
        alone: list[float] = []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            await boss.run(request("return 1 + 1"))
            alone.append(time.perf_counter() - started)
        grandchildren = [(await boss.run(request(FIRST_GRANDCHILD, recursive=True))).value for _ in range(ROUNDS // 3)]
        started = time.perf_counter()
        runs = [boss.launch(request("return input * 2", n), detached=True) for n in range(CHILDREN)]
        values = [(await boss.wait(run)).value for run in runs]
        assert values == [2 * n for n in range(CHILDREN)]
        together = time.perf_counter() - started
        idle = await _idle_memory(boss, request)
    return {
        "spawn to result, trivial program (p50 ms)": _ms(statistics.median(alone)),
        "spawn to result, trivial program (p95 ms)": _ms(sorted(alone)[int(len(alone) * 0.95)]),
        "first grandchild, spawn to result (p50 ms)": _ms(statistics.median(grandchildren)),
        f"{CHILDREN} children at once (s)": round(together, 2),
        "children per second": round(CHILDREN / together, 1),
        "USS of an idle child host (MB)": idle.get("child", 0.0),
        "USS of its worker (MB)": idle.get("worker", 0.0),
        "USS of its guest and zygote (MB)": idle.get("guest", 0.0),
    }


async def _idle_memory(boss, request) -> dict[str, float]:
    """What one child that only waits adds: private pages, in MB, by role."""
    run = boss.launch(request("import asyncio\nprint('up')\nawait asyncio.sleep(60)"), detached=True)
    await trio.sleep(2)  # it runs and waits by then
    found = _memory(boss.options.owner)
    await boss.stop(run)
    return found


def _memory(owner: str) -> dict[str, float]:
    found: dict[str, float] = {}
    sessions = set()
    for pid in kernel.marked_processes(f"PI_FABRIC_OWNER={owner}"):
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        if b"child_agents.worker" in command:
            found["worker"] = _private_mb(pid)
        elif b"runtime" in command and b"--json" in command:
            found["child"] = _private_mb(pid)
        if b"child_agents.template" in command:
            sessions.add(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[3])
    guests = 0.0
    for entry in os.scandir("/proc"):
        with contextlib.suppress(OSError):
            if entry.name.isdecimal() and b"zygote_template" in Path(f"/proc/{entry.name}/cmdline").read_bytes():
                session = Path(f"/proc/{entry.name}/stat").read_text().rpartition(")")[2].split()[3]
                if session in sessions:
                    guests += _private_mb(int(entry.name))
    found["guest"] = round(guests, 1)
    return found


def _private_mb(pid: int) -> float:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    kilobytes = sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Private_"))
    return round(kilobytes / 1024, 1)


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 2)


if __name__ == "__main__":
    json.dump(main(), sys.stdout, indent=1)
