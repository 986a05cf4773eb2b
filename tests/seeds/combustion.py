"""Where every sentence of the capability advisor's specification lives, and which tests hold it."""

from tests.seeds.row import Row

A = "runtime/advisor/"
T = "tests/runtime/advisor/"
MATRIX = f"{T}test_matrix.py::"
TABLE = f"{T}test_behaviour_table.py::"
TEXT = f"{T}test_text.py::"
SCORE = f"{T}test_scoring.py::"
HEAT = f"{T}test_heat_and_smoke.py::"
INDEX = f"{T}test_index.py::"
CONST = f"{T}test_constants.py::"
SERVICE = f"{T}test_service.py::"
REPLAY = f"{T}test_replay.py::"
RENDER = f"{T}test_rendering.py::"
VECTORS = f"{T}test_scenarios.py::test_every_scenario_of_the_group_comes_out_as_recorded"
TEXTS = f"{T}test_scenarios.py::test_every_text_vector_comes_out_as_recorded"


def row(symbol: str, *tests: str) -> Row:
    return Row(A + symbol, list(tests))


CONSIDER = "advisor.py:consider"
_PLAIN: dict[str, Row] = {
    # introduction
    "intro:branch-budget": row(CONSIDER, HEAT + "test_three_hints_on_a_branch_and_the_fourth_prompt_is_silent"),
    "intro:fire-burns": row("ash.py:burned", HEAT + "test_a_fired_namespace_stays_silent_for_twenty_turns"),
    "intro:enough-evidence": row(CONSIDER, MATRIX + "test_the_first_prompt"),
    # index
    "index:by-namespace": row(
        "fingerprint.py:Fingerprint",
        INDEX + "test_two_slices_with_one_namespace_make_one_source",
        INDEX + "test_a_tool_without_a_namespace_is_unscoped",
    ),
    "index:name-plus-first-sentence": row(
        "fingerprint.py:surface_text", INDEX + "test_only_the_name_and_the_first_sentence_are_indexed", TEXTS
    ),
    "index:skip-later": row(
        "fingerprint.py:surface_text", INDEX + "test_only_the_name_and_the_first_sentence_are_indexed"
    ),
    "index:heat-diffusion": row(
        "fingerprint.py:surface_text", INDEX + "test_a_question_about_a_path_is_not_tied_to_the_image_server"
    ),
    # score
    "score:unburned-only": row(
        "advisor.py:_open_verdicts", SCORE + "test_a_burned_source_gets_no_heat_and_still_counts_in_df"
    ),
    "score:sum-max": row(
        "scoring.py:total",
        SCORE + "test_the_score_sums_one_over_df",
        SCORE + "test_the_index_finds_what_a_plain_scan_of_the_formulas_finds",
    ),
    "score:df": row(
        "fingerprint.py:Fingerprint.document_frequency", INDEX + "test_document_frequency_counts_sources_not_tools"
    ),
    "score:unique-words": row("tokens.py:surviving_words", SCORE + "test_repeating_a_word_changes_nothing"),
    "score:readings": row("tokens.py:readings", TEXT + "test_readings_are_the_atoms_and_the_full_spelling"),
    "score:one-unit": row("scoring.py:matched_words", SCORE + "test_one_written_word_is_one_unit_and_reads_the_rarest"),
    "score:rarest": row(
        "scoring.py:weigh",
        SCORE + "test_one_written_word_is_one_unit_and_reads_the_rarest",
        SCORE + "test_of_equal_readings_the_earliest_counts",
    ),
    "score:case-free": Row(
        [A + "tokens.py:readings", "docs/advisor.md"], [SCORE + "test_letter_case_decides_only_the_atoms"]
    ),
    "score:inverse-df": row("scoring.py:weigh", SCORE + "test_the_score_sums_one_over_df"),
    "score:unique-full-quantum": row(
        "scoring.py:weigh", SCORE + "test_a_source_unique_term_weighs_one_quantum_in_a_catalog_of_any_size"
    ),
    "score:raw-opens-scatter": row(
        "lanes.py:judge", SCORE + "test_the_raw_score_opens_scatter_with_equality_in_doubles"
    ),
    "score:phrase-surface": row(
        "scoring.py:best_phrase", SCORE + "test_the_strongest_certified_surface_sets_the_score"
    ),
    "score:effective": row(
        "lanes.py:judge",
        SCORE + "test_the_effective_score_is_the_surface_even_below_the_capped_raw_score",
        SCORE + "test_the_strongest_certified_surface_sets_the_score",
        SCORE + "test_scatter_feeds_the_raw_score_up_to_one_quantum",
    ),
    "score:effective-controls": Row(
        [A + "rendering.py:rounded_score", A + "advisor.py:_rank"],
        [
            SCORE + "test_the_shown_score_is_rounded_half_up_in_doubles",
            SCORE + "test_sources_rank_by_the_unrounded_score_then_by_name",
            SCORE + "test_sources_rank_by_the_effective_score_not_by_the_raw_one",
        ],
    ),
    "score:one-surface-mass": row("scoring.py:best_phrase", SCORE + "test_a_pair_split_over_two_tools_is_scatter"),
    "score:extra-tools-capped": row(
        "lanes.py:judge",
        MATRIX + "test_row_q_any_number_of_tool_hits_scores_1",
        SCORE + "test_scatter_feeds_the_raw_score_up_to_one_quantum",
    ),
    # envelopes and paths
    "envelope:cut": row("envelopes.py:cut_envelopes", TEXT + "test_words_in_a_skill_region_are_cut_out"),
    "envelope:open-region": row("envelopes.py:cut_envelopes", TEXT + "test_an_open_skill_region_goes_out_to_the_end"),
    "path:half": Row(
        [A + "limits.py:PATH_FACTOR", A + "scoring.py:weigh"],
        [TEXT + "test_a_path_word_weighs_half_a_quantum_and_one_stays_below"],
    ),
    "path:examples": row("paths.py:path_spans", TEXT + "test_terms_only_inside_paths"),
    "path:one-word-below": row(
        "paths.py:path_only_terms",
        TEXT + "test_a_path_word_weighs_half_a_quantum_and_one_stays_below",
        TEXT + "test_a_lone_path_brand_stays_out_of_the_brand_lane",
    ),
    "path:two-words-quantum": row("scoring.py:weigh", TEXT + "test_two_path_words_are_one_weak_quantum"),
    "path:extension-list": row(
        "stopwords.py:FILENAME_ENDINGS",
        TEXT + "test_every_listed_ending_makes_a_file_name_and_another_does_not",
        VECTORS,
        TEXTS,
    ),
    "path:brand-domain": row(
        "paths.py:path_only_terms", TEXT + "test_a_brand_domain_and_a_word_in_free_prose_weigh_in_full"
    ),
    "path:free-prose": row(
        "paths.py:path_only_terms", TEXT + "test_a_brand_domain_and_a_word_in_free_prose_weigh_in_full"
    ),
    # gates
    "gate:two-words": row(
        "lanes.py:judge",
        MATRIX + "test_a_single_generic_word_is_blocked_by_the_word_gate",
        SCORE + "test_two_words_that_read_as_one_term_pass_the_word_gate",
    ),
    "gate:generic-zero-heat": row(
        "lanes.py:_lone_word", SCORE + "test_one_generic_word_supplies_no_heat_however_often"
    ),
    "gate:small-catalog": row("lanes.py:_lone_word", SCORE + "test_one_generic_word_supplies_no_heat_however_often"),
    "gate:brand-exception": row(
        "lanes.py:_lone_word", SCORE + "test_a_label_token_of_three_letters_is_a_brand_and_one_of_two_is_not"
    ),
    "gate:short-silent": row(
        "fingerprint.py:brand_tokens", SCORE + "test_a_label_token_of_three_letters_is_a_brand_and_one_of_two_is_not"
    ),
    "gate:script-exception": row(
        "lanes.py:_lone_word",
        SCORE + "test_a_brand_fires_at_the_boundary_of_every_named_script",
        TABLE + "test_the_cell_comes_out_as_the_table_says",
    ),
    # phrases
    "phrase:distance": row("scoring.py:holds_phrase", SCORE + "test_distance_four_is_a_phrase_and_five_is_scatter"),
    "phrase:single-surface": row(
        "scoring.py:best_phrase",
        SCORE + "test_a_pair_split_over_two_tools_is_scatter",
        SCORE + "test_a_word_on_several_tools_counts_on_each_of_them",
    ),
    "phrase:surface-score": row(
        "scoring.py:surface_scores",
        SCORE + "test_each_tool_reads_a_word_for_itself",
        SCORE + "test_of_equal_surfaces_the_first_in_the_catalog_counts",
        SCORE + "test_a_word_on_several_tools_counts_on_each_of_them",
        SCORE + "test_a_pair_whose_tool_stays_below_the_threshold_is_scatter",
    ),
    "phrase:scatter": row("lanes.py:judge", SCORE + "test_distance_four_is_a_phrase_and_five_is_scatter"),
    "phrase:scatter-min": row("lanes.py:judge", SCORE + "test_scatter_feeds_the_raw_score_up_to_one_quantum"),
    "phrase:scatter-cap-any": row("lanes.py:judge", SCORE + "test_scatter_feeds_the_raw_score_up_to_one_quantum"),
    # scripts
    "script:mostly-non-latin": row(
        "script.py:mostly_non_latin", TEXT + "test_mostly_non_latin_compares_letters_with_latin_words", TEXTS
    ),
    "script:scripts": row(
        "letter_ranges.py:is_non_latin_letter", SCORE + "test_a_brand_fires_at_the_boundary_of_every_named_script"
    ),
    "script:first-turn": row(
        "lanes.py:_lone_word",
        SCORE + "test_a_brand_fires_at_the_boundary_of_every_named_script",
        SCORE + "test_the_script_lane_needs_a_source_unique_word_and_the_threshold",
    ),
    "script:brand-check": row("lanes.py:_lone_word", MATRIX + "test_the_first_prompt"),
    "script:topic-share": row(
        "lanes.py:_is_topic", SCORE + "test_a_topic_fires_at_a_script_boundary_from_one_half_of_the_tools"
    ),
    "script:model-example": row(
        "lanes.py:_is_topic",
        SCORE + "test_a_topic_fires_at_a_script_boundary_from_one_half_of_the_tools",
        MATRIX + "test_the_first_prompt",
    ),
    "script:tau-half": row(
        "lanes.py:_is_topic", SCORE + "test_a_topic_fires_at_a_script_boundary_from_one_half_of_the_tools"
    ),
    "script:weak-headline": row(
        "rendering.py:render", SCORE + "test_a_topic_fires_at_a_script_boundary_from_one_half_of_the_tools"
    ),
    "script:other-rules": row(
        CONSIDER,
        SCORE + "test_the_script_lane_needs_a_source_unique_word_and_the_threshold",
        MATRIX + "test_the_prompt_after_the_burn",
    ),
    "script:ignores-smoke": row(
        "lanes.py:Verdict.fires_at_once", SCORE + "test_the_script_lane_ignores_smoke_and_leaves_heat_alone"
    ),
    # familiar words
    "familiar:key": row("episodes.py:Episodes", HEAT + "test_a_camel_case_word_ages_apart_from_its_atoms"),
    "familiar:adjacent": row("episodes.py:Episodes.noted", HEAT + "test_returns_after_a_gap_are_counted"),
    "familiar:new-episode": row("episodes.py:Episodes.noted", HEAT + "test_returns_after_a_gap_are_counted"),
    "familiar:reset": row(
        "episodes.py:Episodes.noted",
        HEAT + "test_returns_after_a_gap_are_counted",
        HEAT + "test_dropping_old_words_changes_no_count",
    ),
    "familiar:factor": row("constants.py:familiar_factor", CONST + "test_the_familiar_word_factor"),
    "familiar:formula": row("scoring.py:weigh", HEAT + "test_the_factor_divides_the_weight_and_all_casings_share_it"),
    "familiar:ambient": row("episodes.py:Episodes.noted", MATRIX + "test_a_row_that_is_a_sequence_of_steps"),
    "familiar:continuous-full": row(
        "episodes.py:Episodes.noted",
        HEAT + "test_a_held_score_of_1_reaches_0_9375_on_its_fourth_turn",
        MATRIX + "test_a_row_that_is_a_sequence_of_steps",
    ),
    "familiar:brand-protected": row("episodes.py:Episodes.noted", HEAT + "test_brand_words_are_not_noted"),
    "familiar:case-shared": row(
        "episodes.py:Episodes", HEAT + "test_the_factor_divides_the_weight_and_all_casings_share_it"
    ),
    # echoes
    "echo:every-word": row("echoes.py:with_echoes", HEAT + "test_a_hint_that_was_not_said_burns_nothing"),
    "echo:later-prompts": row(
        "tokens.py:surviving_words",
        TEXT + "test_repeated_words_count_once_and_echoes_not_at_all",
        HEAT + "test_words_of_a_hint_are_dead_as_evidence_until_the_branch_drops_them",
    ),
    "echo:paste-zero": row(
        "tokens.py:surviving_words", MATRIX + "test_row_o_a_quote_supplies_no_heat_to_another_namespace"
    ),
    "echo:content-source": row(
        "replay.py:message_text", REPLAY + "test_a_hint_spends_one_unit_burns_what_it_names_and_echoes_its_words"
    ),
    "echo:reload": row("replay.py:replay", REPLAY + "test_after_a_reload_the_echoes_of_the_branch_stay_silent"),
    "echo:rewind": row("replay.py:replay", SERVICE + "test_a_rewind_returns_the_budget_the_ash_and_the_words"),
    # tokens
    "token:latin-digits": row("tokens.py:tokens", TEXT + "test_tokens", TEXTS),
    "token:shape": row("tokens.py:tokens", TEXT + "test_tokens", TEXTS),
    "token:other-scripts": row(
        "tokens.py:tokens", TEXT + "test_tokens", TEXT + "test_accents_and_other_scripts_split_words"
    ),
    "token:stopwords": row("stopwords.py:STOPWORDS", TEXT + "test_the_85_stopwords_carry_no_weight_and_no_position"),
    "token:question-words": row(
        "stopwords.py:STOPWORDS", TEXT + "test_the_85_stopwords_carry_no_weight_and_no_position"
    ),
    # heat
    "heat:q": row("constants.py:SCORE_QUANTUM", CONST + "test_the_two_values_and_the_default_threshold"),
    "heat:tau": row("constants.py:MEMORY_SCALE_TURNS", CONST + "test_the_two_values_and_the_default_threshold"),
    "heat:theta": row("constants.py:DEFAULT_THRESHOLD", CONST + "test_the_two_values_and_the_default_threshold"),
    "heat:derived": row("constants.py", CONST + "test_another_memory_scale_moves_every_derived_constant"),
    "heat:recent-mean": row("heat.py:warmed", HEAT + "test_heat_is_an_exponential_mean"),
    "heat:smoke-meaning": row("smoke.py:Smoke", HEAT + "test_used_hints_clear_the_streak_and_unused_ones_raise_it"),
    "heat:smoke-range": row("constants.py:SMOKE_STREAK_LIMIT", CONST + "test_five_unused_hints_leave_a_streak_of_four"),
    "heat:filter": row("heat.py:warmed", HEAT + "test_heat_is_an_exponential_mean"),
    "heat:input": row(
        "lanes.py:judge",
        SCORE + "test_scatter_feeds_the_raw_score_up_to_one_quantum",
        SCORE + "test_one_generic_word_supplies_no_heat_however_often",
        HEAT + "test_the_crossing_time",
    ),
    "heat:halve-each-prompt": row(
        "heat.py:cooled", HEAT + "test_every_processed_prompt_cools_but_a_capped_or_disabled_one_freezes"
    ),
    "heat:hold-1": row("heat.py:warmed", HEAT + "test_a_held_score_of_1_reaches_0_9375_on_its_fourth_turn"),
    "heat:hold-1.5": row("heat.py:warmed", HEAT + "test_the_crossing_time"),
    "heat:scatter-limit": row(
        "heat.py:warmed", HEAT + "test_scatter_never_passes_one_quantum_and_stays_below_after_one_smoke_event"
    ),
    "heat:scatter-smoke": row(
        "constants.py:fire_point", HEAT + "test_scatter_never_passes_one_quantum_and_stays_below_after_one_smoke_event"
    ),
    "heat:k-fire": row(
        "heat.py:warmed",
        HEAT + "test_the_crossing_time",
        HEAT + "test_a_surface_of_1_83_fires_weakly_on_the_first_turn",
    ),
    "heat:unrelated-halves": row(
        "heat.py:cooled",
        HEAT + "test_query_results_fires_on_its_second_prompt_and_one_unrelated_turn_shifts_it_to_the_third",
    ),
    "heat:later-pickup": row(
        "heat.py:warmed",
        HEAT + "test_query_results_fires_on_its_second_prompt_and_one_unrelated_turn_shifts_it_to_the_third",
    ),
    "heat:query-results": row(
        "heat.py:warmed",
        HEAT + "test_query_results_fires_on_its_second_prompt_and_one_unrelated_turn_shifts_it_to_the_third",
    ),
    "heat:query-results-gap": row(
        "heat.py:warmed",
        HEAT + "test_query_results_fires_on_its_second_prompt_and_one_unrelated_turn_shifts_it_to_the_third",
    ),
    # bands
    "band:strong": row(
        "lanes.py:judge",
        HEAT + "test_threshold_one_half_writes_matched_from_1_5_and_might_match_below",
        HEAT + "test_a_surface_of_1_83_fires_weakly_on_the_first_turn",
    ),
    "band:weak": row("lanes.py:judge", HEAT + "test_a_surface_of_exactly_the_threshold_counts"),
    "band:scatter": row("lanes.py:judge", SCORE + "test_scatter_feeds_the_raw_score_up_to_one_quantum"),
    "band:unburned": row("advisor.py:_open_verdicts", MATRIX + "test_the_prompt_after_the_burn"),
    "band:headline-strong": row("rendering.py:render", RENDER + "test_the_full_form", VECTORS),
    "band:headline-weak": row(
        "rendering.py:render", HEAT + "test_threshold_one_half_writes_matched_from_1_5_and_might_match_below", VECTORS
    ),
    "band:details-score": row(
        "rendering.py:Match.details",
        SERVICE + "test_a_hint_is_a_custom_message_with_content_details_and_display",
        VECTORS,
    ),
    # the transcript
    "store:durable": row(
        "replay.py:replay", SERVICE + "test_random_histories_with_reloads_and_navigations_equal_a_replay_from_scratch"
    ),
    "store:custom-message": row(
        "service.py:AdvisorService.prompt_submitted",
        SERVICE + "test_a_hint_is_a_custom_message_with_content_details_and_display",
    ),
    "store:content-words": row(
        "replay.py:message_text",
        REPLAY + "test_content_may_be_blocks_of_text",
        REPLAY + "test_a_hint_spends_one_unit_burns_what_it_names_and_echoes_its_words",
    ),
    "store:spends-one": row(
        "replay.py:replay",
        REPLAY + "test_a_hint_spends_one_unit_burns_what_it_names_and_echoes_its_words",
        REPLAY + "test_a_hint_without_usable_details_spends_one_unit_all_the_same",
        SERVICE + "test_a_hint_is_a_custom_message_with_content_details_and_display",
    ),
    "store:organic": row(
        "advisor.py:tool_use",
        SERVICE + "test_a_call_burns_its_namespace_and_marks_the_hint_as_used",
        REPLAY + "test_recorded_calls_burn_organically_by_tool_name",
    ),
    "store:replay-when": row(
        "service.py:AdvisorService",
        SERVICE + "test_a_reload_keeps_ash_echoes_and_the_spent_count_and_forgets_the_rest",
        SERVICE + "test_a_rewind_returns_the_budget_the_ash_and_the_words",
    ),
    "store:replay-swaps": row(
        "replay.py:replay", SERVICE + "test_random_histories_with_reloads_and_navigations_equal_a_replay_from_scratch"
    ),
    "store:ash-record": row(
        "ash.py:AshRecord", REPLAY + "test_a_hint_spends_one_unit_burns_what_it_names_and_echoes_its_words"
    ),
    "store:fork": row(
        "service.py:AdvisorService.session_started", SERVICE + "test_a_fork_inherits_what_lies_before_its_fork_point"
    ),
    "store:rewind-budget": row(
        "service.py:AdvisorService.tree_navigated", SERVICE + "test_a_rewind_returns_the_budget_the_ash_and_the_words"
    ),
    "store:rewind-ash": row(
        "service.py:AdvisorService.tree_navigated", SERVICE + "test_a_rewind_returns_the_budget_the_ash_and_the_words"
    ),
    "store:fresh": row("service.py:AdvisorService.session_started", SERVICE + "test_a_fresh_session_starts_empty"),
    "store:transient": row(
        "advisor.py:AdvisorState.without_transients",
        SERVICE + "test_a_reload_keeps_ash_echoes_and_the_spent_count_and_forgets_the_rest",
    ),
    "store:clear-before-replay": row(
        "service.py:AdvisorService._boundary",
        SERVICE + "test_random_histories_with_reloads_and_navigations_equal_a_replay_from_scratch",
    ),
    # smoke
    "smoke:two-namespaces": row(
        "smoke.py:Smoke.fired", HEAT + "test_three_sources_cross_two_are_named_and_burn_the_third_keeps_its_heat"
    ),
    "smoke:either-uses": row(
        "smoke.py:Smoke.tool_used",
        HEAT + "test_a_hint_stays_open_for_its_own_and_the_following_turn_end",
        SERVICE + "test_a_call_burns_its_namespace_and_marks_the_hint_as_used",
    ),
    "smoke:window": row(
        "smoke.py:Smoke.turn_ended", HEAT + "test_a_hint_stays_open_for_its_own_and_the_following_turn_end"
    ),
    "smoke:unused-adds": row(
        "smoke.py:Smoke.turn_ended", HEAT + "test_a_hint_stays_open_for_its_own_and_the_following_turn_end"
    ),
    "smoke:formula": row(
        "constants.py:fire_point", CONST + "test_the_fire_point_rises_with_the_streak_up_to_twice_the_threshold"
    ),
    "smoke:used-clears": row(
        "smoke.py:Smoke.turn_ended", HEAT + "test_used_hints_clear_the_streak_and_unused_ones_raise_it"
    ),
    "smoke:expired-adds": row(
        "smoke.py:Smoke.turn_ended", HEAT + "test_used_hints_clear_the_streak_and_unused_ones_raise_it"
    ),
    "smoke:fire-order": row("smoke.py:Smoke.turn_ended", HEAT + "test_overlapping_windows_settle_in_fire_order"),
    "smoke:limit": row(
        "constants.py:fire_point",
        CONST + "test_five_unused_hints_leave_a_streak_of_four",
        CONST + "test_the_fire_point_rises_with_the_streak_up_to_twice_the_threshold",
    ),
    "smoke:late-organic": row("advisor.py:tool_use", HEAT + "test_a_late_call_burns_organically_and_keeps_the_smoke"),
    "smoke:late-keeps": row(
        "smoke.py:Smoke.tool_used", HEAT + "test_a_late_call_burns_organically_and_keeps_the_smoke"
    ),
    "smoke:strong-always": row(
        "lanes.py:Verdict.fires_at_once", HEAT + "test_strong_evidence_fires_at_every_smoke_level"
    ),
    "smoke:memory": row(
        "advisor.py:AdvisorState.without_transients",
        SERVICE + "test_a_reload_keeps_ash_echoes_and_the_spent_count_and_forgets_the_rest",
    ),
    # cap
    "cap:setting": row("settings.py:AdvisorySettings", HEAT + "test_one_hint_if_the_setting_says_so"),
    "cap:replay-counts": row(
        "replay.py:replay",
        REPLAY + "test_the_whole_branch_counts_through_compactions",
        REPLAY + "test_a_hint_without_usable_details_spends_one_unit_all_the_same",
    ),
    "cap:reload-keeps": row(
        "replay.py:replay", SERVICE + "test_a_reload_keeps_ash_echoes_and_the_spent_count_and_forgets_the_rest"
    ),
    "cap:rewind-returns": row("replay.py:replay", SERVICE + "test_a_rewind_returns_the_budget_the_ash_and_the_words"),
    "cap:ash-vs-cap": row("ash.py:burned", HEAT + "test_organic_burns_cost_no_hint"),
    # the open semantic case
    "semantic:row-j": row("lanes.py:judge", MATRIX + "test_the_first_prompt"),
    "semantic:playlist": row("lanes.py:judge", MATRIX + "test_the_first_prompt"),
    "semantic:ash-caps": row("ash.py:burned", MATRIX + "test_the_prompt_after_the_burn"),
    "semantic:smoke-follows": row(
        "constants.py:fire_point", MATRIX + "test_the_prompt_with_smoke", HEAT + "test_the_crossing_time"
    ),
    "semantic:deterministic": row(CONSIDER, REPLAY + "test_the_same_steps_give_the_same_bytes_under_any_hash_seed"),
    "semantic:late-call": row("advisor.py:tool_use", HEAT + "test_a_late_call_burns_organically_and_keeps_the_smoke"),
    # configuration
    "config:mode": row("settings.py:AdvisorySettings", SERVICE + "test_the_mode_decides_who_sees_the_hint"),
    "config:threshold": row(
        "settings.py:checked_settings",
        RENDER + "test_a_value_outside_its_limits_is_refused_by_name",
        RENDER + "test_values_at_the_limits_pass",
    ),
    "config:maxPerSession": row(
        "settings.py:checked_settings",
        RENDER + "test_a_value_outside_its_limits_is_refused_by_name",
        RENDER + "test_values_at_the_limits_pass",
    ),
    "config:budget": Row(
        [A + "settings.py:checked_settings", A + "rendering.py:_forms"],
        [
            RENDER + "test_a_value_outside_its_limits_is_refused_by_name",
            RENDER + "test_the_longest_of_four_forms_that_fits_the_budget_is_said",
        ],
    ),
    # the matrix as a whole
    "matrix:catalog": row(
        "fingerprint.py:Fingerprint",
        MATRIX + "test_the_live_shaped_catalog_has_eleven_fal_tools_and_several_extensions",
    ),
    "matrix:notation": row("rendering.py:Register", TABLE + "test_the_cell_comes_out_as_the_table_says"),
    "matrix:na": row(CONSIDER, MATRIX + "test_eleven_cells_are_not_applicable"),
}

