"""One program from start to outcome: deadline, death, cancelled calls, and the clock that waits for people."""

import signal

import pytest
import trio

from guest_api import wire
from guest_api.values import ValueRefusedError
from host_bridge.actions import action
from host_bridge.admission import Admission
from host_bridge.approval_prompt import ApprovalDesk
from host_bridge.guest_process import SilentObserver, run_program
from host_bridge.limits import RunLimits
from host_bridge.run_outcome import GuestExit, death_error, failure_error, source_error
from host_bridge.testing import scripted_guest
from tests.host_bridge.support import Counter, ScriptedApprover, admission_of, outcome_of, registry_of


@action(ref="t.echo", risk="read")
async def echo(i: int) -> int:
    await trio.sleep((i * 7 % 10) / 100)
    if i == 41:
        raise ValueError("no 41 here")
    return i


@action(ref="t.slow", risk="read")
async def slow() -> str:
    await trio.sleep(1000)
    return "late"


@action(ref="t.now", risk="read")
def now(x: int = 0) -> int:
    return x


REGISTRY = registry_of(echo, slow, now)


async def test_a_program_is_started_with_its_limits_and_returns_its_value():
    async def script(peer):
        start = await peer.started()
        assert (start.source, start.input, start.namespaces) == ("return 1", None, ["t"])
        assert start.output_limit_bytes == RunLimits().output_bytes
        reply = await peer.call(1, "t.now", {"x": 5})
        await peer.send(wire.Log("one"), wire.Log("two"), wire.Done({"got": reply.value}))

    outcome = await outcome_of(script, REGISTRY)
    assert (outcome.ok, outcome.value, outcome.logs, outcome.error) == (True, {"got": 5}, ["one", "two"], None)
    assert [(call.ref, call.ok, call.decision) for call in outcome.calls] == [("t.now", True, "allowed")]


async def test_a_hundred_calls_at_once_each_get_their_own_answer(autojump_clock):
    """SB-19: each result belongs to its own call; the failing one alone fails."""
    answers = {}

    async def script(peer):
        await peer.started()
        await peer.send(*[wire.Call(i, "t.echo", {"i": i}) for i in range(1, 101)])
        for _ in range(100):
            frame = await peer.receive()
            answers[frame.id] = frame.value if isinstance(frame, wire.Reply) else frame.kind
        await peer.send(wire.Done(None))

    outcome = await outcome_of(script, REGISTRY)
    assert answers == {i: "host" if i == 41 else i for i in range(1, 101)}
    assert [call.id for call in outcome.calls] == list(range(1, 101))
    assert [call.id for call in outcome.calls if not call.ok] == [41]


async def test_calls_in_flight_are_capped_and_the_surplus_is_told(autojump_clock):
    async def script(peer):
        await peer.started()
        await peer.send(*[wire.Call(i, "t.slow", {}) for i in range(1, 5)])
        frame = await peer.receive()
        assert (frame.id, frame.kind) == (4, "limit")
        assert "executor.maxCallsInFlight" in frame.message
        await peer.send(wire.Done(None))

    outcome = await outcome_of(script, REGISTRY, limits=RunLimits(calls_in_flight=3))
    assert outcome.ok
    assert [call.error.kind for call in outcome.calls] == ["cancelled", "cancelled", "cancelled", "limit"]
    assert outcome.calls[3].decision == "limited"


async def test_a_call_still_running_at_return_is_cancelled_and_listed(autojump_clock):
    """SB-20: an un-awaited call is cancelled on the host; the run does not hang."""

    async def script(peer):
        await peer.started()
        await peer.send(wire.Call(1, "t.slow", {}), wire.Timer(2, 5000.0), wire.Done("done"))

    outcome = await outcome_of(script, REGISTRY)
    assert (outcome.ok, outcome.value) == (True, "done")
    (call,) = outcome.calls
    assert (call.ok, call.error.kind) == (False, "cancelled")
    assert "when the program ended" in call.error.message
    assert trio.current_time() < 100


async def test_a_call_that_the_program_gives_up_is_cancelled(autojump_clock):
    async def script(peer):
        await peer.started()
        await peer.send(wire.Call(1, "t.slow", {}))
        await trio.sleep(1)
        await peer.send(wire.Cancel(1))
        await trio.sleep(1)
        reply = await peer.call(2, "t.now", {"x": 3})
        assert reply == wire.Reply(2, 3)
        await peer.send(wire.Done(None))

    outcome = await outcome_of(script, REGISTRY)
    assert outcome.calls[0].error.kind == "cancelled"
    assert "stopped waiting" in outcome.calls[0].error.message


