"""What users of tools really met, each through the command or a host with real guests and real servers."""

import json
from pathlib import Path
from typing import Any

import pytest

from host_bridge.results import SHOWN_BYTES
from runtime import open_host
from runtime.child_host import ChildHost
from tests.host_bridge.mcp.calling import OWN, raw
from tests.journeys.command import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    made.write("tools.json", json.dumps({"mcpServers": {"db": OWN}}))
    return made


def run(desk: Desk, source: str, *options: str) -> Any:
    return desk.run(source, "--config", "tools.json", "--allow", "network", *options).json


def test_a_value_that_json_cannot_carry_leaves_the_transcript_strict(desk: Desk) -> None:
    """RS-02."""
    ended = run(desk, 'return {"rate": float("inf")}', "--session", "s.jsonl")
    assert (ended["ok"], ended["error"]["kind"]) == (False, "program")
    assert "$.rate" in ended["error"]["message"]

    def refuse(token: str) -> None:
        raise AssertionError(token)

    for line in (desk.folder / "s.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=refuse)


def test_a_five_megabyte_result_is_whole_for_the_program_and_bounded_for_the_reader(desk: Desk) -> None:
    """RS-03."""
    source = "text = await mcp.db.dump(count=5_000_000)\nprint(len(text))\nreturn text"
    ended = run(desk, source, "--session", "s.jsonl")
    assert ended["ok"]
    assert ended["logs"] == ["5000000"]
    assert len(ended["value"].encode()) <= SHOWN_BYTES
    assert "bytes are left out here; all of it is in /" in ended["value"]
    path = Path(ended["value"].partition("all of it is in ")[2].partition(" …]")[0])
    assert path.read_text() == "x" * 5_000_000
    assert path.stat().st_mode & 0o777 == 0o600
    assert (desk.folder / "s.jsonl").stat().st_size < 20_000
    assert len(list(path.parent.iterdir())) == 1


def test_a_failure_lists_the_calls_that_had_completed(desk: Desk) -> None:
    """RS-06: so that a retry does not send the mail again."""
    # Processor time of the guest ends it, so that a slow start of the server does not.
    desk.write("tools.json", json.dumps({"mcpServers": {"db": raw("normal")}, "executor": {"cpuSeconds": 1}}))
    source = 'await mcp.db.go(q="to a@b: hi")\nwhile True: pass'
    ended = run(desk, source, "--session", "s.jsonl")
    assert ended["error"]["kind"] == "limit"
    assert [(call["ref"], call["ok"]) for call in ended["calls"]] == [("mcp.db.go", True)]
    (entry,) = desk.custom("s.jsonl", "pi-fabric-run")
    assert "to a@b: hi" in entry["calls"][0]["args"]


async def test_wrong_large_and_lost_answers_are_errors_that_a_program_can_catch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ER-01, ER-03, RS-04, and a server that dies in a call."""
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    flood = raw("flood", maxResultBytes=8 * 1024 * 1024)
    program = """
report = {}
try:
    report["wrong"] = await tools.call(ref="mcp.own.record", args={"knd": "x"})
except ActionRejected as error:
    report["wrong"] = [error.ref, str(error)]
hit = (await tools.search(query="add whole numbers"))[0]
report["found"] = [hit["ref"], await tools.call(ref=hit["ref"], args={"a": 40, "b": 2})]
try:
    report["large"] = await mcp.flood.go()
except ActionLimit as error:
    report["large"] = str(error)
try:
    report["lost"] = await mcp.own.die()
except ActionFailed as error:
    report["lost"] = str(error)
report["again"] = await mcp.own.add(a=1, b=2)
return report
"""
    async with open_host({"mcpServers": {"own": OWN, "flood": flood}}, allow=["network"], cwd=tmp_path) as host:
        result = await host.run_program(program)
    assert result.ok, result.error
    report = result.value
    assert report["wrong"][0] == "mcp.own.record"
    assert "knd: got 'x', wanted one of kind; did you mean 'kind'?" in report["wrong"][1]
    assert report["found"] == ["mcp.own.add", 42]
    assert "mcpServers.flood.maxResultBytes" in report["large"]
    assert "exited with status 7" in report["lost"]
    assert report["again"] == 3


def test_headless_and_not_allowed_is_denied_with_class_ref_and_rule(desk: Desk) -> None:
    """AP-02, for a tool of a server."""
    ended = desk.run("return await mcp.db.add(a=1, b=2)", "--config", "tools.json").json
    assert ended["error"]["kind"] == "denied"
    assert "mcp.db.add" in ended["error"]["message"]
    assert "network" in ended["error"]["message"]
    assert ended["calls"][0]["error"]["kind"] == "denied"


def test_schema_mode_stops_every_tool_of_a_server_whatever_it_says_of_itself(desk: Desk) -> None:
    servers = {"db": raw("normal", risk="read")}
    for mode, ok in (("enforce", False), ("audit", True)):
        desk.write("tools.json", json.dumps({"mcpServers": servers, "schema": {"mode": mode}}))
        ended = desk.run("return await mcp.db.go()", "--config", "tools.json", "--session", f"{mode}.jsonl").json
        assert ended["ok"] is ok
        (entry,) = desk.custom(f"{mode}.jsonl", "pi-fabric-run")
        assert entry["schemaMode"] == mode
        assert entry["calls"][0].get("wouldBlock", False) is (mode == "audit")


def test_the_session_shows_the_mode_and_every_call_that_enforce_would_refuse(desk: Desk) -> None:
    source = "for n in range(300):\n    await thinking.reset()\nawait pi.ls()"
    for mode in ("audit", "enforce"):
        desk.write("mode.json", json.dumps({"schema": {"mode": mode}}))
        desk.run(source, "--config", "mode.json", "--allow", "write", "--session", "mode.jsonl")
    text = desk.command("sessions", "show", "mode.jsonl").out
    assert "done, 301 calls, schema audit\n" in text
    assert "call thinking.reset: ok  (schema audit: would block)" in text
    assert "call pi.ls: ok\n" in text
    assert "schema audit would block: thinking.reset 300×" in text
    assert "failed (denied), 1 calls, schema enforce\n" in text
    assert "call thinking.reset: denied  (schema enforce: blocked)" in text
    (audit, _) = desk.custom("mode.jsonl", "pi-fabric-run")
    assert audit["wouldBlock"] == {"thinking.reset": 300}


@pytest.mark.parametrize("mode", ["bogus", "", "Enforce", None, True])
def test_an_invalid_schema_mode_is_a_configuration_error(desk: Desk, mode: Any) -> None:
    desk.write("mode.json", json.dumps({"schema": {"mode": mode}}))
    ended = desk.command("run", "-", "--config", "mode.json", "--no-session", stdin="return 1")
    assert ended.status == 2
    assert "schema.mode" in ended.err


class ChildUnderEnforce(ChildHost):
    """A child of a host in enforce mode, whose own configuration says nothing."""

    def schema_mode(self, own):
        assert own == "off"
        return "enforce"


@pytest.mark.parametrize(
    ("schema", "child"), [({"mode": "enforce"}, None), ({}, ChildUnderEnforce(None))], ids=["own", "inherited"]
)
async def test_under_enforce_nothing_starts_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schema: dict[str, str], child: ChildHost | None
) -> None:
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    program = """
kinds = []
for attempt in (mcp.one.go(), tools.describe(ref="mcp.one.go"), mcp.servers()):
    try:
        await attempt
    except ActionError as error:
        kinds.append(error.kind)
listed = [row.ref for row in await tools.list() if row.ref.startswith("mcp.one")]
states = [row.state for row in await tools.providers() if row.name == "mcp.one"]
return [kinds, listed, states]
"""
    config = {"mcpServers": {"one": raw("normal")}, "schema": schema}
    async with open_host(config, allow=["network"], cwd=tmp_path, child=child) as host:
        result = await host.run_program(program)
    assert result.value == [["denied", "rejected", "denied"], [], ["idle"]], result.error


async def test_a_timeout_inside_the_program_cancels_the_call_at_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    program = """
await mcp.own.names()
try:
    async with asyncio.timeout(0.5):
        await mcp.own.wait(file=input)
except TimeoutError:
    pass
for _ in range(100):
    if await pi.read(path="note") == "cancelled":
        return "cancelled"
    await asyncio.sleep(0.05)
"""
    async with open_host({"mcpServers": {"own": OWN, "other": raw("normal")}}, allow=["network"], cwd=tmp_path) as host:
        result = await host.run_program(program, input=str(tmp_path / "note"))
    assert result.value == "cancelled", result.error


async def test_one_text_by_position_is_the_first_required_argument_of_any_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    program = """
found = [await pi.read("note"), (await pi.bash("echo b", timeout=20)).output, await pi.ls("."), await pi.grep("one")]
found.append((await tools.search("add whole numbers"))[0].ref)
found.append((await tools.describe("mcp.own.echo")).name)
found.append(await mcp.own.echo("by position"))
found.append(await tools.call("pi.read", {"path": "note", "limit": 1}))
for wrong in (lambda: pi.read("note", path="note"), lambda: pi.write("a", "b"), lambda: pi.read(5)):
    try:
        await wrong()
    except ActionRejected as error:
        found.append(error.kind)
return found
"""
    (tmp_path / "note").write_text("one\n")
    async with open_host({"mcpServers": {"own": OWN}}, allow=["network", "execute"], cwd=tmp_path) as host:
        result = await host.run_program(program)
    found = ["one\n", "b\n", "note", "note:1: one", "mcp.own.add", "echo", "by position", "one"]
    assert result.value == found + ["rejected"] * 3, result.error
    assert [call.ref for call in result.calls][:2] == ["pi.read", "pi.bash"]
