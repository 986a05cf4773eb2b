"""A host in a process of its own, to be killed: `python -m tests.child_agents.host_process FOLDER OWNER KIND`.

It launches three children that resist (new sessions, double forks, TERM ignored), or one real program child whose
guest computes, prints `up` once all run, and ends when its standard input does.
"""

import os
import sys
from pathlib import Path

import trio

from child_agents.settings import AgentFolders, AgentSettings
from child_agents.supervisor import SupervisorOptions, open_supervisor
from tests.child_agents.helpers import ScriptRunner, caller, environment, resolved

RESISTING = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            print('{"progress": "ready"}', flush=True)
            while True:
                time.sleep(60)
        os._exit(0)
print('{"progress": "ready"}', flush=True)
time.sleep(60)
"""
COMPUTING = "print('computing')\nwhile True:\n    pass"


async def main(folder: str, owner: str, kind: str) -> None:
    ready = trio.Event()

    def watch(run) -> None:
        if run.last_event in ("ready", "log"):
            running.add(run.id)
            if len(running) == wanted:
                ready.set()

    preload: tuple[str, ...] = ("trio", "msgspec")
    kinds = {"script": ScriptRunner()}
    if kind == "program":
        from runtime.agent_runners import runners
        from runtime.agent_service import PRELOAD

        preload = PRELOAD
        kinds |= runners()
    running: set[str] = set()
    wanted = 1 if kind == "program" else 3
    options = SupervisorOptions(
        settings=AgentSettings(stop_grace_seconds=0.2, pid_namespace=kind != "plain"),
        folders=AgentFolders(root=Path(folder)),
        runners=kinds,
        environment=environment(PI_CODING_AGENT_DIR=folder, PYTHONPATH=os.environ.get("PYTHONPATH", "")),
        preload=preload,
        watch=watch,
        owner=owner,
    )
    who = caller(environment=dict(options.environment))
    async with open_supervisor(options) as boss:
        for _ in range(wanted):
            if kind == "program":
                boss.launch(resolved(COMPUTING, runner="program", who=who), detached=True)
            else:
                boss.launch(resolved(RESISTING, who=who), detached=True)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(announce, ready)
            await trio.lowlevel.wait_readable(0)
            nursery.cancel_scope.cancel()


async def announce(ready: trio.Event) -> None:
    await ready.wait()
    print("up", flush=True)


if __name__ == "__main__":
    trio.run(main, *sys.argv[1:])
