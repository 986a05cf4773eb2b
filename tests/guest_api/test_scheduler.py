"""Concurrency inside a guest: calls overlap, cancellation reaches the host, waiting on nothing is named."""

from typing import Any

from tests.guest_api.harness import GuestServer, Hold, Refuse


def echo_later(ref: str, args: Any) -> Any:
    return Hold(args.get("seconds", 0.0), args)


def test_calls_in_a_gather_are_all_under_way_before_the_first_answer(guests: GuestServer) -> None:
    source = "rs = await asyncio.gather(t.one(i=1, seconds=3), t.two(i=2, seconds=1))\nreturn [r.i for r in rs]"
    outcome = guests.run(source, answer=echo_later)
    assert outcome.value == [1, 2]
    assert outcome.slept_seconds == 3


def test_a_hundred_calls_answer_to_their_own_await_and_one_failure_stays_one(guests: GuestServer) -> None:
    def answer(ref: str, args: Any) -> Any:
        if args["args"]["i"] == 42:
            raise Refuse("host", "no 42")
        return args["args"]["i"]

    source = (
        'rs = await asyncio.gather(*[tools.call(ref="t.echo", args={"i": i}) for i in range(100)], return_exceptions=True)\n'
        "return [r if isinstance(r, int) else str(r) for r in rs]"
    )
    outcome = guests.run(source, answer=answer)
    assert outcome.value == [i if i != 42 else "no 42" for i in range(100)]
    assert outcome.reads <= 4


def test_a_thousand_sequential_calls_keep_their_order(guests: GuestServer) -> None:
    outcome = guests.run("for i in range(1000):\n    r = await t.n(i=i)\n    assert r.i == i\nreturn 'ok'")
    assert outcome.value == "ok"
    assert [args["i"] for _, args in outcome.calls] == list(range(1000))


def test_a_timeout_cancels_the_call_and_tells_the_host(guests: GuestServer) -> None:
    source = (
        "try:\n    async with asyncio.timeout(2):\n        await t.slow(seconds=50)\n"
        "except TimeoutError:\n    pass\nreturn await t.quick()"
    )
    outcome = guests.run(source, answer=echo_later)
    assert outcome.cancelled == ["t.slow"]
    assert outcome.value == {}
    assert outcome.slept_seconds == 2


def test_a_call_that_finishes_in_time_cancels_its_timer(guests: GuestServer) -> None:
    outcome = guests.run("r = await asyncio.wait_for(t.quick(seconds=1), 30)\nreturn 1", answer=echo_later)
    assert (outcome.value, outcome.slept_seconds) == (1, 1)


def test_cancelling_a_task_cancels_its_call(guests: GuestServer) -> None:
    source = """
async def work():
    try:
        await t.slow(seconds=50)
    except asyncio.CancelledError:
        log.append("cancelled")
        raise
log = []
task = asyncio.create_task(work())
await asyncio.sleep(0)
task.cancel()
r = await asyncio.gather(task, return_exceptions=True)
return [log, isinstance(r[0], asyncio.CancelledError), task.cancelled()]
"""
    outcome = guests.run(source, answer=echo_later)
    assert outcome.value == [["cancelled"], True, True]


def test_a_task_group_raises_the_first_plain_exception_and_cancels_the_rest(guests: GuestServer) -> None:
    source = """
async def bad():
    await asyncio.sleep(1)
    raise ValueError("first")
try:
    async with asyncio.TaskGroup() as group:
        group.create_task(bad())
        slow = group.create_task(t.slow(seconds=90))
        await asyncio.sleep(80)
except ValueError as error:
    return [str(error), slow.cancelled()]
"""
    outcome = guests.run(source, answer=echo_later)
    assert outcome.value == ["first", True]
    assert outcome.cancelled == ["t.slow"]
    assert outcome.slept_seconds == 1


def test_an_error_in_the_body_of_a_task_group_cancels_its_tasks(guests: GuestServer) -> None:
    source = (
        "try:\n    async with asyncio.TaskGroup() as group:\n        group.create_task(asyncio.sleep(50))\n"
        "        await asyncio.sleep(0)\n        raise KeyError('body')\nexcept KeyError as e:\n    return str(e)"
    )
    outcome = guests.run(source)
    assert (outcome.value, outcome.slept_seconds) == ("'body'", 0)


