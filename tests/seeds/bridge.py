"""Where the requirements of admission, approvals and Schema mode live, and the tests that hold them."""

from tests.seeds.row import Row

_HOST = "tests/runtime/test_approvals_in_host.py"
_GATE = "tests/host_bridge/test_schema_gate.py"

ROWS: dict[str, Row] = {
    "thinking:control:control-plane-writes": Row(
        ["host_bridge/admission.py:Admission", "host_bridge/trace.py:CallRecord"],
        [
            f"{_HOST}::test_set_and_reset_follow_approvals_write_and_no_other_class",
            f"{_HOST}::test_audit_runs_and_the_session_says_what_enforce_would_have_blocked",
        ],
    ),
    "thinking:control:approvals-write": Row(
        "host_bridge/approvals.py:verdict",
        [
            f"{_HOST}::test_set_and_reset_follow_approvals_write_and_no_other_class",
            "tests/host_bridge/test_approvals.py::test_modes_flags_grants_and_stored_rules",
        ],
    ),
    "thinking:control:enforce-blocks": Row(
        "host_bridge/schema_gate.py:gate",
        [
            f"{_HOST}::test_enforce_blocks_set_and_reset_before_any_prompt_and_lets_status_through",
            f"{_GATE}::test_enforce_answers_before_any_prompt_and_despite_every_allow",
        ],
    ),
    "thinking:control:enforce-allows-status": Row(
        ["host_bridge/schema_gate.py:gate", "host_bridge/schema_gate.py:PASSES"],
        [
            f"{_HOST}::test_enforce_blocks_set_and_reset_before_any_prompt_and_lets_status_through",
            f"{_GATE}::test_enforce_lets_status_through",
        ],
    ),
}
