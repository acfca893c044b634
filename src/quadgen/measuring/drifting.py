"""Whether the machine changed while it was measured, by what the comparator did at first and in the end."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

from quadgen.measuring.sample import Clock, Sample

ENDS: Final = 3
"""Samples at either end whose medians are compared: as many as a shipped workload has texts, which take turns."""
LIMIT: Final[Mapping[Clock, float]] = {Clock.WALL: 0.05, Clock.CPU: 0.10}
"""How far they may be apart. Rates of a machine that does nothing else repeat within 1 to 2%, and medians of three of
them are apart by 5% next to never. Tokens per CPU second of a server with other work beside it lie within 4% of their
middle, so that 8% apart is nothing."""
_SMALL: Final = 1e-9
"""A determinant below it says that passes and drafts kept step, and neither can be told from the other."""


def paces(samples: Sequence[Sample], clock: Clock) -> list[float]:
    """How fast the machine was in each sample of one arm: tokens per second, as if all had drafted alike.

    Without drafts these are the rates. A draft that is right makes a rate higher on the same machine, so that of a
    server that drafts the work is compared, passes and drafted tokens: what each of the two costs is what fits the
    samples best. They are scaled to the rate in the middle.
    """
    seconds = [each.tokens / each.rate(clock) for each in samples]
    passes = [max(1, each.tokens - each.accepted) / took for each, took in zip(samples, seconds, strict=True)]
    drafted = [each.drafted / took for each, took in zip(samples, seconds, strict=True)]
    rates = [each.rate(clock) for each in samples]
    costs = _costs(passes, drafted)
    if costs is None:
        return rates
    raw = [costs[0] * each + costs[1] * more for each, more in zip(passes, drafted, strict=True)]
    scale = median(rates) / median(raw)
    return [each * scale for each in raw]


def _costs(passes: Sequence[float], drafted: Sequence[float]) -> tuple[float, float] | None:
    """Seconds of a pass and of a drafted token, such that all samples took as long as they did.

    By least squares of the shares that are missing. None where passes would cost nothing: that is no machine.
    """
    pp, dd = (sum(each * each for each in one) for one in (passes, drafted))
    pd = sum(one * other for one, other in zip(passes, drafted, strict=True))
    p, d = sum(passes), sum(drafted)
    scale = pp * dd - pd * pd
    if scale > _SMALL * pp * dd:
        one, other = (p * dd - d * pd) / scale, (d * pp - p * pd) / scale
        if one <= 0:
            return None
        if other >= 0:
            return one, other
    return p / pp, 0.0


def ends(paces: Sequence[float]) -> tuple[float, float] | None:
    """Medians of the first `ENDS`, and of as many of the last, in the order of rounds; None where they overlap."""
    return None if len(paces) < 2 * ENDS else (median(paces[:ENDS]), median(paces[-ENDS:]))


def drift(paces: Sequence[float]) -> float | None:
    """How much the last exceed the first, as a share of the first; None where there are no two ends."""
    found = ends(paces)
    return None if found is None else found[1] / found[0] - 1