async def test_timers_are_answered_and_never_counted_as_calls(autojump_clock):
    async def script(peer):
        await peer.started()
        await peer.send(wire.Timer(1, 50.0), wire.Timer(2, 0.0), wire.Timer(3, 10.0))
        assert [(await peer.receive()).id for _ in range(3)] == [2, 3, 1]
        await peer.send(wire.Done(None))

    outcome = await outcome_of(script, REGISTRY, limits=RunLimits(calls=0))
    assert outcome.ok
    assert outcome.calls == []


async def test_the_deadline_ends_whatever_the_guest_does(autojump_clock):
    async def script(peer):
        await peer.started()
        await peer.call(1, "t.now")
        await trio.sleep_forever()

    outcome = await outcome_of(script, REGISTRY, limits=RunLimits(timeout_seconds=7))
    assert (outcome.error.kind, outcome.error.limit) == ("limit", "timeout")
    assert "7 s" in outcome.error.message
    assert "executor.timeoutMs" in outcome.error.message
    assert 7 <= trio.current_time() < 8
    # RS-06: what had completed is listed, so that a retry does not repeat it.
    assert [(call.ref, call.ok, call.args_preview) for call in outcome.calls] == [("t.now", True, "{}")]


async def test_the_deadline_stands_still_while_a_person_is_asked(autojump_clock):
    approver, counter = ScriptedApprover("once", seconds=3600), Counter()

    async def script(peer):
        await peer.started()
        await peer.send(wire.Call(1, "files.write", {"path": "p"}))
        await peer.receive()
        await trio.sleep(4)
        await peer.send(wire.Done("ok"))

    admission = admission_of(registry_of(counter.immediate()), approver)
    outcome = await outcome_of(script, admission=admission, limits=RunLimits(timeout_seconds=5))
    assert outcome.value == "ok"
    assert outcome.asked_ms >= 3_600_000
    assert counter.ran == ["p"]


async def test_only_the_time_without_a_question_counts(autojump_clock):
    approver = ScriptedApprover("once", "once", seconds=100)

    async def script(peer):
        await peer.started()
        for n in (1, 2):
            await trio.sleep(2)
            await peer.call(n, "files.write")
        await trio.sleep(2)

    admission = admission_of(registry_of(Counter().immediate()), approver)
    outcome = await outcome_of(script, admission=admission, limits=RunLimits(timeout_seconds=5))
    assert outcome.error.limit == "timeout"
    assert 204 <= trio.current_time() < 207


async def test_a_prompt_is_withdrawn_when_its_guest_dies(autojump_clock):
    approver, counter = ScriptedApprover("once", seconds=3600), Counter()

    async def script(peer):
        await peer.started()
        await peer.send(wire.Call(1, "files.write", {}))
        await trio.sleep(1)

    admission = admission_of(registry_of(counter.immediate()), approver)
    outcome = await outcome_of(script, admission=admission)
    assert outcome.error.kind == "crashed"
    assert approver.withdrawn == 1
    assert counter.ran == []
    assert outcome.calls[0].error.kind == "cancelled"


async def test_a_prompt_is_withdrawn_when_the_program_gives_the_call_up(autojump_clock):
    approver = ScriptedApprover("once", seconds=3600)

    async def script(peer):
        await peer.started()
        await peer.send(wire.Call(1, "files.write", {}))
        await trio.sleep(1)
        await peer.send(wire.Cancel(1), wire.Done(None))

    outcome = await outcome_of(script, admission=admission_of(registry_of(Counter().immediate()), approver))
    assert outcome.ok
    assert approver.withdrawn == 1


async def test_cancelling_the_run_kills_the_guest_first():
    async def script(peer):
        await peer.started()
        await trio.sleep_forever()

    async with scripted_guest(script) as guest:
        with trio.move_on_after(0.05) as scope:
            await run_program(guest, "x", None, admission=Admission(REGISTRY), limits=RunLimits(), run_id="r")
        assert scope.cancelled_caught
        assert guest.killed


@pytest.mark.parametrize(
    ("ended", "kind", "words"),
    [
        (GuestExit(signal=signal.SIGSEGV), "crashed", "guest crashed (signal 11"),
        (GuestExit(signal=signal.SIGSYS), "crashed", "refused"),
        (GuestExit(signal=signal.SIGKILL), "crashed", "signal 9"),
        (GuestExit(signal=signal.SIGXCPU), "limit", "executor.cpuSeconds"),
        (GuestExit(status=3), "crashed", "exit status 3"),
    ],
)
async def test_a_dead_guest_says_how_it_died(ended, kind, words):
    async with trio.open_nursery() as nursery:
        holder = []

        async def script(peer):
            await peer.started()
            holder[0].end(ended)

        async with scripted_guest(script) as guest:
            holder.append(guest)
            outcome = await run_program(guest, "x", None, admission=Admission(REGISTRY), limits=RunLimits(), run_id="r")
        nursery.cancel_scope.cancel()
    assert outcome.error.kind == kind
    assert words in outcome.error.message


