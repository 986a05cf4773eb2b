"""A child's question at its parent's host: the parent's denials and grants first, then the parent's person.

Invariant: a child never gets what its parent is denied; an answer for the session is kept by the host that asked.
"""

from host_bridge.admission import Admission
from host_bridge.approval_prompt import Answer, ApprovalRequest, Question


async def answer_child(admission: Admission, request: ApprovalRequest) -> Answer:
    """The answer for a child whose path is `request.caller`; `deny` where nobody can be asked."""
    decided = admission.verdict(request.ref, request.risk)
    if decided.mode == "deny":
        return "deny"
    if _was_granted(admission, request):
        return "once"
    desk = admission.desk
    if desk is None:
        return "deny"
    answer = await desk.ask(
        Question(
            ref=request.ref,
            risk=request.risk,
            description=request.description,
            arguments=request.arguments,
            because=request.because,
            caller=request.caller,
            run_id=request.run_id,
            earlier=lambda: request.earlier,
        ),
        settled=lambda: _was_granted(admission, request),
    )
    if answer is None:
        return "once"
    if answer in ("session", "stored"):
        admission.grants.add(request.ref, request.risk)
        if answer == "stored" and admission.rule_store is not None:
            admission.rule_store.allow(request.ref, request.risk)
            admission.reload_rules()
    return answer


def _was_granted(admission: Admission, request: ApprovalRequest) -> bool:
    """Whether a person said yes to exactly this ref before; a mode is no such word, for the child's is stricter."""
    decided = admission.verdict(request.ref, request.risk)
    return decided.mode == "allow" and decided.basis in ("session", "stored", "rule")
