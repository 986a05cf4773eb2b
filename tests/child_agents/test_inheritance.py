"""The control channel between a child host and its supervisor, over a real socket pair."""

import socket

import msgspec
import pytest
import trio

from child_agents.channel import Channel, ChannelError, Frames, encode
from child_agents.errors import InheritanceError
from child_agents.inheritance import (
    FROM_CHILD,
    TO_CHILD,
    Answer,
    Ask,
    Event,
    Inherit,
    Message,
    NeedResident,
    ResidentReply,
    StopOrder,
    Withdraw,
    from_environment,
    request_from,
)
from host_bridge import strict_json
from host_bridge.approval_prompt import ApprovalRequest


def given(**more) -> Inherit:
    return Inherit(
        **{
            "run_id": "r1", "root_id": "root", "name": "leaf", "path": ("mid", "leaf"), "depth": 2, "parent_run": "r0", "recursive": True,
            "max_depth": 2, "max_turns": 9, "max_cost": 1.0, "risks": {"read": "allow", "write": "ask"}, "rules": ({"ref": "pi.bash", "action": "deny"},),
            "tools": ("pi.read", "mcp.git.*"), "schema_mode": "audit", "folders": b"/tmp/x", "input_json": strict_json.encode({"n": 2**90}), **more,
        }
    )  # fmt: skip


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    yield ours, theirs
    ours.close()
    theirs.close()


def inherit(pair, **more):
    ours, theirs = pair
    ours.sendall(encode(given(**more)))
    environment = {"PI_FABRIC_DEPTH": "2", "PI_FABRIC_CONTROL_FD": str(theirs.detach()), "PI_FABRIC_AGENT_NAME": "leaf"}
    return from_environment(environment), environment


def test_a_root_inherits_nothing():
    assert from_environment({"PATH": "/bin"}) is None


def test_a_process_that_only_has_the_depth_knows_its_depth_and_nothing_else():
    found = from_environment({"PI_FABRIC_DEPTH": "1", "PI_FABRIC_AGENT_NAME": "a", "PI_FABRIC_PARENT_RUN": "r"})
    assert (found.depth, found.path, found.parent_run, found.given) == (1, ("a",), "r", None)


def test_everything_decided_arrives_exactly_and_the_descriptor_is_not_handed_on(pair):
    found, environment = inherit(pair)
    assert found.given == given()
    assert found.input == {"n": 2**90}
    assert "PI_FABRIC_CONTROL_FD" not in environment
    assert found.may_use("pi.read")
    assert found.may_use("mcp.git.log")
    assert found.may_use("thinking.set")
    assert not found.may_use("pi.bash")
    assert found.modes({"read": "deny", "write": "allow"}) == {
        "read": "deny", "write": "ask", "execute": "deny", "network": "deny", "agent": "deny",
    }  # fmt: skip
    assert found.rules([{"ref": "a.b", "action": "allow"}, {"ref": "c.d", "action": "deny"}]) == [
        {"ref": "c.d", "action": "deny"}, {"ref": "pi.bash", "action": "deny"},
    ]  # fmt: skip
    found._socket.close()


@pytest.mark.parametrize(
    "environment",
    [
        {"PI_FABRIC_DEPTH": "one"},
        {"PI_FABRIC_DEPTH": "-1"},
        {"PI_FABRIC_DEPTH": "1", "PI_FABRIC_CONTROL_FD": "x"},
        {"PI_FABRIC_DEPTH": "1", "PI_FABRIC_CONTROL_FD": "999999"},
    ],
)
def test_a_malformed_variable_stops_the_process(environment):
    with pytest.raises(InheritanceError, match="PI_FABRIC_"):
        from_environment(environment)


def test_a_lost_parent_or_a_contradiction_stops_the_process(pair):
    ours, theirs = pair
    ours.close()
    with pytest.raises(InheritanceError, match="the parent is gone"):
        from_environment({"PI_FABRIC_DEPTH": "2", "PI_FABRIC_CONTROL_FD": str(theirs.detach())})
    other = socket.socketpair()
    other[0].sendall(encode(given(depth=1)))
    with pytest.raises(InheritanceError, match="got 2, the parent said 1"):
        from_environment({"PI_FABRIC_DEPTH": "2", "PI_FABRIC_CONTROL_FD": str(other[1].detach())})
    other[0].close()


