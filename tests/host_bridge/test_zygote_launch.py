"""A zygote whose cold start begins before trio is imported: taken once, ended where nobody takes it."""

import os
import select
import subprocess
import sys

from host_bridge.confinement_plan import ConfinementPlan
from host_bridge.zygote_client import open_guest_pool
from host_bridge.zygote_launch import launch


async def test_the_pool_takes_the_launched_zygote_and_starts_no_second_one() -> None:
    launched = launch()
    async with open_guest_pool(ConfinementPlan.for_mode("strict"), pool_size=0, launched=launched) as pool:
        assert pool.zygote_pid == launched.process.pid
        launched.discard()  # it is the pool's now
        guest = await pool.checkout()
        await guest.aclose()
    assert launched.process.poll() is not None


async def test_a_pool_that_loses_the_launched_zygote_starts_another_one() -> None:
    launched = launch()
    async with open_guest_pool(ConfinementPlan.for_mode("strict"), pool_size=0, launched=launched) as pool:
        await (await pool.checkout()).aclose()
        launched.process.kill()
        launched.process.wait()
        await (await pool.checkout()).aclose()
        assert pool.zygote_pid != launched.process.pid


def test_discarding_ends_it_and_a_second_time_does_nothing() -> None:
    launched = launch()
    launched.discard()
    launched.discard()
    assert launched.process.poll() is not None
    assert launched.take() is False


def test_a_launched_zygote_ends_with_its_host() -> None:
    code = "from host_bridge.zygote_launch import launch; print(launch().process.pid, flush=True)"
    pid = int(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout)
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    assert poll.poll(20_000)
    os.close(descriptor)


def test_launching_imports_no_trio() -> None:
    code = "import sys, host_bridge.zygote_launch; print('trio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "False"
