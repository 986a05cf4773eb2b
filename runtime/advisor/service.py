"""The advisor on a host: events in, hints appended to the branch. It decides nothing; `advisor.py` does.

It knows the host only by its port. A hint burns after its line is in the transcript, never before: if the append fails,
nothing burned, nothing is spent, and the heat stays.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import trio

from host_bridge.descriptor import Descriptor
from runtime.advisor.advisor import AdvisorState, consider, end_turn, fired, tool_use
from runtime.advisor.fingerprint import CatalogTool, Fingerprint
from runtime.advisor.rendering import Hint
from runtime.advisor.replay import HINT_TYPE, replay
from runtime.advisor.settings import AdvisorySettings
from runtime.events import PromptSubmitted, SessionStarted, ToolCalled, TreeNavigated
from runtime.hosts.port import SessionHost
from runtime.transcript.entries import Entry, now_timestamp

EXEC_TOOL: Final = "fabric_exec"
"""Pi's tool whose recorded code names MCP servers. Our own runs leave a trace instead."""
APPEND_DEADLINE_SECONDS: Final = 10.0
"""An append and the burn that follows it are one step: a cancellation waits this long for them."""


class AdvisorService:
    """The advisor of one session. Its methods are called one after another, in the session's written order.

    Seed: combustion:store:replay-when, combustion:store:custom-message
    """

    def __init__(self, host: SessionHost, settings: AdvisorySettings | None = None) -> None:
        self._host = host
        self.settings = AdvisorySettings() if settings is None else settings
        """Read anew at every prompt."""
        self.index: Final = Fingerprint()
        self.state = AdvisorState()
        """What the advisor remembers now."""
        self.look_for_sources: Callable[[], None] | None = None
        """Begins to make sources known that never were (a server's first start). No prompt waits for it: what is found
        counts from the next prompt on."""
        self._refs: dict[str, dict[str, str]] = {}
        self._tools: dict[str, dict[str, str]] = {}
        self._unresolved: set[str] = set()
        self._saying = trio.Lock()

    def set_source(self, name: str, descriptors: Iterable[Descriptor]) -> None:
        """Replace one slice of the catalog: the registered tools, or one MCP server. An empty one is removed.

        Actions without a namespace are never hinted at. Costs its own tools, not the catalog.
        """
        named = [(one, one.namespace) for one in descriptors if one.namespace is not None]
        self.index.set_slice(name, [catalog_tool(descriptor) for descriptor, _ in named])
        if not named:
            self._refs.pop(name, None)
            self._tools.pop(name, None)
            return
        self._refs[name] = {descriptor.ref: namespace for descriptor, namespace in named}
        self._tools[name] = {
            tool: namespace
            for descriptor, namespace in named
            for tool in (descriptor.ref, descriptor.tool_name)
            if tool and not (tool == descriptor.tool_name and namespace.startswith("mcp:"))
        }
        if not self._unresolved.isdisjoint(self._refs[name].keys() | self._tools[name].keys()):
            # The branch was replayed before this source was known: tools of it burn now, in the place where they
            # stand on the branch. What burned in the running program is not on the branch yet, and comes last.
            now_known = self._replayed(self._host.branch()).ash
            self.state = replace(
                self.state,
                ash={**now_known, **{key: one for key, one in self.state.ash.items() if key not in now_known}},
            )

    async def session_started(self, event: SessionStarted) -> None:
        """Drop what is transient, then replay the branch. Seed: combustion:store:fresh"""
        self._boundary(event.branch)

    async def tree_navigated(self, event: TreeNavigated) -> None:
        """Drop what is transient, then replay the new branch. Seed: combustion:store:rewind-budget"""
        self._boundary(event.branch)

    async def prompt_submitted(self, event: PromptSubmitted) -> Hint | None:
        """Consider the prompt; append a hint if one comes of it, and only then burn. Returns what was said.

        Raises: whatever the host's append raises; nothing burned then.
        """
        if self.look_for_sources is not None and self._may_hint():
            self.look_for_sources()
        async with self._saying:  # prompts that overlap wait here: the second one meets what the first has burned
            return await self._consider(event.text)

    async def _consider(self, text: str) -> Hint | None:
        decision = consider(self.state, self.index, text, self.settings)
        self.state = decision.state
        if decision.hint is None:
            return None
        with trio.fail_after(APPEND_DEADLINE_SECONDS) as scope:
            scope.shield = True
            entry = await self._host.append_custom_message(
                HINT_TYPE,
                well_formed(decision.hint.content),
                display=decision.hint.display,
                details=well_formed_json(decision.hint.details()),
            )
            self.state = fired(self.state, decision.hint, entry.timestamp or now_timestamp())
        return decision.hint

    def _may_hint(self) -> bool:
        """Whether any prompt could be answered with a hint now."""
        return self.settings.mode != "disabled" and self.state.spent_hints < self.settings.max_per_session

    async def turn_ended(self) -> None:
        """The next point of the feedback window. Seed: combustion:smoke:window"""
        self.state = end_turn(self.state)

    def tool_called(self, event: ToolCalled) -> None:
        """A program called an action: its source burns, whatever became of the call. Seed: combustion:store:organic"""
        namespace = event.namespace if event.namespace is not None else self.namespace_of_ref(event.ref)
        if namespace is not None:
            self.state = tool_use(self.state, namespace, now_timestamp())

    def namespace_of_ref(self, ref: str) -> str | None:
        """The source of an action: as its descriptor says, else by the shape `mcp.<server>.<tool>`."""
        for refs in self._refs.values():
            if ref in refs:
                return refs[ref]
        first, _, rest = ref.partition(".")
        server, dot, _ = rest.partition(".")
        return f"mcp:{server}" if first == "mcp" and dot and server else None

    def namespaces_of_tool(self, name: str) -> Sequence[str] | None:
        """The sources of a tool that Pi recorded under this name; None: no tool of the catalog.

        Pi knows MCP tools by their ref only, so a bare name never stands for one.
        """
        found = dict.fromkeys(tools[name] for tools in self._tools.values() if name in tools)
        return tuple(found) or None

    def _boundary(self, branch: Sequence[Entry]) -> None:
        """A session or tree boundary: transients are gone, and the branch alone says what is durable."""
        self.state = self._replayed(branch)

    def _replayed(self, branch: Sequence[Entry]) -> AdvisorState:
        self._unresolved = set()

        def namespaces_of_tool(name: str) -> Sequence[str] | None:
            found = self.namespaces_of_tool(name)
            if found is None and name != EXEC_TOOL:
                self._unresolved.add(name)
            return found

        def namespace_of_ref(ref: str) -> str | None:
            found = self.namespace_of_ref(ref)
            if found is None:
                self._unresolved.add(ref)
            return found

        return replay(
            (entry.fields for entry in branch),
            namespaces_of_tool=namespaces_of_tool,
            exec_tool=EXEC_TOOL,
            namespace_of_ref=namespace_of_ref,
        )


def catalog_tool(descriptor: Descriptor) -> CatalogTool:
    """An action as the catalog lists it: by its ref without a leading `mcp.`; hints print the whole ref."""
    name = descriptor.ref.removeprefix("mcp.")
    return CatalogTool(name, descriptor.description, descriptor.namespace, descriptor.ref)


def well_formed(text: str) -> str:
    """`text` as a transcript can hold it: half a surrogate pair, left by a cut, becomes a replacement mark."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def well_formed_json(value: object) -> object:
    """`value` with every string in it well formed."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, Mapping):
        return {key: well_formed_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [well_formed_json(item) for item in value]
    return value
