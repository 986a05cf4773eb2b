"""Real guests from a real zygote: how they end, what they cannot reach, and that nothing of them is left."""

import contextlib
import os
import signal
import socket
import subprocess
import sys

import pytest
import trio
import trio.testing

from guest_api import wire
from host_bridge import zygote_client, zygote_process
from host_bridge.actions import action
from host_bridge.confinement_plan import ConfinementPlan, GuestLimits
from host_bridge.guest_process import run_program
from host_bridge.isolation_probe import run_raw
from host_bridge.limits import RunLimits
from host_bridge.rehearsal import Rehearsal
from host_bridge.zygote_client import GuestExit, open_guest_pool
from tests.host_bridge.raw_guests import children_of, eventually, exists, open_descriptors, run
from tests.host_bridge.support import admission_of, registry_of

PLAN = ConfinementPlan.default()
MIB = 1024 * 1024


needs_two_processors = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor is all there is")


def raw_pool(plan=PLAN, **options):
    return open_guest_pool(plan, language_layer=False, **options)


@pytest.fixture
async def pool():
    async with raw_pool(pool_size=2) as opened:
        yield opened


async def test_a_guest_answers_and_exits(pool):
    assert await run(pool, "result = 1 + 1") == (2, GuestExit(status=0, signal=None))


@pytest.mark.parametrize(
    "attack",
    [
        "import socket; socket.socket()",
        "import os; os.fork()",
        "import os; os.execv('/bin/sh', ['sh'])",
        "import os; os.kill(1, 9)",
        "import os; os.kill(os.getpid(), 9)",
        "import _thread; _thread.start_new_thread(print, ())",
        "import ctypes; ctypes.CDLL(None).socket(2, 1, 0)",
        "import ctypes; ctypes.CDLL(None).mmap(None, 4096, 7, 0x22, -1, 0)",
        "sock.send(b'x', 1)",
        "sock.sendto(b'x', '/tmp/other')",
        "sock.recvmsg(1, 100)",
        "import time; time.sleep(0.1)",
    ],
)
async def test_a_call_outside_the_filter_is_death_by_sigsys(pool, attack):
    assert await run(pool, attack) == (None, GuestExit(status=None, signal=signal.SIGSYS))


async def test_files_are_answered_with_an_error(pool):
    for attack in (
        "open('/etc/passwd')",
        "import os; os.listdir('/')",
        "import os; os.stat('/')",
        "open('/tmp/x', 'w')",
    ):
        failed, ended = await run(pool, attack)
        assert isinstance(failed, wire.Failed)
        assert failed.message.startswith("PermissionError")
        assert ended.status == 0


async def test_the_environment_is_empty_and_only_the_bridge_is_open(pool):
    assert (await run(pool, "import os; result = dict(os.environ)"))[0] == {}
    source = "import os\nresult = []\nfor fd in (0, 1, 2, 4, 5, 6, 7, 8):\n    try:\n        os.write(fd, b'x')\n"
    source += "    except OSError as error:\n        result.append(error.errno)"
    assert (await run(pool, source))[0] == [9] * 8


async def test_memory_is_limited_and_the_limit_is_a_memory_error(pool):
    failed, ended = await run(pool, "x = bytearray(300 * 2**20)")
    assert failed.message.startswith("MemoryError")
    assert ended == GuestExit(status=0, signal=None)
    assert (await run(pool, "result = len(bytearray(60 * 2**20))"))[0] == 60 * MIB


async def test_each_checkout_may_have_limits_of_its_own(pool):
    small = GuestLimits(memory_bytes=16 * MIB)
    assert (await run(pool, "x = bytearray(17 * 2**20)", small))[0].message.startswith("MemoryError")
    assert (await run(pool, "result = len(bytearray(8 * 2**20))", small))[0] == 8 * MIB


async def test_a_limit_too_small_to_begin_is_a_memory_limit_and_no_crash():
    async with open_guest_pool(PLAN, limits=GuestLimits(memory_bytes=1)) as pool:
        failed, ended = await run(pool, "return 1")
    assert (failed.kind, failed.limit) == ("limit", "memory")
    assert ended == GuestExit(status=0, signal=None)


CHAIN = "error = None\nwhile True:\n    new = ValueError('x' * 10000)\n    new.args = (error,)\n    error = new"
LIST = "rows = []\nwhile True:\n    rows.append([rows])"


