"""All configured servers as one source of actions: `async with open_mcp_servers(...)`; it decides no approval.

Nothing is started here. Tools that are known from an earlier start are registered at once from the cached manifests;
a server starts with the first call of one of its tools, or when somebody asks for the catalog of one never seen.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import trio

from host_bridge.argument_errors import problems_text
from host_bridge.arguments import SchemaValidator
from host_bridge.descriptor import RISKS, Action, CallContext, Descriptor, Risk
from host_bridge.errors import HandlerError
from host_bridge.mcp.connection import ServerConnection
from host_bridge.mcp.manifest import Manifest, ManifestCache, Tool, descriptors, possible_risks
from host_bridge.mcp.names import attribute_name, ref_parts
from host_bridge.mcp.own_actions import own_actions
from host_bridge.mcp.settings import server_settings
from host_bridge.mcp.values import tool_value
from host_bridge.registry import Registry, UnknownActionError
from host_bridge.results import ResultFolder, ResultFolders

ROOT: Final = "mcp"
STARTS_AT_ONCE: Final = 4
"""Servers started together to learn their tools; each is a process that imports for a second."""
LEARN_SECONDS: Final = 15.0
"""What a search waits for servers that were never seen; those that take longer go on starting and are found later."""
CLOSE_SECONDS: Final = 6.0
"""For all servers together to end well; each has its own shorter ladder."""


class McpServers:
    """The configured servers of one host."""

    def __init__(
        self,
        entries: Mapping[str, Any],
        registry: Registry,
        *,
        cache: ManifestCache | None,
        files: ResultFolders | None,
        host_environment: Mapping[str, str] | None,
    ) -> None:
        self._registry = registry
        self._cache = cache
        self._files = files
        self._validator = SchemaValidator()
        self._parts = ref_parts(entries)
        self.manifests: dict[str, Manifest] = {}
        """What is known of each server, from its last start or from the cache."""
        self.connections: dict[str, ServerConnection] = {}
        self._described: dict[str, dict[str, tuple[Descriptor, Tool]]] = {}
        self._starting = trio.CapacityLimiter(STARTS_AT_ONCE)
        for name, entry in entries.items():
            settings = server_settings(name, entry)
            self.connections[name] = ServerConnection(
                name,
                settings,
                learned=lambda found, name=name: self._learned(name, found),  # type: ignore[misc]
                host_environment=host_environment,
            )
        registry.replace_source(
            ROOT,
            own_actions(self.connections, self.states, self._folder),
            roots=(ROOT,),
            resolver=self._resolve,
            foresight=self._possible_risks,
        )
        for name, connection in self.connections.items():
            cached = cache.load(name, connection.settings) if cache is not None else None
            if cached is not None and not connection.settings.disabled:
                self._publish(name, cached)

    def states(self) -> list[dict[str, Any]]:
        """Every configured server: name, state, its part of a ref, how many tools are known, and what went wrong."""
        rows = []
        for name, connection in self.connections.items():
            known = self.manifests.get(name)
            row: dict[str, Any] = {
                "name": f"{ROOT}.{self._parts[name]}",
                "server": name,
                "namespace": f"mcp:{name}",
                "state": connection.state,
                "tools": None if known is None else len(known.tools),
                "starts": connection.starts,
                "transport": "http" if connection.settings.url is not None else "stdio",
            }
            if known is not None:
                row |= {"hash": known.hash, "version": known.server}
            if connection.settings.description:
                row["description"] = connection.settings.description
            if connection.error and connection.state != "ready":
                row["error"] = connection.error
            rows.append(row)
        return rows

    async def learn(self) -> None:
        """Start every server whose tools were never seen, a few at a time, so that a search covers all of them.

        A server that cannot be started stays unknown; `states` says why.
        """
        unknown = [name for name, one in self.connections.items() if name not in self.manifests and one.starts == 0]
        with trio.move_on_after(LEARN_SECONDS):
            async with trio.open_nursery() as nursery:
                for name in unknown:
                    nursery.start_soon(self._learn_one, name)

    def close(self, name: str) -> None:
        """End one server for good, in any order with the others; its tools are no longer offered."""
        self.connections[name].stop()
        self._registry.remove_source(f"{ROOT}:{name}")

    async def _learn_one(self, name: str) -> None:
        async with self._starting:
            try:
                await self.connections[name].ready(ref=f"{ROOT}.{self._parts[name]}")
            except HandlerError:
                return

    def _learned(self, name: str, found: Manifest) -> None:
        """A started server has said what it offers."""
        if self._cache is not None:
            self._cache.save(name, self.connections[name].settings, found)
        self._publish(name, found)

    def _publish(self, name: str, found: Manifest) -> None:
        if name in self.manifests and self.manifests[name].hash == found.hash:
            self.manifests[name] = found
            return
        self.manifests[name] = found
        described = descriptors(name, self._parts[name], self.connections[name].settings, found)
        self._described[name] = described
        actions = [
            Action(descriptor=descriptor, handler=self._handler(name, ref, tool, descriptor), waits=True)
            for ref, (descriptor, tool) in described.items()
        ]
        self._registry.replace_source(f"{ROOT}:{name}", actions, roots=(ROOT,))

    def _handler(self, name: str, ref: str, tool: Tool, admitted: Descriptor) -> Any:
        async def call(arguments: dict[str, Any], context: CallContext) -> Any:
            connection = self.connections[name]
            await connection.ready(ref=ref)
            self._still_as_admitted(name, ref, admitted, arguments)
            result = await connection.request(lambda client: client.call_tool(tool.name, arguments), ref=ref)
            return await trio.to_thread.run_sync(self._value, result, ref, admitted, self._folder(context))

        return call

    def _still_as_admitted(self, name: str, ref: str, admitted: Descriptor, arguments: dict[str, Any]) -> None:
        """A server may have changed since its manifest was cached: what was judged by the old one is judged again."""
        now = self._described[name].get(ref)
        if now is None:
            raise HandlerError(f"{ref}: the server {name} no longer has this tool; nothing was sent", "rejected")
        current = now[0]
        if current is admitted:
            return
        if RISKS.index(current.risk) > RISKS.index(admitted.risk):
            raise HandlerError(
                f"{ref} was judged as {admitted.risk} and is now {current.risk}; nothing was sent, call it again",
                "rejected",
            )
        problems = self._validator.problems(current.input_schema, arguments) if current.input_schema else []
        if problems:
            raise HandlerError(problems_text(ref, problems), "rejected")

    def _value(self, result: Any, ref: str, descriptor: Descriptor, folder: ResultFolder | None) -> Any:
        schema = descriptor.output_schema
        if schema is not None and not result.is_error and result.structured_content is not None:
            problems = self._validator.problems(schema, result.structured_content)
            if problems:
                raise HandlerError(f"the answer breaks its own schema: {problems_text(ref, problems)}")
        return tool_value(result, ref=ref, files=folder)

    def _folder(self, context: CallContext) -> ResultFolder | None:
        return None if self._files is None else self._files.of(context.run_id)

    async def _resolve(self, ref: str) -> Action | None:
        """The action of a ref whose server has never been started: start it and look again."""
        name = next((name for name, part in self._parts.items() if ref.startswith(f"{ROOT}.{part}.")), None)
        if name is None and (meant := self._meant(ref)) is not None:
            raise UnknownActionError(ref, (meant,))
        if name is None or self.connections[name].state == "ready":
            return None
        await self.connections[name].ready(ref=ref)
        return self._registry.lookup(ref)

    def _possible_risks(self, ref: str) -> tuple[Risk, ...]:
        """What a tool of a server that was never seen can be judged as; empty: it is known, or there is no server."""
        for name, part in self._parts.items():
            prefix = f"{ROOT}.{part}."
            if ref.startswith(prefix) and name not in self.manifests and not self.connections[name].settings.disabled:
                return possible_risks(self.connections[name].settings, ref.removeprefix(prefix))
        return ()

    def _meant(self, ref: str) -> str | None:
        """The ref behind one that was written with the server's configured name: `mcp.my-server.get-issue`."""
        for name, part in self._parts.items():
            if ref.startswith(f"{ROOT}.{name}."):
                written = ref[len(f"{ROOT}.{name}.") :]
                known = {tool.name: ref for ref, (_, tool) in self._described.get(name, {}).items()}
                return known.get(written) or f"{ROOT}.{part}.{attribute_name(written)}"
        return None


