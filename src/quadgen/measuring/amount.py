"""How much a measurement asks, counted in servers and requests: seconds depend on the machine."""

from typing import NamedTuple

from quadgen.engines.drafters import CARRYING
from quadgen.evidence import Setting
from quadgen.measuring.sample import SAMPLES


class Amount(NamedTuple):
    """What the rounds before a confirmation take."""

    starts: int
    """Of a server, each of which loads the model."""
    requests: int
    """That are timed; each start has one more before them, which is discarded."""


def amount(*arms: Setting, workloads: int, rounds: int = SAMPLES) -> Amount:
    """Count what measuring these settings takes; one whose drafters remember gets a server for each timed request."""
    starts = sum(workloads if arm.spec_types & CARRYING else 1 for arm in arms)
    return Amount(starts=rounds * starts, requests=rounds * workloads * len(arms))
