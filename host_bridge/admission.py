"""The one ordered path of a call: resolve, decode, schema gate, approval, invoke, map the outcome.

Invariant: no handler runs before every step to its left has passed, none runs twice, and a wrong call is refused
before anybody is asked about it. Attacked by `tests/host_bridge/test_admission.py` and the bridge programs of
`tests/escapes`.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import trio

from guest_api.errors import ActionError, RefusalKind
from guest_api.values import ValueRefusedError, from_wire, to_wire
from host_bridge.approval_prompt import ApprovalDesk, ApprovalRequest, Approver, Classifier, Question
from host_bridge.approval_rules import RuleStore
from host_bridge.approvals import (
    ApprovalPolicy,
    Rule,
    Verdict,
    denied_message,
    unanswered_message,
    verdict,
)
from host_bridge.argument_errors import (
    ArgumentValidator,
    Problem,
    problem_details,
    problems_text,
    show,
)
from host_bridge.decoding import decoded
from host_bridge.descriptor import Action, CallContext, Risk
from host_bridge.errors import HandlerError, RuleFileError, lone
from host_bridge.positional import is_text_first, with_text_first
from host_bridge.registry import CALL_BY_REF, REF_LIMIT_CHARACTERS, Registry
from host_bridge.schema_gate import SchemaMode, blocked_message, gate
from host_bridge.trace import Decision

CLASSIFIER_SECONDS: Final = 20.0
MESSAGE_LIMIT_CHARACTERS: Final = 4000
FOR_THIS_RUN: Final = "allowed for this run"


class Admitted(msgspec.Struct, kw_only=True):
    """One call on its way, and in the end its outcome. A Struct because one is made for each call."""

    id: int
    ref: str
    arguments: Any
    """As sent, checked to be JSON."""
    text_first: str | None = None
    """A text that was passed by position, until the action is known and with it the parameter that it is for."""
    action: Action | None = None
    decoded: Any = None
    verdict: Verdict | None = None
    decision: Decision = "rejected"
    approver: str | None = None
    would_block: bool = False
    settled: bool = False
    """True: `ok` and the rest are final."""
    ok: bool = False
    value: Any = None
    """Ready for the wire."""
    kind: RefusalKind = "host"
    message: str = ""
    details: Any = None


def _nothing(request: ApprovalRequest) -> None:
    """Nobody wants to know of shown questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """Whose calls these are."""

    run_id: str
    caller: tuple[str, ...] = ()
    """The child's path, for prompts; empty: the host's own program."""
    waiting: Callable[[], AbstractContextManager[object]] = nullcontext
    """Entered while a person is asked: the run's deadline stands still."""
    shown: Callable[[ApprovalRequest], None] = _nothing
    """Told right before a question is put."""
    approved: Counter[tuple[str, Risk]] = field(default_factory=Counter)
    """Calls that a person let through, by ref and risk."""
    granted: set[tuple[str, Risk]] = field(default_factory=set)
    """What was allowed for the rest of this run."""


@dataclass(slots=True)
class SessionGrants:
    """What was allowed for the session, by exact ref and risk; `added` is told of each new one."""

    held: set[tuple[str, Risk]] = field(default_factory=set)
    added: Callable[[str, Risk], None] | None = None

    def add(self, ref: str, risk: Risk) -> None:
        """From now on calls of this ref at this risk are not asked about."""
        if (ref, risk) not in self.held:
            self.held.add((ref, risk))
            if self.added is not None:
                self.added(ref, risk)


@dataclass(slots=True)
class _StoredRules:
    """The stored rules as last read."""

    rules: tuple[Rule, ...]


