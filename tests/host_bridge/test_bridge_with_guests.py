"""The bridge with real, confined guests: what users meet, end to end."""

from contextlib import asynccontextmanager

import trio

from host_bridge.actions import action
from host_bridge.admission import Admission
from host_bridge.approvals import ApprovalPolicy, Rule
from host_bridge.confinement_plan import ConfinementPlan, GuestLimits
from host_bridge.guest_process import run_program
from host_bridge.limits import RunLimits
from host_bridge.zygote_client import open_guest_pool
from tests.host_bridge.support import Counter, ScriptedApprover, admission_of, registry_of


@action(ref="t.echo", risk="read")
async def echo(i: int = 0) -> int:
    await trio.sleep(i % 3 / 100)
    if i == 41:
        raise ValueError("no 41 here")
    return i


@action(ref="t.slow", risk="read")
async def slow() -> str:
    await trio.sleep(1000)
    return "late"


@action(ref="t.mail", risk="read")
def mail(to: str, body: str) -> bool:
    return bool(to and body)


REGISTRY = registry_of(echo, slow, mail)


@asynccontextmanager
async def runner(admission=None, **limits):
    with trio.fail_after(30):
        async with open_guest_pool(ConfinementPlan.default(), limits=GuestLimits(), pool_size=1) as pool:

            async def run(source, value=None, **more):
                guest = await pool.checkout()
                try:
                    return await run_program(
                        guest,
                        source,
                        value,
                        admission=admission or Admission(REGISTRY),
                        limits=RunLimits(**{**limits, **more}),
                        run_id="r",
                        namespaces=["t", "tools", "files"],
                    )
                finally:
                    await guest.aclose()

            yield run


async def test_a_hundred_gathered_calls_each_get_their_own_result():
    """SB-19."""
    async with runner() as run:
        outcome = await run(
            "rs = await asyncio.gather(*[tools.call(ref='t.echo', args={'i': i}) for i in range(100)], return_exceptions=True)\n"
            "return [r if isinstance(r, int) else type(r).__name__ for r in rs]"
        )
    assert outcome.value == [i if i != 41 else "ActionFailed" for i in range(100)]
    assert [call.ref for call in outcome.calls if not call.ok] == ["t.echo"]


async def test_calls_still_running_or_never_awaited_are_listed_as_cancelled():
    """SB-20, with a task that had begun, one that had not, and a call without any await."""
    async with runner() as run:
        for source in (
            "asyncio.create_task(tools.call(ref='t.slow', args={}))\nreturn 'done'",
            "asyncio.create_task(t.slow())\nawait asyncio.sleep(0.01)\nreturn 'done'",
            "t.slow()\nawait asyncio.sleep(0.01)\nreturn 'done'",
        ):
            outcome = await run(source)
            assert outcome.value == "done"
            assert [(call.ref, call.ok, call.error.kind) for call in outcome.calls] == [("t.slow", False, "cancelled")]


async def test_completed_calls_are_listed_when_the_program_hangs():
    """RS-06: refs and arguments, so that a retry does not send the mail again."""
    async with runner(timeout_seconds=0.5) as run:
        outcome = await run("await t.mail(to='a@b', body='hi')\nwhile True: pass")
    assert (outcome.error.kind, outcome.error.limit) == ("limit", "timeout")
    (call,) = outcome.calls
    assert (call.ref, call.ok, call.args_preview) == ("t.mail", True, '{"to":"a@b","body":"hi"}')


async def test_the_host_stays_responsive_and_the_next_run_works():
    beats = 0

    async def beat():
        nonlocal beats
        while True:
            beats += 1
            await trio.sleep(0.01)

    async with runner(timeout_seconds=0.5) as run, trio.open_nursery() as nursery:
        nursery.start_soon(beat)
        for source in (
            "return 10 ** 10 ** 8",
            "while True:\n    try:\n        while True: pass\n    except BaseException: continue",
            "while True: print('x' * 1000)",
            "while True:\n    try:\n        await t.nothing()\n    except BaseException: pass",
        ):
            started, before = trio.current_time(), beats
            outcome = await run(source)
            assert outcome.error.kind == "limit"
            assert trio.current_time() - started < 1.5
            assert beats - before > 5
        assert (await run("return 1 + 1")).value == 2
        nursery.cancel_scope.cancel()


