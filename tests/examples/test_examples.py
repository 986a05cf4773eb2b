"""The examples do what their headers say you will see."""

import subprocess
import sys
from pathlib import Path

from tests.journeys.command import ROOT, Desk

EXAMPLES = ROOT / "examples"


def python(example: str, folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / example), *arguments],
        cwd=folder,
        env=Desk(folder).environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_effort_rises_for_the_hard_step_and_falls_back(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    program = str(EXAMPLES / "adaptive_thinking.py")
    ended = desk.command("run", program, "--allow", "write", "--json", "--no-session").json
    assert ended["value"] == {
        "levels": {"read the claim": "medium", "prove the lemma": "high", "write it up": "medium"},
        "left at": "low",
    }
    moves = [(change["from"], change["to"]) for change in ended["level"]["changes"]]
    assert moves == [("medium", "high"), ("high", "medium"), ("medium", "low"), ("low", "medium")]
    assert ended["level"]["after"] == "medium"


def test_parallel_calls_overlap_and_fail_apart(tmp_path: Path) -> None:
    out = python("parallel_calls.py", tmp_path)
    assert "Lisbon: sunny\nOslo: sunny\n" in out
    assert "no such city: Atlantis" in out


def test_forty_lines_embed_the_runtime(tmp_path: Path) -> None:
    out = python("host_in_40_lines.py", tmp_path)
    assert "True {'answer': 332833500, 'effort': 'high'} level afterwards: medium" in out
    assert "line 2: ImportError: module 'os' is not importable here" in out
    assert len((EXAMPLES / "host_in_40_lines.py").read_text().splitlines()) <= 40
