"""The one path: each step before the next, nothing twice, every failure in plain words."""

import msgspec
import pytest
import trio

from guest_api.errors import ActionDenied
from host_bridge.actions import action
from host_bridge.admission import Admission, RunContext
from host_bridge.approvals import ApprovalPolicy, Rule
from host_bridge.argument_errors import Problem
from host_bridge.descriptor import Action, Descriptor, Effect
from host_bridge.errors import HandlerError
from tests.host_bridge.support import RUN, Counter, ScriptedApprover, admission_of, admit, registry_of, until

ALLOW_ALL = ApprovalPolicy(rules=(Rule("*", "allow"),))


async def test_immediate_actions_are_settled_without_waiting():
    counter = Counter()
    call = Admission(registry_of(counter.immediate(risk="read"))).begin(7, "files.write", {"path": "p"}, RUN)
    assert (call.settled, call.ok, call.value) == (True, True, "wrote p")
    assert counter.ran == ["p"]


async def test_waiting_actions_are_not_started_inline():
    counter = Counter()
    admission = Admission(registry_of(counter.waiting(risk="read")))
    call = admission.begin(7, "net.get", {"url": "p"}, RUN)
    assert not call.settled
    assert counter.ran == []
    await admission.finish(call, RUN)
    assert call.value == "got p"
    assert counter.ran == ["p"]


async def test_a_call_by_ref_is_the_call_of_that_ref():
    counter = Counter()
    admission = Admission(registry_of(counter.immediate(risk="read")))
    call = await admit(admission, "tools.call", {"ref": "files.write", "args": {"path": "p"}})
    assert (call.ok, call.ref, call.value) == (True, "files.write", "wrote p")
    assert (await admit(admission, "tools.call", {"ref": "files.write"})).ok


async def test_a_call_by_ref_is_judged_as_itself():
    call = await admit(admission_of(registry_of(Counter().immediate()), None), "tools.call", {"ref": "files.write"})
    assert (call.kind, call.ref) == ("denied", "files.write")
    blocked = admission_of(registry_of(Counter().immediate(risk="read")), None, schema_mode="enforce")
    assert (await admit(blocked, "tools.call", {"ref": "files.write"})).decision == "blocked"


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"ref": 3},
        {"ref": None},
        {"ref": "files.write", "args": []},
        {"ref": "files.write", "arg": {}},
        {"ref": "tools.call"},
    ],
)
async def test_a_malformed_call_by_ref_is_rejected(arguments):
    call = await admit(Admission(registry_of(Counter().immediate())), "tools.call", arguments)
    assert call.kind == "rejected"
    assert call.message.startswith("tools.call: ")


@pytest.mark.parametrize("arguments", [None, [], "x", 3, b"x", {"a": float("nan")}, {"a": b"raw"}, {1: 2}])
async def test_arguments_that_are_no_json_object_are_rejected(arguments):
    counter = Counter()
    call = Admission(registry_of(counter.immediate(risk="read"))).begin(1, "files.write", arguments, RUN)
    assert call.settled
    assert call.kind == "rejected"
    assert counter.ran == []


async def test_unknown_refs_are_rejected_with_the_closest():
    call = await admit(Admission(registry_of(Counter().immediate())), "files.wriet")
    assert call.kind == "rejected"
    assert "files.write" in call.message


async def test_wrong_arguments_are_told_before_anybody_is_asked():
    approver, counter = ScriptedApprover("once"), Counter()
    call = await admit(admission_of(registry_of(counter.immediate()), approver), "files.write", {"paht": "x"})
    assert call.kind == "rejected"
    assert "did you mean 'path'" in call.message
    assert approver.requests == []


class Validator:
    def problems(self, schema, arguments):
        assert schema == {"type": "object"}
        return [] if "ok" in arguments else [Problem("ok", "nothing", "true")]