class Admission:
    """The path's shell for one host: registry, gate, policy, approver. Shared by all its guests."""

    def __init__(
        self,
        registry: Registry,
        *,
        policy: ApprovalPolicy | None = None,
        schema_mode: SchemaMode = "off",
        approver: Approver | None = None,
        prompt_timeout_seconds: float | None = None,
        classifier: Classifier | None = None,
        rules: RuleStore | None = None,
        grants: SessionGrants | None = None,
        validator: ArgumentValidator | None = None,
        desk: ApprovalDesk | None = None,
    ) -> None:
        """`prompt_timeout_seconds`: how long a person may take before it counts as no; None: as long as the run lives.

        Raises: RuleFileError: `rules` cannot be read; a host that cannot know its denials does not start.
        """
        self.registry = registry
        self.policy = policy or ApprovalPolicy()
        self.schema_mode: SchemaMode = schema_mode
        self.grants = grants or SessionGrants()
        self.rule_store = rules
        self.validator = validator
        self._classifier = classifier
        if desk is None and approver is not None:
            desk = ApprovalDesk(approver, timeout_seconds=prompt_timeout_seconds)
        self._desk = desk
        # One holder for all views of this host (`with_policy`).
        self._stored = _StoredRules(rules.rules() if rules is not None else ())
        self._serial: dict[tuple[str, ...], trio.Lock] = {}
        self._verdicts: dict[tuple[str, Risk], Verdict] = {}
        self._verdicts_for: tuple[int, tuple[Rule, ...]] = (0, ())

    @property
    def desk(self) -> ApprovalDesk | None:
        """Where people are asked, one question at a time; children's questions go there too. None: nobody is there."""
        return self._desk

    def reload_rules(self) -> None:
        """Read the stored rules again, so that a revocation holds for the next run.

        Raises: RuleFileError: they cannot be read.
        """
        if self.rule_store is not None:
            self._stored.rules = self.rule_store.rules()

    def with_policy(self, policy: ApprovalPolicy) -> "Admission":
        """The same host under another policy (one run's flags); grants, desk and rules are shared."""
        other = object.__new__(Admission)
        other.__dict__.update(self.__dict__)
        other.policy = policy
        other._verdicts = {}
        return other

    def verdict(self, ref: str, risk: Risk) -> Verdict:
        """What policy says of a call, before anybody is asked."""
        # Verdicts are remembered until a grant or a stored rule changes: most programs call few refs often.
        basis = (len(self.grants.held), self._stored.rules)
        if basis != self._verdicts_for:
            self._verdicts = {}
            self._verdicts_for = basis
        key = (ref, risk)
        found = self._verdicts.get(key)
        if found is None:
            found = verdict(self.policy, ref, risk, granted=self.grants.held, stored=self._stored.rules)
            self._verdicts[key] = found
        return found

    # -- the path ------------------------------------------------------------------------------------------------

    def begin(self, call_id: int, ref: str, arguments: Any, run: RunContext) -> Admitted:
        """Take a call as far as it goes without waiting; unless `.settled`, `finish` takes it to its end."""
        call = Admitted(id=call_id, ref=ref, arguments=arguments)
        try:
            self._unwrap(call)
            call.action = self.registry.lookup(call.ref)
            if call.action is None:
                if self.registry.may_resolve(call.ref):
                    if gate(self.schema_mode, call.ref) == "block":
                        # Resolving may start a server, which is more than a read.
                        call.decision, call.approver = "blocked", "schema.mode = enforce"
                        details = {"ref": call.ref, "schemaMode": "enforce"}
                        settle_error(call, HandlerError(blocked_message(call.ref), "denied", details))
                    else:
                        self._foresee(call, run)
                    return call
                settle_error(call, self.registry.unknown(call.ref))
                return call
            if self._judge(call, call.action, run) and not call.action.waits:
                self._settle_value(call, call.action.handler(call.decoded, _context(call, run)))
        except BaseException as error:
            if _is_the_hosts(error):
                raise
            settle_error(call, error)
        return call

    async def finish(self, call: Admitted, run: RunContext) -> None:
        """The rest of the path: whatever has to wait. Cancelled: nothing more of the call happens."""
        try:
            if call.action is None:
                call.action = await self.registry.resolve(call.ref)
                ready = self._judge(call, call.action, run)
            else:
                ready = call.decision == "allowed"
            if not ready:
                await self._approve(call, call.action, run)
            await self._invoke(call, call.action, run)
        except BaseException as error:
            if _is_the_hosts(error):
                raise
            settle_error(call, error)

    def _unwrap(self, call: Admitted) -> None:
        """`tools.call(ref=…, args=…)` is the call of that ref: judged, asked about and recorded as itself."""
        if type(call.arguments) is not dict:
            if call.ref == CALL_BY_REF or not is_text_first(call.arguments):
                raise HandlerError(f"{call.ref}: arguments must be a dict, got {show(call.arguments)}", "rejected")
            call.text_first, call.arguments = call.arguments
        for name, value in call.arguments.items():
            if type(name) is not str or type(value) not in _PLAIN_SCALARS:
                try:
                    from_wire(call.arguments)
                except ValueRefusedError as error:
                    raise HandlerError(f"{call.ref}: argument {error}", "rejected") from None
                break
        if call.ref != CALL_BY_REF:
            return
        outer = call.arguments
        problems = [
            Problem(name, show(outer[name]), "one of ref, args") for name in outer if name not in ("ref", "args")
        ]
        ref, arguments = outer.get("ref"), outer.get("args")
        if type(ref) is not str:
            problems.append(Problem("ref", "nothing" if ref is None else show(ref), "an action's ref as text"))
        if arguments is not None and type(arguments) is not dict:
            problems.append(Problem("args", show(arguments), "a dict of named arguments"))
        if type(ref) is str and ref == CALL_BY_REF:
            problems.append(Problem("ref", show(ref), "the action to call"))
        if problems:
            raise HandlerError(problems_text(CALL_BY_REF, problems), "rejected", problem_details(problems))
        call.ref, call.arguments = str(ref), arguments or {}

    def _judge(self, call: Admitted, action: Action, run: RunContext) -> bool:
        """Decode, gate, verdict. True: it may run now; False: somebody has to be asked.

        Raises: HandlerError: refused.
        """
        if call.text_first is not None:
            call.arguments = with_text_first(call.ref, action, call.text_first, call.arguments)
            call.text_first = None
        call.decoded = decoded(call.ref, action, call.arguments, self.validator)
        ref, risk = action.descriptor.ref, action.descriptor.risk
        if self.schema_mode != "off":
            passing = gate(self.schema_mode, ref)
            if passing == "block":
                call.decision, call.approver = "blocked", "schema.mode = enforce"
                raise HandlerError(blocked_message(ref), "denied", {"ref": ref, "risk": risk, "schemaMode": "enforce"})
            call.would_block = passing == "would_block"
        decided = call.verdict = self.verdict(ref, risk)
        if decided.mode == "allow":
            call.decision, call.approver = "allowed", decided.because
            return True
        if decided.mode != "deny" and (ref, risk) in run.granted:
            call.decision, call.approver = "allowed", FOR_THIS_RUN
            return True
        call.decision, call.approver = "denied", decided.because
        if (refusal := self._refusal(ref, risk, decided)) is not None:
            raise refusal
        return False

    def _foresee(self, call: Admitted, run: RunContext) -> None:
        """Deny a call of an action that was never seen when it would be denied whatever its class turns out to be.

        Finding the class starts a server, which is more than a call that nobody may allow should bring about.
        """
        refusals: list[tuple[Verdict, HandlerError]] = []
        for risk in self.registry.possible_risks(call.ref):
            decided = self.verdict(call.ref, risk)
            refusal = self._refusal(call.ref, risk, decided)
            if refusal is None or (decided.mode != "deny" and (call.ref, risk) in run.granted):
                return
            refusals.append((decided, refusal))
        if refusals:
            decided, refusal = refusals[0]
            call.decision, call.approver = "denied", decided.because
            call.would_block = gate(self.schema_mode, call.ref) == "would_block"
            settle_error(call, refusal)

    def _refusal(self, ref: str, risk: Risk, decided: Verdict) -> HandlerError | None:
        """The denial of a call that no statement lets through, at once; None: it may run, or somebody can be asked."""
        if decided.mode == "deny":
            return HandlerError(denied_message(ref, risk, decided), "denied", {"ref": ref, "risk": risk})
        if decided.mode != "allow" and self._desk is None and (decided.mode == "ask" or self._classifier is None):
            return self._unanswered(ref, risk, decided)
        return None

    async def _approve(self, call: Admitted, action: Action, run: RunContext) -> None:
        """Ask classifier and person.

        Raises: HandlerError: denied.
        """
        decided = call.verdict
        assert decided is not None  # noqa: S101  `_judge` set it before it said that somebody is to be asked
        ref, risk = action.descriptor.ref, action.descriptor.risk
        question = Question(
            ref=ref,
            risk=risk,
            description=action.descriptor.description,
            arguments=call.arguments,
            because=decided.because,
            caller=run.caller,
            run_id=run.run_id,
            order=call.id,
            earlier=lambda: run.approved[ref, risk],
        )
        if decided.mode == "auto" and await self._classified(question, run):
            call.decision, call.approver = "approved", "classifier"
            return
        if self._desk is None:
            raise self._unanswered(ref, risk, decided)

        def is_settled() -> bool:
            return (ref, risk) in run.granted or self.verdict(ref, risk).mode in ("allow", "deny")

        with run.waiting():
            answer = await self._desk.ask(question, settled=is_settled, shown=run.shown)
        if answer is None:
            again = self.verdict(ref, risk)
            call.approver = again.because
            if again.mode != "deny" and (ref, risk) in run.granted:
                call.approver = FOR_THIS_RUN
            elif again.mode != "allow":
                raise HandlerError(denied_message(ref, risk, again), "denied", {"ref": ref, "risk": risk})
            call.decision = "approved"
            return
        call.approver = "person"
        if answer == "deny":
            raise HandlerError(
                f"{ref} (risk {risk}) was denied by the person asked", "denied", {"ref": ref, "risk": risk}
            )
        call.decision = "approved"
        run.approved[ref, risk] += 1
        if answer == "run":
            run.granted.add((ref, risk))
        if answer in ("session", "stored"):
            self.grants.add(ref, risk)
        if answer == "stored" and self.rule_store is not None:
            try:
                self.rule_store.allow(ref, risk)
                self.reload_rules()
            except RuleFileError as error:
                # The call itself was approved; only the remembering failed, and it holds for the session.
                call.approver = f"person (not stored: {error})"

    async def _classified(self, question: Question, run: RunContext) -> bool:
        if self._classifier is None:
            return False
        from host_bridge.approval_prompt import request_of

        try:
            with run.waiting(), trio.fail_after(CLASSIFIER_SECONDS):
                return await self._classifier.classify(request_of(question)) == "allow"
        except Exception:
            return False

    async def _invoke(self, call: Admitted, action: Action, run: RunContext) -> None:
        # A call that was cancelled while it was being approved must not start.
        await trio.lowlevel.checkpoint_if_cancelled()
        context = _context(call, run)
        effect = action.descriptor.effect
        serial = effect is not None and effect.ordering == "serial"
        lock = self._serial.setdefault(effect.resources, trio.Lock()) if serial and effect is not None else None
        if lock is not None:
            await lock.acquire()
        try:
            if not action.waits:
                value = action.handler(call.decoded, context)
            elif action.timeout_seconds is None:
                value = await action.handler(call.decoded, context)
            else:
                with trio.move_on_after(action.timeout_seconds) as scope:
                    value = await action.handler(call.decoded, context)
                if scope.cancelled_caught:
                    raise HandlerError(
                        f"{call.ref} took longer than its own limit of {action.timeout_seconds:g} s", "limit"
                    )
        finally:
            if lock is not None:
                lock.release()
        self._settle_value(call, value)

    def _settle_value(self, call: Admitted, value: Any) -> None:
        try:
            call.value = to_wire(value)
        except ValueRefusedError as error:
            raise HandlerError(f"{call.ref} returned what cannot cross: {error}") from None
        call.ok = call.settled = True

    def _unanswered(self, ref: str, risk: Risk, decided: Verdict) -> HandlerError:
        return HandlerError(
            unanswered_message(ref, risk, decided),
            "denied",
            {"ref": ref, "risk": risk, "rule": {"ref": ref, "action": "allow"}},
        )


