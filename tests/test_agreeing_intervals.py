"""The interval of an acceptance: against tables, and by what must hold of every one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadgen.agreeing.estimate import estimate
from quadgen.agreeing.intervals import clustered, interval, t_quantile, wilson
from quadgen.agreeing.rounds import Round

GROUP = st.integers(0, 200).flatmap(lambda tried: st.tuples(st.just(tried), st.integers(0, tried)))
GROUPS = st.lists(GROUP, max_size=20)
ROUND = st.tuples(st.integers(1, 8), st.integers(0, 8)).map(
    lambda each: Round(at=1, drafted=each[0], accepted=min(each))
)
ROUNDS = st.lists(st.lists(ROUND, max_size=10), max_size=10)


@pytest.mark.parametrize(
    ("freedom", "t"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (7, 2.365), (13, 2.160), (30, 2.042), (500, 1.965)],
)
def test_t_is_that_of_the_tables(freedom: int, t: float) -> None:
    assert t_quantile(freedom) == pytest.approx(t, abs=0.0006)


def test_wilson_is_that_of_the_paper_that_compares_intervals() -> None:
    assert wilson(10, 3) == pytest.approx((0.1078, 0.6032), abs=0.0001)
    assert wilson(10, 0) == pytest.approx((0.0, 0.2775), abs=0.0001)
    assert wilson(10, 10) == pytest.approx((0.7225, 1.0), abs=0.0001)


def test_groups_that_differ_widen_the_interval_beyond_that_of_independent_tries() -> None:
    low, high = interval([(100, 20), (100, 80), (100, 50)]) or (0, 0)
    assert low < wilson(300, 150)[0] - 0.1
    assert high > wilson(300, 150)[1] + 0.1


def test_groups_of_equal_size_have_the_interval_of_the_mean_of_their_shares() -> None:
    # shares 0.4, 0.5, 0.6: standard deviation 0.1, t with two degrees of freedom 4.3027
    assert clustered([(10, 4), (10, 5), (10, 6)]) == pytest.approx(
        (0.5 - 4.3027 * 0.1 / 3**0.5, 0.5 + 4.3027 * 0.1 / 3**0.5), abs=1e-4
    )


def test_one_group_has_no_spread_and_none_has_no_interval() -> None:
    assert clustered([(10, 5), (0, 0)]) is None
    assert interval([(10, 5)]) == wilson(10, 5)
    assert interval([]) is interval([(0, 0)]) is None


@given(GROUPS)
def test_an_interval_holds_the_share_and_lies_within_0_and_1(groups: list[tuple[int, int]]) -> None:
    tried, held = (sum(each[which] for each in groups) for which in (0, 1))
    bounds = interval(groups)
    if not tried:
        assert bounds is None
        return
    assert bounds is not None
    assert 0 <= bounds[0] <= held / tried <= bounds[1] <= 1
    assert bounds[0] < bounds[1]


@given(GROUPS)
def test_the_order_of_the_prompts_does_not_matter(groups: list[tuple[int, int]]) -> None:
    assert interval(groups) == pytest.approx(interval(groups[::-1]))


@given(ROUNDS)
def test_counts_by_position_add_up_to_those_of_the_rounds(texts: list[list[Round]]) -> None:
    found = estimate(texts)
    every = [each for rounds in texts for each in rounds]
    assert sum(each.accepted for each in found.positions) == found.accepted == sum(each.accepted for each in every)
    assert sum(each.drafted for each in found.positions) == found.drafted
    assert sum(each.tried for each in found.positions) == sum(each.tried for each in every)
    assert found.counts.rounds == found.rounds == len(every)
    for before, each in zip(found.positions, found.positions[1:], strict=False):
        assert each.drafted <= before.drafted
        assert each.tried <= before.accepted
    if found.p is not None:
        assert found.counts.acceptance is not None
        assert found.counts.acceptance <= found.p  # what stands behind a rejected token counts as drafted
