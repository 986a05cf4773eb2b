"""Whatever bytes a guest sends, the host ends it and goes on: a short loop here, a long one under `soak`."""

import random

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from guest_api import wire
from host_bridge.conversation import Conversation, Finished, Violation
from host_bridge.limits import RunLimits
from host_bridge.trace import CallRecord
from tests.host_bridge.support import Counter, outcome_of, registry_of

SMALL = RunLimits(frame_bytes=64 * 1024, calls=50, result_bytes=100_000, output_bytes=10_000, timers_in_flight=20)
SEEDS = [
    wire.encode(frame)
    for frame in (
        wire.Call(1, "files.write", {"path": "a", "deep": [[[{}]]]}),
        wire.Timer(2, 0.5),
        wire.Cancel(1),
        wire.Log("hello é"),
        wire.Part(b"[1,2]"),
        wire.Done({"a": [1, 2.5, None, "x"]}),
        wire.Failed("program", "ValueError: x", 3, "raise", [(3, "f")]),
        wire.Ready(),
        wire.Reply(1, None),
    )
]


def mutate(source: random.Random) -> bytes:
    """A stream of frames, some of them damaged."""
    stream = bytearray()
    for _ in range(source.randrange(1, 6)):
        frame = bytearray(source.choice(SEEDS))
        for _ in range(source.choice([0, 0, 1, 1, 2, 8])):
            kind = source.randrange(5)
            at = source.randrange(len(frame)) if frame else 0
            if kind == 0 and frame:
                frame[at] = source.randrange(256)
            elif kind == 1:
                frame[at:at] = source.randbytes(source.randrange(1, 9))
            elif kind == 2 and frame:
                del frame[at : at + source.randrange(1, 9)]
            elif kind == 3:
                body = bytes(frame[4:])
                frame = bytearray(len(body).to_bytes(4, "little") + body)
            else:
                frame += bytes([source.choice([0x81, 0x91, 0xDD, 0xDF, 0xC7, 0xD8])]) * source.randrange(1, 400)
        stream += frame
    return bytes(stream)


def feed(stream: bytes, source: random.Random) -> None:
    conversation = Conversation(SMALL)
    position, ended = 0, 0
    while position < len(stream):
        step = source.randrange(1, len(stream) - position + 1)
        events = conversation.receive(stream[position : position + step])
        assert not (ended and events)
        ended += sum(isinstance(event, Finished | Violation | wire.Failed) for event in events)
        position += step
    assert ended <= 1
    assert ended == conversation.ended
    assert conversation.call_count <= SMALL.calls + 1


def fuzz(seed: int, rounds: int) -> None:
    source = random.Random(seed)
    for _ in range(rounds):
        feed(mutate(source), source)


@given(st.binary(max_size=400))
@settings(max_examples=300)
def test_any_bytes_are_survived(data):
    feed(data, random.Random(1))


def test_damaged_frames_are_survived():
    fuzz(1, 15_000)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
def test_damaged_frames_are_survived_for_long(seed):
    fuzz(1000 + seed, 100_000)


async def sends(data: bytes, **options):
    async def script(peer):
        await peer.started()
        await peer.send_raw(data)
        await trio.sleep_forever()

    registry = registry_of(Counter().immediate(risk="read"))
    with trio.fail_after(10):
        return await outcome_of(script, registry, limits=RunLimits(timeout_seconds=1.0), **options)


async def test_damaged_conversations_end_with_a_typed_verdict():
    source = random.Random(5)
    for _ in range(60):
        outcome = await sends(mutate(source))
        if outcome.error is not None:
            assert outcome.error.kind in {"protocol", "limit", "program"}
        assert all(isinstance(record, CallRecord) for record in outcome.calls)
        if outcome.ok:
            break


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\xff\xff\xff\xff", "limit"),
        ((8 * 1024 * 1024).to_bytes(4, "little") + b"\x80" * 100, "limit"),
        ((100_000).to_bytes(4, "little") + b"\x91" * 100_000, "protocol"),
        ((9).to_bytes(4, "little") + b"\xdd\xff\xff\xff\xff\xc0\xc0\xc0\xc0", "protocol"),
        ((5).to_bytes(4, "little") + b"\xdf\xff\xff\xff\xff", "protocol"),
        ((10).to_bytes(4, "little") + b"\x94\xa4call", "limit"),
    ],
)
async def test_bombs_are_refused_before_they_unfold(data, kind):
    assert (await sends(data)).error.kind == kind


async def test_an_allowed_frame_of_empty_maps_stays_affordable():
    body = b"\x92\xa4done" + b"\xdd" + (1_000_000).to_bytes(4, "big") + b"\x80" * 1_000_000
    outcome = await sends(len(body).to_bytes(4, "little") + body)
    assert outcome.ok


async def test_a_guest_that_never_reads_is_ended_by_the_reply_buffer():
    from host_bridge.actions import action

    async def script(peer):
        await peer.started()
        call_id = 0
        while True:
            frames = [wire.Call(call_id + n, "t.big", {}) for n in range(1, 50)]
            call_id += 50
            await peer.send(*frames)

    registry = registry_of(action(lambda: "x" * 200_000, ref="t.big", risk="read"))
    with trio.fail_after(10):
        outcome = await outcome_of(script, registry, limits=RunLimits(reply_buffer_bytes=4 * 1024 * 1024))
    assert (outcome.error.kind, outcome.error.limit) == ("limit", "replyBuffer")
    assert "executor.replyBufferBytes" in outcome.error.message


async def test_a_print_flood_is_ended_while_the_host_stays_responsive():
    ticks = 0

    async def script(peer):
        await peer.started()
        while True:
            await peer.send(*[wire.Log("y" * 50)] * 500)

    async def tick():
        nonlocal ticks
        while True:
            ticks += 1
            await trio.sleep(0)

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(tick)
            outcome = await outcome_of(script)
            nursery.cancel_scope.cancel()
    assert (outcome.error.kind, outcome.error.limit) == ("limit", "output")
    assert ticks > 10


async def test_a_timer_flood_is_ended_by_the_deadline(autojump_clock):
    async def script(peer):
        await peer.started()
        call_id = 0
        while True:
            call_id += 1
            await peer.send(wire.Timer(call_id, 0.001))
            await peer.receive()

    outcome = await outcome_of(script, limits=RunLimits(timeout_seconds=2))
    assert (outcome.error.kind, outcome.error.limit) == ("limit", "timeout")
    assert outcome.calls == []
