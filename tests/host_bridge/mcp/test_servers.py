"""Our own server, over stdio: start on first use, values, cancellation, deadline, death, restart, closing."""

import math
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
import trio

from guest_api.values import read_extension
from host_bridge.mcp import connection
from host_bridge.mcp.settings import McpSettingsError
from host_bridge.process_tree import members
from tests.host_bridge.mcp.calling import OWN, opened, raw


async def test_nothing_starts_before_the_first_call_and_the_manifest_is_searchable_afterwards(tmp_path: Path) -> None:
    """MC-02: start on first use, a cached manifest before start, states visible."""
    async with opened({"own": OWN}, tmp_path) as calls:
        assert calls.state("own")["state"] == "idle"
        assert calls.state("own")["tools"] is None
        assert await calls.value("mcp.own.add", a=1, b=2) == 3
        first = calls.state("own")
        assert (first["state"], first["starts"]) == ("ready", 1)
    async with opened({"own": OWN}, tmp_path) as calls:
        assert calls.state("own") == {**first, "state": "idle", "starts": 0}
        assert calls.registry.lookup("mcp.own.add") is not None
        assert await calls.value("mcp.own.add", a=1, b=2) == 3


async def test_values_cross_exactly(tmp_path: Path) -> None:
    async with opened({"own": OWN}, tmp_path) as calls:
        assert await calls.value("mcp.own.echo", text="hé\u2028", times=2) == "hé\u2028" * 2
        assert await calls.value("mcp.own.names") == ["ada", "grace"]
        assert await calls.value("mcp.own.wrapped") == {"result": "kept"}
        record = await calls.value("mcp.own.record", kind="x")
        assert from_extension(record.pop("big")) == 2**80
        assert record == {"kind": "x", "rows": [{"score": 0.1}], "none": None}
        # RS-03: the full value is available to the program.
        assert await calls.value("mcp.own.dump", count=5_000_000) == "x" * 5_000_000


def from_extension(value: Any) -> int:
    """An integer beyond 64 bits as the wire carries it."""
    return read_extension(value.code, value.data)


async def test_a_wrong_argument_is_refused_before_anything_is_sent_and_a_failing_tool_fails(tmp_path: Path) -> None:
    """ER-01: a typed refusal that names ref and argument, never a value that looks like data."""
    async with opened({"own": OWN}, tmp_path) as calls:
        await calls.value("mcp.own.names")
        kind, message = await calls.refusal("mcp.own.record", knd="x")
        assert kind == "rejected"
        assert message.startswith("mcp.own.record: ")
        assert "kind: got nothing, wanted text" in message
        kind, message = await calls.refusal("mcp.own.add", a="1", b=2)
        assert (kind, message) == ("rejected", "mcp.own.add: a: got '1', wanted a whole number")
        kind, message = await calls.refusal("mcp.own.fail", reason="no")
        assert (kind, message.startswith("mcp.own.fail failed: ")) == ("host", True)


async def test_only_configured_variables_reach_the_server(tmp_path: Path) -> None:
    host = {"PATH": os.environ["PATH"], "HOME": "/root", "SECRET_KEY": "s", "CHOSEN": "c", "PYTHONPATH": "/x"}
    entry = {**OWN, "env": {"GIVEN": "$CHOSEN"}}
    async with opened({"own": entry}, tmp_path, environment=host) as calls:
        names = set(await calls.value("mcp.own.environment")) - {"LC_CTYPE"}
        assert names == {"PATH", "HOME", "GIVEN"}


async def test_an_unset_variable_fails_the_start_by_name(tmp_path: Path) -> None:
    entry = {**OWN, "env": {"GIVEN": "${MISSING}"}}
    async with opened({"own": entry}, tmp_path, environment={}) as calls:
        kind, message = await calls.refusal("mcp.own.names")
        assert kind == "host"
        assert "mcpServers.own.env.GIVEN: the environment variable MISSING is not set" in message


async def test_a_cancelled_call_is_cancelled_at_the_server(tmp_path: Path) -> None:
    noted = tmp_path / "note"
    async with opened({"own": OWN}, tmp_path) as calls:
        await calls.value("mcp.own.names")
        with trio.fail_after(20):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(lambda: calls.admitted("mcp.own.wait", file=str(noted)))
                while not noted.exists() or noted.read_text() != "started":
                    await trio.sleep(0.01)
                nursery.cancel_scope.cancel()
            while noted.read_text() != "cancelled":
                await trio.sleep(0.01)
        assert await calls.value("mcp.own.add", a=1, b=1) == 2