REQUEST = ApprovalRequest(
    ref="pi.write", risk="write", description="d", arguments={"a": 1}, arguments_text='{"a":1}', caller=("mid", "leaf")
)


async def test_questions_go_up_with_the_path_and_answers_come_down(pair):
    found, _ = inherit(pair)
    client = found.open_control()
    parent = Channel(pair[0], FROM_CHILD)
    stops = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.run, stops.append)

        async def answer_all():
            for answer in ("once", "session", "deny", "nonsense"):
                ask = await parent.receive()
                assert isinstance(ask, Ask)
                assert ask.caller == ("mid", "leaf")
                await parent.send(Answer(ask.id, answer))

        nursery.start_soon(answer_all)
        assert [await client.ask(REQUEST) for _ in range(4)] == ["once", "once", "deny", "deny"]
        client.report("log", {"text": "hi"}, cost=0.5)
        event = await parent.receive()
        assert event == Event("log", {"text": "hi"}, 0, 0.5)
        await parent.send(Message("steer", "left"))
        assert await client.messages.receive() == Message("steer", "left")
        await parent.send(StopOrder("enough"))
        while stops != ["enough"]:
            await trio.lowlevel.checkpoint()
        parent.close()
        while len(stops) < 2:
            await trio.lowlevel.checkpoint()
        assert stops[1] == "the parent is gone"
        assert await client.ask(REQUEST) == "deny"
    client._channel.close()


async def test_a_question_that_is_not_needed_any_more_is_withdrawn(pair):
    found, _ = inherit(pair)
    client = found.open_control()
    parent = Channel(pair[0], FROM_CHILD)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.run, lambda reason: None)
        async with trio.open_nursery() as asking:
            asking.start_soon(client.ask, REQUEST)
            ask = await parent.receive()
            asking.cancel_scope.cancel()
        assert await parent.receive() == Withdraw(ask.id)
        nursery.cancel_scope.cancel()
    client._channel.close()
    parent.close()


async def test_a_resident_host_is_asked_for_at_the_root(pair):
    found, _ = inherit(pair)
    client = found.open_control()
    parent = Channel(pair[0], FROM_CHILD)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.run, lambda reason: None)

        async def provide():
            for problem in (None, "not here"):
                need = await parent.receive()
                assert isinstance(need, NeedResident)
                await parent.send(ResidentReply(need.id, problem))

        nursery.start_soon(provide)
        assert await client.need_resident() is None
        assert await client.need_resident() == "not here"
        nursery.cancel_scope.cancel()
    client._channel.close()
    parent.close()


def test_a_child_cannot_hide_or_forge_its_path():
    ask = Ask(1, "pi.write", "write", "d", {"a": 1}, "{}", 1, (), ("mid", "leaf", "deep"), "b")
    assert request_from(ask, ("mid", "leaf"), "r").caller == ("mid", "leaf", "deep")
    assert request_from(msgspec.structs.replace(ask, caller=("boss",)), ("mid", "leaf"), "r").caller == (
        "mid",
        "leaf",
        "boss",
    )
    assert request_from(msgspec.structs.replace(ask, risk="harmless"), ("mid",), "r").risk == "execute"


@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff", b"\x01\0\0\0\xc1", b"\x05\0\0\0hello", encode(given())])
def test_hostile_frames_end_the_channel_and_nothing_else(data):
    frames = Frames(FROM_CHILD)
    frames.feed(data)
    with pytest.raises(ChannelError):
        frames.next()


def test_frames_come_whole_from_any_pieces():
    frames = Frames(TO_CHILD)
    data = encode(StopOrder("a")) + encode(given())
    got = []
    for index in range(len(data)):
        frames.feed(data[index : index + 1])
        while (frame := frames.next()) is not None:
            got.append(frame)
    assert got == [StopOrder("a"), given()]
