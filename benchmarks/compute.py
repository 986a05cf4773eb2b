"""Compute in a real guest against plain CPython: the same programs, in turns, in one run.

Run: `python -m benchmarks.compute`. A guest's own clock times each program, so starting and the bridge are left out;
the best of many short runs counts, so that a busy machine does not decide.
"""

import statistics
import subprocess
import sys
import textwrap
from typing import Any

import trio

from host_bridge.admission import Admission
from host_bridge.confinement_plan import ConfinementPlan
from host_bridge.guest_process import run_program
from host_bridge.limits import RunLimits
from host_bridge.registry import Registry
from host_bridge.zygote_client import GuestPool, open_guest_pool

ROUNDS = 7
REPEATS = 25
"""Runs of a program inside one process; the best counts."""

PROGRAMS: dict[str, str] = {
    "fib": """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def work():
    return fib(22)
""",
    "loop": """
def work():
    total = 0
    for i in range(100_000):
        total += i & 3
    return total
""",
    "dict": """
def work():
    counts = {}
    for i in range(15_000):
        key = i % 997
        counts[key] = counts.get(key, 0) + 1
    return len(counts)
""",
    "strings": """
def work():
    parts = []
    for i in range(15_000):
        parts.append(f"{i:05d}-{i * 2}")
    return len(",".join(parts).upper().split(","))
""",
    "comprehension": """
def work():
    rows = [(i, i * i) for i in range(20_000)]
    return sum(b for a, b in rows if a % 3) + len({a % 100: b for a, b in rows})
""",
    "attributes": """
class Vector:
    def __init__(self, x, y):
        self.x = x
        self.y = y
    def add(self, other):
        return Vector(self.x + other.x, self.y + other.y)
def work():
    total = Vector(0, 0)
    step = Vector(1, 2)
    for _ in range(20_000):
        total = total.add(step)
        total.x += 1
    return total.x + total.y
""",
}
"""Each defines `work`; its result is compared between the two."""

_TIMED = """
import time
{program}
best = None
for _ in range({repeats}):
    started = time.perf_counter()
    answer = work()
    taken = time.perf_counter() - started
    best = taken if best is None or taken < best else best
"""


def _plain(program: str) -> tuple[Any, float]:
    source = _TIMED.format(program=program, repeats=REPEATS) + "\nprint(answer, best)\n"
    text = subprocess.run([sys.executable, "-I", "-c", source], check=True, capture_output=True, text=True).stdout
    answer, seconds = text.split()
    return int(answer), float(seconds)


async def _guest(pool: GuestPool, program: str) -> tuple[Any, float]:
    source = _TIMED.format(program=program, repeats=REPEATS) + "\nreturn [answer, best]\n"
    guest = await pool.checkout()
    try:
        outcome = await run_program(
            guest, source, None, admission=Admission(Registry()), limits=RunLimits(), run_id="compute"
        )
    finally:
        await guest.aclose()
    if outcome.error is not None:
        raise RuntimeError(outcome.error.message)
    return outcome.value[0], outcome.value[1]


async def _measure() -> dict[str, dict[str, float]]:
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in PROGRAMS}
    async with open_guest_pool(ConfinementPlan.default(), pool_size=1) as pool:
        for turn in range(ROUNDS):
            for name, program in PROGRAMS.items():
                if turn % 2:
                    plain = await trio.to_thread.run_sync(_plain, program)
                    guest = await _guest(pool, program)
                else:
                    guest = await _guest(pool, program)
                    plain = await trio.to_thread.run_sync(_plain, program)
                if plain[0] != guest[0]:
                    raise RuntimeError(f"{name}: {guest[0]} in the guest, {plain[0]} in plain CPython")
                taken[name].append((plain[1], guest[1]))
    return {
        name: {
            "plain_ms": min(plain for plain, _ in pairs) * 1000,
            "guest_ms": min(guest for _, guest in pairs) * 1000,
            "ratio": min(guest for _, guest in pairs) / min(plain for plain, _ in pairs),
        }
        for name, pairs in taken.items()
    }


def main() -> dict[str, Any]:
    """Measure, print the table, answer the figures."""
    rows = trio.run(_measure)
    mean = statistics.geometric_mean([row["ratio"] for row in rows.values()])
    print(
        textwrap.dedent("""\
        Compute, best of {rounds} rounds in turns (goal: at most 1.1 x plain CPython)
        program          plain ms   guest ms   ratio""").format(rounds=ROUNDS)
    )
    for name, row in rows.items():
        print(f"{name:<15} {row['plain_ms']:>9.2f} {row['guest_ms']:>10.2f} {row['ratio']:>7.2f}")
    print(f"{'geometric mean':<15} {'':>9} {'':>10} {mean:>7.2f}")
    return {"programs": rows, "geometric_mean_ratio": mean, "goal_ratio": 1.1}


if __name__ == "__main__":
    main()