async def test_a_guest_that_hangs_up_but_lives_is_a_broken_protocol(autojump_clock):
    async def script(peer):
        await peer.started()
        await peer.send_raw(b"\x05\x00")
        peer.hang_up()
        await trio.sleep_forever()

    outcome = await outcome_of(script)
    assert outcome.error.kind == "protocol"
    assert "middle of a frame" in outcome.error.message


def test_unnamed_signals_are_told_too():
    assert "signal 60" in death_error(GuestExit(signal=60), RunLimits()).message


async def test_a_failure_keeps_its_line_and_frames():
    async def script(peer):
        await peer.started()
        await peer.send(wire.Failed("program", "ValueError: third", 3, "raise ValueError('third')", [(3, "f")]))

    error = (await outcome_of(script)).error
    assert (error.kind, error.line, error.source_line) == ("program", 3, "raise ValueError('third')")
    assert error.frames == ((3, "f"),)


def test_memory_failures_name_the_limit_and_its_setting():
    error = failure_error(wire.Failed("limit", "MemoryError", 2, limit="memory"), RunLimits())
    assert error.limit == "memory"
    assert "256 MiB" in error.message
    assert "executor.memoryLimitBytes" in error.message
    assert failure_error(wire.Failed("limit", "x", limit="nonsense"), RunLimits()).limit is None


def test_sources_are_bounded_before_a_guest_sees_them():
    assert source_error("x" * 65536, RunLimits()) is None
    error = source_error("é" * 40_000, RunLimits())
    assert (error.kind, error.limit) == ("rejected", "source")
    assert "64 KiB" in error.message
    assert "executor.sourceLimitBytes" in error.message
    assert source_error("a = '\ud800'", RunLimits()).kind == "rejected"


async def test_an_input_that_is_no_json_is_the_callers_error():
    async def script(peer):
        await peer.started()

    async with scripted_guest(script) as guest:
        with pytest.raises(ValueRefusedError, match=r"\$input\.a"):
            await run_program(guest, "x", {"a": {1}}, admission=Admission(REGISTRY), limits=RunLimits(), run_id="r")


async def test_a_large_result_is_spilled_or_decoded():
    async def script(peer):
        await peer.started()
        await peer.send(wire.Part(b"[1,"), wire.Part(b"2]"), wire.Done(None, 2))

    assert (await outcome_of(script)).value == [1, 2]
    assert (await outcome_of(script, spill=lambda text: f"{len(text)} bytes elsewhere")).value == "5 bytes elsewhere"

    def full(text):
        raise OSError("disk full")

    assert (await outcome_of(script, spill=full)).error.kind == "host"


async def test_a_handler_that_fails_while_it_is_cancelled_harms_nobody(autojump_clock):
    async def messy():
        try:
            await trio.sleep_forever()
        finally:
            raise RuntimeError("in cleanup")

    async def script(peer):
        await peer.started()
        await peer.send(wire.Call(1, "x.messy", {}))
        await trio.sleep(1)
        await peer.send(wire.Done(1))

    outcome = await outcome_of(script, registry_of(action(messy, ref="x.messy", risk="read")))
    assert outcome.ok
    assert outcome.calls[0].error.kind == "host"


async def test_the_observer_sees_everything_in_order():
    seen = []

    class Watch(SilentObserver):
        def call_started(self, call_id, ref):
            seen.append(("started", call_id, ref))

        def call_finished(self, record):
            seen.append(("finished", record.id, record.ok))

        def log_printed(self, text):
            seen.append(("log", text))

        def approval_waiting(self, request):
            seen.append(("asked", request.ref))

    async def script(peer):
        await peer.started()
        await peer.send(wire.Log("hi"))
        await peer.call(1, "files.write", {})
        await peer.send(wire.Done(None))

    approver = ScriptedApprover("once")
    admission = admission_of(registry_of(Counter().immediate()), approver)
    await outcome_of(script, admission=admission, observer=Watch())
    assert seen == [("log", "hi"), ("started", 1, "files.write"), ("asked", "files.write"), ("finished", 1, True)]


async def test_two_guests_share_one_desk(autojump_clock):
    approver = ScriptedApprover("once", "once", seconds=10)
    admission = Admission(registry_of(Counter().immediate()), desk=ApprovalDesk(approver))

    async def script(peer):
        await peer.started()
        await peer.call(1, "files.write", {})
        await peer.send(wire.Done(None))

    async with trio.open_nursery() as nursery:
        for run_id in ("one", "two"):

            async def one(run_id=run_id):
                async with scripted_guest(script) as guest:
                    limits = RunLimits(timeout_seconds=5)
                    done = await run_program(guest, "x", None, admission=admission, limits=limits, run_id=run_id)
                    assert done.ok

            nursery.start_soon(one)
    assert approver.most_open == 1
    assert len(approver.requests) == 2