async def test_the_deadline_of_a_call_does_not_depend_on_the_server(tmp_path: Path) -> None:
    noted = tmp_path / "note"
    async with opened({"own": {**OWN, "timeoutMs": 300}, "deaf": raw("deaf", timeoutMs=300)}, tmp_path) as calls:
        kind, message = await calls.refusal("mcp.own.wait", file=str(noted))
        assert (kind, "setting mcpServers.own.timeoutMs" in message) == ("limit", True)
        with trio.fail_after(20):
            while noted.read_text() != "cancelled":
                await trio.sleep(0.01)
        # This one neither answers nor reads: even a courtesy to it must not hold the caller.
        await calls.servers.learn()
        with trio.fail_after(3):
            kind, _ = await calls.refusal("mcp.deaf.go", q="x" * 500_000)
        assert kind == "limit"


async def test_a_server_that_dies_in_a_call_is_a_typed_failure_and_comes_back(tmp_path: Path) -> None:
    async with opened({"own": OWN}, tmp_path) as calls:
        kind, message = await calls.refusal("mcp.own.die")
        assert kind == "host"
        assert (
            "ended while the call was running (it exited with status 7; it said: own server: dying on request)"
            in message
        )
        assert "whether the call took effect is not known" in message
        assert calls.state("own")["state"] == "failed"
        assert await calls.value("mcp.own.add", a=1, b=1) == 2
        assert calls.state("own")["starts"] == 2


async def test_a_killed_server_fails_every_call_under_way_and_no_other_server(tmp_path: Path) -> None:
    async with opened({"own": OWN, "other": raw("normal")}, tmp_path) as calls:
        await calls.servers.learn()
        noted = tmp_path / "note"
        outcomes: list[tuple[str, str]] = []

        async def waiting() -> None:
            outcomes.append(await calls.refusal("mcp.own.wait", file=str(noted)))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(waiting)
            nursery.start_soon(waiting)
            with trio.fail_after(20):
                while not noted.exists():
                    await trio.sleep(0.01)
            pids = await calls.value("mcp.own.environment") and own_pids()
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
        assert [kind for kind, _ in outcomes] == ["host", "host"]
        assert all("killed by SIGKILL" in message for _, message in outcomes)
        assert await calls.value("mcp.other.go") == "done"


def own_pids() -> list[int]:
    return [
        int(path.name)
        for path in Path("/proc").iterdir()
        if path.name.isdecimal() and b"own_server.py" in _command_line(path) and _parent(path) == os.getpid()
    ]


def _command_line(path: Path) -> bytes:
    try:
        return (path / "cmdline").read_bytes()
    except OSError:
        return b""


