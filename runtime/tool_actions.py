"""`tools.*`: what a program can ask about the actions that exist; `tools.call` itself is unwrapped by admission.

Discovery never lies: a ref that is listed, found or described is called by exactly that ref. Servers whose tools were
never seen are asked once before the catalog is read, so that an empty answer means that there is nothing.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Final, Literal

import msgspec

from host_bridge.actions import action
from host_bridge.descriptor import Action, Descriptor
from host_bridge.discovery import Discovery, summary
from host_bridge.registry import CatalogEntry, Registry

LIST_LIMIT: Final = 1000
SEARCH_LIMIT: Final = 50

RiskName = Literal["read", "write", "execute", "network", "agent"]
Verdicts = Callable[[str, RiskName], str]
"""What approvals say of a ref and risk right now: `allow`, `ask`, `deny`, `auto`."""


class Listing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `tools.list`."""

    namespace: str | None = None
    """`mcp:git`, `mcp.git`, `extensions`, `thinking` …; null: all."""
    limit: Annotated[int, msgspec.Meta(ge=1, le=LIST_LIMIT)] = LIST_LIMIT
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0


class Search(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `tools.search`."""

    query: Annotated[str, msgspec.Meta(max_length=2000)]
    limit: Annotated[int, msgspec.Meta(ge=1, le=SEARCH_LIMIT)] = 10
    risk: RiskName | None = None
    namespace: str | None = None


class Reference(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `tools.describe`."""

    ref: Annotated[str, msgspec.Meta(max_length=300)]


def tool_actions(
    registry: Registry,
    discovery: Discovery,
    *,
    learn: Callable[[], Awaitable[None]] | None = None,
    states: Callable[[], Sequence[dict[str, Any]]] | None = None,
    verdict: Verdicts | None = None,
) -> list[Action]:
    """The source `tools`: `learn` starts what was never seen, `states` is of servers, `verdict` of policy."""

    async def learned() -> None:
        if learn is not None:
            await learn()

    @action(ref="tools.providers", risk="read")
    def providers() -> list[dict[str, Any]]:
        """Who offers actions: root names and MCP servers, how many actions each has, and the state of each server."""
        rows: list[dict[str, Any]] = list(states()) if states is not None else []
        counts: dict[str, int] = {}
        for entry in registry.catalog().entries:
            root = entry.descriptor.ref.partition(".")[0]
            counts[root] = counts.get(root, 0) + 1
        rows += [{"name": root, "state": "ready", "tools": counts.get(root, 0)} for root in registry.namespaces()]
        return sorted(rows, key=lambda row: str(row["name"]))

    @action(ref="tools.list", risk="read")
    async def listing(arguments: Listing) -> list[dict[str, Any]]:
        """Actions by ref, each with its risk and the first sentence of its description."""
        await learned()
        entries = discovery.entries(arguments.namespace)
        return [_brief(entry.descriptor) for entry in entries[arguments.offset : arguments.offset + arguments.limit]]

    @action(ref="tools.search", risk="read")
    async def search(arguments: Search) -> list[dict[str, Any]]:
        """The actions that fit some words, best first (BM25)."""
        await learned()
        hits = discovery.search(
            arguments.query, limit=arguments.limit, risk=arguments.risk, namespace=arguments.namespace
        )
        return [{**_brief(hit.descriptor), "score": hit.score} for hit in hits]

    @action(ref="tools.describe", risk="read")
    async def describe(arguments: Reference) -> dict[str, Any]:
        """Everything about one action: schemas, risk, effect, what approvals say of it now, and its hash."""
        if learn is not None and registry.lookup(arguments.ref) is None:
            # Raises with the closest refs when nobody has it.
            await registry.resolve(arguments.ref)
        entry = discovery.entry(arguments.ref)
        if entry is None:
            raise registry.unknown(arguments.ref)
        return _full(entry, verdict)

    @action(ref="tools.catalog", risk="read")
    async def catalog() -> dict[str, Any]:
        """Every ref with its risk and hash, and one hash over all of them that changes when any of them does."""
        await learned()
        current = registry.catalog()
        return {
            "hash": current.hash,
            "actions": [
                {"ref": entry.descriptor.ref, "risk": entry.descriptor.risk, "hash": entry.hash}
                for entry in current.entries
            ],
        }

    return [providers, listing, search, describe, catalog]


def _brief(descriptor: Descriptor) -> dict[str, Any]:
    row: dict[str, Any] = {"ref": descriptor.ref, "risk": descriptor.risk, "description": summary(descriptor)}
    return row if descriptor.namespace is None else {**row, "namespace": descriptor.namespace}


def _full(entry: CatalogEntry, verdict: Verdicts | None) -> dict[str, Any]:
    descriptor = entry.descriptor
    effect = descriptor.effect
    row = {
        "ref": descriptor.ref,
        "name": descriptor.tool_name or descriptor.ref.rpartition(".")[2],
        "risk": descriptor.risk,
        "description": descriptor.description,
        "namespace": descriptor.namespace,
        "inputSchema": _plain(descriptor.input_schema) or {"type": "object"},
        "outputSchema": _plain(descriptor.output_schema),
        "effect": None
        if effect is None
        else {"kind": effect.kind, "resources": list(effect.resources), "ordering": effect.ordering},
        "speculationEligible": descriptor.speculation_eligible,
        "hash": entry.hash,
    }
    return row if verdict is None else {**row, "approval": verdict(descriptor.ref, descriptor.risk)}


def _plain(schema: Any) -> Any:
    return None if schema is None else msgspec.to_builtins(schema)