def called_ref(ref: str, arguments: Any) -> str:
    """The ref that a call is about, for records: what `tools.call` names, where it names one."""
    inner = arguments.get("ref") if ref == CALL_BY_REF and type(arguments) is dict else None
    return inner[:REF_LIMIT_CHARACTERS] if type(inner) is str else ref


_PLAIN_SCALARS: Final = frozenset({str, int, bool, type(None)})
"""What needs no further check: floats may be NaN, everything else may hold something."""


_PASSES_ON: Final = (trio.Cancelled, KeyboardInterrupt, GeneratorExit)


def _is_the_hosts(error: BaseException) -> bool:
    """Whether an exception is about the host, not about one call. A handler that says `sys.exit()` has only failed."""
    if isinstance(error, BaseExceptionGroup):
        return error.split(_PASSES_ON)[0] is not None
    return isinstance(error, _PASSES_ON)


def _context(call: Admitted, run: RunContext) -> CallContext:
    return CallContext(run_id=run.run_id, call_id=call.id, ref=call.ref)


def settle_error(call: Admitted, error: BaseException) -> None:
    """The one place where an exception becomes a refusal. A lone exception in a group is that exception."""
    cause = lone(error)
    call.settled, call.ok, call.value = True, False, None
    if isinstance(cause, HandlerError | ActionError):
        call.kind, call.details = cause.kind, _safe_details(cause.details)
        text = cause.message
    else:
        call.kind, call.details = "host", None
        text = f"{call.ref} failed: {type(cause).__name__}: {cause}"
    # A lone surrogate cannot be encoded, and a text without end helps nobody.
    call.message = text[:MESSAGE_LIMIT_CHARACTERS].encode("utf-8", "replace").decode()


def _safe_details(details: Any) -> Any:
    try:
        return to_wire(details)
    except ValueRefusedError:
        return None
