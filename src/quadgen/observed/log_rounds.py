"""How many rounds lie behind a mean length of two decimals, and behind shares of three."""

from collections.abc import Sequence
from typing import Final

_HALF: Final = 0.005 + 1e-9
"""What the last printed decimal of a mean length hides."""
_SHARE: Final = 0.0005 + 1e-9
"""What the last printed decimal of a share of rounds hides."""
_TRIES: Final = 1000
"""Numbers of rounds that are tried against the shares."""


def rounds(accepted: int, drafted: int, mean: float | None) -> tuple[int, int]:
    """Rounds of a request, and how far off that may be; 0 where it is exact.

    A round yields 1 token and those accepted, so there were accepted / (mean - 1). Where nothing was accepted, where
    the build prints no length and where the length contradicts the counts, all is known is that a round drafts at
    least a token: half the drafted tokens, give or take as many.
    """
    over = 0 if mean is None else mean - 1
    if accepted and over > _HALF:
        exact = accepted / over
        nearest = round(exact)
        doubt = accepted / (over - _HALF) - exact
        if nearest <= drafted and abs(exact - nearest) <= doubt:
            return nearest, int(doubt + 0.5)
    return (drafted + 1) // 2, drafted // 2


def all_rounds(accepted: Sequence[int], drafted: Sequence[int], means: Sequence[float]) -> tuple[int, int]:
    """Rounds of many requests, and how far off these may be; the same as `rounds` of each, added up, and faster."""
    near = [
        count
        if taken
        and (over := mean - 1) > _HALF
        and (count := round(exact := taken / over)) <= of
        and abs(exact - count) <= taken / (over - _HALF) - exact < 0.5  # noqa: PLR2004 - a half is exact
        else -1
        for taken, of, mean in zip(accepted, drafted, means, strict=True)
    ]
    if -1 not in near:
        return sum(near), 0
    others = [
        rounds(taken, of, mean)
        for taken, of, mean, count in zip(accepted, drafted, means, near, strict=True)
        if count < 0
    ]
    certain = sum(near) + len(others)
    return certain + sum(count for count, _ in others), sum(doubt for _, doubt in others)


def by_position(accepted: int, near: int, doubt: int, rates: Sequence[float]) -> tuple[int, tuple[int, ...]] | None:
    """Rounds, and those in which each position was accepted; None where the shares do not settle it."""
    if doubt > _TRIES or not rates:
        return None
    fits = [
        (count, at)
        for count in range(max(1, near - doubt), near + doubt + 1)
        if sum(at := tuple(round(rate * count) for rate in rates)) == accepted
        and all(abs(rate * count - each) <= _SHARE * count for rate, each in zip(rates, at, strict=True))
    ]
    return fits[0] if len(fits) == 1 else None