@pytest.mark.parametrize("source", [CHAIN, LIST])
async def test_running_out_of_memory_is_told_whatever_the_last_page_was_used_for(source):
    admission = admission_of(registry_of())
    told = set()
    async with open_guest_pool(PLAN, pool_size=0) as pool:
        for step in range(16):
            guest = await pool.checkout(GuestLimits(memory_bytes=12 * MIB + step * 300_000))
            outcome = await run_program(guest, source, None, admission=admission, limits=RunLimits(), run_id="r")
            await guest.aclose()
            told.add((outcome.error.kind, outcome.error.limit))
    assert told == {("limit", "memory")}


async def test_the_module_entry_leaves_when_its_host_has_gone():
    """`python -m guest_api.inside FD`, as an installed package is started."""
    ours, theirs = socket.socketpair()
    ours.close()
    with theirs:
        command = [sys.executable, "-I", "-m", "guest_api.inside", str(theirs.fileno())]
        done = await trio.run_process(command, pass_fds=[theirs.fileno()], check=False)
    assert done.returncode == 0


async def test_the_processor_limit_is_sigxcpu(pool):
    assert await run(pool, "while True: pass", GuestLimits(cpu_seconds=1)) == (None, GuestExit(None, signal.SIGXCPU))


async def test_a_smashed_stack_is_a_signal_of_that_guest_only(pool):
    source = (
        "import sys\nsys.setrecursionlimit(10**8)\nclass N:\n    def __repr__(self):\n        return repr([self])\n"
    )
    other = await pool.checkout()
    assert await run(pool, source + "repr(N())") == (None, GuestExit(status=None, signal=signal.SIGSEGV))
    assert other.exit is None
    await other.aclose()
    assert (await run(pool, "result = 'next'"))[0] == "next"


async def test_an_exit_status_is_reported(pool):
    assert await run(pool, "import os; os._exit(5)") == (None, GuestExit(status=5, signal=None))


async def test_kill_is_immediate_and_may_be_repeated(pool):
    guest = await pool.checkout()
    guest.kill()
    guest.kill()
    with trio.fail_after(5):
        assert await guest.wait() == GuestExit(status=None, signal=signal.SIGKILL)
    guest.kill()
    await guest.aclose()
    await guest.aclose()


async def test_closing_a_busy_guest_ends_it(pool):
    guest = await pool.checkout()
    await guest.socket.send(wire.encode(wire.Start("while True: pass", None, [], 1, 1, 1)))
    pid = guest.host_pid
    assert exists(pid)
    await guest.aclose()
    with trio.fail_after(5):
        assert await guest.wait() == GuestExit(status=None, signal=signal.SIGKILL)
    assert not exists(pid)


async def test_a_dead_idle_guest_is_not_handed_out(pool):
    await eventually(lambda: len(pool.idle_guests) == 2)
    for idle in pool.idle_guests:
        idle.kill()
        await idle.wait()
    assert (await run(pool, "result = 'alive'"))[0] == "alive"


async def test_two_hundred_guests_at_once():
    async with raw_pool() as pool:
        guests = []
        answers = []

        async def take():
            guests.append(await pool.checkout())

        async def ask(guest):
            await guest.socket.send(wire.encode(wire.Start("result = 'ok'", None, [], 1000, 1000, 1000)))
            answers.append(await guest.socket.recv(1000))

        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                for _ in range(200):
                    nursery.start_soon(take)
            assert len({guest.host_pid for guest in guests}) == 200
            async with trio.open_nursery() as nursery:
                for guest in guests:
                    nursery.start_soon(ask, guest)
        assert answers == [wire.encode(wire.Done("ok"))] * 200
        for guest in guests:
            await guest.aclose()


async def test_a_lost_zygote_is_noticed_and_replaced(pool):
    guest = await pool.checkout()
    (inner,) = children_of(pool.zygote_pid)
    outer = pool.zygote_pid
    signal.pidfd_send_signal(_pidfd(inner), signal.SIGKILL)
    with trio.fail_after(10):
        assert await guest.wait() == GuestExit(status=None, signal=None)
        with contextlib.suppress(ConnectionResetError):  # a warm frame that it had not read
            assert await guest.socket.recv(1) == b""
        assert (await run(pool, "result = 'again'"))[0] == "again"
    assert pool.zygote_pid != outer
    await guest.aclose()
    await eventually(lambda: not exists(outer))


