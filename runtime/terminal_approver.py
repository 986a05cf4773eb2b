"""Asking the person at the terminal: shows one question, reads one line, can be withdrawn; it knows no policy."""

import os
import sys
import termios
from typing import IO, Final

import trio

from host_bridge.approval_prompt import Answer, ApprovalRequest

ANSWER_WORDS: Final[dict[str, Answer]] = {"y": "once", "r": "run", "a": "session", "always": "stored"}
"""Exactly these; anything else denies, an empty line and end-of-file too."""
LINE_BYTES: Final = 4096
TERMINAL: Final = "/dev/tty"


class TerminalApprover:
    """Puts questions on one terminal. Reading waits on the event loop, so a dead call or Ctrl-C withdraws it."""

    def __init__(self, path: str) -> None:
        self.path = path
        """The terminal's device."""

    async def ask(self, request: ApprovalRequest) -> Answer:
        """Show the question and wait for one line.

        Cancelled: says on the terminal that the question is withdrawn, and forgets what was typed for it.
        """
        fd = os.open(self.path, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            if _in_background(fd):
                # Reading from a background job would stop the whole process.
                return "deny"
            # What was typed before the question is seen cannot be its answer, be it the first or a later one.
            termios.tcflush(fd, termios.TCIFLUSH)
            _write(fd, question_text(request))
            try:
                await trio.lowlevel.wait_readable(fd)
            except trio.Cancelled:
                termios.tcflush(fd, termios.TCIFLUSH)
                _write(fd, "\n(withdrawn: the call is over)\n")
                raise
            line = os.read(fd, LINE_BYTES)
            if not line.endswith(b"\n"):
                _write(fd, "\n")  # end-of-file leaves the cursor behind the question
        finally:
            os.close(fd)
        return ANSWER_WORDS.get(line.decode("utf-8", "replace").strip(), "deny")


def question_text(request: ApprovalRequest) -> str:
    """What the terminal shows; every foreign text in a request is neutralised already."""
    lines = [f"\npi-fabric: allow {request.ref}? (risk {request.risk}; {request.because})"]
    if request.caller:
        lines.append(f"  asked by the child {' > '.join(request.caller)}")
    if request.earlier:
        lines.append(f"  allowed before in this run: {request.earlier}")
    if request.description:
        lines.append(f"  {request.description}")
    if request.count == 1:
        lines.append(f"  arguments: {request.arguments_text}")
    else:
        lines.append(f"  {request.count} calls at once; the answer covers them all:")
        lines.extend(f"  arguments: {sample}" for sample in request.samples)
        if (more := request.count - len(request.samples)) > 0:
            lines.append(f"  … and {more} more")
    lines.append("  y allows once, r for this run, a for this session, always keeps a rule, anything else denies: ")
    return "\n".join(lines)


def terminal_approver(*, program_on_stdin: bool = False, stdin: IO[str] | None = None) -> TerminalApprover | None:
    """Who can be asked here; None: nobody, so what needs a question is denied at once.

    That is the terminal on standard input. Only when standard input carries the program itself, and standard error
    is a terminal, the controlling one is used instead.
    """
    source = stdin if stdin is not None else sys.stdin
    try:
        fd = source.fileno()
        if os.isatty(fd):
            return TerminalApprover(os.ttyname(fd))
        if program_on_stdin and os.isatty(sys.stderr.fileno()):
            os.close(os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
            return TerminalApprover(TERMINAL)
    except (AttributeError, OSError, ValueError):
        return None  # closed, replaced by something without a descriptor, or no controlling terminal
    return None


def _in_background(fd: int) -> bool:
    try:
        return os.tcgetpgrp(fd) != os.getpgrp()
    except OSError:
        return False  # not our controlling terminal: reading cannot stop us


def _write(fd: int, text: str) -> None:
    data = text.encode()
    while data:
        data = data[os.write(fd, data) :]
