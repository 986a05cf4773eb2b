"""Asking a person: one question at a time, like calls together, withdrawn when the calls die; it decides no policy.

Invariant: an answer covers exactly the calls that were shown with the question (or, when given for the session, the
ref), and it is taken once. Attacked by `tests/host_bridge/test_approval_prompt.py`.
"""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeAlias

import trio

from host_bridge.descriptor import Risk
from host_bridge.neutral_text import arguments_text, neutral_copy, neutralise

Answer: TypeAlias = Literal["once", "run", "session", "stored", "deny"]
"""`run`: this ref for the rest of this run, so that a loop asks no second time and the next program asks again."""
ANSWERS: Final = frozenset({"once", "run", "session", "stored", "deny"})
COLLECT_SECONDS: Final = 0.03
"""How long a question waits for like calls of the same gather; nobody reads faster."""
SAMPLES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """A question: may these calls run? All text in it is safe to show."""

    ref: str
    risk: Risk
    description: str
    arguments: Mapping[str, Any]
    """All arguments of the first call, neutralised."""
    arguments_text: str
    """The same as JSON text: what a prompt shows when the question covers one call."""
    count: int = 1
    """How many like calls (same ref) this one answer covers."""
    samples: tuple[str, ...] = ()
    """Arguments of the first few of them, as JSON text."""
    earlier: int = 0
    """How many like calls of this run a person has let through before: a loop is recognised by it."""
    caller: tuple[str, ...] = ()
    """Which child asks, outermost first; empty: this host's own program."""
    because: str = ""
    """The statement that demands the question: `approvals.write = ask`."""
    run_id: str = ""


class Approver(Protocol):
    """Who can be asked. Cancelling `ask` withdraws the question."""

    async def ask(self, request: ApprovalRequest) -> Answer:
        """The answer; anything but the five words counts as deny, and so does an exception."""


ClassifierWord: TypeAlias = Literal["allow", "ask"]


class Classifier(Protocol):
    """What `auto` consults before a person: a model, behind this port."""

    async def classify(self, request: ApprovalRequest) -> ClassifierWord:
        """`allow` lets the call run; everything else, and every failure, asks the person."""


class _CallableApprover:
    def __init__(self, function: Callable[[ApprovalRequest], Awaitable[Answer]]) -> None:
        self._function = function

    async def ask(self, request: ApprovalRequest) -> Answer:
        return await self._function(request)


def as_approver(given: "Approver | Callable[[ApprovalRequest], Awaitable[Answer]] | None") -> Approver | None:
    """An approver out of an object with `ask`, or of an async function."""
    if given is None or hasattr(given, "ask"):
        return given
    return _CallableApprover(given)


@dataclass(slots=True, eq=False)
class _Waiting:
    """One call that waits for an answer."""

    arguments: Any
    order: int
    answer: Answer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a call brings to the desk."""

    ref: str
    risk: Risk
    description: str
    arguments: Any
    because: str
    caller: tuple[str, ...] = ()
    run_id: str = ""
    order: int = 0
    """Like calls are shown in this order: that in which the program made them."""
    earlier: Callable[[], int] = int
    """Asked when the question is put: like calls of this run that a person let through."""


def _nothing(request: ApprovalRequest) -> None:
    """Nobody wants to know."""


class ApprovalDesk:
    """One prompt at a time for a whole host, however many guests ask."""

    def __init__(
        self, approver: Approver, *, timeout_seconds: float | None = None, collect_seconds: float = COLLECT_SECONDS
    ) -> None:
        """`timeout_seconds`: how long a person may take before it counts as deny; None: as long as the run lives."""
        self._approver = approver
        self._timeout_seconds = timeout_seconds if timeout_seconds is not None else math.inf
        self._collect_seconds = collect_seconds
        self._turn = trio.Lock()
        self._waiting: dict[tuple[Any, ...], list[_Waiting]] = {}

    async def ask(
        self,
        question: Question,
        *,
        settled: Callable[[], bool] = lambda: False,
        shown: Callable[[ApprovalRequest], None] = _nothing,
    ) -> Answer | None:
        """The answer for this call, or None when `settled()` says that no question is needed any more
        (an earlier answer was given for the session). `shown` is told right before a question is put.

        Cancelled: the question is withdrawn, unless other calls wait for the same answer: then it is put again.
        """
        key = (question.run_id, question.ref, question.risk, question.caller, question.because)
        me = _Waiting(question.arguments, question.order)
        alike = self._waiting.setdefault(key, [])
        alike.append(me)
        try:
            async with self._turn:
                if me.answer is not None:
                    return me.answer
                if settled():
                    return None
                await trio.sleep(self._collect_seconds)
                # Like calls that come from here on were not shown: they wait for the next question.
                covered = sorted((member for member in alike if member.answer is None), key=lambda one: one.order)
                request = request_of(question, covered)
                shown(request)
                answer = await self._put(request)
                for member in covered:
                    member.answer = answer
                return answer
        finally:
            alike.remove(me)
            if not alike and self._waiting.get(key) is alike:
                del self._waiting[key]

    async def _put(self, request: ApprovalRequest) -> Answer:
        answer: Answer = "deny"
        try:
            with trio.move_on_after(self._timeout_seconds):
                answer = await self._approver.ask(request)
        except Exception:
            return "deny"
        return answer if answer in ANSWERS else "deny"


def request_of(question: Question, covered: Sequence[Any] = ()) -> ApprovalRequest:
    """The question as it may be shown: every text of it neutralised."""
    calls = [member.arguments for member in covered] or [question.arguments]
    return ApprovalRequest(
        ref=neutralise(question.ref),
        risk=question.risk,
        description=neutralise(question.description),
        arguments=neutral_copy(calls[0]),
        arguments_text=arguments_text(calls[0]),
        count=len(calls),
        samples=tuple(arguments_text(arguments) for arguments in calls[:SAMPLES]),
        earlier=question.earlier(),
        caller=tuple(neutralise(part) for part in question.caller),
        because=neutralise(question.because),
        run_id=question.run_id,
    )