async def test_a_loop_under_ask_runs_after_one_answer_and_the_deadline_waits():
    """AP-03."""
    counter, approver = Counter(), ScriptedApprover("session", seconds=1.2)
    async with runner(admission_of(registry_of(counter.immediate()), approver), timeout_seconds=1.0) as run:
        outcome = await run("for i in range(20):\n    await files.write(path=str(i))\nreturn 'ok'")
    assert outcome.value == "ok"
    assert counter.ran == [str(i) for i in range(20)]
    assert len(approver.requests) == 1
    assert outcome.asked_ms >= 1200


async def test_a_gather_under_ask_is_one_question():
    counter, approver = Counter(), ScriptedApprover("once")
    async with runner(admission_of(registry_of(counter.immediate()), approver)) as run:
        assert (await run("await asyncio.gather(*[files.write(path=str(i)) for i in range(30)])")).ok
    assert [request.count for request in approver.requests] == [30]
    assert len(counter.ran) == 30


async def test_headless_the_denial_can_be_caught_and_names_the_way():
    """AP-02: no hang, no prompt."""
    async with runner(Admission(registry_of(Counter().immediate()))) as run:
        caught = await run(
            "try:\n    await files.write()\nexcept PermissionError as e:\n    return str(e)\nexcept Exception as e:\n    return str(e)"
        )
        assert "--allow write" in caught.value
        uncaught = await run("x = 1\nawait files.write()")
    assert (uncaught.error.kind, uncaught.error.line) == ("denied", 2)


async def test_wrong_arguments_raise_in_the_program_with_the_closest_name():
    """ER-01: never a value that looks like data."""
    async with runner() as run:
        outcome = await run("r = await t.mail(to='a', bdy='x')\nreturn r")
    assert outcome.error.kind == "program"
    assert "did you mean 'body'" in outcome.error.message
    assert outcome.calls[0].error.kind == "rejected"


async def test_each_limit_names_itself_and_its_setting():
    async with runner() as run:
        for source, limits, setting in (
            ("for i in range(9): await t.mail(to='a', body='b')", {"calls": 5}, "executor.maxCalls"),
            (
                "await asyncio.gather(*[t.slow() for _ in range(9)])",
                {"calls_in_flight": 5},
                "executor.maxCallsInFlight",
            ),
            ("await t.mail(to='a', body='b' * 90_000)", {"frame_bytes": 65536}, "executor.frameLimitBytes"),
            ("return 'x' * 300_000", {"result_bytes": 200_000}, "executor.resultLimitBytes"),
            ("x = []\nwhile True: x.append('a' * 10_000_000)", {}, "executor.memoryLimitBytes"),
            ("while True: pass", {"timeout_seconds": 0.3}, "executor.timeoutMs"),
        ):
            error = (await run(source, **limits)).error
            assert error.kind == "limit", error
            assert setting in error.message
        rejected = (await run("x = 1\n" * 20_000)).error
        assert rejected.kind == "rejected"
        assert "executor.sourceLimitBytes" in rejected.message


async def test_a_result_of_megabytes_crosses_whole():
    async with runner() as run:
        outcome = await run("return {'text': 'é' * 2_000_000, 'n': 3 ** 5000}")
    assert outcome.value == {"text": "é" * 2_000_000, "n": 3**5000}


async def test_policy_is_of_the_run_not_of_the_guest():
    """A call that the proxies do not offer is judged by the same path."""
    counter = Counter()
    policy = ApprovalPolicy(rules=(Rule("files.*", "deny"),), run_allow=frozenset({"write"}))
    async with runner(Admission(registry_of(counter.immediate()), policy=policy)) as run:
        outcome = await run("await tools.call(ref='files.write', args={'path': 'x'})")
    assert outcome.error.kind == "denied"
    assert "files.*" in outcome.error.message
    assert counter.ran == []