def _parent(path: Path) -> int:
    try:
        return int((path / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
async def test_servers_close_in_any_order_without_a_scope_error(tmp_path: Path, order: tuple[int, ...]) -> None:
    """MC-01: each client lives in its own task."""
    names = ["one", "two", "three"]
    async with opened({name: raw("normal") for name in names}, tmp_path) as calls:
        await calls.servers.learn()
        for index in order:
            calls.servers.close(names[index])
            with trio.fail_after(10):
                await calls.servers.connections[names[index]].ended.wait()
            kind, message = await calls.refusal(f"mcp.{names[index]}.go")
            assert (kind, "not available" in message) == ("host", True)
            for other in order[order.index(index) + 1 :]:
                assert await calls.value(f"mcp.{names[other]}.go") == "done"


async def test_closing_ends_the_server_and_what_it_started(tmp_path: Path) -> None:
    before = set(_descendants())
    async with opened({"child": raw("child")}, tmp_path) as calls:
        assert await calls.value("mcp.child.go") == "done"
        sessions = {pid: members(pid) for pid in set(_descendants()) - before}
        assert max(len(found) for found in sessions.values()) == 3  # the keeper, too
    assert all(not members(session) for session in sessions)


def _descendants() -> list[int]:
    return [
        int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal() and _parent(path) == os.getpid()
    ]


async def test_cancelling_the_host_ends_the_servers_too(tmp_path: Path) -> None:
    before = set(_descendants())
    with trio.CancelScope() as scope:
        async with opened({"one": raw("normal"), "two": raw("child")}, tmp_path) as calls:
            await calls.servers.learn()
            started = set(_descendants()) - before
            scope.cancel()
            await trio.sleep_forever()
    assert len(started) == 2
    assert all(not members(session) for session in started)


async def test_thirty_servers_cost_nothing_until_they_are_used(tmp_path: Path) -> None:
    """MC-02."""
    entries = {f"server{number}": raw("normal") for number in range(30)}
    before = len(_descendants())
    async with opened(entries, tmp_path) as calls:
        assert len(_descendants()) == before
        assert await calls.value("mcp.server7.go") == "done"
        states = [row["state"] for row in calls.servers.states()]
        assert (states.count("idle"), states.count("ready")) == (29, 1)


async def test_a_disabled_server_is_not_started_and_says_so(tmp_path: Path) -> None:
    async with opened({"own": {**OWN, "disabled": True}}, tmp_path) as calls:
        kind, message = await calls.refusal("mcp.own.names")
        assert (kind, "mcpServers.own.disabled is set" in message) == ("host", True)
        assert calls.state("own")["state"] == "disabled"


async def test_an_unusable_entry_opens_nothing(tmp_path: Path) -> None:
    with pytest.raises(McpSettingsError, match=r"mcpServers\.own"):
        async with opened({"own": {"args": []}}, tmp_path):
            raise AssertionError("opened")


async def test_risk_is_network_unless_the_person_says_otherwise(tmp_path: Path) -> None:
    """A server's hint about itself lowers nothing by itself."""

    async def risks(**settings: object) -> tuple[str, str]:
        async with opened({"own": {**OWN, **settings}}, tmp_path) as calls:
            await calls.servers.learn()
            found = [calls.registry.lookup(f"mcp.own.{name}") for name in ("add", "echo")]
            return tuple(action.descriptor.risk for action in found if action is not None)  # type: ignore[return-value]

    assert await risks() == ("network", "network")
    assert await risks(trustAnnotations=True) == ("read", "network")
    assert await risks(risk="execute") == ("execute", "execute")
    assert await risks(risk="execute", risks={"echo": "write"}) == ("execute", "write")


async def test_pictures_links_and_resources_are_values(tmp_path: Path) -> None:
    async with opened({"own": OWN}, tmp_path) as calls:
        picture = await calls.value("mcp.own.picture")
        assert picture["content"][0]["mimeType"] == "image/png"
        assert Path(picture["content"][0]["path"]).read_bytes().startswith(b"\x89PNG")
        refs = [entry.descriptor.ref for entry in calls.registry.catalog().entries]
        linked = next(ref for ref in refs if ref.startswith("mcp.own.get_issue_"))
        blocks = (await calls.value(linked, number=7))["content"]
        assert [block["type"] for block in blocks] == ["text", "resource_link", "resource"]
        assert blocks[1]["uri"] == "issue://7"
        assert blocks[2]["text"] == "a note"
        assert await calls.value("mcp.own.get_issue") == "exact"
        listed = await calls.value("mcp.resources", server="own")
        assert listed[0]["uri"] == "note://hello"
        assert await calls.value("mcp.resource", server="own", uri="note://hello") == [
            {"uri": "note://hello", "text": "hello", "mimeType": "text/plain"}
        ]
        kind, message = await calls.refusal("mcp.resource", server="own", uri="note://none")
        assert kind == "host"
        assert "mcp.resource" in message


async def test_nobody_who_leaves_waits_for_the_sdk_to_be_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading, go_on = trio.Event(), threading.Event()
    token = trio.lowlevel.current_trio_token()

    def slowly() -> None:
        token.run_sync_soon(loading.set)
        go_on.wait(60)

    monkeypatch.setattr(connection, "load_sdk", slowly)
    try:
        with trio.fail_after(20):
            async with opened({"own": OWN}, tmp_path) as calls, trio.open_nursery() as nursery:
                nursery.start_soon(lambda: calls.admitted("mcp.own.names"))
                await loading.wait()
                nursery.cancel_scope.cancel()
        assert not go_on.is_set()
    finally:
        go_on.set()


async def test_the_time_that_our_import_takes_is_not_taken_from_the_servers_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deadlines: list[float] = []
    one: list[connection.ServerConnection] = []

    def loading() -> None:
        scope = one[0]._life
        assert scope is not None
        deadlines.append(scope.deadline)

    monkeypatch.setattr(connection, "load_sdk", loading)
    async with opened({"mute": raw("mute", startTimeoutMs=500)}, tmp_path) as calls:
        one.append(calls.servers.connections["mute"])
        _, message = await calls.refusal("mcp.mute.go")
    assert deadlines == [math.inf]
    assert "it was not ready after 0.5 s" in message
