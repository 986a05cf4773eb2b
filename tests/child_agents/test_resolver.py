"""One resolver for every launch path: the same answer whoever asks, nothing wider than the caller, each value's source."""

import itertools
import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from child_agents.caller import CallerContext
from child_agents.errors import LaunchRefusedError, RequestError
from child_agents.narrowing import RANK
from child_agents.request import read_request
from child_agents.resolver import ResolvedRun, enforce, resolve
from child_agents.settings import AgentSettings, Alias
from guest_api.bounds import Bounds, clamp
from guest_api.levels import LEVELS
from host_bridge.descriptor import RISKS

DATA = Path(__file__).resolve().parents[1] / "data" / "thinking"
RUNNERS = ("program", "llm", "pi")
SETTINGS = AgentSettings(
    thinking="high",
    aliases={
        "deep": Alias(model="local/r1", thinking="xhigh"),
        "quick": Alias(thinking="minimal"),
        "big": Alias(model="local/big"),
    },
    environment=("LOCAL_KEY",),
)
SECRETS = {
    "ANTHROPIC_API_KEY": "a", "STRIPE_SECRET": "b", "AWS_SECRET_ACCESS_KEY": "c", "FOO_TOKEN": "d",
    "PI_FABRIC_THINKING_BOUNDS": "{}", "PI_FABRIC_CONTROL_FD": "7", "PI_FABRIC_OWNER": "x", "PI_FABRIC_DEPTH": "9",
}  # fmt: skip
KEPT = {
    "PATH": "/bin", "HOME": "/h", "LANG": "C.UTF-8", "LC_ALL": "C", "https_proxy": "p", "SSL_CERT_FILE": "f", "LOCAL_KEY": "k",
}  # fmt: skip


def caller(**more) -> CallerContext:
    return CallerContext(
        **{
            "root_id": "root",
            "environment": SECRETS | KEPT,
            "bounds": Bounds(min="low", max="high"),
            "cwd": Path("/work"),
            **more,
        }
    )


def decide(who=None, settings=SETTINGS, **request) -> ResolvedRun:
    wanted = {"runner": "program", "program": "return 1", "task": "t", **request}
    return resolve(read_request(wanted), who or caller(), settings, run_id="r0001", runners=RUNNERS)


# Launch paths: what distinguishes them, and nothing else may.
NESTED = caller(depth=1, path=("first",), run_id="r-first", max_depth=2, max_turns=100, max_cost=10.0)
PATHS = {
    "run": (caller(), {}),
    "spawn": (caller(), {}),
    "durable spawn": (caller(), {"residency": "durable"}),
    "nested spawn": (NESTED, {}),
    "durable nested spawn": (NESTED, {"residency": "durable"}),
}
# Request, and what every path and runner must answer: level, requestedThinking, bounds, source of the level.
CASES = [
    ({}, "high", None, ("low", "high"), "agents.thinking"),
    ({"thinking": "medium"}, "medium", None, ("low", "high"), "request"),
    ({"thinking": "off"}, "low", "off", ("low", "high"), "request, clamped into thinkingBounds"),
    ({"thinking": "max"}, "high", "max", ("low", "high"), "request, clamped into thinkingBounds"),
    ({"model": "deep"}, "high", "xhigh", ("low", "high"), "agents.aliases.deep, clamped into thinkingBounds"),
    ({"model": "deep", "thinking": "low"}, "low", None, ("low", "high"), "request"),
    ({"alias": "quick"}, "low", "minimal", ("low", "high"), "agents.aliases.quick, clamped into thinkingBounds"),
    ({"alias": "big"}, "high", None, ("low", "high"), "agents.thinking"),
    ({"thinkingBounds": {"max": "medium"}}, "medium", "high", ("low", "medium"), "agents.thinking, clamped into thinkingBounds"),
    ({"thinkingBounds": {"min": "medium"}, "thinking": "low"}, "medium", "low", ("medium", "high"), "request, clamped into thinkingBounds"),
    ({"thinking_bounds": {}, "thinking": "low"}, "low", None, ("low", "high"), "request"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "runner", "case"), list(itertools.product(PATHS, RUNNERS, range(len(CASES)))))
