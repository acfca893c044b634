"""Where a text begins to say the same again and again, as greedy texts of small and of base models do."""

from collections.abc import Sequence
from typing import Final

_TIMES: Final = 3
"""So often is a passage said at the end of a text that loops, the first time included."""
_LEAST: Final = 24
"""Tokens that a loop has at least, so that a rule across a page or a run of blanks is none."""


def loop(tokens: Sequence[int]) -> int | None:
    """The token from which a text only repeats what stands right before, up to its end; None where it does not.

    The first time that the passage is said does not belong to that.
    """
    starts = [
        len(tokens) - again
        for period in range(1, len(tokens) // _TIMES + 1)
        if (again := _again(tokens, period)) >= max(period * (_TIMES - 1), _LEAST - period)
    ]
    return min(starts, default=None)


def _again(tokens: Sequence[int], period: int) -> int:
    """How many tokens at the end are what stood `period` before them."""
    for count, at in enumerate(range(len(tokens) - 1, period - 1, -1)):
        if tokens[at] != tokens[at - period]:
            return count
    return max(0, len(tokens) - period)
