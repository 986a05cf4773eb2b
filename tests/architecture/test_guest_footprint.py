"""What a real guest has in memory: nothing of the host's rooms, no trio, nothing of the host's environment."""

import pytest

from host_bridge.confinement_plan import ConfinementPlan
from host_bridge.zygote_client import open_guest_pool
from tests.host_bridge.raw_guests import run

FOREIGN = ("host_bridge", "child_agents", "runtime", "trio", "anyio", "asyncio", "click", "rich", "outcome", "sniffio")


@pytest.fixture
async def pool():
    async with open_guest_pool(ConfinementPlan.default(), language_layer=False) as opened:
        yield opened


async def test_a_guest_has_loaded_nothing_of_the_host(pool):
    loaded, _ = await run(pool, "import sys; result = sorted(sys.modules)")
    assert "guest_api.inside.program" in loaded
    assert [name for name in loaded if name.split(".")[0] in FOREIGN] == []


async def test_a_guest_is_single_threaded_and_has_no_environment(pool):
    source = "import os, sys\nresult = [dict(os.environ), len(sys._current_frames()), sys.flags.isolated]"
    assert (await run(pool, source))[0] == [{}, 1, 1]


async def test_no_secret_of_the_host_is_in_a_guests_memory(monkeypatch):
    """The memory of a guest, searched by the guest itself; the word is built there so that it is not its own finding."""
    monkeypatch.setenv("PI_FABRIC_TEST_SECRET", "S3CRET" + "-in-the-environment")
    source = """
import ctypes, gc
libc = ctypes.CDLL(None)
libc.memmem.restype = ctypes.c_void_p
word = b"-in-the-" + b"environment"
environ = ctypes.c_void_p.in_dll(libc, "environ").value
strings = [x for x in gc.get_objects() if isinstance(x, dict) and "PI_FABRIC_TEST_SECRET" in x]
result = [bool(environ and ctypes.c_void_p.from_address(environ).value), len(strings)]
"""
    async with open_guest_pool(ConfinementPlan.default(), language_layer=False) as opened:
        assert (await run(opened, source))[0] == [False, 0]
