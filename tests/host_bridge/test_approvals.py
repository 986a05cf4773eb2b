"""The verdict: deny wins, narrower wins, and every combination has one answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host_bridge.approvals import (
    DEFAULT_MODES,
    MODES,
    ApprovalPolicy,
    Rule,
    denied_message,
    parse_risks,
    rule_problem,
    unanswered_message,
    verdict,
)
from host_bridge.descriptor import RISKS

GIT = "mcp.git.push"


def decide(*rules, modes=None, allow=(), deny=(), granted=(), stored=(), ref=GIT, risk="write"):
    policy = ApprovalPolicy(
        modes={**DEFAULT_MODES, **(modes or {})}, rules=rules, run_allow=frozenset(allow), run_deny=frozenset(deny)
    )
    found = verdict(policy, ref, risk, granted=granted, stored=stored)
    return found.mode, found.basis


def rule(ref, action, origin="configuration", risk=None):
    return Rule(ref, action, origin, risk)


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        (("ask", "mode"), {}),
        (("allow", "mode"), {"risk": "read"}),
        (("ask", "mode"), {"risk": "agent"}),
        (("auto", "mode"), {"modes": {"write": "auto"}}),
        (("deny", "mode"), {"modes": {"write": "deny"}}),
        (("ask", "mode"), {"modes": {"execute": "allow"}}),
        (("allow", "run"), {"allow": ["write"]}),
        (("ask", "mode"), {"allow": ["execute"]}),
        (("deny", "run"), {"deny": ["write"], "allow": ["write"], "granted": [(GIT, "write")]}),
        (("deny", "mode"), {"modes": {"write": "deny"}, "allow": ["write"]}),
        (("allow", "session"), {"granted": [(GIT, "write")]}),
        (("ask", "mode"), {"granted": [(GIT, "execute")]}),
        (("ask", "mode"), {"granted": [("mcp.git.pull", "write")]}),
        (("deny", "mode"), {"modes": {"write": "deny"}, "granted": [(GIT, "write")]}),
        (("allow", "stored"), {"stored": [rule(GIT, "allow", "stored", "write")]}),
        (("ask", "mode"), {"stored": [rule(GIT, "allow", "stored", "read")]}),
        (("deny", "mode"), {"modes": {"write": "deny"}, "stored": [rule(GIT, "allow", "stored", "write")]}),
    ],
)  # fmt: skip
def test_modes_flags_grants_and_stored_rules(expected, given):
    assert decide(**given) == expected


@pytest.mark.parametrize(
    ("expected", "rules"),
    [
        ("allow", [("mcp.git.*", "allow")]),
        ("allow", [("mcp.*", "ask"), ("mcp.git.*", "allow")]),
        ("ask", [("mcp.*", "allow"), ("mcp.git.*", "ask")]),
        ("ask", [("mcp.git.*", "allow"), (GIT, "ask")]),
        ("allow", [(GIT, "allow"), ("mcp.git.*", "ask")]),
        ("auto", [("*", "auto")]),
        ("deny", [(GIT, "allow"), ("*", "deny")]),
        ("deny", [("mcp.*", "deny"), (GIT, "allow")]),
        ("ask", [("mcp.gi", "allow"), ("mcp.git.pus", "allow"), ("other.*", "allow")]),
        ("ask", [("mcp.git.*", "allow"), ("mcp.git.*", "ask")]),
        ("ask", [("mcp.gitter.*", "deny")]),
    ],
)  # fmt: skip
def test_narrower_wins_and_deny_always_wins(expected, rules):
    assert decide(*(rule(*pair) for pair in rules))[0] == expected
    assert decide(*(rule(*pair) for pair in reversed(rules)))[0] == expected


def test_a_kept_answer_beats_a_configured_question_of_the_same_breadth():
    stored = [rule(GIT, "allow", "stored", "write")]
    assert decide(rule(GIT, "ask"), stored=stored) == ("allow", "stored")
    assert decide(rule("mcp.git.*", "ask"), stored=stored) == ("allow", "stored")
    assert decide(rule(GIT, "deny"), stored=stored) == ("deny", "rule")


def test_a_rule_is_narrower_than_a_flag():
    assert decide(rule("mcp.git.*", "ask"), allow=["write"]) == ("ask", "rule")


refs = st.sampled_from([GIT, "mcp.git.*", "mcp.*", "*", "pi.bash", "pi.*"])
modes = st.sampled_from(MODES)
rules = st.lists(st.builds(Rule, refs, modes, st.sampled_from(["configuration", "stored"])), max_size=5)


@given(
    given_rules=rules,
    class_modes=st.fixed_dictionaries({risk: modes for risk in RISKS}),
    allow=st.frozensets(st.sampled_from(RISKS)),
    deny=st.frozensets(st.sampled_from(RISKS)),
    granted=st.booleans(),
    risk=st.sampled_from(RISKS),
)
def test_no_allow_from_anywhere_beats_a_deny(given_rules, class_modes, allow, deny, granted, risk):
    policy = ApprovalPolicy(modes=class_modes, rules=tuple(given_rules), run_allow=allow, run_deny=deny)
    found = verdict(policy, GIT, risk, granted=[(GIT, risk)] if granted else ())
    denied = (
        risk in deny
        or class_modes[risk] == "deny"
        or any(one.action == "deny" and one.matches(GIT, risk) for one in given_rules)
    )
    assert (found.mode == "deny") == denied
    if granted and not denied:
        assert found.mode == "allow"


def test_denials_name_class_ref_and_the_statement():
    policy = ApprovalPolicy(modes={"write": "deny"})
    assert denied_message("a.b", "write", verdict(policy, "a.b", "write")) == (
        "a.b (risk write) is denied: approvals.write = deny"
    )


def test_the_flag_is_named_only_where_it_would_help():
    asked = verdict(ApprovalPolicy(), "a.b", "write")
    assert "--allow write" in unanswered_message("a.b", "write", asked)
    by_rule = verdict(ApprovalPolicy(rules=(Rule("a.*", "ask"),)), "a.b", "write")
    text = unanswered_message("a.b", "write", by_rule)
    assert "--allow" not in text
    assert '{"ref": "a.b", "action": "allow"}' in text


def test_risks_are_parsed_or_refused_with_the_closest():
    assert parse_risks(["write,network", "read"]) == {"write", "network", "read"}
    with pytest.raises(ValueError, match="did you mean 'write'"):
        parse_risks(["wirte"])


@pytest.mark.parametrize("ref", ["", 3, "a*", "a.*.b", "**", "a.b*"])
def test_rules_that_say_nothing_clear_are_refused(ref):
    assert rule_problem(ref, "allow")


def test_sound_rules_pass():
    assert rule_problem("mcp.git.*", "allow") is None
    assert rule_problem("*", "deny") is None
    assert rule_problem("pi.bash", "never")