def test_every_launch_path_and_runner_agrees(path, runner, case):
    request, level, before, bounds, source = CASES[case]
    who, more = PATHS[path]
    run = decide(who, runner=runner, **request, **more)
    assert (run.thinking, run.requested_thinking) == (level, before)
    assert (run.thinking_bounds.min, run.thinking_bounds.max) == bounds
    assert run.sources["thinking"] == source
    assert run.risks == dict(who.risks)
    assert run.depth == who.depth + 1
    assert run.max_depth == 2
    assert (run.max_cost, run.max_turns, run.timeout_ms) == (10.0, 100, 3_600_000)
    common = {
        "PI_FABRIC_DEPTH": str(run.depth),
        "PI_FABRIC_AGENT_NAME": run.name,
        "PI_FABRIC_PARENT_RUN": who.run_id or "root",
    }
    assert run.environment == KEPT | common
    expected = {
        "runner",
        "thinking",
        "thinkingBounds",
        "model",
        "tools",
        "maxDepth",
        "maxTurns",
        "maxCost",
        "timeoutMs",
    }
    assert set(run.sources) == expected | {f"risks.{risk}" for risk in RISKS}
    # What crosses to the worker or the resident host is the same value, and enforcing it again changes nothing.
    assert enforce(msgspec.convert(msgspec.to_builtins(run), ResolvedRun)) == run


def test_without_bounds_nothing_is_clamped_and_nothing_is_exported():
    run = decide(caller(bounds=Bounds()), settings=AgentSettings(), thinking="max")
    assert (run.thinking, run.requested_thinking, run.thinking_bounds) == ("max", None, None)
    assert "thinkingBounds" not in msgspec.to_builtins(run)
    assert decide(caller(bounds=Bounds()), settings=AgentSettings()).thinking is None


def test_every_recorded_narrowing_is_accepted_or_refused_before_launch():
    rows = json.loads((DATA / "thinking-narrow.json").read_text())["rows"]
    assert len(rows) == 2752
    for row in rows:
        who = caller(bounds=Bounds(**row["caller"]))
        if row["range"] is None:
            with pytest.raises((LaunchRefusedError, RequestError)):
                decide(who, thinkingBounds=row["request"])
            continue
        run = decide(who, thinkingBounds=row["request"])
        bounds = run.thinking_bounds or Bounds()
        assert [bounds.lowest, bounds.highest] == row["range"], row


def test_a_wider_request_names_both_sides_and_the_setting():
    with pytest.raises(LaunchRefusedError, match=r"low\.\.max .*low\.\.high.*thinking\.bounds") as caught:
        decide(thinkingBounds={"min": "low", "max": "max"})
    assert caught.value.requested == {"min": "low", "max": "max"}
    assert caught.value.effective == {"min": "low", "max": "high"}


@pytest.mark.parametrize(
    ("request_fields", "who", "words"),
    [
        ({"risks": {"write": "allow"}}, {"risks": {"write": "deny"}}, ["'allow'", "'deny'", "approvals.write", "agents.delegation"]),
        ({"risks": {"network": "allow"}}, {}, ["'allow'", "'ask'", "approvals.network"]),
        ({"tools": ["pi.bash"]}, {"tools": ("pi.read", "mcp.git.*")}, ["pi.bash", "pi.read, mcp.git.*"]),
        ({"tools": ["mcp.*"]}, {"tools": ("mcp.git.*",)}, ["mcp.*", "mcp.git.*"]),
        ({}, {"depth": 2}, ["depth 3", "2", "agents.maxDepth"]),
        ({"maxDepth": 5}, {}, ["5", "2", "agents.maxDepth"]),
        ({}, {"depth": 1, "max_depth": 1, "path": ("a",)}, ["depth 2", "1", "agents.maxDepth"]),
        ({"maxCost": 11}, {}, ["11", "10", "agents.maxCost"]),
        ({"maxCost": 3}, {"max_cost": 2.0}, ["3", "2", "agents.maxCost"]),
        ({"maxTurns": 101}, {}, ["101", "100", "agents.maxTurns"]),
        ({}, {"schema_mode": "enforce"}, ["schema.mode"]),
        ({}, {"may_launch": False, "path": ("a", "b")}, ["a/b", "recursive"]),
    ],
)  # fmt: skip
def test_more_than_the_caller_has_is_refused_naming_both_sides(request_fields, who, words):
    with pytest.raises(LaunchRefusedError) as caught:
        decide(caller(**who), **request_fields)
    assert [word for word in words if word not in str(caught.value)] == []