def test_gather_raises_the_first_failure_while_the_others_go_on(guests: GuestServer) -> None:
    source = """
done = []
async def good():
    await asyncio.sleep(2)
    done.append("good")
async def bad():
    await asyncio.sleep(1)
    raise ValueError("bad")
task = asyncio.create_task(good())
try:
    await asyncio.gather(task, bad())
except ValueError as error:
    first = str(error)
await task
return [first, done]
"""
    assert guests.run(source).value == ["bad", ["good"]]


def test_time_sleep_blocks_every_task_of_the_program(guests: GuestServer) -> None:
    source = """
import time
log = []
async def other():
    log.append("other")
task = asyncio.create_task(other())
time.sleep(5)
log.append("slept")
await task
return log
"""
    outcome = guests.run(source)
    assert (outcome.value, outcome.slept_seconds) == (["slept", "other"], 5)
    assert outcome.calls == []


def test_asyncio_run_inside_a_task_lets_the_others_run(guests: GuestServer) -> None:
    source = """
log = []
async def ticker():
    for i in range(3):
        await asyncio.sleep(1)
        log.append(i)
async def main():
    await asyncio.sleep(2.5)
    return list(log)
task = asyncio.create_task(ticker())
inner = asyncio.run(main())
await task
return [inner, log]
"""
    assert guests.run(source).value == [[0, 1], [0, 1, 2]]


def test_waiting_for_what_nothing_will_finish_is_named(guests: GuestServer) -> None:
    failure = guests.run("x = 1\nawait asyncio.Queue().get()").failed
    assert failure is not None
    assert failure.message.startswith("DeadlockError: every task waits")
    assert failure.line == 2


def test_two_tasks_that_wait_for_each_other_are_named(guests: GuestServer) -> None:
    source = "async def a():\n    await tasks[1]\nasync def b():\n    await tasks[0]\ntasks = [asyncio.create_task(a()), asyncio.create_task(b())]\nawait tasks[0]"
    failure = guests.run(source).failed
    assert failure is not None
    assert failure.message.startswith("DeadlockError: ")


def test_a_shielded_call_survives_its_waiter(guests: GuestServer) -> None:
    source = """
call = t.slow(seconds=3)
try:
    await asyncio.wait_for(asyncio.shield(call), 1)
except TimeoutError:
    pass
return (await call).seconds
"""
    outcome = guests.run(source, answer=echo_later)
    assert (outcome.value, outcome.cancelled) == (3, [])


def test_a_program_that_swallows_cancellation_goes_on(guests: GuestServer) -> None:
    source = """
async def stubborn():
    try:
        await asyncio.sleep(100)
    except asyncio.CancelledError:
        return "went on"
task = asyncio.create_task(stubborn())
await asyncio.sleep(0)
task.cancel()
return await task
"""
    assert guests.run(source).value == "went on"


def test_bounded_queue_producers_wait_for_room(guests: GuestServer) -> None:
    source = """
q = asyncio.Queue(maxsize=1)
log = []
async def produce():
    for i in range(3):
        await q.put(i)
        log.append(f"put {i}")
async def consume():
    for _ in range(3):
        await asyncio.sleep(1)
        log.append(f"got {await q.get()}")
await asyncio.gather(produce(), consume())
return log
"""
    assert guests.run(source).value == ["put 0", "got 0", "put 1", "got 1", "put 2", "got 2"]


def test_condition_and_priority_queue(guests: GuestServer) -> None:
    source = """
condition = asyncio.Condition()
ready = False
async def waiter():
    async with condition:
        await condition.wait_for(lambda: ready)
        return "woken"
task = asyncio.create_task(waiter())
await asyncio.sleep(0)
async with condition:
    ready = True
    condition.notify_all()
q = asyncio.PriorityQueue()
for n in (3, 1, 2):
    q.put_nowait(n)
return [await task, [q.get_nowait() for _ in range(3)]]
"""
    assert guests.run(source).value == ["woken", [1, 2, 3]]
