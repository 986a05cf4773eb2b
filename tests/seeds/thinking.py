"""Seed map rows of thinking control, the bounds and the child runs that inherit them."""

from tests.seeds.row import Row

OVERRIDE = "runtime/thinking/override.py"
CONTROLLER = "runtime/thinking/controller.py:ThinkingController"
ACTIONS = "runtime/thinking/actions.py"
REPLAY = "runtime/thinking/replay.py:replay"
ENTRY = "runtime/thinking/entry.py"
LOCAL = "runtime/hosts/local.py:LocalHost"
BOUNDS = "guest_api/bounds.py"
INHERITED = "child_agents/inherited_bounds.py"
RESOLVER = "child_agents/resolver.py"
CONFIG = "runtime/config.py"

T = "tests/runtime/thinking"
SCOPES = f"{T}/test_scopes.py::"
OWNERSHIP = f"{T}/test_ownership.py::"
REPLAYED = f"{T}/test_replay.py::"
CHILDREN = f"{T}/test_inherited.py::"
CALLED = f"{T}/test_actions.py::"
REAL = f"{T}/test_real_session.py::"
MACHINE = f"{T}/test_override_machine.py::test_any_history_with_kills_reloads_and_navigation_agrees_with_the_model"
TABLES = "tests/guest_api/test_bounds.py::"
LAWS = "tests/properties/test_bounds_algebra.py::"
LEVELS = "tests/guest_api/test_levels.py::"
LOADING = "tests/runtime/config/test_loading.py::"
RESOLVED = "tests/child_agents/test_resolver.py::"
PATHS = f"{RESOLVED}test_every_launch_path_and_runner_agrees"
SUPERVISED = "tests/child_agents/test_supervisor.py::"
RESIDENT = "tests/child_agents/test_residency.py::"
RECORDS = "tests/child_agents/test_records.py::"
COMMAND = "tests/journeys/test_run_command.py::"

BAD_ARGUMENT = f"{CALLED}test_a_bad_argument_is_refused_in_plain_words_and_nothing_changes"
WRITTEN = f"{SCOPES}test_the_entry_holds_exactly_what_the_format_says"
RISKS = f"{CALLED}test_status_reads_and_may_be_called_ahead_of_time_and_set_and_reset_write_the_control_plane"
DENIED = f"{CALLED}test_denied_writes_change_nothing_and_status_still_answers"
ENFORCED = f"{CALLED}test_enforce_blocks_before_any_question_and_lets_status_through"
FOREIGN = f"{OWNERSHIP}test_a_foreign_change_ends_the_override_with_one_null_entry_and_restores_nothing"
TURN = f"{SCOPES}test_a_set_lasts_for_the_rest_of_the_run_and_reverts_at_its_end"
TURNS = f"{SCOPES}test_turns_count_the_current_run_and_every_count_is_written"
SESSION = f"{SCOPES}test_a_session_override_survives_restarts_and_runs_until_reset"
SECOND = f"{SCOPES}test_a_second_set_keeps_the_first_ones_baseline"
FOUR_KEYS = f"{SCOPES}test_status_without_override_has_exactly_four_keys"
CLAMPED = f"{SCOPES}test_a_clamped_set_says_so_and_an_exact_one_does_not"
FAILED = f"{SCOPES}test_where_no_level_fits_a_set_fails_and_not_a_byte_changes"
RAISE_AND_DROP = f"{SCOPES}test_raise_and_drop_inside_one_run_writes_three_entries_for_set_set_reset"
MALFORMED = f"{REPLAYED}test_a_malformed_latest_entry_ends_the_override_and_never_revives_an_older_one"
NAVIGATED = f"{REPLAYED}test_leaving_a_branch_with_an_override_for_one_without_goes_back_to_its_baseline"
RESTARTED = f"{REPLAYED}test_a_restart_restores_the_override_exactly"
MALFORMED_VALUE = f"{LOADING}test_a_malformed_value_is_refused_with_file_key_got_and_wanted"
MOVED = f"{CHILDREN}test_a_model_clamp_that_overshoots_the_parents_maximum_is_moved_back_inside"

