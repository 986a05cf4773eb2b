"""The plan is data: defaults, the weaker mode, and one protection removed at a time."""

import msgspec
import pytest

from host_bridge.confinement_plan import BY_NAME, PROTECTIONS, ConfinementPlan, State


def test_what_a_guest_is_never_run_without_is_strict():
    plan = ConfinementPlan.default()
    strict = {name for name, state in plan.states.items() if state is State.STRICT}
    assert strict == {
        "process_boundary",
        "seccomp",
        "no_new_privs",
        "rlimits",
        "closed_descriptors",
        "empty_environment",
    }


def test_landlock_and_namespaces_are_degradable():
    plan = ConfinementPlan.default()
    assert {name for name, state in plan.states.items() if state is State.DEGRADABLE} == {"landlock", "namespaces"}


def test_every_protection_says_what_it_needs_and_how_to_get_it():
    for protection in PROTECTIONS:
        assert protection.kernel_feature
        assert protection.keeps_away
        assert protection.how_to_get_it


@pytest.mark.parametrize("name", [name for name in BY_NAME if name != "process_boundary"])
def test_removing_one_protection_changes_no_other(name):
    plan = ConfinementPlan.default()
    changed = plan.without(name)
    assert {key for key in plan.states if plan.states[key] != changed.states[key]} == {name}
    assert changed.states[name] is State.DISABLED


def test_the_process_boundary_cannot_be_removed():
    with pytest.raises(ValueError, match="process of its own"):
        ConfinementPlan.default().without("process_boundary")


def test_an_unknown_protection_is_refused_by_name():
    with pytest.raises(ValueError, match="no protection 'selinux'"):
        ConfinementPlan.default().without("selinux")


def test_the_weaker_mode_has_to_be_named_exactly():
    assert ConfinementPlan.for_mode("strict") == ConfinementPlan.default()
    assert ConfinementPlan.for_mode("trusted-process-only").state("seccomp") is State.DEGRADABLE
    with pytest.raises(ValueError, match=r"executor\.isolation: 'off' is none of strict, trusted-process-only"):
        ConfinementPlan.for_mode("off")


def test_the_weaker_mode_keeps_what_our_own_code_provides():
    plan = ConfinementPlan.trusted_process_only()
    assert {name for name, state in plan.states.items() if state is State.STRICT} == {
        "process_boundary",
        "closed_descriptors",
        "empty_environment",
    }


def test_a_plan_travels_as_json():
    plan = ConfinementPlan.default().without("landlock")
    assert msgspec.json.decode(plan.to_json()) == {name: str(state) for name, state in plan.states.items()}