for _name, _symbol in {
    "retention": "HEAT_RETENTION",
    "half-life": "COOL_HALF_LIFE_TURNS",
    "weak-band": "WEAK_BAND_WIDTH",
    "smoke-step": "SMOKE_STEP",
    "streak-limit": "SMOKE_STREAK_LIMIT",
    "largest-raise": "LARGEST_RAISE",
    "branch-cap": "DEFAULT_BRANCH_CAP",
    "phrase-window": "PHRASE_WINDOW",
    "scatter-limit": "SCATTER_FEED_LIMIT",
    "topic-share": "TOPIC_SHARE",
    "feedback-window": "FEEDBACK_WINDOW_TURNS",
    "episode-gap": "EPISODE_GAP_TURNS",
    "episode-reset": "EPISODE_RESET_TURNS",
    "familiar-factor": "familiar_factor",
}.items():
    _test = (
        "test_the_familiar_word_factor"
        if _name == "familiar-factor"
        else "test_the_defaults_of_the_specification_table"
    )
    _PLAIN[f"const:{_name}"] = row(
        f"constants.py:{_symbol}", CONST + _test, CONST + "test_another_memory_scale_moves_every_derived_constant"
    )

_CELLS = {
    "A": "first smoke burned",
    "B": "first repeated smoke burned",
    "C": "first repeated smoke burned",
    "D": "first repeated smoke",
    "E": "first repeated smoke burned",
    "F": "first repeated smoke",
    "G": "first smoke burned",
    "H": "first repeated",
    "I": "first smoke burned",
    "J": "first smoke burned",
    "K": "first repeated smoke burned",
    "L": "first repeated smoke burned",
    "M": "first repeated smoke burned",
    "N": "first repeated smoke",
    "O": "first repeated burned",
    "P": "first repeated smoke",
    "Q": "first repeated smoke burned",
    "R": "first repeated smoke burned",
    "S": "first repeated smoke burned",
}
_OF_RULE = {
    "A": "lanes.py:judge",
    "B": "heat.py:warmed",
    "C": "lanes.py:judge",
    "D": "lanes.py:_lone_word",
    "E": "lanes.py:_lone_word",
    "F": "fingerprint.py:brand_tokens",
    "G": "lanes.py:_lone_word",
    "H": "lanes.py:_is_topic",
    "I": "lanes.py:_is_topic",
    "J": "lanes.py:judge",
    "K": "scoring.py:best_phrase",
    "L": "tokens.py:surviving_words",
    "M": "paths.py:path_only_terms",
    "N": "heat.py:cooled",
    "O": "echoes.py:with_echoes",
    "P": "episodes.py:Episodes.noted",
    "Q": "scoring.py:best_phrase",
    "R": "smoke.py:Smoke.turn_ended",
    "S": "replay.py:replay",
}
_OWN_TEST = {
    "first": "test_the_first_prompt",
    "repeated": "test_the_repeated_prompt",
    "smoke": "test_the_prompt_with_smoke",
    "burned": "test_the_prompt_after_the_burn",
}
_DRIFT = {
    "first": "test_row_n_topic_drift_interleaved_between_turns_stays_silent_at_a_score_of_1",
    "repeated": "test_row_n_at_a_score_of_1_5_fires_on_the_third_prompt",
    "smoke": "test_row_n_with_smoke_is_blocked",
}

for _row, _columns in _CELLS.items():
    for _column in _columns.split():
        _own = (
            _DRIFT[_column]
            if _row == "N"
            else _OWN_TEST[_column]
            if _row < "N"
            else "test_a_row_that_is_a_sequence_of_steps"
        )
        _PLAIN[f"matrix:{_row}:{_column}"] = row(
            _OF_RULE[_row],
            TABLE + "test_the_cell_comes_out_as_the_table_says",
            MATRIX + _own,
            MATRIX + "test_the_recorded_cell_comes_out_as_observed",
        )

ROWS: dict[str, Row] = {f"combustion:{name}": one for name, one in _PLAIN.items()}
