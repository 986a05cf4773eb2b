"""The protocol of one guest: order, correlation, budgets."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guest_api import wire
from guest_api.values import ValueRefusedError, to_wire
from host_bridge.conversation import OUTPUT_SLACK_BYTES, Conversation, Finished, Violation, result_from_text
from host_bridge.limits import SETTINGS, RunLimits

LIMITS = RunLimits()


def talk(*frames, limits=LIMITS, conversation=None):
    conversation = conversation or Conversation(limits)
    return conversation.receive(b"".join(wire.encode(frame) for frame in frames))


def violation(events):
    last = events[-1]
    assert isinstance(last, Violation), last
    return last


frames = st.one_of(
    st.builds(wire.Log, st.text(max_size=20)),
    st.builds(wire.Cancel, st.integers(1, 5)),
    st.builds(wire.Part, st.binary(min_size=1, max_size=9)),
)


@given(st.lists(frames, max_size=12), st.data())
def test_events_do_not_depend_on_how_the_bytes_are_cut(sent, data):
    calls = [wire.Call(n, "a.b", {"x": n}) for n in range(1, len(sent) + 1)]
    stream = b"".join(wire.encode(frame) for pair in zip(calls, sent, strict=True) for frame in pair)
    whole = Conversation(LIMITS).receive(stream)
    cut, conversation, position = [], Conversation(LIMITS), 0
    while position < len(stream):
        step = data.draw(st.integers(1, len(stream) - position))
        cut.extend(conversation.receive(stream[position : position + step]))
        position += step
    assert cut == whole
    assert not conversation.in_half_frame


@given(st.integers(1, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_ids_must_rise(first, second):
    events = talk(wire.Call(first, "a.b", {}), wire.Timer(second, 1.0))
    if second > first:
        assert len(events) == 2
    else:
        assert violation(events).kind == "protocol"


def test_calls_and_timers_share_one_row_of_ids():
    assert violation(talk(wire.Timer(1, 1.0), wire.Call(1, "a.b", {}))).kind == "protocol"


def test_the_call_budget_counts_calls_and_not_timers():
    limits = RunLimits(calls=2)
    conversation = Conversation(limits)
    assert (
        len(talk(wire.Call(1, "a.b", {}), wire.Timer(2, 0.0), wire.Call(3, "a.b", {}), conversation=conversation)) == 3
    )
    over = violation(talk(wire.Call(4, "a.b", {}), conversation=conversation))
    assert (over.kind, over.limit) == ("limit", "calls")
    assert SETTINGS["calls"] in over.message
    assert "2" in over.message


def test_nothing_is_read_after_the_end():
    conversation = Conversation(LIMITS)
    assert talk(wire.Done(1), wire.Call(1, "a.b", {}), conversation=conversation) == [Finished(1)]
    assert conversation.receive(b"anything") == []
    assert not conversation.in_half_frame


def test_a_too_long_frame_is_refused_by_its_prefix():
    over = violation(Conversation(RunLimits(frame_bytes=4096)).receive((4097).to_bytes(4, "little")))
    assert (over.kind, over.limit) == ("limit", "frame")
    assert SETTINGS["frame"] in over.message


def test_a_half_frame_waits():
    conversation = Conversation(LIMITS)
    data = wire.encode(wire.Log("hello"))
    assert conversation.receive(data[:7]) == []
    assert conversation.in_half_frame
    assert conversation.receive(data[7:]) == [wire.Log("hello")]


@pytest.mark.parametrize(
    "frame",
    [wire.Ready(), wire.Timer(1, float("nan")), wire.Timer(1, float("inf")), wire.Part(b""), wire.Done(1, parts=1),
     wire.Failed("crashed", "x"), wire.Failed("", "x"), wire.Done({"a": float("nan")}), wire.Done(b"raw"), wire.Done({1: 2}),
     wire.Call(0, "a.b", {}), wire.Call(-1, "a.b", {})],
)  # fmt: skip
def test_frames_out_of_place_end_the_conversation(frame):
    assert violation(talk(frame)).kind == "protocol"


@pytest.mark.parametrize(
    "body", [b"", b"\xc1", b"\x91\xa4nope", b"\x90", b"\x80", b"\x93\xa4call\x01\xa1a", b"\x94\xa4call\xa11\xa1a\x80",
             msgspec.msgpack.encode(["start", "x", None, [], 1, 1, 1]), b"\x91" * 5000]
)  # fmt: skip
def test_undecodable_frames_end_the_conversation(body):
    assert violation(Conversation(LIMITS).receive(len(body).to_bytes(4, "little") + body)).kind == "protocol"


def test_output_is_bounded_with_room_for_the_guests_own_marker():
    limits = RunLimits(output_bytes=1000)
    conversation = Conversation(limits)
    assert len(talk(wire.Log("x" * 1000), wire.Log("… output limit"), conversation=conversation)) == 2
    over = violation(talk(wire.Log("é" * (OUTPUT_SLACK_BYTES // 2)), conversation=conversation))
    assert (over.kind, over.limit) == ("limit", "output")


def test_empty_prints_are_not_free():
    assert (
        violation(talk(*[wire.Log("")] * (OUTPUT_SLACK_BYTES + 2), limits=RunLimits(output_bytes=0))).limit == "output"
    )


def test_timers_in_flight_are_bounded():
    over = violation(talk(*[wire.Timer(n, 9.0) for n in range(1, 4)], limits=RunLimits(timers_in_flight=2)))
    assert (over.kind, over.limit) == ("limit", "timersInFlight")


def test_a_result_in_parts_is_put_together_and_bounded():
    assert talk(wire.Part(b"[1,"), wire.Part(b"2]"), wire.Done(None, 2)) == [Finished(None, b"[1,2]")]
    over = violation(talk(wire.Part(b"xxxxx"), limits=RunLimits(result_bytes=4)))
    assert (over.kind, over.limit) == ("limit", "result")
    assert violation(talk(wire.Part(b"1"), wire.Done(None, 2))).kind == "protocol"


def test_cancel_speaks_only_of_what_is_open():
    conversation = Conversation(LIMITS)
    events = talk(wire.Call(1, "a.b", {}), wire.Cancel(1), wire.Cancel(1), wire.Cancel(9), conversation=conversation)
    assert events == [wire.Call(1, "a.b", {}), wire.Cancel(1)]
    assert not conversation.answered(1)


def test_an_answer_is_given_once():
    conversation = Conversation(LIMITS)
    talk(wire.Call(1, "a.b", {}), conversation=conversation)
    assert conversation.calls_in_flight == 1
    assert conversation.answered(1)
    assert not conversation.answered(1)


def test_a_ref_longer_than_any_is_cut():
    (event,) = talk(wire.Call(1, "x" * 100_000, {}))
    assert len(event.ref) == 257


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
        lambda inner: st.lists(inner, max_size=3),
        max_leaves=8,
    )
)
def test_values_of_the_program_arrive_exactly(value):
    assert talk(wire.Done(to_wire(value))) == [Finished(value)]


def test_results_as_text_are_strict():
    assert result_from_text(b'{"a": 123456789012345678901234567890}') == {"a": 123456789012345678901234567890}
    for text in (b"NaN", b"[Infinity]", b"{", b"\xff", b"[" * 5000, b"[" * 150 + b"]" * 150, b'"\\ud800"'):
        with pytest.raises(ValueRefusedError):
            result_from_text(text)
