"""Whether the machine changed while it was measured, by what the comparator did at first and in the end."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

from quadgen.measuring.sample import Clock

ENDS: Final = 3
"""Samples at either end whose medians are compared: as many as a shipped workload has texts, which take turns."""
LIMIT: Final[Mapping[Clock, float]] = {Clock.WALL: 0.05, Clock.CPU: 0.10}
"""How far they may be apart. Rates of a machine that does nothing else repeat within 1 to 2%, and medians of three of
them are apart by 5% next to never. Tokens per CPU second of a server with other work beside it lie within 4% of their
middle, so that 8% apart is nothing."""
_FEWEST: Final = 2
"""Samples of which there is a median."""


def ends(rates: Sequence[float], texts: int = 1) -> tuple[float, float] | None:
    """Medians of the first `ENDS` rates, and of as many of the last, in the order of their rounds.

    Of a server that drafts the text decides the rate, so that both ends must have the same: `texts` is how many take
    turns, 1 where they do not matter. Of texts that do not come back the samples are left out. None where ends would
    overlap, or have fewer than two samples.
    """
    pairs = [(first, last) for first in range(ENDS) if (last := _last(first, len(rates), texts)) >= ENDS]
    if len(rates) < 2 * ENDS or len(pairs) < _FEWEST:
        return None
    firsts, lasts = zip(*pairs, strict=True)
    return median(rates[each] for each in firsts), median(rates[each] for each in lasts)


def _last(first: int, count: int, texts: int) -> int:
    """The last round with the text of one of the first, less those that its text had in the rounds before that."""
    return first + (count - 1 - first) // texts * texts - first // texts * texts


def enough(texts: int = 1) -> int:
    """How many samples have two ends."""
    return max(2 * ENDS, texts + ENDS)


def drift(rates: Sequence[float], texts: int = 1) -> float | None:
    """How much the last exceed the first, as a share of the first; None where there are no two ends."""
    found = ends(rates, texts)
    return None if found is None else found[1] / found[0] - 1
