"""Real Pi for tests, where it is installed: `PI_FABRIC_TEST_NODE` and `PI_FABRIC_TEST_PI` name node and Pi's package folder."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

NODE = os.environ.get("PI_FABRIC_TEST_NODE") or shutil.which("node")
PI = os.environ.get("PI_FABRIC_TEST_PI")

needs_pi = pytest.mark.skipif(
    not (NODE and PI and Path(PI, "dist/core/session-manager.js").exists()),
    reason="real Pi is not here: set PI_FABRIC_TEST_NODE and PI_FABRIC_TEST_PI (the package folder of Pi 1.6)",
)


def read_with_pi(*files: Path) -> list[dict]:
    """What Pi makes of these files; hand it copies."""
    script = Path(__file__).with_name("pi_reads.mjs")
    done = subprocess.run(
        [NODE, str(script), PI, *map(str, files)],
        capture_output=True,
        check=True,
        env={**os.environ, "PI_OFFLINE": "1"},
    )
    return [json.loads(line) for line in done.stdout.splitlines()]
