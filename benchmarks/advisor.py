"""How long a prompt, an index and a refresh take, beside the recorded figures of the reference and a plain scan.

The recorded figures are the reference's on Node 20 on the same kind of machine. The plain scan runs here and now, so
the ratio travels to any machine. Times are processor times; before each prompt the state is that of an empty branch.
"""

import gc
import gzip
import json
import time
import tracemalloc
from pathlib import Path
from statistics import median

from benchmarks.plain_scan import PlainCatalog
from runtime.advisor.advisor import AdvisorState, consider
from runtime.advisor.fingerprint import CatalogTool, Fingerprint
from runtime.advisor.settings import AdvisorySettings

DATA = Path(__file__).parents[1] / "tests" / "data" / "advisor" / "bench"
SIZES = (12, 100, 1_000, 10_000)
LENGTHS = ("30", "300")
REFERENCE_PROMPT_US = {"30": (92, 211, 1_758, 21_055), "300": (476, 1_208, 7_988, 71_082)}
REFERENCE_BUILD_MS = (0.2, 1.8, 12.9, 198.0)
ROUNDS = 5
PLAIN_PROMPTS = {12: 40, 100: 40, 1_000: 10, 10_000: 3}
SETTINGS = AdvisorySettings()


def load(size: int) -> tuple[list[CatalogTool], dict[str, list[str]]]:
    with gzip.open(DATA / f"catalog-{size}.json.gz", "rt", encoding="utf-8") as file:
        data = json.load(file)
    return [CatalogTool(one["name"], one["description"], one["namespace"]) for one in data["catalog"]], data["prompts"]


def build(tools: list[CatalogTool]) -> tuple[Fingerprint, float]:
    """An index, and the shortest time of several builds in milliseconds."""
    best = float("inf")
    for _ in range(ROUNDS if len(tools) > 1_000 else 10 * ROUNDS):
        started = time.process_time()
        index = Fingerprint()
        index.set_slice("captured", tools)
        best = min(best, time.process_time() - started)
    return index, best * 1e3


def prompt_us(index: Fingerprint, prompts: list[str]) -> float:
    """The median over the prompts of the shortest time of several rounds, in microseconds."""
    shortest = [float("inf")] * len(prompts)
    for _ in range(ROUNDS):
        for number, prompt in enumerate(prompts):
            state = AdvisorState()
            started = time.process_time()
            consider(state, index, prompt, SETTINGS)
            shortest[number] = min(shortest[number], time.process_time() - started)
    return median(shortest) * 1e6


def plain_us(plain: PlainCatalog, prompts: list[str]) -> float:
    """The same for the plain scan, on the first prompts."""
    times = []
    for prompt in prompts:
        started = time.process_time()
        plain.lanes(prompt, SETTINGS.threshold)
        times.append(time.process_time() - started)
    return median(times) * 1e6


def refresh_ms() -> float:
    """One source of 50 tools that changes in a catalog of 10 000."""
    tools, _ = load(10_000)
    index = Fingerprint()
    index.set_slice("captured", tools)
    versions = [
        [CatalogTool(f"tool{n}", f"{tools[n].description} version{version}", "mcp:refreshed") for n in range(50)]
        for version in range(2)
    ]
    times = []
    for turn in range(20):
        started = time.process_time()
        index.set_slice(
            "refreshed", [tool._replace(description=f"Round{turn} {tool.description}") for tool in versions[turn % 2]]
        )
        times.append(time.process_time() - started)
    return median(times) * 1e3


def memory_mib() -> float:
    """What an index of 20 000 tools holds, the texts of the catalog themselves not counted."""
    tools, _ = load(10_000)
    doubled = tools + [tool._replace(namespace=f"{tool.namespace}-twin") for tool in tools]
    gc.collect()
    tracemalloc.start()
    index = Fingerprint()
    index.set_slice("captured", doubled)
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(index) > 10_000
    return held / 2**20


def main() -> dict:
    rows = []
    print(
        f"{'tools':>6} {'sources':>7} {'words':>5} {'here µs':>9} {'reference µs':>13} {'plain scan µs':>14} {'plain / here':>13}"
    )
    builds = []
    for place, size in enumerate(SIZES):
        tools, prompts = load(size)
        index, build_ms = build(tools)
        builds.append({"tools": size, "ms": round(build_ms, 3), "referenceMs": REFERENCE_BUILD_MS[place]})
        plain = PlainCatalog(tools)
        for length in LENGTHS:
            here = prompt_us(index, prompts[length])
            scan = plain_us(plain, prompts[length][: PLAIN_PROMPTS[size]])
            reference = REFERENCE_PROMPT_US[length][place]
            rows.append(
                {
                    "tools": size,
                    "sources": len(index),
                    "words": int(length),
                    "us": round(here, 1),
                    "referenceUs": reference,
                    "plainScanUs": round(scan, 1),
                    "ratio": round(scan / here, 1),
                }
            )
            print(
                f"{size:>6} {len(index):>7} {length:>5} {here:>9.1f} {reference:>13} {scan:>14.1f} {scan / here:>12.0f}x"
            )
    print(
        "\nindex build   "
        + "   ".join(f"{one['tools']}: {one['ms']:.2f} ms (reference {one['referenceMs']:g})" for one in builds)
    )
    refresh, memory = refresh_ms(), memory_mib()
    print(f"refresh of one source of 50 tools among 10 000: {refresh:.2f} ms")
    print(f"index of 20 000 tools: {memory:.1f} MiB")
    ahead = all(row["us"] < row["referenceUs"] for row in rows) and all(
        one["ms"] < one["referenceMs"] for one in builds
    )
    print(f"ahead of the reference at every size: {'yes' if ahead else 'no'}")
    return {
        "prompts": rows,
        "builds": builds,
        "refresh50Ms": round(refresh, 3),
        "memory20kMiB": round(memory, 1),
        "aheadEverywhere": ahead,
    }


if __name__ == "__main__":
    main()