async def test_a_lost_outer_process_takes_the_zygote_and_its_guests_along(pool):
    guest = await pool.checkout()
    pid, outer = guest.host_pid, pool.zygote_pid
    signal.pidfd_send_signal(_pidfd(outer), signal.SIGKILL)
    with trio.fail_after(10):
        assert await guest.wait() == GuestExit(status=None, signal=None)
    await eventually(lambda: not exists(pid))
    await guest.aclose()


async def test_the_zygote_is_recycled_and_with_it_the_hash_secret(monkeypatch):
    monkeypatch.setattr(zygote_client, "FORKS_PER_ZYGOTE", 4)
    async with raw_pool(pool_size=1) as pool:
        long_lived = await pool.checkout()
        first = pool.zygote_pid
        hashes = {(await run(pool, "result = hash('secret')"))[0] for _ in range(12)}
        assert len(hashes) > 1
        assert pool.zygote_pid != first
        assert long_lived.exit is None, "a guest outlives the recycling of its zygote"
        assert exists(first)
        await long_lived.aclose()
        await eventually(lambda: not exists(first))


async def test_randomness_differs_between_guests_of_one_zygote(pool):
    source = "import random, os\nresult = [random.random(), os.urandom(8).hex()]"
    first, second = (await run(pool, source))[0], (await run(pool, source))[0]
    assert first[0] != second[0]
    assert first[1] != second[1]


@needs_two_processors
async def test_a_guest_that_waits_awake_is_kept_off_our_processor_until_it_may_move(pool):
    guest = await pool.checkout()
    everywhere = os.sched_getaffinity(0)
    guest.warm(60_000)
    assert len(everywhere - os.sched_getaffinity(guest.host_pid)) == 1
    guest.let_move()
    assert os.sched_getaffinity(guest.host_pid) == everywhere
    assert not guest.waits_apart
    await guest.aclose()


@needs_two_processors
async def test_a_program_that_calls_may_use_every_processor():
    seen = []
    async with open_guest_pool(PLAN) as pool:
        guest = await pool.checkout()
        guest.warm(60_000)

        def look() -> None:
            seen.append(os.sched_getaffinity(guest.host_pid))

        admission = admission_of(registry_of(action(look, ref="t.look", risk="read")))
        outcome = await run_program(
            guest, "await t.look()\nreturn 1", None, admission=admission, limits=RunLimits(), run_id="r"
        )
        await guest.aclose()
    assert outcome.value == 1, outcome
    assert seen == [os.sched_getaffinity(0)]


@needs_two_processors
async def test_where_processors_cannot_be_chosen_a_guest_waits_where_it_is(pool, monkeypatch):
    monkeypatch.setattr(zygote_process.processors, "allow", lambda *_: False)
    guest = await pool.checkout()
    guest.warm(60_000)
    assert not guest.waits_apart
    frame, _ = await run_raw(guest, "result = 'ran'")
    assert frame == wire.Done("ran")
    await guest.aclose()


async def test_a_hint_that_comes_together_with_its_program_does_not_delay_it():
    async with open_guest_pool(PLAN) as pool:
        guest = await pool.checkout()
        start = wire.Start("return 'ran'", None, [], 1000, 1000, 1000)
        hints = wire.encode(wire.Warm(3_600_000)) + wire.encode(wire.Warm(0))
        await guest.socket.send(hints + wire.encode(start))
        with trio.fail_after(10):
            assert wire.decode_guest_frame((await guest.socket.recv(1000))[4:]) == wire.Done("ran")
        await guest.aclose()


async def test_a_guest_that_said_its_last_stays_out_of_the_way_until_it_is_let_go():
    async with open_guest_pool(PLAN) as pool:
        guest = await pool.checkout()
        outcome = await run_program(
            guest, "return 1", None, admission=admission_of(registry_of()), limits=RunLimits(), run_id="r"
        )
        assert outcome.value == 1
        assert guest.exit is None
        guest.socket.shutdown(socket.SHUT_RDWR)
        with trio.fail_after(10):
            assert await guest.wait() == GuestExit(status=0)
        await guest.aclose()


