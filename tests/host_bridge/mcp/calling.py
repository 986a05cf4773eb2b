"""Real servers behind a real registry and admission, for the tests of this folder."""

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from host_bridge.admission import Admission, Admitted, RunContext
from host_bridge.approvals import ApprovalPolicy
from host_bridge.arguments import SchemaValidator
from host_bridge.mcp.servers import McpServers, open_mcp_servers
from host_bridge.registry import Registry
from host_bridge.results import ResultFolders

HERE = Path(__file__).parent
OWN = {"command": sys.executable, "args": [str(HERE / "own_server.py")]}
ALL = frozenset({"read", "write", "execute", "network"})


def raw(mode: str, *more: str, **settings: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(HERE / "raw_server.py"), mode, *more], **settings}


def script(name: str) -> str:
    """A command installed beside this Python."""
    return str(Path(sys.executable).parent / name)


@dataclass
class Calls:
    """Calls as a guest's bridge makes them, without the guest."""

    registry: Registry
    servers: McpServers
    admission: Admission
    results: ResultFolders
    _count: int = 0

    async def admitted(self, ref: str, **arguments: Any) -> Admitted:
        self._count += 1
        run = RunContext(run_id="run-1")
        call = self.admission.begin(self._count, ref, arguments, run)
        if not call.settled:
            await self.admission.finish(call, run)
        return call

    async def value(self, ref: str, **arguments: Any) -> Any:
        call = await self.admitted(ref, **arguments)
        assert call.ok, (call.kind, call.message)
        return call.value

    async def refusal(self, ref: str, **arguments: Any) -> tuple[str, str]:
        call = await self.admitted(ref, **arguments)
        assert not call.ok, call.value
        return call.kind, call.message

    def state(self, server: str) -> dict[str, Any]:
        return next(row for row in self.servers.states() if row["server"] == server)


@asynccontextmanager
async def opened(
    entries: Mapping[str, Any],
    folder: Path,
    *,
    environment: Mapping[str, str] | None = None,
    policy: ApprovalPolicy | None = None,
    **admitting: Any,
) -> AsyncIterator[Calls]:
    registry = Registry()
    results = ResultFolders(folder / "results")
    policy = ApprovalPolicy(run_allow=ALL) if policy is None else policy
    admission = Admission(registry, policy=policy, validator=SchemaValidator(), **admitting)
    async with open_mcp_servers(
        entries,
        registry,
        cache_dir=folder / "manifests",
        files=results,
        host_environment=dict(os.environ) if environment is None else environment,
    ) as servers:
        yield Calls(registry, servers, admission, results)
