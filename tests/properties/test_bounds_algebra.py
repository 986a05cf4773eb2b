"""Laws of the bounds: a lattice of ranges, and nothing that a child does ever widens what its parent has."""

from functools import reduce

from hypothesis import given, settings
from hypothesis import strategies as st

from child_agents.inherited_bounds import read_bounds, write_bounds
from guest_api.bounds import (
    UNBOUNDED,
    Bounds,
    NoSupportedLevelError,
    WiderBoundsError,
    available,
    clamp,
    clamp_supported,
    inherit,
    narrow,
    parse_bounds,
)
from guest_api.levels import LEVELS, RANK

relaxed = settings(deadline=None)
"""The time of one example says nothing on a busy machine."""
levels = st.sampled_from(LEVELS)
subsets = st.sets(levels)


@st.composite
def bounds(draw) -> Bounds:
    low, high = sorted((draw(levels), draw(levels)), key=RANK.__getitem__)
    ends = {}
    if draw(st.booleans()):
        ends["min"] = low
    if draw(st.booleans()):
        ends["max"] = high
    return Bounds(**ends)


def inside(range_: Bounds) -> set[str]:
    return {level for level in LEVELS if level in range_}


def overlap(a: Bounds, b: Bounds) -> bool:
    return bool(inside(a) & inside(b))


@relaxed
@given(bounds(), bounds())
def test_inheriting_is_the_meet_of_both_ranges_or_the_parents_whole_range(own, parent):
    common = inside(own) & inside(parent)
    assert inside(inherit(own, parent)) == (common or inside(parent))


@relaxed
@given(bounds(), bounds())
def test_inheriting_never_widens(own, parent):
    assert parent.covers(inherit(own, parent))


@relaxed
@given(bounds(), bounds())
def test_where_ranges_overlap_the_order_does_not_matter(a, b):
    if overlap(a, b):
        assert inside(inherit(a, b)) == inside(inherit(b, a))


@relaxed
@given(bounds(), bounds(), bounds())
def test_where_all_ranges_overlap_grouping_does_not_matter(a, b, c):
    if inside(a) & inside(b) & inside(c):
        assert inside(inherit(inherit(a, b), c)) == inside(inherit(a, inherit(b, c)))


@relaxed
@given(bounds(), bounds())
def test_inheriting_again_changes_nothing(own, parent):
    once = inherit(own, parent)
    assert inherit(own, once) == once == inherit(once, parent)


@relaxed
@given(bounds())
def test_no_bounds_is_the_neutral_range(range_):
    assert inherit(range_, UNBOUNDED) == range_ == inherit(UNBOUNDED, range_)
    assert narrow(range_, UNBOUNDED) == range_


@relaxed
@given(bounds(), bounds())
def test_absorption_holds_where_one_range_covers_the_other(a, b):
    assert (inside(inherit(a, b)) == inside(a)) == (b.covers(a) or (not overlap(a, b) and inside(a) == inside(b)))


@relaxed
@given(bounds(), bounds())
def test_narrowing_is_refused_exactly_where_an_end_lies_outside(caller, wanted):
    stated = wanted.to_dict().values()
    try:
        child = narrow(caller, wanted)
    except WiderBoundsError:
        assert any(end not in caller for end in stated)
    else:
        assert all(end in caller for end in stated)
        assert caller.covers(child)
        assert all(child.to_dict()[name] == end for name, end in wanted.to_dict().items())


@relaxed
@given(st.lists(bounds(), min_size=1, max_size=6))
def test_down_a_line_of_descendants_every_range_lies_in_its_parents(line):
    def step(parent: Bounds, own: Bounds) -> Bounds:
        child = inherit(own, read_bounds(write_bounds(parent)))
        assert parent.covers(child)
        return child

    assert line[0].covers(reduce(step, line))


@relaxed
@given(levels, bounds())
def test_clamping_moves_only_what_is_outside_and_only_to_an_end(level, range_):
    clamped = clamp(level, range_)
    assert clamped in range_
    assert (clamped == level) == (level in range_)
    assert clamp(clamped, range_) == clamped
    assert clamped in (level, range_.lowest, range_.highest)


@relaxed
@given(levels, levels, bounds())
def test_clamping_keeps_the_order_of_levels(a, b, range_):
    if RANK[a] <= RANK[b]:
        assert RANK[clamp(a, range_)] <= RANK[clamp(b, range_)]


@relaxed
@given(levels, bounds(), subsets)
def test_the_clamp_to_a_model_stays_inside_or_fails_exactly_where_nothing_is_inside(level, range_, supported):
    choices = available(range_, supported)
    try:
        chosen = clamp_supported(level, range_, supported)
    except NoSupportedLevelError:
        assert choices == ()
    else:
        assert chosen in choices
        assert clamp_supported(chosen, range_, supported) == chosen
        if level in choices:
            assert chosen == level
        above = [choice for choice in choices if RANK[choice] >= RANK[level]]
        assert chosen == (above[0] if above else choices[-1])


@relaxed
@given(bounds())
def test_a_range_survives_its_journey_through_the_environment(range_):
    assert read_bounds(write_bounds(range_)) == range_ == parse_bounds(range_.to_dict())
