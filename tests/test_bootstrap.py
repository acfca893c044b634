"""How sure a ratio is: the interval over rounds."""

import random
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noise
from quadgen.agreeing.intervals import CONFIDENCE
from quadgen.measuring.bootstrap import FEWEST, LEVEL, interval

RATE = st.floats(1, 1000)
ROUNDS = st.sampled_from([2, 3, 4, 5, 7, 9]).flatmap(
    lambda n: st.tuples(*(st.lists(RATE, min_size=n, max_size=n) for _ in range(2)))
)
FEW = settings(max_examples=15, deadline=None)
STEADY = [40.0, 40.4, 39.7, 40.1, 39.9, 40.2, 39.8]


def faster(factor: float) -> list[float]:
    return [factor * each for each in reversed(STEADY)]


def some(rounds: int, *, spread: float = 0.02, seed: int = 3) -> tuple[float, float]:
    """The interval of noise alone."""
    return interval(*noise.rates(noise.chance(seed), rounds, noise.Noise(spread=spread)))


def width(ends: tuple[float, float]) -> float:
    return ends[1] / ends[0]


def test_the_interval_is_one_of_95_percent() -> None:
    assert LEVEL == CONFIDENCE == 0.95


@FEW
@given(ROUNDS)
def test_the_ratio_of_the_medians_lies_in_the_interval(arms: tuple[list[float], list[float]]) -> None:
    low, high = interval(*arms)
    assert low <= median(arms[0]) / median(arms[1]) <= high


@FEW
@given(ROUNDS)
def test_exchanging_the_arms_inverts_the_interval(arms: tuple[list[float], list[float]]) -> None:
    candidate, comparator = arms
    low, high = interval(candidate, comparator)
    # the medians of an even number of rates are not inverted exactly, and the interval only holds their ratio
    if len(candidate) % 2:
        assert interval(comparator, candidate) == pytest.approx((1 / high, 1 / low))


@FEW
@given(ROUNDS, st.floats(0.01, 100))
def test_a_machine_that_is_faster_throughout_has_the_same_interval(
    arms: tuple[list[float], list[float]], factor: float
) -> None:
    scaled = [[factor * each for each in arm] for arm in arms]
    assert interval(*scaled) == pytest.approx(interval(*arms))


@FEW
@given(ROUNDS, st.randoms(use_true_random=False))
def test_the_order_of_the_rounds_does_not_matter(arms: tuple[list[float], list[float]], chance: random.Random) -> None:
    order = list(range(len(arms[0])))
    chance.shuffle(order)
    assert interval(*([arm[at] for at in order] for arm in arms)) == interval(*arms)


@pytest.mark.parametrize("rounds", [2, 3, FEWEST - 1, FEWEST, 8, 9, 12])
def test_samples_that_are_all_the_same_leave_no_doubt(rounds: int) -> None:
    assert interval([44.0] * rounds, [40.0] * rounds) == pytest.approx((1.1, 1.1))


@pytest.mark.parametrize("rounds", [2, 5, 7, 8, 11])
def test_twice_the_noise_is_no_narrower(rounds: int) -> None:
    assert width(some(rounds, spread=0.02)) > width(some(rounds, spread=0.01)) > 1


def test_more_rounds_narrow_it() -> None:
    widths = [width(some(rounds)) for rounds in (7, 14, 28, 56)]
    assert sorted(widths, reverse=True) == widths


def test_what_a_round_shares_is_no_noise() -> None:
    texts = [1.0, 0.7, 1.4, 1.0, 0.7, 1.4, 1.0]
    shared = [[text * rate for text, rate in zip(texts, arm, strict=True)] for arm in (faster(1.05), STEADY)]
    assert interval(*shared) == pytest.approx(interval(faster(1.05), STEADY))


@pytest.mark.parametrize("stray", [7.3, 400.0])
def test_a_stray_sample_makes_neither_a_win_nor_a_loss(stray: float) -> None:
    low, high = interval([stray, *faster(1.0)[1:]], STEADY)
    assert low <= 1 < high


def test_a_stray_sample_of_many_takes_no_win_away() -> None:
    candidate, comparator = faster(1.2) * 3, STEADY * 3
    assert interval([7.3, *candidate[1:]], comparator)[0] > 1.15


def test_fewer_rounds_are_judged_by_student() -> None:
    # a mean of 0.0953 and a deviation of 0.01 in logarithms, and t of 2 degrees of freedom
    low, high = interval([1.08903, 1.1, 1.11108], [1.0, 1.0, 1.0])
    assert (low, high) == pytest.approx((1.0731, 1.1277), abs=2e-4)


def test_an_interval_takes_two_pairs() -> None:
    with pytest.raises(ValueError, match="two pairs"):
        interval([1.0], [1.0])
    with pytest.raises(ValueError, match="shorter"):
        interval([1.0, 2.0], [1.0])


def test_equal_arms_seldom_win_whatever_the_noise() -> None:
    """A win of equal arms in 2.5% of runs is what 95% allow: 9 of 360; the rest is the luck of so few."""
    kinds = ("2%", "2%, strays 10%", "2%, texts 10%")
    won = [noise.wins(7, noise.KINDS[kind], 1.0, of=120) for kind in kinds]
    assert 0 < sum(won) <= 14, won


def test_an_arm_that_is_faster_mostly_wins() -> None:
    assert noise.wins(7, noise.KINDS["2%"], 1.05, of=50) > 42
    assert noise.wins(7, noise.KINDS["5%"], 1.2, of=30) > 26