async def test_schemas_are_checked_by_the_validator_before_anybody_is_asked():
    seen = []
    tool = Action(
        descriptor=Descriptor(ref="mcp.s.t", risk="write", input_schema={"type": "object"}),
        handler=lambda arguments, context: seen.append(arguments),
        waits=False,
    )
    approver = ScriptedApprover("once")
    admission = admission_of(registry_of(tool), approver, validator=Validator())
    refused = await admit(admission, "mcp.s.t", {})
    assert refused.message == "mcp.s.t: ok: got nothing, wanted true"
    assert approver.requests == []
    assert (await admit(admission, "mcp.s.t", {"ok": 1})).ok
    assert seen == [{"ok": 1}]


class Odd(Exception):
    pass


def raising(error):
    async def fail():
        raise error

    return action(fail, ref="x.fail", risk="read")


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (HandlerError("no such page", "host", {"page": 3}), "host", "no such page"),
        (HandlerError("bad page", "rejected"), "rejected", "bad page"),
        (HandlerError("full", "limit"), "limit", "full"),
        (ActionDenied("not yours"), "denied", "not yours"),
        (Odd("gone"), "host", "x.fail failed: Odd: gone"),
        (ExceptionGroup("g", [ExceptionGroup("h", [HandlerError("inner", "limit")])]), "limit", "inner"),
        (ValueError("lone \ud800"), "host", "x.fail failed: ValueError: lone ?"),
    ],
)
async def test_failures_are_mapped_once(error, kind, message):
    call = await admit(Admission(registry_of(raising(error))), "x.fail")
    assert (call.ok, call.kind, call.message) == (False, kind, message)
    msgspec.msgpack.encode(call.message)


async def test_long_failures_are_shortened():
    call = await admit(Admission(registry_of(raising(Odd("x" * 100_000)))), "x.fail")
    assert len(call.message) == 4000


@pytest.mark.parametrize("value", [{"a": {1, 2}}, b"x", float("inf"), object(), {1: 2}, "\ud800"])
async def test_results_that_cannot_cross_are_refused_with_their_path(value):
    call = await admit(Admission(registry_of(action(lambda: value, ref="x.y", risk="read"))), "x.y")
    assert (call.ok, call.kind) == (False, "host")
    assert "$" in call.message


async def test_an_actions_own_timeout_is_a_limit(autojump_clock):
    async def forever():
        await trio.sleep_forever()

    call = await admit(Admission(registry_of(action(forever, ref="x.y", risk="read", timeout_seconds=3))), "x.y")
    assert call.kind == "limit"
    assert "3 s" in call.message
    assert trio.current_time() >= 3


