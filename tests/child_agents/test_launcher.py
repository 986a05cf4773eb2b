"""A launcher whose guardian dies while something else keeps its socket open."""

import os
import socket
import subprocess

import pytest
import trio
import trio.testing

from child_agents.errors import LauncherLostError
from child_agents.launcher import Launcher, LaunchOptions


class Orphaned:
    """A launcher beside a real process that stands for its guardian; the test holds the template's end."""

    def __init__(self):
        self.guardian = subprocess.Popen(["/bin/sleep", "3600"])
        ours, self.template = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        lifeline_read, lifeline = os.pipe()
        os.close(lifeline_read)
        self.launcher = Launcher(
            LaunchOptions(owner="o-launcher-test", environment={}),
            self.guardian,
            (self.guardian.pid, os.pidfd_open(self.guardian.pid)),
            lifeline,
            ours,
        )


@pytest.fixture
async def orphaned():
    made = Orphaned()
    yield made
    made.guardian.kill()
    await made.launcher.aclose()
    made.template.close()


@pytest.mark.parametrize("ask", ["wait_ready", "start_worker"])
async def test_who_waits_for_a_template_hears_of_the_guardians_death_at_once(orphaned, ask):
    launcher = orphaned.launcher
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            failed = trio.Event()

            async def wait():
                with pytest.raises(LauncherLostError):
                    await (launcher.wait_ready() if ask == "wait_ready" else launcher.start_worker("r-1"))
                failed.set()

            nursery.start_soon(wait)
            await trio.testing.wait_all_tasks_blocked()
            assert not failed.is_set()
            orphaned.guardian.kill()
            await failed.wait()
    assert not launcher.is_alive


async def test_a_template_that_is_ready_is_heard(orphaned):
    orphaned.template.send(b"ready")
    with trio.fail_after(10):
        await orphaned.launcher.wait_ready()
    assert orphaned.launcher.is_alive
