"""Every source of tools of one host, opened together: `pi.*`, `extensions.*`, `mcp.*` and `tools.*` itself.

It registers sources and owns what they need (servers, result folders, the search index); policy is none of its
business, and no server is started here.
"""

import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from host_bridge.descriptor import Action
from host_bridge.discovery import Discovery
from host_bridge.registry import Registry
from host_bridge.results import ResultFolders, sweep
from runtime.extensions import ENTRY_POINT_GROUP, ROOT, ToolFunction, extension_actions, installed_extensions
from runtime.pi_tools.actions import SOURCE, pi_actions
from runtime.pi_tools.confined import Project
from runtime.tool_actions import Verdicts, tool_actions

if TYPE_CHECKING:
    from host_bridge.mcp.servers import McpServers

RESULTS_FOLDER: Final = ("fabric", "results")
MANIFESTS_FOLDER: Final = ("fabric", "mcp")
"""Below the person's agent folder."""


@dataclass(frozen=True, slots=True)
class ToolSources:
    """What is open: where results are kept, the index, and the servers (None: none are configured)."""

    results: ResultFolders
    discovery: Discovery
    servers: "McpServers | None"


@asynccontextmanager
async def open_tool_sources(
    registry: Registry,
    *,
    project: Path,
    agent_folder: Path,
    mcp_servers: Mapping[str, Any] | None = None,
    extensions: Iterable[ToolFunction | Action | ModuleType] = (),
    outside_project: bool = False,
    load_plugins: bool = True,
    may_learn: bool = True,
    warn: Callable[[str], None] = lambda message: print(message, file=sys.stderr),
    verdict: Verdicts | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[ToolSources]:
    """Register every source until the block ends.

    `project` is where `pi.*` works, `agent_folder` keeps results (a week) and manifests, `extensions` are an embedder's
    own tools, `environment` (default: this process's) is what server settings refer to. `may_learn` False: a search
    starts no server (Schema mode enforce: reading must not run anything).

    Raises: McpSettingsError: an entry of `mcp_servers` cannot be used. InvalidRefError, TypeError: a tool cannot.
    """
    results_root = agent_folder.joinpath(*RESULTS_FOLDER)
    sweep(results_root)
    results = ResultFolders(results_root)
    registry.replace_source(SOURCE, pi_actions(Project(project, outside=outside_project), results))
    own = extension_actions(extensions)
    if own:
        registry.replace_source(ROOT, own, roots=(ROOT,))
    if load_plugins and plugins_installed():
        for name, actions in installed_extensions(warn).items():
            try:
                registry.replace_source(f"extension:{name}", actions, roots=(ROOT,))
            except ValueError as error:
                warn(f"extension {name} is left out: {error}")
    discovery = Discovery(registry)
    try:
        if not mcp_servers:
            registry.replace_source("tools", tool_actions(registry, discovery, verdict=verdict))
            yield ToolSources(results, discovery, None)
            return
        from host_bridge.mcp.servers import open_mcp_servers

        async with open_mcp_servers(
            mcp_servers,
            registry,
            cache_dir=agent_folder.joinpath(*MANIFESTS_FOLDER),
            files=results,
            host_environment=environment,
        ) as servers:
            registry.replace_source(
                "tools",
                tool_actions(
                    registry,
                    discovery,
                    learn=servers.learn if may_learn else None,
                    states=servers.states,
                    verdict=verdict,
                ),
            )
            yield ToolSources(results, discovery, servers)
    finally:
        discovery.close()


def plugins_installed(search: Iterable[str] | None = None) -> bool:
    """Whether any installed distribution offers extensions; a look at its files, since the proper way costs 60 ms."""
    wanted = ENTRY_POINT_GROUP.encode()
    for folder in sys.path if search is None else search:
        with suppress(OSError):
            for name in os.listdir(folder or "."):  # noqa: PTH208
                if name.endswith((".dist-info", ".egg-info")):
                    with suppress(OSError):
                        if wanted in Path(folder, name, "entry_points.txt").read_bytes():
                            return True
    return False
