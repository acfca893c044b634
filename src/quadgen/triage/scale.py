"""Where the ticks of an axis stand."""

from math import ceil, floor, log10
from typing import Final

_FEWEST: Final = 4
"""Ticks above 0."""


def ticks(most: float) -> tuple[float, ...]:
    """From 0 in steps of 1, 2 or 5 times a power of ten up to `most`, which is above 0, or just beyond it."""
    power = 10.0 ** floor(log10(most / _FEWEST))
    step = max((factor * power for factor in (1, 2, 5) if factor * power * _FEWEST <= most * (1 + 1e-9)), default=power)
    return tuple(float(f"{number * step:.12g}") for number in range(ceil(most / step - 1e-9) + 1))
