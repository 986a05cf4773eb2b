"""The program runner end to end: guests that start guests, through real processes of the real command."""

import json
import os
from pathlib import Path

import pytest
import trio

from child_agents.records import RunRecords
from child_agents.settings import AgentFolders
from host_bridge.approval_prompt import ApprovalRequest
from runtime import open_host
from tests.child_agents.shared_host import SharedHost

ALLOW = {"read": "allow", "write": "allow", "agent": "allow"}


@pytest.fixture(autouse=True)
def agent_dir(tmp_path, monkeypatch):
    folder = tmp_path / "agent"
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(folder))
    for name in list(os.environ):
        if name.startswith("PI_FABRIC_"):
            monkeypatch.delenv(name)
    return folder


def config(**sections):
    return {"approvals": ALLOW, **sections}


def records(agent_dir: Path) -> RunRecords:
    return RunRecords(AgentFolders(root=agent_dir / "fabric" / "agents"))


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PI_CODING_AGENT_DIR", str(folder / "agent"))
        project = folder / "project"
        project.mkdir()
        agents = {"maxDepth": 3, "maxConcurrent": 100, "maxPerExecution": 1000, "environment": ["LOCAL_KEY"]}
        bounds = {"min": "minimal", "max": "xhigh"}
        host = SharedHost(project, config(agents=agents, thinking={"bounds": bounds}, executor={"timeoutMs": 110_000}))
    yield host
    host.close()


async def run(source, value=None, **more):
    async with open_host(more.pop("config", config()), **more) as host:
        return await host.run_program(source, value)


def test_run_returns_value_text_usage_turns_calls_and_levels(shared):
    result = shared.run(
        "return await agents.run(program=input, input={'n': 2**70}, name='worker', thinking='high', thinkingBounds={'max': 'medium'})",
        "print('hello'); s = await thinking.status(); return [input['n'] + 1, s.level, s.bounds]",
    )
    assert result.error is None
    got = result.value
    assert got["value"] == [2**70 + 1, "medium", {"min": "minimal", "max": "medium"}]
    assert {key: got[key] for key in ("name", "runner", "status", "turns", "toolCalls", "thinking", "requestedThinking", "thinkingBounds")} == {
        "name": "worker", "runner": "program", "status": "completed", "turns": 1, "toolCalls": 1,
        "thinking": "medium", "requestedThinking": "high", "thinkingBounds": {"min": "minimal", "max": "medium"},
    }  # fmt: skip
    assert json.loads(got["text"])[0] == 2**70 + 1
    assert set(got["usage"]) == {"inputTokens", "outputTokens", "cost", "wallMs"}
    events = shared.records.events(got["id"])
    assert [event["text"] for event in events if event["type"] == "log"] == ["hello"]


def test_a_spawned_handle_carries_the_levels_and_can_be_listed_waited_and_logged(shared):
    result = shared.run(
        "h = await agents.spawn(program='print(1); return 5', thinking='max', thinking_bounds={'min': 'low', 'max': 'high'})\n"
        "r = await agents.wait(h)\n"
        "log = await agents.log(h)\n"
        "s = await agents.status(h['id'])\n"
        "l = await agents.list(status='completed')\n"
        "return [h.thinking, h.requestedThinking, h.thinkingBounds, r.value, log.logs, s.status, [x.id for x in l if x.id == h.id] == [h.id]]",
    )
    assert result.value == ["high", "max", {"min": "low", "max": "high"}, 5, ["1"], "completed", True]


def test_a_failed_child_returns_its_status_and_line_and_does_not_raise(shared):
    result = shared.run("return await agents.run(program='x = 1\\nraise ValueError(\"third\")')")
    assert (result.value["status"], result.value["error"]["kind"], result.value["error"]["line"]) == (
        "failed",
        "program",
        2,
    )
    assert "ValueError: third" in result.value["error"]["message"]


