"""Servers that flood, lie, stay silent or change: bounded, typed, and never in anybody else's way."""

import resource
from pathlib import Path

import pytest
import trio

from host_bridge.mcp.manifest import ManifestCache
from host_bridge.mcp.settings import server_settings
from tests.host_bridge.mcp.calling import opened, raw

MIB = 1024 * 1024


@pytest.mark.parametrize("id_stands", ["first", "last"])
async def test_two_hundred_megabytes_are_bounded_as_they_arrive(tmp_path: Path, id_stands: str) -> None:
    """RS-04: bounded on arrival, a clear error, the host's memory stays bounded."""
    async with opened({"flood": raw("flood", maxResultBytes=8 * MIB)}, tmp_path) as calls:
        await calls.servers.learn()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        kind, message = await calls.refusal("mcp.flood.go", q=id_stands)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
        assert kind == "limit"
        assert "answered with more than 8388608 bytes" in message
        assert "setting mcpServers.flood.maxResultBytes" in message
        assert grown < 64 * MIB
        kind, _ = await calls.refusal("mcp.flood.go", q=id_stands)
        assert kind == "limit"
        assert calls.state("flood")["starts"] == 1


async def test_a_flood_that_answers_no_call_ends_the_server(tmp_path: Path) -> None:
    async with opened({"flood": raw("anonymous", maxResultBytes=8 * MIB)}, tmp_path) as calls:
        kind, message = await calls.refusal("mcp.flood.go")
        assert kind == "host"
        assert "it sent a message of more than 8388608 bytes that answers no call" in message


async def test_malformed_json_fails_the_call_it_answers(tmp_path: Path) -> None:
    async with opened({"bad": raw("malformed")}, tmp_path) as calls:
        kind, message = await calls.refusal("mcp.bad.go")
        assert (kind, "answered with malformed JSON: Invalid JSON: " in message) == ("host", True)
        assert "http" not in message


async def test_what_json_cannot_carry_is_refused_with_its_path(tmp_path: Path) -> None:
    async with opened({"bad": raw("infinite")}, tmp_path) as calls:
        kind, message = await calls.refusal("mcp.bad.go")
        assert (kind, "$.rows[0].score: inf is not in JSON" in message) == ("host", True)


async def test_a_banner_on_standard_output_is_read_over(tmp_path: Path) -> None:
    async with opened({"chatty": raw("banner")}, tmp_path) as calls:
        assert await calls.value("mcp.chatty.go") == "done"


async def test_what_a_program_prints_that_is_no_server_is_told(tmp_path: Path) -> None:
    entries = {
        "usage": {"command": "sh", "args": ["-c", "echo Usage: tool FILE; exit 2"]},
        "waits": {"command": "sh", "args": ["-c", "echo Listening; sleep 600"], "startTimeoutMs": 1500},
        "flood": {"command": "yes", "args": ["garbage"]},
        "lost": {"command": "cat", "cwd": "/no/such/folder"},
    }
    async with opened(entries, tmp_path) as calls:
        told = "it printed {!r} where a message of the protocol belongs"
        _, message = await calls.refusal("mcp.usage.go")
        assert message.endswith("it exited with status 2; " + told.format("Usage: tool FILE"))
        _, message = await calls.refusal("mcp.waits.go")
        assert message.endswith("startTimeoutMs); " + told.format("Listening"))
        with trio.fail_after(15):  # not its start deadline of 30 s
            _, message = await calls.refusal("mcp.flood.go")
        assert message.endswith(told.format("garbage"))
        _, message = await calls.refusal("mcp.lost.go")
        assert message.endswith("could not be started: mcpServers.lost.cwd: '/no/such/folder' is no folder")


async def test_a_server_that_logs_to_standard_output_between_its_messages_goes_on(tmp_path: Path) -> None:
    async with opened({"logs": raw("logs")}, tmp_path) as calls:
        assert await calls.value("mcp.logs.go") == "done"
        assert await calls.value("mcp.logs.go") == "done"
        assert calls.state("logs")["starts"] == 1


async def test_a_server_that_says_nothing_is_given_up_by_the_start_deadline(tmp_path: Path) -> None:
    async with opened({"mute": raw("mute", startTimeoutMs=1500)}, tmp_path) as calls:
        kind, message = await calls.refusal("mcp.mute.go")
        assert kind == "host"
        assert "it was not ready after 1.5 s (setting mcpServers.mute.startTimeoutMs)" in message


async def test_a_server_that_cannot_start_says_why_and_pauses_grow(tmp_path: Path) -> None:
    async with opened({"dead": raw("stillborn"), "missing": {"command": "/no/such/server"}}, tmp_path) as calls:
        _, message = await calls.refusal("mcp.dead.go")
        assert "could not be started: it exited with status 9; it said: no licence" in message
        connection = calls.servers.connections["dead"]
        pauses = []
        for _ in range(5):
            # Instead of waiting out the pause: what matters is that it grows and is told.
            pauses.append(connection._not_before - trio.current_time())
            connection._not_before = trio.current_time()
            await calls.refusal("mcp.dead.go")
        assert pauses == sorted(pauses)
        assert pauses[0] < 0.5
        _, message = await calls.refusal("mcp.dead.go")
        assert "the next try is possible in" in message
        assert connection.starts == 6
        _, message = await calls.refusal("mcp.missing.go")
        assert "/no/such/server" in message
        assert "could not be started: /no/such/server: No such file or directory" in message
        assert calls.state("missing")["error"]