ROWS: dict[str, Row] = {
    "thinking:intro:bounded-scope": Row(
        [CONTROLLER, "runtime/session.py:Session.agent_run"],
        [
            TURN,
            f"{REAL}test_a_failed_run_reverts_too",
            f"{COMMAND}test_an_interrupted_run_ends_leaves_the_session_whole_and_reverts",
        ],
    ),
    "thinking:intro:raise-and-drop": Row(f"{CONTROLLER}.reset", [RAISE_AND_DROP]),
    "thinking:intro:via-host-setter": Row.open(
        "the host of a live Pi; in our own session every change goes through LocalHost.set_level, which alone writes "
        "thinking_level_change"
    ),
    "thinking:intro:host-clamps": Row(
        [f"{LOCAL}.level", "runtime/models.py:clamp_to_model"],
        [f"{LEVELS}test_the_models_clamp_is_the_hosts", f"{COMMAND}test_a_level_is_clamped_to_the_configured_model"],
    ),
    "thinking:api:status-call": Row(f"{CONTROLLER}.status", [FOUR_KEYS]),
    "thinking:api:set-default-call": Row(f"{CONTROLLER}.set", [TURN]),
    "thinking:api:set-turns-call": Row(f"{OVERRIDE}:decide_agent_end", [TURNS]),
    "thinking:api:set-session-call": Row(f"{OVERRIDE}:decide_agent_end", [SESSION]),
    "thinking:api:reset-call": Row(f"{OVERRIDE}:decide_reset", [SESSION, RAISE_AND_DROP]),
    "thinking:api:python-kwargs": Row(
        f"{ACTIONS}:SetArguments",
        [
            f"{REAL}test_programs_may_use_keywords_or_one_dict_and_not_both",
            "tests/guest_api/test_program.py::test_dict_and_keywords_together_are_refused",
        ],
    ),
    "thinking:action:status-risk": Row(f"{ACTIONS}:actions", [RISKS, DENIED]),
    "thinking:action:status-no-effect": Row(
        f"{CONTROLLER}.status", [RISKS, f"{SCOPES}test_a_hundred_statuses_write_nothing_and_change_nothing"]
    ),
    "thinking:action:status-speculation": Row(f"{ACTIONS}:actions", [RISKS]),
    "thinking:action:status-level": Row(f"{CONTROLLER}.status", [CLAMPED]),
    "thinking:action:status-override-shape": Row("runtime/thinking/controller.py:_shown_override", [TURN, CLAMPED]),
    "thinking:action:status-remaining-only-turns": Row("runtime/thinking/controller.py:_shown_override", [TURN, TURNS]),
    "thinking:action:status-reason-optional": Row(
        "runtime/thinking/controller.py:_shown_override", [f"{SCOPES}test_without_a_reason_the_key_is_absent"]
    ),
    "thinking:action:status-setAt": Row("runtime/thinking/controller.py:epoch_ms", [TURN, TURNS]),
    "thinking:action:set-risk": Row(f"{ACTIONS}:actions", [RISKS]),
    "thinking:action:set-args-closed": Row(
        f"{ACTIONS}:SetArguments",
        [BAD_ARGUMENT, f"{CALLED}test_the_argument_struct_and_the_published_schema_name_the_same_fields"],
    ),
    "thinking:action:set-returns-status": Row(f"{CONTROLLER}.set", [TURN]),
    "thinking:action:set-clamped-when-differs": Row(
        f"{CONTROLLER}.set",
        [CLAMPED, f"{SCOPES}test_bounds_cap_a_set_and_the_request_is_compared_not_the_bounded_one"],
    ),
    "thinking:action:set-clamped-absent": Row(f"{CONTROLLER}.set", [CLAMPED]),
    "thinking:action:set-clamped-by-host": Row(
        f"{OVERRIDE}:after_apply",
        [f"{OWNERSHIP}test_clamped_compares_the_request_with_what_the_host_applied"],
    ),
    "thinking:action:reset-risk": Row(f"{ACTIONS}:actions", [RISKS, DENIED]),
    "thinking:action:reset-status-after": Row(f"{CONTROLLER}.reset", [SESSION]),
    "thinking:status:available": Row(f"{BOUNDS}:available", [f"{TABLES}test_the_status_view_matches_every_row"]),
    "thinking:status:available-no-model": Row(
        f"{BOUNDS}:available", [f"{SCOPES}test_without_a_model_every_level_is_listed"]
    ),
    "thinking:status:bounds-resolved": Row(
        f"{BOUNDS}:resolved", [FOUR_KEYS, f"{TABLES}test_the_status_view_matches_every_row"]
    ),
    "thinking:status:bounds-explicit-kept": Row(
        f"{BOUNDS}:resolved",
        [f"{CHILDREN}test_an_explicit_bound_is_shown_as_configured_where_the_model_has_no_such_level"],
    ),
    "thinking:status:baseline-first": Row(f"{OVERRIDE}:decide_set", [TURN]),
    "thinking:status:baseline-second-set": Row(f"{OVERRIDE}:decide_set", [SECOND]),
    "thinking:status:baseline-without-override": Row(f"{CONTROLLER}.status", [FOUR_KEYS]),
    "thinking:scope:turn-default": Row(f"{ACTIONS}:SetArguments.scope", [TURN]),
    "thinking:scope:turn-reverts": Row(
        f"{OVERRIDE}:decide_agent_end",
        [TURN, f"{COMMAND}test_a_turn_override_lasts_for_the_run_and_is_gone_after_it"],
    ),
    "thinking:scope:turn-rest-of-run": Row("runtime/session.py:Session.agent_run", [TURN]),
    "thinking:scope:turn-outside-run": Row(
        f"{CONTROLLER}.agent_ended", [f"{SCOPES}test_a_set_between_runs_lasts_through_the_next_run"]
    ),
    "thinking:scope:turns-requires-turns": Row(f"{ACTIONS}:SetArguments.__post_init__", [BAD_ARGUMENT]),
    "thinking:scope:turns-range": Row(
        f"{ACTIONS}:SetArguments.turns",
        [BAD_ARGUMENT, f"{CALLED}test_set_status_and_reset_work_through_admission"],
    ),
    "thinking:scope:turns-counts-agent-end": Row(f"{OVERRIDE}:decide_agent_end", [TURNS, MACHINE]),
    "thinking:scope:turns-includes-current": Row(
        f"{OVERRIDE}:decide_agent_end",
        [
            TURNS,
            f"{SCOPES}test_one_turn_reverts_at_the_end_of_the_run_that_set_it",
            f"{COMMAND}test_three_turns_cover_this_run_and_the_next_two_on_the_same_session",
        ],
    ),
    "thinking:scope:turns-each-change-written": Row(f"{OVERRIDE}:decide_agent_end", [TURNS]),
    "thinking:scope:session-until-reset": Row(
        f"{OVERRIDE}:decide_agent_end",
        [SESSION, f"{COMMAND}test_a_session_override_holds_across_runs_until_reset"],
    ),
    "thinking:scope:turns-elsewhere-rejected": Row(f"{ACTIONS}:SetArguments.__post_init__", [BAD_ARGUMENT]),
    "thinking:scope:unknown-rejected": Row(f"{ACTIONS}:SetArguments.scope", [BAD_ARGUMENT]),
    "thinking:reason:optional": Row(
        f"{ACTIONS}:SetArguments.reason", [f"{SCOPES}test_without_a_reason_the_key_is_absent"]
    ),
    "thinking:reason:256": Row(
        f"{ENTRY}:REASON_LIMIT_CHARACTERS",
        [BAD_ARGUMENT, f"{CALLED}test_set_status_and_reset_work_through_admission"],
    ),
    "thinking:reason:in-status": Row("runtime/thinking/controller.py:_shown_override", [TURN, RESTARTED]),
    "thinking:set:clamp-order": Row(
        f"{BOUNDS}:clamp_supported",
        [f"{TABLES}test_the_clamp_matches_every_combination_of_bounds_model_and_request"],
    ),
    "thinking:set:clamp-higher-first": Row(
        "guest_api/levels.py:nearest_supported",
        [
            f"{LEVELS}test_everything_above_is_tried_before_anything_below",
            f"{LAWS}test_the_clamp_to_a_model_stays_inside_or_fails_exactly_where_nothing_is_inside",
        ],
    ),
    "thinking:set:no-level-fails": Row(
        f"{BOUNDS}:NoSupportedLevelError",
        [FAILED, f"{CALLED}test_no_supported_level_is_a_failure_of_the_action"],
    ),
    "thinking:set:failure-changes-nothing": Row(
        [f"{OVERRIDE}:decide_set", f"{CONTROLLER}.set"],
        [
            FAILED,
            BAD_ARGUMENT,
            DENIED,
            ENFORCED,
            f"{REPLAYED}test_a_set_whose_level_cannot_be_applied_is_taken_back_by_a_second_entry",
        ],
    ),
    "thinking:set:unknown-level": Row(f"{ACTIONS}:SetArguments.level", [BAD_ARGUMENT]),
    "thinking:control:control-plane-writes": Row(f"{ACTIONS}:CONTROL_PLANE", [RISKS, DENIED]),
    "thinking:control:approvals-write": Row(
        "host_bridge/approvals.py:verdict",
        [DENIED, f"{CALLED}test_other_risk_classes_do_not_move_thinking"],
    ),
    "thinking:control:enforce-blocks": Row(
        "host_bridge/schema_gate.py:gate",
        [ENFORCED, f"{COMMAND}test_schema_enforce_blocks_set_and_lets_status_through"],
    ),
    "thinking:control:enforce-allows-status": Row("host_bridge/schema_gate.py:gate", [ENFORCED]),
    "thinking:control:managed-absent": Row(
        "runtime/host.py:open_host",
        [
            f"{REAL}test_a_managed_host_offers_no_thinking_but_still_reverts_and_keeps_inherited_bounds",
            f"{COMMAND}test_a_managed_host_has_no_thinking_at_all",
            f"{LOADING}test_a_project_cannot_take_managed_back",
        ],
    ),
    "thinking:persist:entry-shape": Row(f"{ENTRY}:encode", [WRITTEN]),
    "thinking:persist:override-record": Row(
        [f"{ENTRY}:encode", f"{ENTRY}:decode"],
        [
            WRITTEN,
            f"{REPLAYED}test_a_record_decodes_and_encodes_equal_with_unknown_fields_kept",
            f"{REPLAYED}test_the_other_writers_records_decode_and_encode_equal",
        ],
    ),
    "thinking:persist:every-change": Row(
        [f"{CONTROLLER}.take_due", f"{CONTROLLER}.set"],
        [
            RAISE_AND_DROP,
            FOREIGN,
            f"{OWNERSHIP}test_changes_away_and_back_by_another_writer_end_it_at_the_next_open",
        ],
    ),
    "thinking:persist:no-change-no-entry": Row(
        f"{OVERRIDE}:decide_reset", [f"{SCOPES}test_reset_without_an_override_writes_nothing", DENIED, FAILED]
    ),
    "thinking:persist:replay-latest": Row(
        [REPLAY, f"{CONTROLLER}.session_started"],
        [
            RESTARTED,
            f"{REPLAYED}test_the_latest_entry_on_the_branch_counts_not_the_latest_in_the_file",
            MACHINE,
        ],
    ),
    "thinking:persist:pending-revert": Row(
        f"{CONTROLLER}.agent_ended",
        [
            f"{REPLAYED}test_killed_after_the_entry_before_the_level_the_revert_is_pending_and_loading_writes_nothing",
            f"{REPLAYED}test_a_pending_revert_needs_nothing_but_the_session",
            MACHINE,
        ],
    ),
    "thinking:persist:navigation-replays": Row(
        f"{CONTROLLER}.tree_navigated",
        [
            f"{REPLAYED}test_a_recorded_session_of_another_writer_replays_at_a_node_and_reverts_there",
            NAVIGATED,
            MACHINE,
        ],
    ),
    "thinking:persist:navigation-none": Row(f"{CONTROLLER}.tree_navigated", [NAVIGATED, MACHINE]),
    "thinking:persist:malformed-ends": Row(
        [f"{ENTRY}:decode", REPLAY],
        [MALFORMED, f"{REPLAYED}test_what_is_not_exactly_an_entry_is_malformed"],
    ),
    "thinking:persist:malformed-never-revives": Row(REPLAY, [MALFORMED]),
    "thinking:persist:agent-end-before-activation": Row(
        [f"{CONTROLLER}.agent_ended", "runtime/session.py:Session"],
        [f"{REAL}test_a_pending_revert_needs_neither_guest_nor_tools"],
    ),
    "thinking:owner:foreign-ends": Row(
        [f"{CONTROLLER}.level_changed", REPLAY],
        [
            FOREIGN,
            f"{OWNERSHIP}test_a_change_away_and_back_ends_it_for_good",
            f"{OWNERSHIP}test_a_level_chosen_on_resume_ends_the_override_even_when_it_is_the_same",
            f"{REAL}test_a_level_given_on_resume_ends_the_override_without_restoring",
        ],
    ),
    "thinking:owner:no-restore": Row(f"{OVERRIDE}:decide_foreign_change", [FOREIGN]),
    "thinking:owner:never-fights": Row(
        f"{CONTROLLER}.level_changed", [f"{OWNERSHIP}test_another_owner_at_every_run_is_never_fought"]
    ),
    "thinking:owner:own-change-not-foreign": Row(
        [f"{CONTROLLER}.level_changed", f"{CONTROLLER}.model_changed"],
        [
            f"{OWNERSHIP}test_our_own_change_does_not_end_the_override",
            f"{OWNERSHIP}test_a_model_change_is_no_foreign_owner_and_the_wish_is_applied_again",
        ],
    ),
    "thinking:bounds:default-unbounded": Row(
        f"{BOUNDS}:UNBOUNDED",
        [
            f"{CALLED}test_the_default_is_unbounded",
            f"{LOADING}test_without_files_everything_is_the_documented_default",
        ],
    ),
    "thinking:bounds:caps-set": Row(
        f"{BOUNDS}:clamp_supported",
        [f"{SCOPES}test_bounds_cap_a_set_and_the_request_is_compared_not_the_bounded_one"],
    ),
    "thinking:bounds:caps-child-runs": Row(f"{RESOLVER}:resolve", [PATHS]),
    "thinking:bounds:caps-child-sessions": Row(
        [f"{CONTROLLER}.session_started", f"{OVERRIDE}:restored_level"],
        [
            f"{CHILDREN}test_the_recorded_level_of_a_child_session_is_capped_at_its_start",
            f"{CHILDREN}test_a_child_that_continues_a_session_replays_its_override_inside_its_own_bounds",
        ],
    ),
    "thinking:bounds:names-validated": Row("guest_api/levels.py:is_level", [MALFORMED_VALUE]),
    "thinking:bounds:inverted-fails": Row(
        f"{BOUNDS}:parse_bounds", [MALFORMED_VALUE, f"{LOADING}test_one_level_may_be_both_ends"]
    ),
    "thinking:bounds:malformed-fails": Row(
        [f"{BOUNDS}:parse_bounds", f"{CONFIG}:load_config"],
        [MALFORMED_VALUE, f"{TABLES}test_what_is_no_bounds_is_refused_with_its_path"],
    ),
    "thinking:child:argument": Row("child_agents/request.py:AgentRequest.thinking_bounds", [PATHS]),
    "thinking:child:explicit-inside": Row(
        f"{BOUNDS}:narrow",
        [
            f"{TABLES}test_narrowing_matches_every_request_of_every_caller",
            f"{RESOLVED}test_every_recorded_narrowing_is_accepted_or_refused_before_launch",
        ],
    ),
    "thinking:child:omitted-inherit": Row(f"{BOUNDS}:narrow", [f"{TABLES}test_omitted_ends_are_the_callers", PATHS]),
    "thinking:child:wider-fails-before-launch": Row(
        [f"{BOUNDS}:WiderBoundsError", f"{RESOLVER}:resolve"],
        [
            f"{RESOLVED}test_a_wider_request_names_both_sides_and_the_setting",
            f"{TABLES}test_a_wider_request_names_both_sides",
        ],
    ),
    "thinking:child:level-sources": Row(f"{RESOLVER}:resolve", [PATHS]),
    "thinking:child:level-clamped": Row(f"{RESOLVER}:resolve", [PATHS]),
    "thinking:child:requested-handle": Row("child_agents/runs.py", [PATHS]),
    "thinking:child:requested-record": Row(
        "child_agents/records.py:StoredRequest", [f"{RECORDS}test_requested_thinking_and_sources_are_on_disk"]
    ),
    "thinking:child:requested-absent": Row(f"{RESOLVER}:resolve", [PATHS]),
    "thinking:child:unbounded-unchanged": Row(
        [f"{INHERITED}:write_bounds", f"{RESOLVER}:resolve"],
        [f"{RESOLVED}test_without_bounds_nothing_is_clamped_and_nothing_is_exported"],
    ),
    "thinking:child:worker-gets-bounds": Row(
        "child_agents/worker_frames.py:Job.thinking_bounds",
        [f"{SUPERVISED}test_the_worker_exports_bounds_and_deletes_stale_ones"],
    ),
    "thinking:child:export": Row(
        [f"{INHERITED}:write_bounds", "child_agents/worker.py:export"],
        [
            f"{TABLES}test_the_variable_is_written_as_recorded_and_reads_back",
            f"{SUPERVISED}test_the_worker_exports_bounds_and_deletes_stale_ones",
        ],
    ),
    "thinking:child:intersects": Row(
        [f"{BOUNDS}:inherit", f"{CONFIG}:load_config"],
        [
            f"{TABLES}test_inheriting_matches_every_pair_of_ranges",
            f"{LOADING}test_inherited_bounds_cut_the_configured_ones_also_for_an_embedded_host",
        ],
    ),
    "thinking:child:never-widens": Row(
        f"{BOUNDS}:inherit",
        [
            f"{LAWS}test_inheriting_never_widens",
            f"{LAWS}test_down_a_line_of_descendants_every_range_lies_in_its_parents",
            f"{RESOLVED}test_a_grandchild_is_never_wider_than_the_root",
        ],
    ),
    "thinking:child:disjoint": Row(
        f"{BOUNDS}:inherit",
        [
            f"{CHILDREN}test_ranges_that_do_not_overlap_leave_the_parents_whole_range",
            f"{LAWS}test_inheriting_is_the_meet_of_both_ranges_or_the_parents_whole_range",
        ],
    ),
    "thinking:child:session-start-moves": Row(
        [f"{CONTROLLER}.session_started", f"{CONTROLLER}.level_at_start"],
        [MOVED, f"{REAL}test_a_child_that_is_given_high_on_a_model_with_off_low_max_starts_at_low"],
    ),
    "thinking:child:move-is-no-override": Row(
        f"{CONTROLLER}.session_started",
        [MOVED, f"{REAL}test_a_child_that_is_given_high_on_a_model_with_off_low_max_starts_at_low"],
    ),
    "thinking:child:malformed-env": Row(
        [f"{INHERITED}:read_bounds", f"{CONFIG}:ConfigError"],
        [
            f"{TABLES}test_a_malformed_variable_is_refused_and_named",
            f"{LOADING}test_a_malformed_inherited_value_fails_the_load_and_names_the_variable",
            f"{COMMAND}test_a_malformed_inherited_bound_is_a_configuration_error",
        ],
    ),
    "thinking:child:env-unset": Row(
        f"{INHERITED}:read_bounds",
        [
            f"{TABLES}test_the_variable_is_read_as_recorded",
            f"{LOADING}test_blank_and_empty_inherited_bounds_are_none_at_all",
        ],
    ),
    "thinking:child:durable-request": Row(
        "child_agents/resolver.py:ResolvedRun.thinking_bounds",
        [PATHS, f"{RESIDENT}test_the_resident_host_enforces_the_bounds_inside_the_request"],
    ),
    "thinking:child:resident-enforces": Row(
        f"{RESOLVER}:enforce",
        [
            f"{RESOLVED}test_a_forged_request_is_cut_back_to_its_own_bounds_by_whoever_starts_it",
            f"{RESIDENT}test_the_resident_host_enforces_the_bounds_inside_the_request",
        ],
    ),
    "thinking:config:reference": Row(
        "docs/reference/configuration.md",
        ["tests/runtime/config/test_reference.py::test_the_bounds_are_documented_with_default_and_error"],
    ),
}
