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


def ends(rates: Sequence[float]) -> tuple[float, float]:
    """Medians of the first and the last `ENDS` rates, in the order of their rounds."""
    return median(rates[:ENDS]), median(rates[-ENDS:])


def drift(rates: Sequence[float]) -> float | None:
    """How much the last exceed the first, as a share of the first; None where ends overlap."""
    if len(rates) < 2 * ENDS:
        return None
    first, last = ends(rates)
    return last / first - 1
