"""The design card's requirements."""

from tests.seeds.row import Row

CARD = "tests/architecture/test_card.py::"
JOURNEY = "tests/journeys/test_run_command.py::"
CHILD = "tests/child_agents/test_program_children.py::"

ROWS = {
    "card:kind": Row(
        ["guest_api/inside/compile_policy.py", "guest_api/inside/confine.py"],
        ["tests/escapes/test_escapes.py::test_every_attack_ends_as_its_index_says"],
    ),
    "card:packages": Row(
        "pyproject.toml", [CARD + "test_the_core_depends_on_the_cards_packages_and_two_for_the_terminal"]
    ),
    "card:top-level": Row("pyproject.toml", [CARD + "test_the_top_level_is_the_cards"]),
    "card:trio-host": Row(
        "runtime/host.py:open_host",
        [
            CARD + "test_guests_run_on_the_trio_loop_of_the_host",
            "tests/architecture/test_import_order.py::test_asyncio_appears_only_in_adapters",
        ],
    ),
    "card:guest-bindings": Row("guest_api/proxies.py", [CARD + "test_guests_run_on_the_trio_loop_of_the_host"]),
    "card:approvals": Row(
        "host_bridge/approvals.py:verdict",
        [
            JOURNEY + "test_without_a_terminal_an_ask_is_denied_at_once_with_the_rule_that_would_allow_it",
            CHILD + "test_what_the_parent_asks_for_is_asked_of_its_person_with_the_childs_path",
        ],
    ),
    "card:enforce": Row(
        "host_bridge/schema_gate.py:gate",
        [
            JOURNEY + "test_schema_enforce_blocks_set_and_lets_status_through",
            CHILD + "test_enforce_blocks_every_launch",
        ],
    ),
    "card:narrowing": Row(
        ["guest_api/bounds.py:narrow", "child_agents/resolver.py"],
        [CHILD + "test_refused_launches_raise_before_anything_exists"],
    ),
    "card:env-export": Row(
        ["child_agents/inherited_bounds.py", "child_agents/worker.py"],
        ["tests/child_agents/test_supervisor.py::test_the_worker_exports_bounds_and_deletes_stale_ones"],
    ),
    "card:advisor-service": Row(
        "runtime/advisor/service.py:AdvisorService",
        [CARD + "test_prompt_and_hint_happen_in_one_trio_run_without_another_thread"],
    ),
    "card:shared-store": Row(
        ["runtime/transcript/store.py:TranscriptStore", "runtime/transcript/line_file.py:LineFile"],
        [
            "tests/runtime/transcript/test_store.py::test_each_entry_is_one_whole_line_on_the_file_when_append_returns",
            CARD + "test_hints_and_overrides_lie_in_one_file",
            CARD + "test_only_the_transcript_package_opens_session_files_for_writing",
        ],
    ),
    "card:script-use": Row(
        "runtime/commands/run.py:command",
        ["tests/examples/test_examples.py::test_effort_rises_for_the_hard_step_and_falls_back"],
    ),
    "card:spawn-narrowed": Row(
        "examples/narrowed_children.py",
        [CHILD + "test_bounds_narrow_through_three_real_processes"],
    ),
    "card:multi-process": Row(
        "child_agents/supervisor.py",
        [CHILD + "test_bounds_narrow_through_three_real_processes"],
    ),
}
