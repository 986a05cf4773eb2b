"""The `pi-fabric` command as a person runs it: a real process in a folder and home of its own."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ended:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        lines = self.out.splitlines()
        assert len(lines) == 1, self.out
        return json.loads(lines[0])


class Desk:
    """A folder, a home and the command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.agent_dir = folder / "agent"
        self.folder.mkdir()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "PI_CODING_AGENT_DIR": str(self.agent_dir),
            "PYTHONPATH": str(ROOT),
        }

    def argv(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "runtime", *arguments]

    def command(self, *arguments: str, stdin: str = "", **environment: str) -> Ended:
        done = subprocess.run(
            self.argv(*arguments),
            cwd=self.folder,
            env=self.environment | environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def run(self, source: str, *options: str, **environment: str) -> Ended:
        """The program through `run - --json`, its session in memory unless an option names one."""
        chosen = list(options)
        if not {"--session", "--continue", "--session-dir", "--no-session"} & set(chosen):
            chosen.append("--no-session")
        return self.command("run", "-", "--json", *chosen, stdin=source, **environment)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def entries(self, session: str | Path) -> list[dict[str, Any]]:
        lines = (self.folder / session).read_text().splitlines()
        return [json.loads(line) for line in lines]

    def custom(self, session: str | Path, custom_type: str) -> list[Any]:
        return [entry["data"] for entry in self.entries(session) if entry.get("customType") == custom_type]
