"""A child of the benchmark: imports what a child host imports, says `ready` from inside `trio.run`, ends."""

import importlib
import sys

import trio

from runtime.agent_service import PRELOAD

for module in PRELOAD:
    importlib.import_module(module)


async def main() -> None:
    sys.stdout.write("ready\n")
    sys.stdout.flush()


if __name__ == "__main__":
    trio.run(main)
