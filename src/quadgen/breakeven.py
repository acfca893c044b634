"""What drafting costs and yields: step times and acceptance to rates, and the acceptance at which it pays.

A round drafts `width` tokens and has the target verify them, and one more, in one pass. It takes

    drafting + verify(width + 1) * target_step

and yields `accepted_length(p, width)` tokens, where p is the chance that a drafted token is accepted when those
before it were. Times are in seconds, rates in tokens per second. The formula is that of Leviathan et al., Fast
Inference from Transformers via Speculative Decoding (https://arxiv.org/abs/2211.17192), section 3, with the target's
pass made dearer by `verify`.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import Final

FLAT_VERIFY: Final = 1.1
"""What verifying costs in passes of the target, where nobody measured it: a figure for GPUs that read the weights once
whatever the width. A CPU was seen at 5.7 for 8 tokens, so measure it (docs/triage.md)."""
WIDEST: Final = 4096
"""Tokens that a round may draft."""
_PRECISE: Final = 1e-12
_STEPS: Final = 10_000
"""Tokens of a round up to which they are added up one by one."""


@dataclass(frozen=True, slots=True)
class Verify:
    """What a pass over k tokens costs, as a multiple of a pass over one.

    `points` are (k, factor) in order of k, each k at least 2 and each factor above 0. Between two points the factor
    is on the line between them, below the first on the line from (1, 1), beyond the last it grows as it did on the
    way there, and never falls. Without points it is `flat` for every k of 2 and more.
    """

    points: tuple[tuple[int, float], ...] = ()
    flat: float = FLAT_VERIFY

    def __call__(self, tokens: int) -> float:
        """The factor of a pass over `tokens`, at least 1 of them."""
        if tokens <= 1:
            return 1.0
        if not self.points:
            return self.flat
        line = ((1, 1.0), *self.points)
        after = bisect_left(line, tokens, key=lambda point: point[0])
        if after == len(line):
            (low, start), (high, end) = line[-2:]
            return end + max(0.0, (end - start) / (high - low)) * (tokens - high)
        (low, start), (high, end) = line[after - 1 : after + 1]
        return start + (end - start) * (tokens - low) / (high - low)


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What a machine takes for its steps, in seconds."""

    target_step: float
    """One pass of the target over one token; above 0."""
    draft_step: float
    """One pass of the drafter; 0 or more."""
    sequential: bool = True
    """Whether each drafted token is a pass of its own; if not, one pass drafts them all."""
    verify: Verify = Verify()

    def round_time(self, width: int) -> float:
        """Seconds of a round that drafts `width` tokens; a width of 0 is a plain step of the target."""
        drafting = self.draft_step * (width if self.sequential else min(width, 1))
        return drafting + self.verify(width + 1) * self.target_step

    def rate(self, p: float, width: int) -> float:
        """Tokens per second where every round drafts `width` tokens."""
        return accepted_length(p, width) / self.round_time(width)

    def break_even(self, width: int, incumbent: float) -> float | None:
        """The acceptance from which rounds of `width` beat `incumbent` tokens per second; None where none does.

        0 where they do even if no draft is ever accepted.
        """
        return acceptance_for(incumbent * self.round_time(width), width)


def accepted_length(p: float, width: float) -> float:
    """Tokens that a round yields on average, from 1 to width + 1: the accepted ones and the target's own.

    A width that is not whole is the mean of rounds of the two widths next to it.
    """
    length = 1.0
    whole = int(width)
    if whole > _STEPS:  # nothing drafts so wide, but a server may count so
        length = whole + 1.0 if p == 1.0 else -math.expm1((whole + 1) * math.log1p(p - 1.0)) / (1.0 - p) if p else 1.0
    else:
        for _ in range(whole):  # Horner; (1 - p^(K+1)) / (1 - p) loses its digits where p is close to 1
            length = 1.0 + p * length
    part = width - whole
    return length + part * (1.0 + p * length - length) if part else length


def acceptance_for(length: float, width: float) -> float | None:
    """The acceptance per position, 0 to 1, at which a round yields `length` tokens; None where no acceptance does.

    The inverse of `accepted_length`. It turns a mean length that was seen at a width into p as well: the share
    accepted / drafted that engines print is lower than p, since a position behind a rejected one counts as drafted.
    """
    if length <= 1.0:
        return 0.0
    if math.isnan(length) or length > width + 1:
        return None
    low, high = 0.0, 1.0
    while high - low > _PRECISE:
        middle = (low + high) / 2
        low, high = (middle, high) if accepted_length(middle, width) < length else (low, middle)
    return high


def best_width(costs: Costs, p: float, widest: int) -> int:
    """The width, 0 to `widest`, of the highest rate at this acceptance; 0 where drafting never pays."""
    return max(range(widest + 1), key=lambda width: (costs.rate(p, width), -width))


def overall(
    drafting: float, drafted_rate: float, plain_rate: float, length: float, *, plain_length: float = 1.0
) -> float:
    """Tokens per second where a share `drafting` of the rounds drafts and the others are plain steps.

    Rounds that draft yield `length` tokens at `drafted_rate`, the others `plain_length` at `plain_rate`: more than one
    where they go on as a target that speculates already does.
    """
    drafted, plain = drafting * length, (1 - drafting) * plain_length
    return (drafted + plain) / (drafted / drafted_rate + plain / plain_rate)
