"""A real second process for guard and crash tests: `python -m tests.runtime.transcript.writer_process MODE FILE [DURABILITY]`.

`hold` opens for writing, says so and waits; `write` appends without end and acknowledges each id on standard output.
"""

import os
import sys

from runtime.transcript.store import TranscriptStore


def main() -> None:
    mode, path, *rest = sys.argv[1:]
    store = TranscriptStore.open(path, durability=rest[0] if rest else "run")  # type: ignore[arg-type]
    os.write(1, b"ready\n")
    if mode == "hold":
        sys.stdin.read()
        store.close()
        return
    number = 0
    while True:
        number += 1
        # Sizes from a few bytes to several pages: kills land inside writes as well as between them.
        entry = store.append_custom("crash", {"n": number, "pad": "x" * (number * 977 % 60_000)})
        os.write(1, entry.id.encode() + b"\n")


if __name__ == "__main__":
    main()
