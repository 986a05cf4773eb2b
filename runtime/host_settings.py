"""What `open_host` was given, checked, and turned into the values that a host's parts take; it opens nothing."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, cast

from host_bridge.approval_prompt import Answer, ApprovalRequest, Approver
from host_bridge.approvals import ApprovalPolicy, Rule
from host_bridge.descriptor import RISKS, Action, Risk
from host_bridge.limits import RunLimits
from runtime.config import Config
from runtime.extensions import ToolFunction

ApproverFunction = Callable[[ApprovalRequest], Awaitable[Answer]]


def checked_actions(actions: Iterable[Action | ToolFunction]) -> list[Action | ToolFunction]:
    """The actions; a plain function is none, and dropping it in silence would look like an unknown action later.

    Raises: TypeError
    """
    given: list[Any] = list(actions)
    for one in given:
        if not isinstance(one, Action | ToolFunction):
            raise TypeError(f"actions: got {one!r}, wanted a function under @action(ref=…, risk=…) or @tool(risk=…)")
    return given


def checked_risks(name: str, risks: Iterable[Risk]) -> tuple[Risk, ...]:
    """The risk classes; one alone may stand as text.

    Raises: ValueError: none of them.
    """
    given = (risks,) if isinstance(risks, str) else tuple(risks)
    for risk in given:
        if risk not in RISKS:
            raise ValueError(f"{name}: got {risk!r}, wanted some of {', '.join(RISKS)}")
    return cast("tuple[Risk, ...]", given)


def run_limits(config: Config) -> RunLimits:
    """The section `executor` as limits of a run."""
    executor = config.executor
    return RunLimits(
        source_bytes=executor.source_limit_bytes,
        timeout_seconds=executor.timeout_ms / 1000,
        calls=executor.max_calls,
        calls_in_flight=executor.max_calls_in_flight,
        timers_in_flight=executor.max_timers_in_flight,
        output_bytes=executor.output_limit_bytes,
        result_bytes=executor.result_limit_bytes,
        frame_bytes=executor.frame_limit_bytes,
        reply_buffer_bytes=executor.reply_buffer_bytes,
        memory_bytes=executor.memory_limit_bytes,
        cpu_seconds=executor.cpu_seconds,
    )


def approval_policy(settings: Config, allow: Iterable[Risk], deny: Iterable[Risk]) -> ApprovalPolicy:
    """The section `approvals` as a policy, with the flags of one run."""
    section = settings.approvals
    return ApprovalPolicy(
        modes={
            "read": section.read,
            "write": section.write,
            "execute": section.execute,
            "network": section.network,
            "agent": section.agent,
        },
        rules=tuple(Rule(rule.ref, rule.action) for rule in section.rules),
        run_allow=frozenset(allow),
        run_deny=frozenset(deny),
    )


def seconds_of(milliseconds: int | None) -> float | None:
    """Milliseconds of a configuration as seconds."""
    return None if milliseconds is None else milliseconds / 1000


class _FunctionApprover:
    def __init__(self, function: ApproverFunction) -> None:
        self._function = function

    async def ask(self, request: ApprovalRequest) -> Answer:
        return await self._function(request)


def as_approver(approver: Approver | ApproverFunction | None) -> Approver | None:
    """An embedder's approver, also where it is only a function."""
    if approver is None or hasattr(approver, "ask"):
        return approver
    return _FunctionApprover(approver)