def test_refused_launches_raise_before_anything_exists(shared):
    source = """
refused = []
for request in (
    {"thinkingBounds": {"min": "low", "max": "max"}},
    {"thinkingBounds": {"max": None}},
    {"risks": {"execute": "allow"}},
    {"thinking": "hgih"},
    {"runner": "progam"},
    {"cwd": "/no/such/folder"},
    {"programFile": "../../etc/passwd"},
    {"schema": {"type": "nonsense"}},
    {"maxDepth": 9},
):
    try:
        await agents.run({"program": "return 1", **request} if "programFile" not in request else request)
    except Exception as error:
        refused.append(str(error))
return refused
"""
    before = shared.records.ids()
    result = shared.run(source)
    assert result.error is None
    assert len(result.value) == 9
    for text, words in zip(
        result.value,
        (["low..max", "minimal..xhigh", "thinking.bounds"], ["thinkingBounds.max"], ["'allow'", "'ask'", "approvals.execute"], ["did you mean 'high'"],
         ["did you mean 'program'"], ["/no/such/folder"], ["inside the project"], ["schema"], ["agents.maxDepth"]),
        strict=True,
    ):  # fmt: skip
        assert [word for word in words if word not in text] == [], text
    assert shared.records.ids() == before


def test_bounds_narrow_through_three_real_processes(shared):
    leaf = "return [await thinking.status(), await thinking.set(level='max')]"
    middle = f"""
wider = None
try:
    await agents.run(program="return 1", thinkingBounds={{"max": "xhigh"}})
except Exception as error:
    wider = str(error)
inner = await agents.run(program={leaf!r}, thinking="max", thinkingBounds={{"min": "low"}}, name="leaf")
return [(await thinking.status()).bounds, wider, inner]
"""
    top = f"""
inner = await agents.run(program={middle!r}, recursive=True, name="middle", thinkingBounds={{"max": "high"}})
return [(await thinking.status()).bounds, inner.thinkingBounds, inner.value]
"""
    result = shared.run(
        f"return await agents.run(program={top!r}, recursive=True, name='top', thinkingBounds={{'min': 'minimal'}})"
    )
    assert result.error is None
    top_bounds, middle_bounds, (bounds, wider, inner) = result.value["value"]
    assert top_bounds == {"min": "minimal", "max": "xhigh"}
    assert middle_bounds == bounds == {"min": "minimal", "max": "high"}
    assert "off..xhigh" in wider
    assert "minimal..high" in wider
    assert inner["thinkingBounds"] == {"min": "low", "max": "high"}
    assert (inner["thinking"], inner["requestedThinking"]) == ("high", "max")
    status, raised = inner["value"]
    assert status["bounds"] == {"min": "low", "max": "high"}
    assert (raised["level"], raised["requested"], raised["clamped"]) == ("high", "max", True)
    record = shared.records.read(inner["id"]).request.run
    assert (record.depth, record.path) == (3, ("top", "middle", "leaf"))
    assert record.sources["thinking"] == "request, clamped into thinkingBounds"


def test_a_childs_own_guardian_is_forked_warm_below_its_worker_and_ends_with_it(shared):
    inner = "return 1"
    middle = f"h = await agents.spawn(program={inner!r}, name='leaf')\nawait agents.wait(h)\nprint('held')\nawait asyncio.sleep(60)"
    source = f"""
h = await agents.spawn(program={middle!r}, recursive=True, name="middle")
while "held" not in (await agents.log(h)).logs:
    await asyncio.sleep(0.02)
return h.id
"""
    run_id = shared.run(source).value
    guardians = processes(b"child_agents.guardian", below=processes(run_id.encode()))
    assert len(guardians) == 1
    stopped = shared.run("return (await agents.stop(input)).status", run_id)
    assert stopped.value == "stopped"
    assert not processes(run_id.encode())
    assert not {pid for pid in guardians if os.path.exists(f"/proc/{pid}")}


