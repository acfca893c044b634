"""How far a share that was counted may lie from the one that is sought: 95% intervals, without drawing lots."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Final

CONFIDENCE: Final = 0.95
_SURE: Final = (1 + CONFIDENCE) / 2
_PRECISE: Final = 1e-12
_FEWEST: Final = 2
"""Groups from which a spread can be told."""

Interval = tuple[float, float]
Group = tuple[int, int]
"""How often it was tried, and how often it held; 0 ≤ held ≤ tried."""


def wilson(tried: int, held: int) -> Interval:
    """The interval of Wilson for tries that do not hang together; `tried` is at least 1.

    Brown, Cai and DasGupta, Interval Estimation for a Binomial Proportion (https://doi.org/10.1214/ss/1009213286),
    equation (4): it keeps within 0 and 1, and has a width where all or none held.
    """
    z = NormalDist().inv_cdf(_SURE)
    share, widen = held / tried, z * z / tried
    middle = (share + widen / 2) / (1 + widen)
    half = z / (1 + widen) * math.sqrt(share * (1 - share) / tried + widen / tried / 4)
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def clustered(groups: Sequence[Group]) -> Interval | None:
    """The interval where tries of a group hang together, as the tokens of one text do; None of fewer than two groups.

    The share is a ratio of two sums over groups. Its variance is that of the residuals, as for a sample of clusters of
    unequal size (Cochran, Sampling Techniques, 3rd edition, section 9A.2), and t with a degree of freedom less than
    there are groups takes the place of the normal. Groups without a try tell nothing.
    """
    groups = [(tried, held) for tried, held in groups if tried]
    if len(groups) < _FEWEST:
        return None
    whole = sum(tried for tried, _ in groups)
    share = sum(held for _, held in groups) / whole
    spread = sum((held - share * tried) ** 2 for tried, held in groups)
    half = t_quantile(len(groups) - 1) * math.sqrt(spread * len(groups) / (len(groups) - 1)) / whole
    return max(0.0, share - half), min(1.0, share + half)


def interval(groups: Sequence[Group]) -> Interval | None:
    """The wider of the two ends to either side; None without a try."""
    tried, held = (sum(each[which] for each in groups) for which in (0, 1))
    if not tried:
        return None
    low, high = wilson(tried, held)
    other = clustered(groups)
    return (low, high) if other is None else (min(low, other[0]), max(high, other[1]))


def t_quantile(freedom: int) -> float:
    """The t that Student's distribution exceeds in absolute value in 5% of cases; `freedom` is at least 1."""
    low, high = 0.0, math.pi / 2  # t is sqrt(freedom) * tan(theta)
    while high - low > _PRECISE:
        theta = (low + high) / 2
        low, high = (theta, high) if _within(theta, freedom) < CONFIDENCE else (low, theta)
    return math.sqrt(freedom) * math.tan(high)


def _within(theta: float, freedom: int) -> float:
    """The chance of a smaller |t|: Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    sine, cosine = math.sin(theta), math.cos(theta)
    odd = freedom % 2
    term = cosine if odd else 1.0
    series = 0.0
    for step in range(freedom // 2):
        series += term
        term *= cosine * cosine * (2 * step + 1 + odd) / (2 * step + 2 + odd)
    return 2 / math.pi * (theta + sine * series) if odd else sine * series
