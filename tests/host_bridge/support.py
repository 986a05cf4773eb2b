"""Actions, approvers and runs that the bridge's tests share."""

from collections.abc import Callable, Sequence

import trio

from host_bridge.actions import action
from host_bridge.admission import Admission, Admitted, RunContext
from host_bridge.approval_prompt import Answer, ApprovalDesk, ApprovalRequest
from host_bridge.descriptor import Action
from host_bridge.guest_process import run_program
from host_bridge.limits import RunLimits
from host_bridge.registry import Registry
from host_bridge.run_outcome import RunOutcome
from host_bridge.testing import Script, scripted_guest

RUN = RunContext(run_id="run-1")


def registry_of(*actions: Action) -> Registry:
    registry = Registry()
    by_source: dict[str, list[Action]] = {}
    for made in actions:
        root = made.descriptor.ref.partition(".")[0]
        by_source.setdefault(root, []).append(made)
    for source, group in by_source.items():
        registry.replace_source(source, group)
    return registry


class Counter:
    """A family of actions that count how often they ran."""

    def __init__(self) -> None:
        self.ran: list[object] = []

    def immediate(self, ref: str = "files.write", risk: str = "write") -> Action:
        def write(path: str = "a", text: str = "") -> str:
            self.ran.append(path)
            return f"wrote {path}"

        return action(write, ref=ref, risk=risk)

    def waiting(self, ref: str = "net.get", risk: str = "network") -> Action:
        async def get(url: str = "u", seconds: float = 0.0) -> str:
            await trio.sleep(seconds)
            self.ran.append(url)
            return f"got {url}"

        return action(get, ref=ref, risk=risk)


class ScriptedApprover:
    """Answers from a list, after `seconds`, and remembers what it was asked."""

    def __init__(self, *answers: Answer, seconds: float = 0.0) -> None:
        self.answers = list(answers)
        self.seconds = seconds
        self.requests: list[ApprovalRequest] = []
        self.withdrawn = 0
        self.open = 0
        self.most_open = 0

    async def ask(self, request: ApprovalRequest) -> Answer:
        self.requests.append(request)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            await trio.sleep(self.seconds)
        except trio.Cancelled:
            self.withdrawn += 1
            raise
        finally:
            self.open -= 1
        return self.answers.pop(0) if self.answers else "deny"


def admission_of(registry: Registry, approver: object = None, **options: object) -> Admission:
    desk = ApprovalDesk(approver, collect_seconds=0.001) if approver is not None else None
    return Admission(registry, desk=desk, **options)


async def admit(admission: Admission, ref: str, arguments: object = None, run: RunContext = RUN) -> Admitted:
    call = admission.begin(1, ref, {} if arguments is None else arguments, run)
    if not call.settled:
        await admission.finish(call, run)
    return call


async def outcome_of(
    script: Script, registry: Registry | None = None, *, admission: Admission | None = None, **options: object
) -> RunOutcome:
    options.setdefault("limits", RunLimits())
    async with scripted_guest(script) as guest:
        return await run_program(
            guest,
            "return 1",
            None,
            admission=admission or Admission(registry or Registry()),
            run_id="run-1",
            **options,
        )


def lines(text: str) -> Sequence[str]:
    return text.splitlines()


async def until(true: Callable[[], bool]) -> None:
    with trio.fail_after(5):
        while not true():
            await trio.sleep(0.001)
