"""What a program prints or raises cannot steer the terminal of the person who watches."""

import io

from rich.console import Console

from host_bridge.trace import CallError, CallRecord
from runtime.events import HintGiven
from runtime.run_display import RunDisplay
from runtime.run_result import RunFailure, RunResult

HOSTILE = "\x1b[2Jgone\u202e [bold]x[/bold]"
SHOWN = "\\u001b[2Jgone\\u202e [bold]x[/bold]"


def display(*, terminal):
    output, errors = io.StringIO(), io.StringIO()
    made = RunDisplay(
        enabled=True,
        console=Console(file=errors, highlight=False, soft_wrap=True),
        output=Console(file=output, force_terminal=terminal, highlight=False, soft_wrap=True, color_system=None),
    )
    return made, output, errors


def test_prints_are_neutral_on_a_terminal_and_exact_in_a_pipe():
    made, output, _ = display(terminal=True)
    made.log_printed(HOSTILE)
    assert output.getvalue() == SHOWN + "\n"
    made, output, _ = display(terminal=False)
    made.log_printed(HOSTILE)
    assert output.getvalue() == HOSTILE + "\n"


def test_errors_and_refs_are_neutral():
    made, _, errors = display(terminal=True)
    made.call_finished(
        CallRecord(id=1, ref=HOSTILE, ok=False, ms=1.0, error=CallError(kind="rejected", message=HOSTILE))
    )
    made.ends(
        RunResult(ok=False, error=RunFailure("program", HOSTILE, 1, HOSTILE, ((1, "f"), (1, HOSTILE)))), seconds=1.0
    )
    text = errors.getvalue()
    assert "\x1b" not in text
    assert text.count(SHOWN) == 4


def test_a_failure_without_a_message_is_shown_too():
    made, _, errors = display(terminal=True)
    made.call_finished(CallRecord(id=1, ref="a.b", ok=False, ms=1.0, error=CallError(kind="host", message="")))
    assert "a.b" in errors.getvalue()


def test_only_what_a_person_allowed_is_said_to_be_allowed():
    made, _, errors = display(terminal=True)
    for decision in ("denied", "approved"):
        made.call_finished(
            CallRecord(id=1, ref="a.b", ok=decision == "approved", ms=1.0, decision=decision, approver="person")
        )
    assert errors.getvalue().count("you allowed it") == 1


def test_a_hint_is_shown_to_people_only_where_the_mode_says_so():
    for display_to_people, shown in ((True, f"✦ {SHOWN}"), (False, "")):
        made, _, errors = display(terminal=True)
        made.event(HintGiven(f"{HOSTILE}\nsecond line", display_to_people))
        assert errors.getvalue().strip() == shown
