"""`python -m benchmarks [NAME …]` runs the benchmarks and stores each result under benchmarks/results/NAME.json."""

import importlib
import json
import os
import platform
import sys
import time
from pathlib import Path

NAMES = ("start", "calls", "compute", "store", "advisor", "hints", "children")
RESULTS = Path(__file__).parent / "results"


def main() -> None:
    chosen = sys.argv[1:] or list(NAMES)
    unknown = [name for name in chosen if name not in NAMES]
    if unknown:
        sys.exit(f"no benchmark {', '.join(unknown)}; there are {', '.join(NAMES)}")
    RESULTS.mkdir(exist_ok=True)
    for name in chosen:
        print(f"\n== {name}", flush=True)
        load_before = os.getloadavg()[0]
        result = importlib.import_module(f"benchmarks.{name}").main()
        stored = {
            "machine": {"python": platform.python_version(), "kernel": platform.release(), "arch": platform.machine()},
            "load_average": {"before": load_before, "after": os.getloadavg()[0], "processors": os.cpu_count()},
            "real_time_priority": os.sched_getscheduler(0) in {os.SCHED_FIFO, os.SCHED_RR},
            "at": time.strftime("%Y-%m-%d", time.gmtime()),
            "result": result,
        }
        (RESULTS / f"{name}.json").write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