async def test_serial_effects_never_overlap(autojump_clock):
    running, most = 0, 0

    async def change(n: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await trio.sleep(1)
        running -= 1
        return n

    effect = Effect(kind="control-plane", resources=("session.level",), ordering="serial")
    admission = Admission(registry_of(action(change, ref="x.change", risk="read", effect=effect)))
    async with trio.open_nursery() as nursery:
        for n in range(3):
            nursery.start_soon(admit, admission, "x.change", {"n": n})
    assert most == 1


async def test_a_lazy_source_is_asked_and_its_action_judged():
    registry = registry_of()
    counter = Counter()
    made = counter.waiting("mcp.late.get", "network")

    async def resolver(ref):
        return made if ref == "mcp.late.get" else None

    registry.replace_source("mcp", [], roots=["mcp"], resolver=resolver)
    assert (await admit(Admission(registry), "mcp.late.get")).kind == "denied"
    assert (await admit(Admission(registry, policy=ALLOW_ALL), "mcp.late.get")).ok
    assert (await admit(Admission(registry, policy=ALLOW_ALL), "mcp.late.nothing")).kind == "rejected"
    assert len(counter.ran) == 1


async def test_a_source_that_cannot_start_fails_the_call_only():
    async def resolver(ref):
        raise HandlerError("server `late` did not start: no such command", "host")

    registry = registry_of()
    registry.replace_source("mcp", [], roots=["mcp"], resolver=resolver)
    call = await admit(Admission(registry), "mcp.late.get")
    assert (call.kind, call.message) == ("host", "server `late` did not start: no such command")


async def test_headless_is_denied_at_once_with_what_would_allow_it():
    counter = Counter()
    call = Admission(registry_of(counter.waiting())).begin(1, "net.get", {}, RUN)
    assert call.settled
    assert call.kind == "denied"
    for part in (
        "net.get",
        "network",
        "--allow network",
        '{"ref": "net.get", "action": "allow"}',
        "approvals.network = ask",
    ):
        assert part in call.message
    assert call.details["rule"] == {"ref": "net.get", "action": "allow"}


async def test_approved_means_executed_exactly_once():
    counter, approver = Counter(), ScriptedApprover("once", "once", "deny")
    admission = admission_of(registry_of(counter.waiting()), approver)
    assert (await admit(admission, "net.get", {"url": "1"})).approver == "person"
    assert (await admit(admission, "net.get", {"url": "2"})).decision == "approved"
    denied = await admit(admission, "net.get", {"url": "3"})
    assert (denied.kind, denied.decision) == ("denied", "denied")
    assert counter.ran == ["1", "2"]


async def test_a_session_answer_is_asked_for_once_and_is_told():
    """AP-03: a loop of twenty writes asks one question."""
    counter, approver = Counter(), ScriptedApprover("session")
    admission, told = admission_of(registry_of(counter.immediate()), approver), []
    admission.grants.added = lambda ref, risk: told.append((ref, risk))
    for n in range(20):
        assert (await admit(admission, "files.write", {"path": str(n)})).ok
    assert len(counter.ran) == 20
    assert len(approver.requests) == 1
    assert told == [("files.write", "write")]


async def test_an_answer_for_the_run_ends_the_questions_of_its_loop_and_of_no_other_run():
    """AP-03: a loop of twenty writes, then another program of the same session."""
    counter, approver = Counter(), ScriptedApprover("once", "run", "deny", "once")
    admission = admission_of(registry_of(counter.immediate(), counter.waiting()), approver)
    run, later = RunContext(run_id="run-a"), RunContext(run_id="run-b")
    calls = [await admit(admission, "files.write", {"path": str(n)}, run) for n in range(20)]
    assert all(call.ok for call in calls)
    assert [(call.decision, call.approver) for call in calls[:3]] == [
        ("approved", "person"), ("approved", "person"), ("allowed", "allowed for this run"),
    ]  # fmt: skip
    assert [request.earlier for request in approver.requests] == [0, 1]
    assert not (await admit(admission, "net.get", {}, run)).ok  # another ref of the same run
    assert (await admit(admission, "files.write", {"path": "b"}, later)).ok
    assert (approver.requests[-1].run_id, approver.requests[-1].earlier) == ("run-b", 0)
    assert len(approver.requests) == 4


async def test_an_answer_for_the_run_covers_calls_that_were_already_waiting():
    counter, approver = Counter(), ScriptedApprover("run", seconds=0.05)
    admission, run = admission_of(registry_of(counter.waiting()), approver), RunContext(run_id="run-a")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(admit, admission, "net.get", {"url": "1"}, run)
        await until(lambda: approver.open == 1)
        nursery.start_soon(admit, admission, "net.get", {"url": "2"}, run)
    assert sorted(counter.ran) == ["1", "2"]
    assert len(approver.requests) == 1


async def test_a_deny_wins_over_an_answer_for_the_run():
    counter, approver = Counter(), ScriptedApprover("run")
    admission, run = admission_of(registry_of(counter.immediate()), approver), RunContext(run_id="run-a")
    assert (await admit(admission, "files.write", {}, run)).ok
    denying = admission.with_policy(ApprovalPolicy(run_deny=frozenset({"write"})))
    assert (await admit(denying, "files.write", {}, run)).kind == "denied"


async def test_the_run_sees_one_runs_flags_only():
    counter = Counter()
    admission = Admission(registry_of(counter.immediate()))
    allowed = admission.with_policy(ApprovalPolicy(run_allow=frozenset({"write"})))
    assert (await admit(allowed, "files.write")).approver == "--allow write"
    assert not (await admit(admission, "files.write")).ok


class Judge:
    def __init__(self, word):
        self.word, self.asked = word, 0

    async def classify(self, request):
        self.asked += 1
        if isinstance(self.word, Exception):
            raise self.word
        if self.word == "never":
            await trio.sleep_forever()
        return self.word


AUTO = ApprovalPolicy(modes={"write": "auto"})


async def test_auto_lets_the_classifier_allow():
    judge, approver = Judge("allow"), ScriptedApprover()
    call = await admit(
        admission_of(registry_of(Counter().immediate()), approver, policy=AUTO, classifier=judge), "files.write"
    )
    assert (call.ok, call.approver) == (True, "classifier")
    assert approver.requests == []


@pytest.mark.parametrize("word", ["ask", "deny", "ALLOW", None, RuntimeError("down"), "never"])
async def test_auto_asks_the_person_on_doubt_or_failure(word, autojump_clock):
    judge, approver, counter = Judge(word), ScriptedApprover("deny"), Counter()
    admission = admission_of(registry_of(counter.immediate()), approver, policy=AUTO, classifier=judge)
    assert (await admit(admission, "files.write")).approver == "person"
    assert len(approver.requests) == 1
    assert counter.ran == []
    headless = admission_of(registry_of(counter.immediate()), None, policy=AUTO, classifier=judge)
    assert (await admit(headless, "files.write")).kind == "denied"


async def test_auto_without_a_classifier_is_ask():
    approver = ScriptedApprover("once")
    assert (await admit(admission_of(registry_of(Counter().immediate()), approver, policy=AUTO), "files.write")).ok
    assert len(approver.requests) == 1
    assert not (await admit(admission_of(registry_of(Counter().immediate()), None, policy=AUTO), "files.write")).ok


async def test_the_classifier_never_overrides_deny():
    judge = Judge("allow")
    policy = ApprovalPolicy(modes={"write": "auto"}, rules=(Rule("files.*", "deny"),))
    admission = admission_of(registry_of(Counter().immediate()), None, policy=policy, classifier=judge)
    assert (await admit(admission, "files.write")).kind == "denied"
    assert judge.asked == 0


async def test_the_question_shows_everything_and_nothing_hostile():
    approver = ScriptedApprover("deny")
    run = RunContext(run_id="r", caller=("reviewer", "evil\x1b[2J"))
    await admit(
        admission_of(registry_of(Counter().immediate()), approver),
        "files.write",
        {"path": "a\u202eb", "text": "\x9b" * 2},
        run,
    )
    (request,) = approver.requests
    assert (request.ref, request.risk, request.count) == ("files.write", "write", 1)
    assert request.arguments == {"path": "a\\u202eb", "text": "\\u009b\\u009b"}
    assert request.arguments_text == '{"path":"a\\u202eb","text":"\\u009b\\u009b"}'
    assert request.caller == ("reviewer", "evil\\u001b[2J")
    assert request.because == "approvals.write = ask"


def _raiser(error):
    def raises():
        raise error

    return raises


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize(
    "error", [SystemExit(3), BaseException("base"), BaseExceptionGroup("several", [SystemExit(1), SystemExit(2)])]
)
async def test_a_handler_that_exits_fails_its_call_and_not_the_host(error, waits):
    made = action(_raiser(error), ref="tool.quit", risk="read", in_thread=waits)
    call = await admit(admission_of(registry_of(made)), "tool.quit")
    assert (call.settled, call.ok, call.kind) == (True, False, "host")
    assert call.message.startswith(f"tool.quit failed: {type(error).__name__}: ")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), BaseExceptionGroup("several", [KeyboardInterrupt()])])
async def test_an_interrupt_in_a_handler_is_the_hosts(error):
    made = action(_raiser(error), ref="tool.quit", risk="read")
    with pytest.raises(type(error)):
        await admit(admission_of(registry_of(made)), "tool.quit")
