"""The seven actions on a folder of files, called as the bridge calls them."""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from host_bridge.admission import Admission, RunContext
from host_bridge.approvals import ApprovalPolicy
from host_bridge.registry import Registry
from host_bridge.results import ResultFolders
from runtime.pi_tools.actions import pi_actions
from runtime.pi_tools.confined import Project


class Tools:
    def __init__(self, root: Path, *, outside: bool = False, environment: Mapping[str, str] | None = None) -> None:
        self.root = root
        registry = Registry()
        project = Project(root, outside=outside)
        registry.replace_source(
            "pi", pi_actions(project, ResultFolders(root.parent / "results"), environment=environment)
        )
        allowed = ApprovalPolicy(run_allow=frozenset({"read", "write", "execute"}))
        self.registry = registry
        self._admission = Admission(registry, policy=allowed)
        self._ids = itertools.count(1)

    async def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        run = RunContext(run_id="run-1")
        call = self._admission.begin(next(self._ids), f"pi.{name}", arguments, run)
        if not call.settled:
            await self._admission.finish(call, run)
        return call

    async def value(self, name: str, **arguments: Any) -> Any:
        call = await self._call(name, arguments)
        assert call.ok, (call.kind, call.message)
        return call.value

    async def refusal(self, name: str, **arguments: Any) -> tuple[str, str]:
        call = await self._call(name, arguments)
        assert not call.ok, call.value
        return call.kind, call.message


def project_in(folder: Path) -> Path:
    """A project beside a file that no tool may reach."""
    (folder / "secret.txt").write_text("outside")
    root = folder / "project"
    (root / "src" / "deep").mkdir(parents=True)
    (root / "src" / "a.py").write_text("import os\nfoo = 1\nbar = foo\n")
    (root / "src" / "deep" / "b.py").write_text("foo\n")
    (root / "README.md").write_text("# Foo\n")
    return root