async def test_the_next_guest_waits_awake_after_a_program_but_never_beside_one(monkeypatch):
    told = []
    monkeypatch.setattr(zygote_client, "a_processor_is_free", lambda **_: True)
    monkeypatch.setattr(zygote_process.Guest, "warm", lambda guest, awake_ms=0: told.append(awake_ms))
    async with raw_pool(awake_seconds=3600) as pool:
        await eventually(lambda: any(told))
        first = await pool.checkout()
        told.clear()
        pool.expect_program()
        await eventually(lambda: told)
        assert not any(told)
        await first.aclose()
        await eventually(lambda: any(told))


async def test_without_awake_time_no_guest_ever_waits_awake(monkeypatch):
    told = []
    monkeypatch.setattr(zygote_client, "a_processor_is_free", lambda **_: True)
    monkeypatch.setattr(zygote_process.Guest, "warm", lambda guest, awake_ms=0: told.append(awake_ms))
    async with raw_pool(awake_seconds=0) as pool:
        await (await pool.checkout()).aclose()
        pool.expect_program()
        told.clear()
        await eventually(lambda: len(told) > 2)
        assert not any(told)


async def test_where_no_processor_is_ever_free_the_head_guest_is_still_warmed_after_a_pause(monkeypatch):
    told = []
    monkeypatch.setattr(zygote_client, "a_processor_is_free", lambda **_: False)
    monkeypatch.setattr(zygote_client, "HOT_SECONDS", 0.0)
    async with raw_pool(pool_size=1) as pool:
        await eventually(lambda: pool.idle_guests)
        monkeypatch.setattr(zygote_process.Guest, "warm", lambda guest, awake_ms=0: told.append(awake_ms))
        pool.expect_program()
        await eventually(lambda: told)
        assert not any(told)


async def test_a_pool_that_ends_while_its_host_rehearses_ends_quietly(monkeypatch):
    rehearsing = trio.Event()

    async def play(rehearsal):
        rehearsing.set()
        await trio.lowlevel.wait_readable(rehearsal._guest.socket)

    monkeypatch.setattr(Rehearsal, "play", play)
    before = open_descriptors()
    async with raw_pool():
        await rehearsing.wait()
    assert open_descriptors() == before


async def test_where_the_pid_of_a_guest_cannot_be_read_it_runs_where_it_is(pool, monkeypatch):
    guest = await pool.checkout()
    guest.warm(60_000)
    pidfd, guest._pidfd = guest._pidfd, 1 << 20
    assert guest.host_pid is None
    guest.let_move()
    guest._pidfd = pidfd
    frame, _ = await run_raw(guest, "result = 'ran'")
    assert frame == wire.Done("ran")
    await guest.aclose()


def test_a_system_without_a_choice_of_processors_can_import_the_host():
    source = "import os; del os.sched_getaffinity, os.sched_setaffinity; import host_bridge.zygote_client, host_bridge.guest_process as g; print(g._CORES)"
    ended = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "1\n"), ended.stderr


GOES_ON = {
    "spins": "while True: pass",
    "floods": "while True: sock.send(LOG * 1000)",
    "waits": "sock.recv(100)\nwhile sock.recv(100) or True: pass",
}


@pytest.mark.parametrize("after", GOES_ON.values(), ids=GOES_ON.keys())
async def test_a_guest_that_says_done_and_goes_on_is_gone_when_its_owner_closes_it(pool, after):
    guest = await pool.checkout()
    last, log = wire.encode(wire.Done(1)), wire.encode(wire.Log("more"))
    source = f"LOG = {log!r}\nsock.send({last!r})\n{after}"
    outcome = await run_program(
        guest, source, None, admission=admission_of(registry_of()), limits=RunLimits(), run_id="r"
    )
    assert (outcome.ok, outcome.value, outcome.logs) == (True, 1, [])
    await guest.aclose()
    with trio.fail_after(10):
        assert await guest.wait() == GuestExit(signal=signal.SIGKILL)


