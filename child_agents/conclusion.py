"""How a run ended, from what its child said, how its process ended and what was ordered meanwhile; pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from child_agents.request import AgentResult, Failure, Status, Usage
from child_agents.resolver import ResolvedRun
from child_agents.runners.port import Outcome
from host_bridge.arguments import SchemaUnusableError, SchemaValidator

STDERR_SHOWN_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class Ending:
    """Why this side ended the child."""

    cause: Literal["stopped", "closing", "timed_out", "limit"]
    message: str
    setting: str | None = None


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How the child's process ended; neither status nor signal: its worker was lost with it."""

    status: int | None = None
    signal: int | None = None
    not_started: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """What was counted on this side."""

    turns: int = 0
    cost: float = 0.0
    calls: int = 0
    wall_ms: float = 0.0


def conclude(
    run: ResolvedRun,
    *,
    outcome: Outcome | None,
    process: ProcessEnd,
    ending: Ending | None,
    counters: Counters,
    stderr: str,
    validator: SchemaValidator,
) -> AgentResult:
    """The result of the run."""
    status, error = _judge(run, outcome, process, ending, counters, stderr=stderr, validator=validator)
    usage = Usage() if outcome is None else outcome.usage
    return AgentResult(
        id=run.id,
        name=run.name,
        runner=run.runner,
        status=status,
        text="" if outcome is None else outcome.text,
        usage=Usage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost=max(usage.cost, counters.cost),
            wall_ms=round(counters.wall_ms, 3),
        ),
        turns=counters.turns if outcome is None else max(outcome.turns, counters.turns),
        tool_calls=counters.calls if outcome is None else max(outcome.tool_calls, counters.calls),
        thinking=run.thinking if outcome is None or outcome.level is None else outcome.level,
        error=error,
        requested_thinking=run.requested_thinking,
        thinking_bounds=None if run.thinking_bounds is None else run.thinking_bounds.to_dict(),
        **({"value": outcome.value} if outcome is not None and outcome.ok else {}),
    )


def _judge(
    run: ResolvedRun,
    outcome: Outcome | None,
    process: ProcessEnd,
    ending: Ending | None,
    counters: Counters,
    *,
    stderr: str,
    validator: SchemaValidator,
) -> tuple[Status, Failure | None]:
    if outcome is not None and outcome.ok:
        mismatch = schema_failure(run.schema, outcome.value, validator)
        return ("completed", None) if mismatch is None else ("failed", mismatch)
    if ending is not None:
        return _ended(ending, counters)
    if outcome is not None:
        return "failed", outcome.error
    if process.not_started is not None:
        return "failed", Failure(kind="host", message=process.not_started)
    said = f": {stderr[-STDERR_SHOWN_CHARACTERS:].strip()}" if stderr.strip() else ""
    if process.signal is not None:
        return "failed", Failure(kind="crashed", message=f"the child was ended by signal {process.signal}{said}")
    if process.status is None:
        return "failed", Failure(kind="crashed", message=f"the child's processes were killed{said}")
    kind = {2: "config", 3: "isolation"}.get(process.status, "crashed")
    return "failed", Failure(
        kind=kind, message=f"the child ended with status {process.status} and without a result{said}"
    )


def _ended(ending: Ending, counters: Counters) -> tuple[Status, Failure]:
    used = f"after {counters.wall_ms / 1000:.1f} s, {counters.turns} turns, {counters.calls} calls"
    if ending.cause == "timed_out":
        return "timed_out", Failure(kind="limit", message=f"{ending.message} ({used})", limit=ending.setting)
    if ending.cause == "limit":
        return "failed", Failure(kind="limit", message=f"{ending.message} ({used})", limit=ending.setting)
    return "stopped", Failure(kind="cancelled", message=f"{ending.message} ({used})")


def schema_failure(schema: Mapping[str, Any] | None, value: Any, validator: SchemaValidator) -> Failure | None:
    """Why the value does not fit, with the first place; None: it does, or nothing was asked."""
    if schema is None:
        return None
    try:
        problems = validator.problems(schema, value)
    except SchemaUnusableError as error:
        return Failure(kind="schema", message=f"schema: {error}")
    if not problems:
        return None
    lines = [f"{_place(problem.field)}: got {problem.got}, want {problem.wanted}" for problem in problems]
    return Failure(
        kind="schema",
        message="the child's value does not fit its schema: " + "; ".join(lines),
        path=_place(problems[0].field),
    )


def _place(field: str) -> str:
    return "$" if not field else f"${field}" if field.startswith("[") else f"$.{field}"
