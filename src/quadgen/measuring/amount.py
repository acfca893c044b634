"""How much a measurement asks, counted in servers and requests: seconds depend on the machine."""

from typing import Final, NamedTuple

from quadgen.measuring.sample import Arm

SAMPLES: Final = 7
"""Rounds that are measured unless told otherwise; as many again confirm a win."""


class Amount(NamedTuple):
    """What the rounds before a confirmation take."""

    starts: int
    """Of a server, each of which loads the model."""
    requests: int
    """That are timed; each start has one more before them, which is discarded."""


def amount(*, workloads: int, fresh: bool, rounds: int = SAMPLES) -> Amount:
    """Count what measuring takes. `fresh` is whether the candidate gets a server of its own for each timed request."""
    starts = rounds * (workloads + 1 if fresh else len(Arm))
    return Amount(starts=starts, requests=rounds * workloads * len(Arm))
