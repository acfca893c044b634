"""What one timed request of a measurement gave, and which arm it was of."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

SAMPLES: Final = 7
"""Rounds that are measured unless told otherwise; as many again confirm a win."""
TOKENS: Final = 200
"""Tokens of an answer unless told otherwise."""


class Arm(StrEnum):
    """The two that are compared."""

    CANDIDATE = "candidate"
    COMPARATOR = "comparator"


class Clock(StrEnum):
    """What a rate is made of."""

    WALL = "wall"
    """Seconds of decoding, by the server's own clock: `tok/s`."""
    CPU = "cpu"
    """Seconds that processors worked for the server while it decoded: `tok/CPU-s`, which other load hardly moves."""

    @property
    def unit(self) -> str:
        """As rows name it."""
        return "tok/s" if self is Clock.WALL else "tok/CPU-s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One timed request that a measurement takes, before it is taken."""

    arm: Arm
    workload: str
    round: int
    """From 0. Both arms are asked the same text in a round, so that a round is a pair; a confirmation counts on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One timed request. Tokens and times are those after the first token, which comes out of the prompt's pass."""

    turn: Turn
    tokens: int
    """Generated after the first, by the server's count; at least 1."""
    seconds: float
    """The server's own time of generating them; above 0."""
    cpu_seconds: float | None
    """Seconds that processors worked meanwhile; None where nobody counts them."""
    prompt: int
    """Tokens of the prompt that were computed."""
    cached: int
    """Tokens of the prompt that were taken from a cache: a sample with any is no evidence."""
    drafted: int
    accepted: int
    rounds: int
    """Passes that verified a draft."""
    output: tuple[int, ...]
    """Ids of all generated tokens, the first included."""
    text: str
    """What they say."""
    truncated: bool = False
    """Whether the context was full before all was said."""

    def rate(self, clock: Clock) -> float:
        """Tokens per second of this clock. Raises `ValueError` where nobody counted CPU seconds."""
        seconds = self.seconds if clock is Clock.WALL else self.cpu_seconds
        if not seconds:
            raise ValueError("no CPU seconds were counted")
        return self.tokens / seconds


def turns(workloads: tuple[str, ...], rounds: range) -> tuple[Turn, ...]:
    """A B, B A, A B, …: in each round every workload of one arm, then every one of the other.

    Which arm goes first alternates: a machine that slows down steadily would favour the one that always does. With a
    slowdown of 5% over a run of 7 rounds and noise of 0.5%, simulated runs of a setting against itself were won by
    chance in 20% where the candidate always went first, and in 2% so (`tests/noise.py`).
    """
    return tuple(
        Turn(arm=arm, workload=workload, round=number)
        for number in rounds
        for arm in (tuple(Arm) if number % 2 == 0 else tuple(Arm)[::-1])
        for workload in workloads
    )
