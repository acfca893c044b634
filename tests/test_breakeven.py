"""The formula: its ends, its direction, its inverse, and the worked example of docs/triage.md."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quadgen.breakeven import (
    FLAT_VERIFY,
    Costs,
    Verify,
    acceptance_for,
    accepted_length,
    best_width,
    overall,
)

CHANCE = st.floats(0, 1)
WIDTH = st.integers(1, 128)
STEP = st.floats(1e-4, 10)
FACTOR = st.floats(0.5, 100)
VERIFIES = st.builds(Verify, flat=FACTOR) | st.builds(
    lambda points: Verify(points=tuple(sorted(points.items()))),
    st.dictionaries(st.integers(2, 130), FACTOR, max_size=5),
)
COSTS = st.builds(Costs, target_step=STEP, draft_step=st.just(0.0) | STEP, sequential=st.booleans(), verify=VERIFIES)
EXAMPLE = Costs(target_step=0.067, draft_step=0.012)
"""The case of docs/triage.md: a target at 25 tok/s that drafts already."""
INCUMBENT = 25.0


@given(WIDTH)
def test_a_round_without_an_accepted_draft_yields_one_token_and_one_with_all_of_them_yields_one_more(
    width: int,
) -> None:
    assert accepted_length(0, width) == 1
    assert accepted_length(1, width) == width + 1


@given(CHANCE, WIDTH)
def test_the_accepted_length_is_the_quotient_of_the_formula(p: float, width: int) -> None:
    if p < 0.999:  # closer to 1 the quotient itself has lost its digits
        assert accepted_length(p, width) == pytest.approx((1 - p ** (width + 1)) / (1 - p))
    assert accepted_length(p, width) == pytest.approx(sum(p**power for power in range(width + 1)))


@given(CHANCE, CHANCE, WIDTH, COSTS)
def test_a_higher_acceptance_is_never_slower(one: float, other: float, width: int, costs: Costs) -> None:
    low, high = sorted((one, other))
    assert accepted_length(low, width) <= accepted_length(high, width)
    assert costs.rate(low, width) <= costs.rate(high, width)


@given(CHANCE, WIDTH, st.tuples(STEP, STEP, STEP, STEP), VERIFIES)
def test_a_longer_step_of_either_model_is_never_faster(
    p: float, width: int, steps: tuple[float, float, float, float], verify: Verify
) -> None:
    target, more, draft, slower = steps
    before = Costs(target_step=target, draft_step=draft, verify=verify)
    assert Costs(target_step=target + more, draft_step=draft, verify=verify).rate(p, width) <= before.rate(p, width)
    assert Costs(target_step=target, draft_step=draft + slower, verify=verify).rate(p, width) <= before.rate(p, width)


@given(COSTS, WIDTH, st.floats(0.01, 1000))
def test_the_break_even_put_back_into_the_formula_gives_the_incumbent(
    costs: Costs, width: int, incumbent: float
) -> None:
    p = costs.break_even(width, incumbent)
    if p is None:
        assert costs.rate(1, width) < incumbent
    elif p == 0:
        assert costs.rate(0, width) >= incumbent
    else:
        assert costs.rate(p, width) == pytest.approx(incumbent, rel=1e-6)


@given(CHANCE, st.integers(1, 20))
@example(1.0, 1)
@example(0.0, 3)
def test_acceptance_for_undoes_accepted_length(p: float, width: int) -> None:
    length = accepted_length(p, width)
    back = acceptance_for(length, width)
    assert back is not None
    assert accepted_length(back, width) == pytest.approx(length, abs=1e-9)


@pytest.mark.parametrize(("length", "p"), [(0.5, 0.0), (1.0, 0.0), (4.0, 1.0), (4.001, None), (math.nan, None)])
def test_no_acceptance_gives_more_tokens_than_a_round_has_nor_less_than_one(length: float, p: float | None) -> None:
    assert acceptance_for(length, 3) == (None if p is None else pytest.approx(p, abs=1e-9))


@pytest.mark.parametrize(("tokens", "factor"), [(1, 1.0), (2, 1.2), (3, 1.4), (4, 1.6), (5, 1.8), (8, 2.4), (12, 3.2)])
def test_verifying_costs_what_was_measured_and_a_line_between_and_beyond(tokens: int, factor: float) -> None:
    assert Verify(points=((4, 1.6), (8, 2.4)))(tokens) == pytest.approx(factor)


def test_beyond_the_last_point_verifying_never_becomes_cheaper() -> None:
    assert Verify(points=((2, 3.0), (4, 1.0)))(100) == 1.0


def test_without_a_measurement_verifying_costs_the_same_at_every_width_but_one_token_a_pass() -> None:
    assert [Verify()(tokens) for tokens in (0, 1, 2, 1000)] == [1, 1, FLAT_VERIFY, FLAT_VERIFY]


@pytest.mark.parametrize(("width", "p"), [(1, None), (3, 0.752), (5, 0.757), (7, 0.782)])
def test_the_worked_example_breaks_even_where_its_formula_says(width: int, p: float | None) -> None:
    found = EXAMPLE.break_even(width, INCUMBENT)
    assert (None if found is None else round(found, 3)) == p


def test_the_worked_example_would_have_to_yield_more_at_a_width_of_1_than_there_is() -> None:
    assert INCUMBENT * EXAMPLE.round_time(1) == pytest.approx(2.1425)


def test_against_a_target_that_does_not_draft_the_worked_example_pays_earlier() -> None:
    assert EXAMPLE.break_even(3, 1 / EXAMPLE.target_step) == pytest.approx(0.406, abs=5e-4)


def test_the_worked_example_loses_over_the_realistic_band() -> None:
    assert [round(EXAMPLE.rate(p, 3), 1) for p in (0.4, 0.6)] == [14.8, 19.8]


@given(COSTS, CHANCE, st.integers(0, 16))
def test_the_best_width_is_none_worse_than_any_other(costs: Costs, p: float, widest: int) -> None:
    best = best_width(costs, p, widest)
    assert all(costs.rate(p, best) >= costs.rate(p, width) for width in range(widest + 1))


def test_a_width_of_0_is_a_plain_step_of_the_target() -> None:
    assert EXAMPLE.round_time(0) == EXAMPLE.target_step
    assert best_width(EXAMPLE, 0.0, 16) == 0


def test_one_pass_for_a_whole_block_costs_the_same_at_every_width() -> None:
    costs = Costs(target_step=0.05, draft_step=0.01, sequential=False)
    assert costs.round_time(1) == costs.round_time(7) == pytest.approx(0.01 + FLAT_VERIFY * 0.05)


@given(CHANCE, st.floats(1, 1000), st.floats(1, 1000), st.floats(1, 65), st.floats(1, 8))
def test_over_all_rounds_the_rate_is_between_that_of_both_kinds(
    share: float, drafted: float, plain: float, length: float, others: float
) -> None:
    found = overall(share, drafted, plain, length, plain_length=others)
    assert min(drafted, plain) * (1 - 1e-9) <= found <= max(drafted, plain) * (1 + 1e-9)
    assert overall(0, drafted, plain, length, plain_length=others) == pytest.approx(plain)
    assert overall(1, drafted, plain, length, plain_length=others) == pytest.approx(drafted)


def test_rounds_that_draft_weigh_by_their_time_and_not_by_their_tokens() -> None:
    # 1 round of 9 tokens in 0.2 s beside 3 plain passes of 0.1 s
    assert overall(0.25, 45, 10, 9) == pytest.approx((9 + 3) / (0.2 + 0.3))


def test_the_length_of_rounds_of_any_width_is_known_at_once() -> None:
    assert accepted_length(0.5, 10**15) == pytest.approx(2.0)
    assert accepted_length(1.0, 10**15) == 10**15 + 1
    assert accepted_length(0.0, 10**15) == 1.0
    assert accepted_length(0.999, 10_001) == pytest.approx(accepted_length(0.999, 10_000), rel=1e-4)
    assert acceptance_for(3.0, 1e15) == pytest.approx(2 / 3)
