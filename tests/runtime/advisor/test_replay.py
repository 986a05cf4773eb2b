"""From a branch to the durable state, through every shape that an entry may have."""

import subprocess
import sys

import pytest

from runtime.advisor.advisor import AdvisorState
from runtime.advisor.replay import code_namespaces, message_text, replay
from tests.runtime.advisor.live import SETTINGS, machine

NAMES = {"post_send": ["extension:pi-post"], "twofold": ["extension:a", "", "extension:b"], "none": []}


def restored(*entries, own=lambda ref: None) -> AdvisorState:
    return replay(entries, namespaces_of_tool=NAMES.get, exec_tool="fabric_exec", namespace_of_ref=own)


def hint(*namespaces, content="alpha beta", **fields):
    return {
        "type": "custom_message",
        "customType": "pi-fabric-capability",
        "content": content,
        "details": {"matches": [{"namespace": n} for n in namespaces]},
        "timestamp": "2026-08-10T16:00:00.000Z",
        **fields,
    }


def call(name, **fields):
    return {
        "type": "message",
        "timestamp": "2026-08-10T16:12:11.000Z",
        "message": {"role": "assistant", "content": [{"type": "toolCall", "name": name, **fields}]},
    }


def test_a_fresh_branch_is_empty():
    assert restored() == AdvisorState()


def test_a_hint_spends_one_unit_burns_what_it_names_and_echoes_its_words():
    state = restored(hint("extension:a", "extension:b", content="Alpha, beta_gamma!"))
    assert state.spent_hints == 1
    assert [(one.namespace, one.origin, one.at) for one in state.ash.values()] == [
        ("extension:a", "fired", "2026-08-10T16:00:00.000Z"),
        ("extension:b", "fired", "2026-08-10T16:00:00.000Z"),
    ]
    assert state.echoes == {"alpha", "beta", "gamma"}


@pytest.mark.parametrize(
    "details", [None, [], {}, {"matches": None}, {"matches": [None, 3, {"namespace": ""}, {"namespace": 7}]}]
)
def test_a_hint_without_usable_details_spends_one_unit_all_the_same(details):
    state = restored(hint(details=details))
    assert (state.spent_hints, dict(state.ash)) == (1, {})


def test_content_may_be_blocks_of_text():
    assert (
        message_text(
            [
                {"type": "text", "text": "one"},
                {"type": "image"},
                None,
                {"type": "text", "text": 3},
                {"type": "text", "text": "two"},
            ]
        )
        == "one\ntwo"
    )
    assert message_text({"text": "no"}) == ""


def test_recorded_calls_burn_organically_by_tool_name():
    state = restored(call("post_send"), call("twofold"), call("none"), call("unknown"), hint("extension:a"))
    assert [(one.namespace, one.origin) for one in state.ash.values()] == [
        ("extension:pi-post", "organic"),
        ("extension:a", "organic"),
        ("extension:b", "organic"),
    ]


def test_code_that_pi_recorded_names_its_servers():
    assert code_namespaces("await mcp.git.status(); mcp.fal_ai .run(); xmcp.no.x(); mcp.git.log(); amcp.q.r") == [
        "mcp:git",
        "mcp:fal_ai",
    ]
    state = restored(call("fabric_exec", arguments={"code": "mcp.git.status()"}))
    assert list(state.ash) == ["mcp:git"]


@pytest.mark.parametrize(
    "fields",
    [
        {"input": {"code": "mcp.git.x()"}},
        {"input": None, "arguments": {"code": "mcp.git.x()"}},
        {"args": {"code": "mcp.git.x()"}},
    ],
)
def test_the_input_of_a_call_has_three_names(fields):
    assert list(restored(call("fabric_exec", **fields)).ash) == ["mcp:git"]


def test_our_own_runs_burn_the_refs_of_their_trace_and_nothing_of_their_text():
    run = {
        "type": "custom",
        "customType": "pi-fabric-run",
        "data": {
            "version": 1,
            "source": "mcp.slack.send()",
            "calls": [
                {"ref": "mcp.git.status", "ok": False},
                {"ref": "x.y", "namespace": "extension:x"},
                None,
                {"ref": 3},
            ],
        },
    }
    state = restored(run, own=lambda ref: "mcp:git" if ref == "mcp.git.status" else None)
    assert [(one.namespace, one.origin) for one in state.ash.values()] == [
        ("mcp:git", "organic"),
        ("extension:x", "organic"),
    ]


def test_the_whole_branch_counts_through_compactions():
    state = restored(
        hint("extension:a"), {"type": "compaction", "summary": "s", "firstKeptEntryId": "z"}, hint("extension:b")
    )
    assert (state.spent_hints, list(state.ash)) == (2, ["extension:a", "extension:b"])


@pytest.mark.parametrize(
    "entry",
    [
        None,
        3,
        [],
        {},
        {"type": "message"},
        {"type": "message", "message": {"role": "assistant", "content": [None, {"type": "toolCall", "name": None}]}},
        {"type": "message", "message": {"role": "user", "content": [{"type": "toolCall", "name": "post_send"}]}},
        {"type": "custom", "customType": "pi-fabric-run", "data": 3},
    ],
)
def test_malformed_entries_are_skipped(entry):
    assert restored(entry, hint("extension:a")).spent_hints == 1


def test_after_a_reload_the_echoes_of_the_branch_stay_silent():
    made = machine()
    said = made.prompt("check the status of my fal job", SETTINGS)
    made.restore([hint("mcp:fal-ai", content=said.content)], {}, None)
    heat = dict(made.state.heat)
    assert made.prompt(said.content, SETTINGS) is None
    assert made.state.heat == {name: value / 2 for name, value in heat.items()}
    reloaded = machine()
    assert machine().prompt(said.content, SETTINGS) is not None
    reloaded.restore([hint(content=said.content)], {}, None)
    assert reloaded.prompt(said.content, SETTINGS) is None
    assert not reloaded.state.heat


def test_the_same_steps_give_the_same_bytes_under_any_hash_seed():
    program = (
        "import json\n"
        "from tests.runtime.advisor.live import machine, SETTINGS, DATA\n"
        "from runtime.advisor.scenarios import hint_view\n"
        "m = machine()\n"
        "print(json.dumps([hint_view(m.prompt(p, SETTINGS)) for p in ('blast radius of edited files', 'query rows', 'query rows', 'check the status of my fal job')]))\n"
        "print(sorted(m.state.echoes), list(m.state.ash), sorted(m.state.heat.items()))\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize(
    ("call", "burns"),
    [
        ({"decision": "allowed"}, True),
        ({"decision": "approved", "ok": False, "error": {"kind": "host"}}, True),
        ({"decision": "denied", "risk": "network"}, True),
        ({"decision": "blocked", "risk": "network"}, True),
        ({"decision": "rejected", "risk": "network"}, True),
        ({"error": {"kind": "denied"}}, True),
        ({"decision": "rejected"}, False),
        ({"decision": "limited"}, False),
    ],
)
def test_every_traced_call_of_an_action_burns_whatever_became_of_it(call, burns):
    run = {
        "type": "custom",
        "customType": "pi-fabric-run",
        "data": {"calls": [{"ref": "mcp.git.x", **call}]},
    }
    assert list(restored(run, own=lambda _ref: "mcp:git").ash) == (["mcp:git"] if burns else [])
