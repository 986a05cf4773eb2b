"""Waiting awake for a frame, with a clock and a stream that the test moves."""

import itertools

import pytest

from guest_api import wire
from guest_api.inside import channel as channel_module
from guest_api.inside.channel import Channel

FRAME = wire.encode(wire.Warm(1))


class Stream:
    """Has nothing to read until its `quiet` looks are over."""

    def __init__(self, quiet=10**9):
        self.looks = 0
        self.quiet = quiet

    def sendall(self, data):
        raise AssertionError(f"nothing is sent while waiting, not {data!r}")

    def recv_into(self, buffer, nbytes=0, flags=0):
        self.looks += 1
        if self.looks <= self.quiet:
            raise BlockingIOError
        buffer[: len(FRAME)] = FRAME
        return len(FRAME)


@pytest.fixture
def clock(monkeypatch):
    """Each reading takes the next of `steps` seconds."""

    def use(steps):
        moments = itertools.accumulate(steps)
        monkeypatch.setattr(channel_module.time, "monotonic", lambda: next(moments))

    return use


def test_a_frame_that_comes_in_time_is_found_and_read(clock):
    clock(itertools.repeat(0.001))
    stream = Stream(quiet=3)
    channel = Channel(stream)
    assert channel.wait_awake(1.0, patience_seconds=0.01) is True
    assert channel.read() == [wire.Warm(1)]
    assert stream.looks == 4


def test_waiting_ends_after_its_time(clock):
    clock(itertools.repeat(0.125))
    stream = Stream()
    assert Channel(stream).wait_awake(1.0, patience_seconds=0.5) is False
    assert stream.looks == 8


def test_who_lost_the_processor_for_longer_than_its_patience_gives_up(clock):
    clock([0.0, 0.001, 0.001, 0.003, 0.001])
    stream = Stream()
    assert Channel(stream).wait_awake(1.0, patience_seconds=0.002) is False
    assert stream.looks == 3


def test_work_is_done_at_its_interval_and_does_not_count_as_lost_time(clock):
    clock(itertools.repeat(0.25))
    done = []
    Channel(Stream()).wait_awake(4.0, patience_seconds=0.3, work=lambda: done.append(1), interval_seconds=1.0)
    assert len(done) == 3