async def test_a_guest_that_says_done_and_goes_on_is_gone_when_its_run_is_cancelled(pool):
    guest = await pool.checkout()
    calling = trio.Event()

    async def hold() -> None:
        calling.set()
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(0)
            over.cancel()

    call, last = wire.encode(wire.Call(1, "t.hold", {})), wire.encode(wire.Done(1))
    source = f"sock.send({call!r})\nsock.send({last!r})\nwhile True: pass"
    admission = admission_of(registry_of(action(hold, ref="t.hold", risk="read")))
    with trio.CancelScope() as over:
        await run_program(guest, source, None, admission=admission, limits=RunLimits(), run_id="r")
    await guest.aclose()
    with trio.fail_after(10):
        assert await guest.wait() == GuestExit(signal=signal.SIGKILL)


async def test_a_rehearsal_runs_the_whole_path_and_leaves_nothing_for_the_next():
    before = open_descriptors()
    rehearsal = Rehearsal()
    for _ in range(3):
        outcome = await rehearsal.play()
        assert (outcome.ok, outcome.value) == (True, 1)
    rehearsal.close()
    assert open_descriptors() == before


async def test_a_cancelled_checkout_leaves_nothing():
    async with raw_pool(pool_size=0) as pool:
        with trio.CancelScope() as scope:
            scope.cancel()
            await pool.checkout()
        assert scope.cancelled_caught
        for delay in (0.0, 0.0005, 0.001, 0.002, 0.003):
            with trio.move_on_after(delay):
                await (await pool.checkout()).aclose()
        await eventually(lambda: not children_of(children_of(pool.zygote_pid)[0]))
        assert (await run(pool, "result = 1"))[0] == 1


async def test_a_body_that_raises_is_raised_plainly_and_everything_is_gone():
    before = open_descriptors()
    with pytest.raises(ValueError, match="from the body"):
        async with raw_pool() as pool:
            outer = pool.zygote_pid
            raise ValueError("from the body")
    assert not exists(outer)
    assert open_descriptors() == before


async def test_a_thousand_runs_leave_no_zombie_no_descriptor_and_no_process():
    """Seed: a thousand in the tests, ten thousand in the soak."""
    await runs_leave_nothing(1000)


async def runs_leave_nothing(count):
    before = open_descriptors()
    children_before = children_of("self")
    async with raw_pool(pool_size=2) as pool:
        assert (await run(pool, "result = 1"))[0] == 1
        await eventually(lambda: len(pool.idle_guests) == 2)
        settled = len(open_descriptors())
        for number in range(count):
            guest = await pool.checkout()
            source = "result = 1" if number % 10 else "import os; os.fork()"
            await guest.socket.send(wire.encode(wire.Start(source, None, [], 1000, 1000, 1000)))
            await guest.socket.recv(100)
            await guest.aclose()
        await eventually(lambda: len(pool.idle_guests) == 2 and len(open_descriptors()) == settled)
        await eventually(lambda: len(children_of("self")) == len(children_before) + 1)
        (inner,) = children_of(pool.zygote_pid)
        await eventually(lambda: len(children_of(inner)) == 2)
    assert children_of("self") == children_before
    assert open_descriptors() == before


HOST_SOURCE = """
import sys, trio
from host_bridge.confinement_plan import ConfinementPlan
from host_bridge.zygote_client import open_guest_pool
from host_bridge import zygote_process
async def main():
    async with open_guest_pool(ConfinementPlan.default().without(sys.argv[1]), pool_size=1) as pool:
        guest = await pool.checkout()
        print(pool.zygote_pid, guest.host_pid, flush=True)
        await trio.sleep_forever()
trio.run(main)
"""


@pytest.mark.parametrize("without", ["landlock", "namespaces"])
async def test_a_killed_host_leaves_no_zygote_and_no_guest(without):
    process = await trio.lowlevel.open_process([sys.executable, "-c", HOST_SOURCE, without], stdout=-1)
    async with process.stdout:
        with trio.fail_after(20):
            line = b""
            while not line.endswith(b"\n"):
                line += await process.stdout.receive_some()
        outer, guest = map(int, line.split())
        assert exists(outer)
        assert exists(guest)
        process.kill()
        await process.wait()
        await eventually(lambda: not exists(outer) and not exists(guest))


def _pidfd(pid):
    descriptor = os.pidfd_open(pid)
    _OPENED.append(descriptor)
    return descriptor


_OPENED = []


@pytest.fixture(autouse=True)
def _close_pidfds():
    yield
    while _OPENED:
        os.close(_OPENED.pop())