def processes(words: bytes, *, below: "dict[int, int] | None" = None) -> dict[int, int]:
    """Processes with these words in their command line, and the parent of each; only those below some others."""
    found = {}
    for entry in os.scandir("/proc"):
        try:
            command = Path(entry.path, "cmdline").read_bytes()
            parent = int(Path(entry.path, "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if words in command and (below is None or parent in below):
            found[int(entry.name)] = parent
    return found


def test_a_grandchild_beyond_the_depth_is_refused_by_name_and_a_child_has_agents_only_when_recursive(shared):
    try_it = "try:\n    return (await agents.run(program='return 1')).status\nexcept Exception as error:\n    return str(error)"
    both = f"return [(await agents.run(program={try_it!r}, recursive=r, maxDepth=0)).value for r in (True, False)]"
    result = shared.run(both)
    deep, closed = result.value
    assert "agents.maxDepth" in deep
    assert "depth 2" in deep
    assert "agents" in closed
    assert "maxDepth" not in closed


async def test_disjoint_bounds_of_a_childs_own_project_yield_the_parents_range(tmp_path, agent_dir):
    project = tmp_path / "other"
    (project / ".pi").mkdir(parents=True)
    (project / ".pi" / "fabric.json").write_text('{"thinking": {"bounds": {"max": "low"}}}')
    from runtime.trust import TrustStore

    agent_dir.mkdir()
    TrustStore(agent_dir).trust(project)
    (agent_dir / "fabric.json").write_text(json.dumps(config()))
    from runtime.config import load_config

    result = await run(
        "a = await agents.run(program='return (await thinking.status()).bounds', thinkingBounds={'min': 'high', 'max': 'xhigh'}, cwd='other')\n"
        "b = await agents.run(program='return (await thinking.status()).bounds', thinkingBounds={'max': 'high'}, cwd='other')\n"
        "return [a.value, b.value]",
        config=load_config(tmp_path),
        cwd=tmp_path,
    )
    assert result.value == [{"min": "high", "max": "xhigh"}, {"min": "off", "max": "low"}]


async def test_what_the_parent_asks_for_is_asked_of_its_person_with_the_childs_path(tmp_path):
    asked: list[ApprovalRequest] = []

    async def approve(request: ApprovalRequest):
        asked.append(request)
        return "deny" if request.caller[-1] == "leaf" else "once"

    write = (
        "try:\n    await thinking.set(level='low')\nexcept Exception as error:\n    return str(error)\nreturn 'done'"
    )
    middle = f"mine = {write.splitlines()[1].strip()}\nreturn (await agents.run(program={write!r}, name='leaf')).value"
    result = await run(
        f"return (await agents.run(program={middle!r}, name='middle', recursive=True)).value",
        config=config(approvals={"agent": "allow", "write": "ask"}),
        approver=approve,
        cwd=tmp_path,
    )
    assert [(request.ref, request.caller) for request in asked] == [
        ("thinking.set", ("middle",)),
        ("thinking.set", ("middle", "leaf")),
    ]
    assert "denied" in result.value


async def test_a_child_may_not_do_what_its_parent_may_not(tmp_path, shared):
    write = "try:\n    await thinking.set(level='low')\nexcept Exception as error:\n    return type(error).__name__ + str(error)"
    result = await run(
        f"return (await agents.run(program={write!r})).value", config=config(), deny=["write"], cwd=tmp_path
    )
    assert result.value.startswith("ActionDenied")
    narrow = f"return (await agents.run(program={write!r}, risks={{'write': 'deny'}})).value"
    narrowed = await trio.to_thread.run_sync(shared.run, narrow)
    assert narrowed.value.startswith("ActionDenied")


def test_a_value_that_does_not_fit_the_schema_is_the_childs_failure_with_the_path(shared):
    source = """
schema = {"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "integer"}}}}
results = [await agents.run(program="return {'rows': [1, input]}", input=last, schema=schema) for last in (2, "x")]
return [[r.status, r.get("error", {}).get("kind"), r.get("error", {}).get("path")] for r in results]
"""
    assert shared.run(source).value == [["completed", None, None], ["failed", "schema", "$.rows[1]"]]


def test_tools_that_were_not_given_are_refused_in_the_child(shared):
    (shared.folder / "a.txt").write_text("text")
    use = "got = []\ntry:\n    await pi.read(path='a.txt')\n    got.append('ok')\nexcept Exception as error:\n    got.append(str(error))\ntry:\n    await pi.ls(path='.')\n    got.append('ok')\nexcept Exception as error:\n    got.append(str(error))\nreturn got"
    result = shared.run(f"return (await agents.run(program={use!r}, tools=['pi.read'])).value")
    assert result.value[0] == "ok"
    assert "not among the tools" in result.value[1]


def test_secrets_reach_a_child_only_where_configured(shared, monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "FOO_TOKEN", "LOCAL_KEY"):
        monkeypatch.setenv(name, "s3cr3t!")
    result = shared.run("return await agents.run(program='return 1')")
    record = shared.records.read(result.value["id"])
    assert "LOCAL_KEY" in record.request.environment_names
    assert not {"ANTHROPIC_API_KEY", "FOO_TOKEN", "PI_FABRIC_OWNER"} & set(record.request.environment_names)
    assert "s3cr3t!" not in (record.folder / "request.json").read_text()


async def test_enforce_blocks_every_launch(tmp_path):
    source = "said = []\nfor call in (agents.run, agents.spawn):\n    pass\ntry:\n    await agents.run(program='return 1')\nexcept Exception as error:\n    said.append(str(error))\ntry:\n    await agents.spawn(program='return 1', residency='durable')\nexcept Exception as error:\n    said.append(str(error))\nreturn said"
    result = await run(source, config=config(schema={"mode": "enforce"}), cwd=tmp_path)
    assert len(result.value) == 2
    assert all("schema.mode" in text for text in result.value)


async def test_a_program_that_ends_stops_what_it_waits_for_and_the_next_open_tells_the_session(tmp_path, agent_dir):
    session = tmp_path / "s.jsonl"
    first = await run(
        "await agents.spawn(program='import asyncio\\nawait asyncio.sleep(60)', name='left')\nreturn 1",
        session=session,
        cwd=tmp_path,
    )
    assert first.ok
    (record,) = list(records(agent_dir).all())
    assert (record.status, record.delivered) == ("stopped", False)
    async with open_host(config(), session=session, cwd=tmp_path) as host:
        told = [entry for entry in host.session.branch() if entry.type == "custom_message"]
        assert len(told) == 1
        assert "left" in str(told[0].get("content"))
    async with open_host(config(), session=session, cwd=tmp_path) as host:
        assert len([entry for entry in host.session.branch() if entry.type == "custom_message"]) == 1
    assert next(iter(records(agent_dir).all())).delivered


async def test_a_durable_child_outlives_its_session_and_is_told_at_the_next_open(tmp_path, agent_dir):
    session = tmp_path / "s.jsonl"
    program = "import asyncio\nawait asyncio.sleep(0.5)\nreturn 7"
    cfg = config(agents={"residentIdleSeconds": 0.3})
    first = await run(
        f"h = await agents.spawn(program={program!r}, residency='durable', name='long', thinkingBounds={{'max': 'low'}})\nreturn h",
        config=cfg,
        session=session,
        cwd=tmp_path,
    )
    assert first.error is None
    run_id = first.value["id"]
    with trio.fail_after(30):
        while records(agent_dir).read(run_id).result is None:
            await trio.sleep(0.05)
    assert records(agent_dir).read(run_id).result.value == 7
    async with open_host(cfg, session=session, cwd=tmp_path) as host:
        told = [entry for entry in host.session.branch() if entry.type == "custom_message"]
        assert len(told) == 1
        assert "completed" in str(told[0].get("content"))
        again = await host.run_program(
            f"return [(await agents.status('{run_id}')).status, (await agents.wait('{run_id}')).value]"
        )
        assert again.value == ["completed", 7]
    with trio.fail_after(20):
        while list((agent_dir / "fabric" / "agents" / "resident").glob("*.sock")):
            await trio.sleep(0.05)


async def test_a_forked_session_replays_its_override_in_the_childs_bounds_and_reverts_in_its_own_file_only(tmp_path):
    session = tmp_path / "s.jsonl"
    child = "s = await thinking.status()\nreturn [s.level, s.override.level if s.get('override') else None, s.bounds]"
    async with open_host(config(), session=session, cwd=tmp_path, level="low") as host:
        set_up = await host.run_program(
            "await thinking.set(level='xhigh', scope='session')\nreturn (await thinking.status()).level"
        )
        before = session.read_bytes()
        assert set_up.ok
        result = await host.run_program(
            f"return await agents.run(program={child!r}, forkSession=True, thinkingBounds={{'max': 'medium'}})"
        )
        assert result.error is None
        assert result.value["status"] == "completed", result.value
        level, override, bounds = result.value["value"]
        assert (level, bounds) == ("medium", {"min": "off", "max": "medium"})
        assert override == "medium"
        # The parent's file only grew by its own run.
        assert session.read_bytes().startswith(before)
        assert host.session.level == "xhigh" or set_up.value == host.session.level


async def test_a_malformed_inherited_variable_ends_the_child_before_its_session_starts(tmp_path):
    from child_agents.runners.program import ProgramRunner
    from child_agents.settings import AgentSettings
    from tests.child_agents.helpers import resolved, supervisor

    class Malformed(ProgramRunner):
        """The worker sets or deletes the variable, so a malformed one needs a process between."""

        def launch(self, run, folder):

            spec = super().launch(run, folder)
            return type(spec)(
                argv=["/usr/bin/env", "PI_FABRIC_THINKING_BOUNDS={max:low}", *spec.argv], stdin=spec.stdin
            )

    async with supervisor(tmp_path / "agents", settings=AgentSettings(), runners={"program": Malformed()}) as boss:
        run = boss.launch(resolved("return 1", runner="program"), detached=True)
        result = await boss.wait(run)
        assert (result.status, result.error.kind) == ("failed", "config")
        assert "PI_FABRIC_THINKING_BOUNDS" in result.error.message
        assert not (tmp_path / "agents" / "runs" / run.id / "session.jsonl").exists()


def test_a_hundred_children_at_once_all_come_back(shared):
    source = """
handles = [await agents.spawn(program="return input * 2", input=i) for i in range(100)]
return [(r.status, r.get("value")) for r in await agents.wait(handles)]
"""
    result = shared.run(source)
    assert result.error is None
    assert result.value == [["completed", 2 * i] for i in range(100)]


async def test_fan_out_is_capped_by_name(tmp_path):
    source = """
for i in range(9):
    try:
        await agents.spawn(program="return 1")
    except ActionError as error:
        return [i, str(error), type(error).__name__]
"""
    result = await run(source, config=config(agents={"maxPerExecution": 3, "warmTemplate": False}), cwd=tmp_path)
    assert result.value[0] == 3
    assert "agents.maxPerExecution" in result.value[1]
    assert result.value[2] == "ActionLimit"
    tree = await run(source, config=config(agents={"maxDescendants": 2, "warmTemplate": False}), cwd=tmp_path)
    assert tree.value[0] == 2
    assert "agents.maxDescendants" in tree.value[1]


async def test_a_child_works_inside_its_callers_folder_unless_the_setting_says_otherwise(tmp_path):
    project, outside = tmp_path / "project", tmp_path / "outside"
    project.mkdir()
    outside.mkdir()
    (project / "link").symlink_to(outside)
    source = """
said = []
for cwd in ("..", "link", input):
    try:
        said.append((await agents.run(program="return 1", cwd=cwd)).value)
    except ActionError as error:
        said.append(str(error))
return said
"""
    refused = await run(source, str(outside), cwd=project)
    assert all("tools.outsideProject" in text for text in refused.value)
    allowed = await run(source, str(outside), config=config(tools={"outsideProject": True}), cwd=project)
    assert allowed.value == [1, 1, 1]
    other = await run("await agents.run(program='return 1', session='/etc/hostname')", cwd=project)
    assert "wanted one inside" in other.error.message


def test_giving_up_on_a_run_ends_its_child(shared):
    source = """
try:
    async with asyncio.timeout(0.3):
        await agents.run(program="import asyncio\\nawait asyncio.sleep(60)", name="slow")
except TimeoutError:
    pass
return await agents.wait([run for run in await agents.list() if run.name == "slow"])
"""
    result = shared.run(source)
    assert result.error is None
    (ended,) = result.value
    assert (ended["status"], ended["error"]["kind"]) == ("stopped", "cancelled")


async def test_the_living_owner_of_a_session_is_told_once_when_nobody_waited(tmp_path, agent_dir):
    def told(host):
        return [str(entry.get("content")) for entry in host.session.branch() if entry.type == "custom_message"]

    cfg = config(agents={"residentIdleSeconds": 0.3})
    source = """
program = "import asyncio\\nawait asyncio.sleep(input)\\nreturn 'found it'"
await agents.spawn(program=program, input=0.8, name="left")
await agents.spawn(program=program, input=0.8, name="lasting", residency="durable")
await agents.wait(await agents.spawn(program=program, input=0.0, name="seen"))
"""
    async with open_host(cfg, session=tmp_path / "s.jsonl", cwd=tmp_path) as host:
        result = await host.run_program(source)
        assert result.error is None
        with trio.fail_after(20):
            while len(told(host)) < 2:
                await trio.sleep(0.02)
        assert sorted(text.split(" (")[0] for text in told(host)) == ["Agent lasting", "Agent left"]
        assert all("completed: found it" in text for text in told(host))
    async with open_host(cfg, session=tmp_path / "s.jsonl", cwd=tmp_path) as host:
        assert len(told(host)) == 2


async def test_giving_up_a_wait_for_a_durable_run_is_no_wait_and_a_killed_resident_host_is_told_at_once(
    tmp_path, agent_dir
):
    import signal

    def told(host):
        return [str(entry.get("content")) for entry in host.session.branch() if entry.type == "custom_message"]

    cfg = config(agents={"residentIdleSeconds": 0.3})
    source = """
program = "import asyncio\\nawait asyncio.sleep(input)\\nreturn 'found it'"
short = await agents.spawn(program=program, input=0.6, name="short", residency="durable")
long = await agents.spawn(program=program, input=60, name="long", residency="durable")
return [(await agents.wait(short, timeoutMs=50)).status, long.id]
"""
    async with open_host(cfg, session=tmp_path / "s.jsonl", cwd=tmp_path) as host:
        result = await host.run_program(source)
        assert result.error is None
        assert result.value[0] in ("queued", "running")
        with trio.fail_after(20):
            while len(told(host)) < 1:
                await trio.sleep(0.02)
            assert "Agent short" in told(host)[0]
            os.kill(host.agents.resident.resident_pid, signal.SIGKILL)
            while len(told(host)) < 2:
                await trio.sleep(0.02)
        assert "Agent long" in told(host)[1]
        assert "indeterminate" in told(host)[1]
        waited = await host.run_program("return (await agents.wait(input)).status", result.value[1])
        assert waited.value == "indeterminate"
    async with open_host(cfg, session=tmp_path / "s.jsonl", cwd=tmp_path) as host:
        assert len(told(host)) == 2


async def test_where_nobody_can_be_asked_children_at_every_depth_say_so_and_what_would_allow_it(tmp_path):
    write = "try:\n    await thinking.set(level='low')\nexcept Exception as error:\n    return str(error)"
    middle = f"return (await agents.run(program={write!r}, name='leaf')).value"
    source = f"""
nested = await agents.run(program={middle!r}, recursive=True)
lasting = await agents.run(program={write!r}, residency="durable")
return [nested.value, lasting.value, [run.status for run in await agents.list()]]
"""
    cfg = config(approvals={"agent": "allow", "write": "ask"}, agents={"residentIdleSeconds": 0.3})
    result = await run(source, config=cfg, cwd=tmp_path)
    assert result.error is None
    *said, statuses = result.value
    for text in said:
        assert "approvals.write = ask" in text
        assert "nobody can be asked here" in text
        assert "--allow write" in text
    # Without a session the durable run is this host's all the same.
    assert statuses == ["completed", "completed"]


async def test_what_a_child_left_running_belongs_to_the_session_at_the_root(tmp_path, agent_dir):
    def told(host):
        return [str(entry.get("content")) for entry in host.session.branch() if entry.type == "custom_message"]

    cfg = config(agents={"residentIdleSeconds": 0.3})
    program = "await asyncio.sleep(0.5)\nreturn 'found it'"
    middle = f"return (await agents.spawn(program={program!r}, residency='durable', name='lasting')).id"
    async with open_host(cfg, session=tmp_path / "s.jsonl", cwd=tmp_path) as host:
        result = await host.run_program(f"return (await agents.run(program={middle!r}, recursive=True)).value")
        assert result.error is None
        with trio.fail_after(20):
            while not told(host):
                await trio.sleep(0.02)
        assert "Agent lasting" in told(host)[0]
        waited = await host.run_program("return (await agents.wait(input)).value", result.value)
        assert waited.value == "found it"
    async with open_host(cfg, session=tmp_path / "s.jsonl", cwd=tmp_path) as host:
        assert len(told(host)) == 1


async def test_a_resumed_session_can_stop_and_read_its_durable_child(tmp_path, agent_dir):
    cfg = config(agents={"residentIdleSeconds": 0.3, "stopGraceSeconds": 1})
    program = "import asyncio\nprint('up')\nawait asyncio.sleep(60)"
    first = await run(
        f"return (await agents.spawn(program={program!r}, residency='durable')).id",
        config=cfg,
        session=tmp_path / "s.jsonl",
        cwd=tmp_path,
    )
    source = """
while "up" not in (await agents.log(input)).logs:
    await asyncio.sleep(0.05)
running = (await agents.status(input)).status
return [running, (await agents.stop(input)).status, [e.type for e in (await agents.log(input)).events][-1]]
"""
    second = await run(source, first.value, config=cfg, session=tmp_path / "s.jsonl", cwd=tmp_path)
    assert second.error is None
    assert second.value == ["running", "stopped", "finished"]
    foreign = await run(
        "return await agents.status(input)", first.value, config=cfg, session=tmp_path / "other.jsonl", cwd=tmp_path
    )
    assert "no agent run has the id" in foreign.error.message
