"""Start to result of `1 + 1` in a fresh disposable guest, beside pydantic-monty's worker checkout in the same run.

Both sides are measured from the checkout to the value in hand; what is given back afterwards is not. Ours is the whole
path of a program: checkout, `run_program`, outcome. Samples alternate and are equally spaced, so that a busy moment hits
both. Also: back to back, a cold interpreter, 200 programs at once, and the memory of idle guests.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import trio

from host_bridge.admission import Admission
from host_bridge.confinement_plan import ConfinementPlan
from host_bridge.guest_process import run_program
from host_bridge.limits import RunLimits
from host_bridge.registry import Registry
from host_bridge.zygote_client import GuestPool, open_guest_pool

SPACED_SAMPLES = 200
SPACING_SECONDS = 0.02
OTHER_SPACINGS_SECONDS = (0.005, 0.05, 0.1, 0.25)
OTHER_SPACINGS_TAKE_SECONDS = 6.0
HINT_AHEAD_SECONDS = 0.002
BACK_TO_BACK_SAMPLES = 100
AT_ONCE = 200
SOURCE = "return 1+1"


async def _ours(pool: GuestPool, admission: Admission) -> float:
    started = time.perf_counter()
    guest = await pool.checkout()
    try:
        outcome = await run_program(guest, SOURCE, None, admission=admission, limits=RunLimits(), run_id="bench")
        seconds = time.perf_counter() - started
    finally:
        await guest.aclose()
    assert outcome.value == 2, outcome
    return seconds


def _monty(pool: Any) -> float:
    started = time.perf_counter()
    with pool.checkout() as session:
        value = session.feed_run("1+1")
        seconds = time.perf_counter() - started
    assert value == 2
    return seconds


def _cold_interpreter() -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-S", "-c", "print(1+1)"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


async def _two_hundred_at_once(pool: GuestPool, admission: Admission) -> float:
    started = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for _ in range(AT_ONCE):
            nursery.start_soon(_ours, pool, admission)
    return time.perf_counter() - started


def _private_kib(pid: int) -> int:
    """USS: the pages that exist because this process does."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean", "Private_Dirty")))


def _percentile(samples: list[float], share: float) -> float:
    return sorted(samples)[min(len(samples) - 1, int(len(samples) * share))] * 1000


def _summary(samples: list[float]) -> dict[str, float]:
    return {
        "p10_ms": round(_percentile(samples, 0.1), 3),
        "p50_ms": round(_percentile(samples, 0.5), 3),
        "p95_ms": round(_percentile(samples, 0.95), 3),
    }


async def _alternate(
    ours: Callable[[], Awaitable[float]], monty: Callable[[], float], count: int, spacing_seconds: float
) -> dict[str, Any]:
    mine: list[float] = []
    theirs: list[float] = []
    for _ in range(count):
        if spacing_seconds:
            await trio.sleep(spacing_seconds)
        mine.append(await ours())
        if spacing_seconds:
            await trio.sleep(spacing_seconds)
        theirs.append(monty())
    ratio = statistics.median(mine) / statistics.median(theirs)
    return {"ours": _summary(mine), "monty": _summary(theirs), "ratio_p50": round(ratio, 2)}


async def _measure() -> dict[str, Any]:
    import pydantic_monty

    results: dict[str, Any] = {}
    admission = Admission(Registry())
    with pydantic_monty.Monty(min_processes=2) as monty_pool:
        async with open_guest_pool(ConfinementPlan.default()) as pool:
            await trio.sleep(0.3)

            async def plain() -> float:
                return await _ours(pool, admission)

            async def announced() -> float:
                pool.expect_program()
                await trio.sleep(HINT_AHEAD_SECONDS)
                return await _ours(pool, admission)

            def monty() -> float:
                return _monty(monty_pool)

            results["spaced"] = await _alternate(plain, monty, SPACED_SAMPLES, SPACING_SECONDS)
            results["announced"] = await _alternate(announced, monty, SPACED_SAMPLES, SPACING_SECONDS)
            for seconds in OTHER_SPACINGS_SECONDS:
                count = min(SPACED_SAMPLES, round(OTHER_SPACINGS_TAKE_SECONDS / seconds / 2))
                results[_every(seconds)] = await _alternate(plain, monty, count, seconds)
            mine = [await plain() for _ in range(BACK_TO_BACK_SAMPLES)]
            theirs = [monty() for _ in range(BACK_TO_BACK_SAMPLES)]
            ratio = statistics.median(mine) / statistics.median(theirs)
            results["back_to_back"] = {
                "ours": _summary(mine),
                "monty": _summary(theirs),
                "ratio_p50": round(ratio, 2),
            }
            await trio.sleep(0.5)
            results["idle_uss_kib"] = [_private_kib(guest.host_pid) for guest in pool.idle_guests if guest.host_pid]
            results["at_once_seconds"] = round(await _two_hundred_at_once(pool, admission), 3)
    results["cold_interpreter_ms"] = round(statistics.median(_cold_interpreter() for _ in range(10)) * 1000, 1)
    return results


def _every(seconds: float) -> str:
    return f"spaced_{seconds * 1000:.0f}_ms"


def main() -> dict[str, Any]:
    results = trio.run(_measure)
    titles = {
        "spaced": f"every {SPACING_SECONDS * 1000:.0f} ms, in turns",
        "announced": f"the same, announced {HINT_AHEAD_SECONDS * 1000:.0f} ms ahead",
        **{_every(seconds): f"every {seconds * 1000:.0f} ms" for seconds in OTHER_SPACINGS_SECONDS},
        "back_to_back": "back to back",
    }
    print(f"{'start to result of 1 + 1':38} {'ours p50':>9} {'p95':>7} {'monty p50':>10} {'p95':>7} {'ratio':>7}")
    for key, title in titles.items():
        row = results[key]
        ours, monty = row["ours"], row["monty"]
        print(
            f"{title:38} {ours['p50_ms']:9.3f} {ours['p95_ms']:7.3f} {monty['p50_ms']:10.3f} {monty['p95_ms']:7.3f}"
            f" {row['ratio_p50']:7.2f}"
        )
    uss = ", ".join(f"{kib / 1024:.2f}" for kib in results["idle_uss_kib"])
    print(f"{'memory of an idle guest (USS), MiB':38} {uss}")
    seconds = results["at_once_seconds"]
    print(f"{f'{AT_ONCE} programs at once':38} {seconds:.2f} s, {seconds / AT_ONCE * 1000:.2f} ms each")
    print(f"{'a cold `python -I -S`, for comparison':38} {results['cold_interpreter_ms']:9.1f} ms")
    return results


if __name__ == "__main__":
    main()
