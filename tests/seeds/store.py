"""Where the requirements of the session store live, and the tests that hold them."""

from tests.seeds.row import Row

_STORE = "tests/runtime/transcript/test_store.py"

ROWS: dict[str, Row] = {
    "card:shared-store": Row(
        ["runtime/transcript/store.py:TranscriptStore", "runtime/transcript/line_file.py:LineFile"],
        [
            "tests/runtime/transcript/test_sessions_command.py::test_the_tree_shows_branches_leaf_overrides_hints_and_the_calls_of_runs",
            f"{_STORE}::test_each_entry_is_one_whole_line_on_the_file_when_append_returns",
            f"{_STORE}::test_the_latest_entry_of_a_kind_is_the_branch_s_not_the_file_s",
        ],
    ),
}
