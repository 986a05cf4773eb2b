"""One question at a time; like calls together; withdrawn with its calls; never answered twice."""

import trio

from host_bridge.approval_prompt import ApprovalDesk, as_approver
from tests.host_bridge.support import Counter, ScriptedApprover, admission_of, admit, registry_of


async def test_prompts_are_serialised(autojump_clock):
    counter, approver = Counter(), ScriptedApprover("once", "once", "once", seconds=5)
    admission = admission_of(
        registry_of(counter.immediate("a.one"), counter.immediate("b.two"), counter.immediate("c.three")), approver
    )
    async with trio.open_nursery() as nursery:
        for ref in ("a.one", "b.two", "c.three"):
            nursery.start_soon(admit, admission, ref)
    assert approver.most_open == 1
    assert len(approver.requests) == len(counter.ran) == 3


async def test_a_gather_of_like_calls_is_one_question(autojump_clock):
    counter, approver = Counter(), ScriptedApprover("once", seconds=5)
    admission = admission_of(registry_of(counter.immediate()), approver)
    async with trio.open_nursery() as nursery:
        for n in range(100):
            nursery.start_soon(admit, admission, "files.write", {"path": str(n)})
    (request,) = approver.requests
    assert request.count == 100
    assert len(request.samples) == 3
    assert sorted(counter.ran, key=int) == [str(n) for n in range(100)]


async def test_one_no_denies_the_whole_set(autojump_clock):
    counter, approver = Counter(), ScriptedApprover("deny", seconds=5)
    admission = admission_of(registry_of(counter.immediate()), approver)
    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(admit, admission, "files.write")
    assert len(approver.requests) == 1
    assert counter.ran == []


async def test_an_answer_covers_only_calls_that_were_shown(autojump_clock):
    counter, approver = Counter(), ScriptedApprover("once", "deny", seconds=5)
    admission = admission_of(registry_of(counter.immediate()), approver)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(admit, admission, "files.write", {"path": "shown"})
        await trio.sleep(1)
        nursery.start_soon(admit, admission, "files.write", {"path": "late"})
    assert [request.count for request in approver.requests] == [1, 1]
    assert counter.ran == ["shown"]


async def test_a_session_answer_settles_what_came_late(autojump_clock):
    counter, approver = Counter(), ScriptedApprover("session", seconds=5)
    admission = admission_of(registry_of(counter.immediate()), approver)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(admit, admission, "files.write", {"path": "shown"})
        await trio.sleep(1)
        nursery.start_soon(admit, admission, "files.write", {"path": "late"})
    assert len(approver.requests) == 1
    assert counter.ran == ["shown", "late"]


async def test_a_prompt_whose_call_died_is_withdrawn_and_the_next_is_put(autojump_clock):
    counter, approver = Counter(), ScriptedApprover("once", seconds=5)
    admission = admission_of(registry_of(counter.immediate("a.one"), counter.immediate("b.two")), approver)
    with trio.move_on_after(1):
        await admit(admission, "a.one")
    assert approver.withdrawn == 1
    assert (await admit(admission, "b.two")).ok
    assert [request.ref for request in approver.requests] == ["a.one", "b.two"]
    assert len(counter.ran) == 1


async def test_a_withdrawn_set_is_asked_about_again_without_the_dead_call(autojump_clock):
    counter, approver = Counter(), ScriptedApprover("once", seconds=5)
    admission = admission_of(registry_of(counter.immediate()), approver)

    async def dies():
        with trio.move_on_after(2):
            await admit(admission, "files.write", {"path": "dead"})

    async with trio.open_nursery() as nursery:
        nursery.start_soon(dies)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(admit, admission, "files.write", {"path": "alive"})
    assert [request.count for request in approver.requests] in ([2, 1], [1, 1])
    assert counter.ran == ["alive"]


async def test_a_call_that_waits_for_its_turn_can_die_silently(autojump_clock):
    counter, approver = Counter(), ScriptedApprover("once", seconds=5)
    admission = admission_of(registry_of(counter.immediate("a.one"), counter.immediate("b.two")), approver)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(admit, admission, "a.one")
        await trio.sleep(0.5)
        with trio.move_on_after(1):
            await admit(admission, "b.two")
    assert [request.ref for request in approver.requests] == ["a.one"]
    assert approver.withdrawn == 0


async def test_a_failing_or_odd_approver_denies():
    counter = Counter()

    async def broken(request):
        raise OSError("no terminal")

    async def odd(request):
        return "yes"

    async def late(request):
        await trio.sleep_forever()

    for approver, limit in ((broken, None), (odd, None), (late, 0.01)):
        desk = ApprovalDesk(as_approver(approver), collect_seconds=0, timeout_seconds=limit)
        from host_bridge.admission import Admission

        call = await admit(Admission(registry_of(counter.immediate()), desk=desk), "files.write")
        assert (call.kind, call.approver) == ("denied", "person")
    assert counter.ran == []


def test_approvers_are_objects_functions_or_none():
    approver = ScriptedApprover()
    assert as_approver(approver) is approver
    assert as_approver(None) is None
