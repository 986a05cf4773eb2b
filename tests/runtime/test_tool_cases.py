"""What users of tools really met, each through the command or a host with real guests and real servers."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from host_bridge.results import SHOWN_BYTES
from runtime import open_host
from tests.host_bridge.mcp.calling import HERE, OWN, raw
from tests.journeys.command import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    flood = [str(HERE / "raw_server.py"), "flood"]
    servers = {"db": OWN, "flood": {"command": sys.executable, "args": flood, "maxResultBytes": 8 * 1024 * 1024}}
    made.write("tools.json", json.dumps({"mcpServers": servers}))
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


def test_two_hundred_megabytes_from_a_server_are_a_clear_error(desk: Desk) -> None:
    """RS-04."""
    ended = run(desk, "return await mcp.flood.go()")
    (call,) = ended["calls"]
    assert call["error"]["kind"] == "limit"
    assert "mcpServers.flood.maxResultBytes" in call["error"]["message"]


def test_a_failure_lists_the_calls_that_had_completed(desk: Desk) -> None:
    """RS-06: so that a retry does not send the mail again."""
    source = 'await mcp.db.echo(text="to a@b: hi")\nwhile True: pass'
    ended = run(desk, source, "--timeout", "6", "--session", "s.jsonl")
    assert ended["error"]["kind"] == "limit"
    assert [(call["ref"], call["ok"]) for call in ended["calls"]] == [("mcp.db.echo", True)]
    (entry,) = desk.custom("s.jsonl", "pi-fabric-run")
    assert "to a@b: hi" in entry["calls"][0]["args"]


def test_a_wrong_argument_raises_a_typed_error_with_ref_and_argument(desk: Desk) -> None:
    """ER-01."""
    source = """
    try:
        return await tools.call(ref="mcp.db.record", args={"knd": "x"})
    except ActionRejected as error:
        return {"ref": error.ref, "text": str(error)}
    """
    ended = run(desk, "\n".join(line[4:] for line in source.splitlines()))
    assert ended["value"]["ref"] == "mcp.db.record"
    assert "knd: got 'x', wanted one of kind; did you mean 'kind'?" in ended["value"]["text"]


def test_what_a_search_finds_can_be_called_by_its_ref(desk: Desk) -> None:
    """ER-03."""
    source = """
hit = (await tools.search(query="add whole numbers"))[0]
return [hit["ref"], await tools.call(ref=hit["ref"], args={"a": 40, "b": 2})]
"""
    assert run(desk, source)["value"] == ["mcp.db.add", 42]


def test_headless_and_not_allowed_is_denied_with_class_ref_and_rule(desk: Desk) -> None:
    """AP-02, for a tool of a server."""
    ended = desk.run("return await mcp.db.add(a=1, b=2)", "--config", "tools.json").json
    assert ended["error"]["kind"] == "denied"
    assert "mcp.db.add" in ended["error"]["message"]
    assert "network" in ended["error"]["message"]
    assert ended["calls"][0]["error"]["kind"] == "denied"


def test_schema_mode_stops_every_tool_of_a_server_whatever_it_says_of_itself(desk: Desk) -> None:
    servers = {"db": {**OWN, "risk": "read"}}
    for mode, ok in (("enforce", False), ("audit", True)):
        desk.write("tools.json", json.dumps({"mcpServers": servers, "schema": {"mode": mode}}))
        ended = desk.run(
            "return await mcp.db.add(a=1, b=2)", "--config", "tools.json", "--session", f"{mode}.jsonl"
        ).json
        assert ended["ok"] is ok
        (entry,) = desk.custom(f"{mode}.jsonl", "pi-fabric-run")
        assert entry["schemaMode"] == mode
        assert entry["calls"][0].get("wouldBlock", False) is (mode == "audit")


async def test_a_killed_server_is_an_error_that_a_program_can_catch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    program = """
try:
    await mcp.own.die()
except ActionFailed as error:
    died = str(error)
return [died, await mcp.own.add(a=1, b=2)]
"""
    async with open_host({"mcpServers": {"own": OWN}}, allow=["network"], cwd=tmp_path) as host:
        result = await host.run_program(program)
    assert result.ok, result.error
    assert "exited with status 7" in result.value[0]
    assert result.value[1] == 3


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
