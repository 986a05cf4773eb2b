"""tools.*: what is listed, found and described is what can be called."""

from pathlib import Path
from typing import Any

import pytest

from host_bridge.admission import Admission, Admitted, RunContext
from host_bridge.approvals import ApprovalPolicy
from host_bridge.arguments import SchemaValidator
from host_bridge.registry import Registry
from runtime.extensions import tool
from runtime.tool_sources import open_tool_sources
from tests.host_bridge.mcp.calling import OWN, raw


@tool(risk="read")
def weather(city: str) -> str:
    """The weather of a city today. It needs no key."""
    return f"sunny in {city}"


class Host:
    def __init__(self, registry: Registry) -> None:
        policy = ApprovalPolicy(modes={"read": "allow", "network": "allow", "write": "deny", "execute": "ask"})
        self.admission = Admission(registry, policy=policy, validator=SchemaValidator())
        self._count = 0

    async def call(self, ref: str, /, **arguments: Any) -> Admitted:
        self._count += 1
        run = RunContext(run_id="run-1")
        call = self.admission.begin(self._count, ref, arguments, run)
        if not call.settled:
            await self.admission.finish(call, run)
        return call

    async def value(self, ref: str, /, **arguments: Any) -> Any:
        call = await self.call(ref, **arguments)
        assert call.ok, (call.kind, call.message)
        return call.value


def sources(registry: Registry, folder: Path, **options: Any) -> Any:
    return open_tool_sources(
        registry,
        project=folder,
        agent_folder=folder / "agent",
        extensions=[weather],
        load_plugins=False,
        verdict=lambda ref, risk: {"read": "allow", "network": "allow", "write": "deny"}.get(risk, "ask"),
        **options,
    )


async def test_every_ref_that_is_listed_can_be_described_and_called_by_it(tmp_path: Path) -> None:
    """ER-03: a search never finds what a call refuses to know."""
    registry = Registry()
    async with sources(registry, tmp_path, mcp_servers={"own": OWN, "raw": raw("normal")}):
        host = Host(registry)
        listed = [row["ref"] for row in await host.value("tools.list")]
        catalog = await host.value("tools.catalog")
        assert listed == [row["ref"] for row in catalog["actions"]]
        found = {
            row["ref"]
            for query in ("issue", "weather", "read file")
            for row in await host.value("tools.search", query=query)
        }
        assert found <= set(listed)
        assert {"mcp.own.add", "mcp.raw.go", "extensions.weather", "pi.read", "tools.list", "mcp.servers"} <= set(
            listed
        )
        for ref in listed:
            described = await host.value("tools.describe", ref=ref)
            assert described["ref"] == ref
            outcome = await host.call("tools.call", ref=ref, args={"certainly": "wrong"})
            assert not outcome.message.startswith("unknown action"), ref
            assert outcome.ref == ref
        hit = (await host.value("tools.search", query="weather city"))[0]
        assert hit["ref"] == "extensions.weather"
        assert await host.value("tools.call", ref=hit["ref"], args={"city": "Oslo"}) == "sunny in Oslo"


async def test_describe_tells_schema_risk_effect_policy_and_hash(tmp_path: Path) -> None:
    registry = Registry()
    async with sources(registry, tmp_path):
        host = Host(registry)
        described = await host.value("tools.describe", ref="pi.write")
        assert described["risk"] == "write"
        assert described["approval"] == "deny"
        assert described["effect"] == {"kind": "file", "resources": ["project.files"], "ordering": "serial"}
        assert described["inputSchema"]["required"] == ["path", "content"]
        assert described["speculationEligible"] is False
        assert len(described["hash"]) == 64
        reading = await host.value("tools.describe", ref="extensions.weather")
        assert reading["namespace"] == "extension:weather"
        assert reading["speculationEligible"] is True


async def test_an_unknown_ref_is_rejected_with_the_closest_ones(tmp_path: Path) -> None:
    registry = Registry()
    async with sources(registry, tmp_path):
        host = Host(registry)
        outcome = await host.call("tools.describe", ref="extensions.wether")
        assert (outcome.kind, "did you mean extensions.weather" in outcome.message) == ("rejected", True)


async def test_a_call_by_ref_is_judged_as_the_called_one(tmp_path: Path) -> None:
    registry = Registry()
    async with sources(registry, tmp_path):
        outcome = await Host(registry).call("tools.call", ref="pi.write", args={"path": "a", "content": "b"})
        assert (outcome.ok, outcome.kind, outcome.ref) == (False, "denied", "pi.write")
        assert not (tmp_path / "a").exists()


async def test_providers_name_roots_and_servers_with_their_states(tmp_path: Path) -> None:
    """MC-02: states visible, also of what was never started or cannot be."""
    registry = Registry()
    entries = {"own": OWN, "dead": {"command": "/no/such"}, "off": {**OWN, "disabled": True}}
    async with sources(registry, tmp_path, mcp_servers=entries):
        host = Host(registry)
        before = {row["name"]: row["state"] for row in await host.value("tools.providers")}
        assert before == {
            "extensions": "ready",
            "mcp": "ready",
            "pi": "ready",
            "tools": "ready",
            "mcp.own": "idle",
            "mcp.dead": "idle",
            "mcp.off": "disabled",
        }
        await host.value("tools.list")
        after = {row["name"]: row for row in await host.value("tools.providers")}
        assert after["mcp.own"]["state"] == "ready"
        assert after["mcp.own"]["tools"] == 13
        assert after["mcp.dead"]["state"] == "failed"
        assert "No such file" in after["mcp.dead"]["error"]


async def test_the_search_learns_what_was_never_seen_and_then_reads_the_cache(tmp_path: Path) -> None:
    entries = {"own": OWN}
    for starts in (1, 0):
        registry = Registry()
        async with sources(registry, tmp_path, mcp_servers=entries) as opened:
            found = await Host(registry).value("tools.search", query="add two whole numbers", limit=1)
            assert [row["ref"] for row in found] == ["mcp.own.add"]
            assert opened.servers.states()[0]["starts"] == starts


async def test_list_can_be_narrowed_and_paged(tmp_path: Path) -> None:
    registry = Registry()
    async with sources(registry, tmp_path):
        host = Host(registry)
        assert [row["ref"] for row in await host.value("tools.list", namespace="pi", limit=2, offset=1)] == [
            "pi.edit",
            "pi.find",
        ]
        assert [row["ref"] for row in await host.value("tools.list", namespace="extension:weather")] == [
            "extensions.weather"
        ]
        assert (await host.value("tools.list", namespace="extensions"))[0][
            "description"
        ] == "The weather of a city today."


@pytest.mark.parametrize(
    "arguments", [{}, {"query": 5}, {"query": "x", "limit": 0}, {"query": "x", "risk": "safe"}, {"q": "x"}]
)
async def test_bad_arguments_of_a_search_are_rejected(tmp_path: Path, arguments: dict[str, Any]) -> None:
    registry = Registry()
    async with sources(registry, tmp_path):
        outcome = await Host(registry).call("tools.search", **arguments)
        assert (outcome.ok, outcome.kind) == (False, "rejected")