def test_a_persons_delegation_grants_what_the_caller_itself_may_not_and_only_where_it_is_asked_for():
    settings = AgentSettings(delegation={"write": "allow"})
    who = caller(risks={"read": "allow", "write": "deny", "agent": "allow"})
    assert decide(who, settings).risks["write"] == "deny"
    granted = decide(who, settings, risks={"write": "allow"})
    assert (granted.risks["write"], granted.sources["risks.write"]) == ("allow", "agents.delegation")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"thinking": "hgih"}, "thinking: got \"hgih\", wanted one of off, minimal, low, medium, high, xhigh, max; did you mean 'high'?"),
        ({"thinkingBounds": {"max": None}}, "thinkingBounds.max: got null"),
        ({"thinkingBounds": {"min": "high", "max": "low"}}, "thinkingBounds.min"),
        ({"thinkingBounds": "low"}, 'thinkingBounds: got "low", wanted an object'),
        ({"runner": "progam"}, "runner: got 'progam', wanted one of llm, pi, program; did you mean 'program'?"),
        ({"alias": "depe"}, "alias: got 'depe', wanted one of big, deep, quick; did you mean 'deep'?"),
        ({"timeoutMs": -1}, "timeoutMs: got -1, wanted a whole number from 1"),
        ({"timeoutMs": True}, "timeoutMs: got true"),
        ({"residency": "forever"}, 'residency: got "forever"'),
        ({"tools": ["a*b"]}, "tools[0]"),
        ({"timeout": 5}, "timeout: got an unknown field"),
        ({"name": "a/b"}, 'name: got "a/b"'),
        ({"program": "x", "programFile": "y"}, "program and programFile"),
        ({"schema": 5}, "schema: got 5"),
        ({"recursive": "yes"}, 'recursive: got "yes", wanted true or false'),
        ({"thinking_bounds": {}, "thinkingBounds": {}}, "thinkingBounds: given twice"),
    ],
)  # fmt: skip
def test_a_wrong_request_is_refused_in_plain_words(fields, message):
    with pytest.raises(RequestError) as caught:
        decide(**fields)
    assert message in str(caught.value)


def test_a_program_runner_needs_a_program_and_every_other_a_task():
    with pytest.raises(RequestError, match="program: got nothing"):
        resolve(read_request({"task": "t"}), caller(), SETTINGS, run_id="r", runners=RUNNERS)
    with pytest.raises(RequestError, match="task: got nothing"):
        resolve(read_request({"runner": "llm"}), caller(), SETTINGS, run_id="r", runners=RUNNERS)


def test_a_forged_request_is_cut_back_to_its_own_bounds_by_whoever_starts_it():
    honest = decide(thinkingBounds={"max": "medium"})
    forged = msgspec.structs.replace(
        honest,
        thinking="max",
        environment=honest.environment | {"PI_FABRIC_THINKING_BOUNDS": "{}", "PI_FABRIC_DEPTH": "0"},
    )
    kept = enforce(forged)
    assert (kept.thinking, kept.requested_thinking) == ("medium", "high")
    assert "PI_FABRIC_THINKING_BOUNDS" not in kept.environment
    assert kept.environment["PI_FABRIC_DEPTH"] == "1"
    with pytest.raises(LaunchRefusedError, match=r"agents\.maxDepth"):
        enforce(msgspec.structs.replace(honest, depth=3))


levels = st.sampled_from(LEVELS)
bounds = st.builds(
    lambda a, b, low, high: {k: v for k, v in (("min", min(a, b, key=LEVELS.index)), ("max", max(a, b, key=LEVELS.index))) if (low if k == "min" else high)},
    levels, levels, st.booleans(), st.booleans(),
)  # fmt: skip
modes = st.dictionaries(st.sampled_from(RISKS), st.sampled_from(("deny", "ask", "allow")))


@given(own=bounds, first=bounds, second=bounds, have=modes, ask=modes, level=levels)
def test_a_grandchild_is_never_wider_than_the_root(own, first, second, have, ask, level):
    settings = AgentSettings(thinking=level)
    who = caller(bounds=Bounds(**own), risks=have)
    try:
        child = decide(who, settings, thinkingBounds=first, risks=ask, recursive=True)
    except LaunchRefusedError:
        return
    inner = caller(
        bounds=child.thinking_bounds or Bounds(),
        risks=child.risks,
        depth=1,
        path=child.path,
        run_id=child.id,
        max_depth=child.max_depth,
    )
    try:
        grandchild = decide(inner, settings, thinkingBounds=second)
    except LaunchRefusedError:
        return
    for run in (child, grandchild):
        assert who.bounds.covers(run.thinking_bounds or Bounds())
        assert run.thinking == clamp(level, run.thinking_bounds or Bounds())
        assert all(RANK[run.risks[risk]] <= RANK[have.get(risk, "deny")] for risk in RISKS)
    assert (child.thinking_bounds or Bounds()).covers(grandchild.thinking_bounds or Bounds())
