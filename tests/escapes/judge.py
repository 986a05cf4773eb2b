"""Whether an attack ended as its index says; it runs nothing.

A program that simply completes has succeeded as an attack, so it fails for every expectation.
"""

from dataclasses import dataclass
from typing import Any

from host_bridge.run_outcome import RunError

_BROKEN = ("SyntaxError", "IndentationError", "NameError")
"""A raw program that ends so never got to its attack."""
_GUEST_LIMITS = frozenset({"memory", "recursion", "result", "frame", "calls", "callsInFlight", "output", None})
"""Limits that stop a program from inside, as an error it could see; the others kill it."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One entry of an `index.json`."""

    file: str
    kind: str
    expected: str
    raw: bool
    note: str = ""
    bounded: bool = False
    """Harmless to the machine even where it succeeds, so that it is run without the resource limits too."""
    soak: bool = False
    """It takes its whole deadline; the quick tests leave it to the soak run."""

    @classmethod
    def from_index(cls, entry: dict[str, Any]) -> "Attack":
        return cls(
            entry["file"],
            entry["kind"],
            entry["expected"],
            bool(entry.get("raw")),
            entry.get("note", ""),
            bool(entry.get("bounded")),
            bool(entry.get("soak")),
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one attack."""

    passed: bool
    told: str
    completed: bool = False
    """The attack succeeded."""


EXPECTATIONS = ("rejected at compile", "runtime error", "killed by limit", "contained by kernel")


def judge(attack: Attack, error: RunError | None, value: Any = None) -> Verdict:
    """`error` is None when the program completed, with `value`."""
    if attack.expected not in EXPECTATIONS:
        return Verdict(False, f"unknown expectation {attack.expected!r}")
    if error is None:
        return Verdict(False, f"COMPLETED with {value!r:.120}", completed=True)
    told = f"{error.kind}{f' ({error.limit})' if error.limit else ''}: {error.message[:110]}"
    if error.kind in {"host", "cancelled"}:
        return Verdict(False, told)
    match attack.expected:
        case "rejected at compile":
            passed = error.kind == "rejected"
        case "runtime error":
            # Refused before it runs is refused all the more.
            passed = error.kind in {"program", "denied", "rejected"} or (
                error.kind == "limit" and error.limit in _GUEST_LIMITS
            )
        case "killed by limit":
            passed = error.kind == "limit"
        case _:
            passed = _contained(error)
    return Verdict(passed, told)


def _contained(error: RunError) -> bool:
    if error.kind in {"crashed", "protocol", "limit"}:
        return True
    return error.kind == "program" and not error.message.startswith(_BROKEN)