@asynccontextmanager
async def open_mcp_servers(
    entries: Mapping[str, Any],
    registry: Registry,
    *,
    cache_dir: Path | None = None,
    files: ResultFolders | None = None,
    host_environment: Mapping[str, str] | None = None,
) -> AsyncIterator[McpServers]:
    """The servers of `mcpServers`, each in a task of its own until the block ends; none is started by opening.

    `cache_dir` keeps their manifests between hosts, `files` the pictures and binary parts that tools return,
    `host_environment` (default: this process's) is what `$NAME` in the settings refers to.

    Raises: McpSettingsError: an entry cannot be used.
    """
    cache = ManifestCache(cache_dir) if cache_dir is not None else None
    servers = McpServers(entries, registry, cache=cache, files=files, host_environment=host_environment)
    async with trio.open_nursery() as nursery:
        for connection in servers.connections.values():
            await nursery.start(connection.run)
        try:
            yield servers
        finally:
            for connection in servers.connections.values():
                connection.stop()
            with trio.move_on_after(CLOSE_SECONDS, shield=True) as closing:
                for connection in servers.connections.values():
                    await connection.ended.wait()
            if closing.cancelled_caught:
                nursery.cancel_scope.cancel()
            for name in servers.connections:
                registry.remove_source(f"{ROOT}:{name}")
            registry.remove_source(ROOT)
