"""`python -m tests.escapes DIR [--ablate LAYER ...]`: run every attack of a folder, judge each, count.

DIR holds an `index.json`: a list of `{file, kind, expected, raw, note?}`. `raw` programs run with the language layer off inside
a confined guest, with the globals `sock` and `write_frame(sock, value)`.
With `--ablate` a layer is taken away, and an attack that then completes shows what that layer is for. What stands behind
another layer shows when both are taken away: `--ablate seccomp --ablate landlock`.
Exit status 1 on any failure; the last line is `N passed, N failed`.
"""

import argparse
import sys
from pathlib import Path

import trio

from tests.escapes.runner import LAYERS, load, open_arena, source_of


async def _run_folder(folder: Path, ablated: tuple[str, ...]) -> int:
    attacks = load(folder)
    passed = failed = 0
    missing = " and ".join(ablated)
    through: list[str] = []
    async with open_arena(*ablated) as arena:
        for attack in attacks:
            if arena.skips(attack):
                print(f"skip  {attack.file:36} not run without {missing}: this machine would pay for it")
                continue
            try:
                source = source_of(folder, attack)
            except (OSError, UnicodeDecodeError) as error:
                failed += 1
                print(f"FAIL  {attack.file:36} {error}")
                continue
            verdict = await arena.run(attack, source)
            passed += verdict.passed
            failed += not verdict.passed
            if verdict.completed:
                through.append(attack.file)
            print(
                f"{'ok  ' if verdict.passed else 'FAIL'}  {attack.file:36} {attack.expected:20} {verdict.told}",
                flush=True,
            )
    if ablated:
        print(f"without {missing}: {failed} attacks did not end as expected, {len(through)} of them succeeded")
        print("\n".join(f"  succeeded: {file}" for file in through))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.escapes", description="Run a folder of attack programs.")
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument(
        "--ablate",
        action="append",
        choices=LAYERS,
        default=[],
        metavar="LAYER",
        help=f"take a layer away (repeatable): {', '.join(LAYERS)}",
    )
    options = parser.parse_args()
    if not (options.folder / "index.json").is_file():
        parser.error(f"{options.folder / 'index.json'} is not there")
    sys.exit(trio.run(_run_folder, options.folder, tuple(options.ablate)))


if __name__ == "__main__":
    main()
