"""Host calls: one after another, and gathered, beside pydantic-monty's external functions in the same run.

Both sides run a trivial function in the host from a sandboxed program in another process. Monty has two hosts: a blocking
one, and an asyncio one, which is what compares with our event loop; both are printed. Samples alternate, so that a busy
moment hits all of them.
"""

import asyncio
import statistics
import time

import trio

from host_bridge.actions import action
from host_bridge.admission import Admission
from host_bridge.confinement_plan import ConfinementPlan
from host_bridge.guest_process import run_program
from host_bridge.limits import RunLimits
from host_bridge.registry import Registry
from host_bridge.zygote_client import GuestPool, open_guest_pool

CALLS = 900
"""Monty's default limit is 1000 suspensions."""
ROUNDS = 15
SEQUENTIAL = f"for i in range({CALLS}):\n    await t.now(x=i)"
GATHERED = f"import asyncio\nawait asyncio.gather(*[t.now(x=i) for i in range({CALLS})])"
EMPTY = "return 1"


@action(ref="t.now", risk="read")
def now(x: int) -> int:
    return x


async def _now(x: int) -> int:
    return x


async def _ours_once(pool: GuestPool, admission: Admission, source: str) -> float:
    guest = await pool.checkout()
    try:
        started = time.perf_counter()
        limits = RunLimits(calls=CALLS, calls_in_flight=CALLS)
        outcome = await run_program(guest, source, None, admission=admission, limits=limits, run_id="bench")
        seconds = time.perf_counter() - started
    finally:
        await guest.aclose()
    assert outcome.ok, outcome.error
    return seconds


def _monty_blocking() -> float:
    import pydantic_monty

    with pydantic_monty.Monty() as pool, pool.checkout() as session:
        session.feed_run("1")
        started = time.perf_counter()
        session.feed_run(f"for i in range({CALLS}):\n    now(i)\n1", external_lookup={"now": lambda x: x})
        return time.perf_counter() - started


async def _monty_asyncio(source: str) -> float:
    import pydantic_monty

    async with pydantic_monty.AsyncMonty() as pool, pool.checkout() as session:
        await session.feed_run("1")
        started = time.perf_counter()
        await session.feed_run(source, external_lookup={"now": _now})
        return time.perf_counter() - started


async def _measure() -> dict[str, list[float]]:
    registry = Registry()
    registry.replace_source("t", [now])
    admission = Admission(registry)
    samples: dict[str, list[float]] = {}

    def note(name: str, seconds: float) -> None:
        samples.setdefault(name, []).append(seconds)

    def in_thread(source: str) -> float:
        return asyncio.run(_monty_asyncio(source))

    async with open_guest_pool(ConfinementPlan.default()) as pool:
        for _ in range(ROUNDS):
            await trio.sleep(0.05)
            base = await _ours_once(pool, admission, EMPTY)
            await trio.sleep(0.05)
            note("ours sequential", await _ours_once(pool, admission, SEQUENTIAL) - base)
            await trio.sleep(0.05)
            note("ours gathered", await _ours_once(pool, admission, GATHERED) - base)
            await trio.sleep(0.05)
            note("monty blocking sequential", _monty_blocking())
            note("monty asyncio sequential", in_thread(f"for i in range({CALLS}):\n    await now(i)\n1"))
            note(
                "monty asyncio gathered",
                in_thread(f"import asyncio\nawait asyncio.gather(*[now(i) for i in range({CALLS})])\n1"),
            )
    return samples


def main() -> dict[str, object]:
    samples = trio.run(_measure)
    micros = {name: statistics.median(values) / CALLS * 1e6 for name, values in samples.items()}
    per_second = {name: 1e6 / value for name, value in micros.items()}
    ratios = {
        "sequential / monty asyncio": micros["ours sequential"] / micros["monty asyncio sequential"],
        "sequential / monty blocking": micros["ours sequential"] / micros["monty blocking sequential"],
        "gathered per second / monty asyncio": per_second["ours gathered"] / per_second["monty asyncio gathered"],
    }
    print(f"median of {ROUNDS} rounds of {CALLS} calls, interleaved")
    for name, value in micros.items():
        print(f"  {name:28} {value:8.1f} us a call {per_second[name]:10.0f} calls/s")
    for name, value in ratios.items():
        print(f"  {name:36} x {value:.2f}")
    return {"calls": CALLS, "rounds": ROUNDS, "micros_a_call": micros, "calls_per_second": per_second, "ratios": ratios}


if __name__ == "__main__":
    main()
