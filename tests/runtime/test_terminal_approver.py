"""Asking on a real terminal: `y`, `a`, `always`, and everything that denies."""

import io
import os
import pty

import pytest
import trio

from host_bridge.approval_prompt import ApprovalRequest
from runtime.terminal_approver import TerminalApprover, question_text, terminal_approver


def request(**more):
    given = {
        "ref": "files.write", "risk": "write", "description": "Write a file.", "arguments": {"path": "a"},
        "arguments_text": '{"path":"a"}', "because": "approvals.write = ask",
    }  # fmt: skip
    return ApprovalRequest(**{**given, **more})


@pytest.fixture
def terminal():
    master, slave = pty.openpty()
    yield master, os.ttyname(slave)
    os.close(master)
    os.close(slave)


async def shown(master):
    text = b""
    while b"denies:" not in text:
        await trio.lowlevel.wait_readable(master)
        text += os.read(master, 4096)
    return text.decode()


async def answer(terminal, typed):
    master, path = terminal
    got = []
    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:

            async def ask():
                got.append(await TerminalApprover(path).ask(request()))

            nursery.start_soon(ask)
            text = await shown(master)
            os.write(master, typed)
    return got[0], text


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (b"y\n", "once"), (b" y \n", "once"), (b"a\n", "session"), (b"always\n", "stored"), (b"n\n", "deny"), (b"\n", "deny"),
        (b"Y\n", "deny"), (b"yes\n", "deny"), (b"yy\n", "deny"), (b"\x04", "deny"), (b"\xff\n", "deny"),
    ],
)  # fmt: skip
async def test_only_the_three_words_allow(terminal, typed, expected):
    got, text = await answer(terminal, typed)
    assert got == expected
    for part in ("files.write", "risk write", '{"path":"a"}', "approvals.write = ask", "Write a file."):
        assert part in text


async def test_what_is_typed_beyond_an_answer_does_not_answer_the_next_question(terminal):
    master, path = terminal
    approver, got = TerminalApprover(path), []
    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:

            async def ask():
                got.append(await approver.ask(request()))

            nursery.start_soon(ask)
            await shown(master)
            os.write(master, b"y\ny\n")
            while not got:
                await trio.sleep(0)
            nursery.start_soon(ask)
            await shown(master)
            os.write(master, b"n\n")
    assert got == ["once", "deny"]


async def test_what_was_typed_before_the_first_question_does_not_answer_it(terminal):
    master, _ = terminal
    os.write(master, b"y\nalways\n")
    got, _ = await answer(terminal, b"n\n")
    assert got == "deny"


async def test_a_withdrawn_question_forgets_what_was_typed_for_it(terminal):
    master, path = terminal
    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:

            async def ask():
                await TerminalApprover(path).ask(request())

            nursery.start_soon(ask)
            await shown(master)
            os.write(master, b"y")
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
    got, text = await answer(terminal, b"\n")
    assert got == "deny"
    assert "withdrawn" in text


def test_a_set_of_calls_shows_its_count_and_samples():
    text = question_text(request(count=20, samples=('{"path":"0"}', '{"path":"1"}')))
    assert "20 calls" in text
    assert '{"path":"1"}' in text
    assert "18 more" in text


def test_a_childs_question_shows_its_path():
    assert "child reviewer > helper" in question_text(request(caller=("reviewer", "helper")))


def test_without_a_terminal_nobody_is_asked(terminal):
    assert terminal_approver(stdin=io.StringIO("y\n")) is None
    with open(os.devnull) as nothing:
        assert terminal_approver(stdin=nothing) is None
    closed = open(os.devnull)
    closed.close()
    assert terminal_approver(stdin=closed) is None
    with open(terminal[1]) as tty:
        assert terminal_approver(stdin=tty).path == terminal[1]


def test_a_loops_question_says_how_many_were_allowed_before():
    assert "allowed before in this run: 3" in question_text(request(earlier=3))
    assert "allowed before" not in question_text(request())