async def test_a_server_that_dies_at_each_call_never_answers_for_another(tmp_path: Path) -> None:
    async with opened({"dies": raw("dies")}, tmp_path) as calls:
        await calls.servers.learn()
        kind, message = await calls.refusal("mcp.dies.go")
        assert (kind, "it exited with status 3" in message) == ("host", True)


async def test_a_tool_that_changed_since_it_was_cached_is_judged_again(tmp_path: Path) -> None:
    """Nothing is sent on the strength of an old description."""
    state = tmp_path / "changed"
    entries = {"moody": raw("changing", str(state))}
    async with opened(entries, tmp_path) as calls:
        assert await calls.value("mcp.moody.go", q="x") == "done"
    state.write_text("yes")
    async with opened(entries, tmp_path) as calls:
        kind, message = await calls.refusal("mcp.moody.go", q="x")
        assert kind == "rejected"
        assert "query: got nothing, wanted text" in message
        assert await calls.value("mcp.moody.go", query="x") == "done"


async def test_a_tool_that_a_running_server_adds_becomes_callable(tmp_path: Path) -> None:
    async with opened({"one": raw("growing", str(tmp_path / "grown"))}, tmp_path) as calls:
        assert await calls.value("mcp.one.go") == "grown"
        with trio.fail_after(20):
            while calls.registry.lookup("mcp.one.late") is None:
                await trio.sleep(0.01)
        assert await calls.value("mcp.one.late") == "grown"


async def test_a_damaged_cache_is_as_good_as_none(tmp_path: Path) -> None:
    entries = {"plain": raw("normal")}
    async with opened(entries, tmp_path) as calls:
        await calls.servers.learn()
    settings = server_settings("plain", entries["plain"])
    cache = ManifestCache(tmp_path / "manifests")
    path = cache.path("plain", settings)
    good = path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    for damage in (b"", b"{", good[:-5], good.replace(b"Do it", b"Do not"), b"[" * 100_000):
        path.write_bytes(damage)
        assert cache.load("plain", settings) is None
        async with opened(entries, tmp_path) as calls:
            assert calls.state("plain")["tools"] is None
    path.write_bytes(good)
    assert cache.load("plain", settings) is not None
    assert cache.load("plain", server_settings("plain", raw("other"))) is None


async def test_a_server_of_an_unknown_protocol_is_not_started_and_says_why(tmp_path: Path) -> None:
    async with opened({"oldest": raw("oldest"), "nonsense": raw("nonsense")}, tmp_path) as calls:
        kind, message = await calls.refusal("mcp.oldest.go")
        assert (kind, "1999-01-01" in message) == ("host", True)
        kind, message = await calls.refusal("mcp.nonsense.go")
        assert (kind, "could not be started" in message) == ("host", True)


async def test_a_list_without_end_is_given_up(tmp_path: Path) -> None:
    async with opened({"endless": raw("endless")}, tmp_path) as calls:
        _, message = await calls.refusal("mcp.endless.go")
        assert "did not end" in message


async def test_a_storm_of_notifications_and_foreign_messages_disturb_no_call(tmp_path: Path) -> None:
    async with opened({"storm": raw("storm"), "stranger": raw("stranger")}, tmp_path) as calls:
        with trio.fail_after(30):
            assert await calls.value("mcp.storm.go") == "calm"
            assert await calls.value("mcp.storm.go") == "calm"
            assert await calls.value("mcp.stranger.go") == "mine"
            assert await calls.value("mcp.stranger.go") == "mine"
        assert calls.state("storm")["starts"] == calls.state("stranger")["starts"] == 1


async def test_a_tool_that_breaks_the_protocol_hides_no_other_and_is_called_or_refused_by_name(tmp_path: Path) -> None:
    async with opened({"sloppy": raw("sloppy")}, tmp_path) as calls:
        await calls.servers.learn()
        found = {
            ref.removeprefix("mcp.sloppy.")
            for ref in (a.descriptor.ref for a in calls.registry.actions_of("mcp:sloppy"))
        }
        assert found == {
            *("right", "no_type", "empty", "no_schema", "null_parts", "text", "list", "bad_hints", "bad_fields", "deep")
        }  # fmt: skip
        for name in ("empty", "no_schema", "null_parts", "bad_hints", "bad_fields"):
            assert await calls.value(f"mcp.sloppy.{name}") == "done"
        assert await calls.value("mcp.sloppy.no_type", q="x") == "done"
        assert await calls.refusal("mcp.sloppy.no_type") == (
            "rejected",
            "mcp.sloppy.no_type: q: got nothing, wanted text",
        )
        for name in ("text", "list", "deep"):
            kind, message = await calls.refusal(f"mcp.sloppy.{name}")
            assert kind == "rejected"
            assert message.startswith(f"mcp.sloppy.{name}: ")
            assert "the-server-gave-no-schema-that-can-be-read" in message


async def test_every_odd_name_is_called_by_the_ref_that_the_catalog_gives(tmp_path: Path) -> None:
    async with opened({"odd": raw("odd")}, tmp_path) as calls:
        await calls.servers.learn()
        refs = [entry.descriptor.ref for entry in calls.registry.catalog().entries if entry.source == "mcp:odd"]
        names = {await calls.value(ref) for ref in refs}
        assert names == {"class", "get-it", "get.it", "get_it", "日本", "a b", "x" * 300, "__init__", "mro"}
        assert {"mcp.odd.class_", "mcp.odd.get_it", "mcp.odd.日本", "mcp.odd.a_b", "mcp.odd.nmro"} <= set(refs)
        assert await calls.value("mcp.odd.get_it") == "get_it"
