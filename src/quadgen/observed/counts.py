"""What was drafted and accepted over some time, as counts; every rate is made of them."""

from dataclasses import dataclass, replace
from typing import Final

_LEAST: Final = 1e-9
"""Seconds in which nothing was generated that a rate can be made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Counts of one source over one stretch of time. None is "nobody says", which is not 0."""

    requests: int | None = None
    generated: int | None = None
    """Tokens that were generated, the first of each request included, which comes out of the prompt's pass."""
    seconds: float | None = None
    """The engine's own time of generating them: without prompts, waiting and delivery."""
    drafted: int | None = None
    """Tokens that were drafted."""
    accepted: int | None = None
    """Drafted tokens that the target agreed with."""
    rounds: int | None = None
    """Passes of the target that verified drafts."""
    per_position: tuple[int, ...] = ()
    """Rounds in which the token at this position was accepted, from the first; empty where nobody says."""

    @property
    def acceptance(self) -> float | None:
        """Accepted / drafted, 0 to 1; None where nothing was drafted."""
        return self.accepted / self.drafted if self.drafted and self.accepted is not None else None

    @property
    def tokens_per_round(self) -> float | None:
        """Tokens of a round that drafts, at least 1."""
        return 1 + self.accepted / self.rounds if self.rounds and self.accepted is not None else None

    @property
    def width(self) -> float | None:
        """Tokens that a round drafts on average."""
        return self.drafted / self.rounds if self.rounds and self.drafted is not None else None

    @property
    def positions(self) -> tuple[float, ...]:
        """The share of rounds in which each position was accepted, those before it included."""
        return tuple(each / self.rounds for each in self.per_position) if self.rounds else ()

    @property
    def passes(self) -> int | None:
        """Passes of the target that generated: each yields its own token and those that it accepted.

        What was accepted behind a stop word or the end of a text is among the accepted and not among the generated
        tokens (seen of llama.cpp b11434: 7 tokens of one round of 8 drafts), so that they may seem fewer than the
        rounds were. They are as many as those then, or a little more.
        """
        if self.generated is None or self.requests is None or self.generated <= self.requests:
            return None
        return max(self.generated - self.requests - (self.accepted or 0), self.rounds or 0) or None

    @property
    def tokens_per_pass(self) -> float | None:
        """Tokens of a pass, rounds that draft nothing included: what "commit per round" of a server is."""
        if self.passes is None or self.generated is None or self.requests is None:
            return None
        return (self.generated - self.requests) / self.passes

    @property
    def rate(self) -> float | None:
        """Tokens per second, engine-internal: a client sees less."""
        if self.generated is None or not self.seconds or self.seconds < _LEAST:
            return None
        return (self.generated - (self.requests or 0)) / self.seconds or None

    def __add__(self, other: "Counts") -> "Counts":
        """Both together; what either does not say, nobody says."""
        width = max(len(self.per_position), len(other.per_position))
        mine, theirs = (each + (0,) * (width - len(each)) for each in (self.per_position, other.per_position))
        return Counts(
            requests=_sum(self.requests, other.requests),
            generated=_sum(self.generated, other.generated),
            seconds=None if self.seconds is None or other.seconds is None else self.seconds + other.seconds,
            drafted=_sum(self.drafted, other.drafted),
            accepted=_sum(self.accepted, other.accepted),
            rounds=_sum(self.rounds, other.rounds),
            per_position=tuple(a + b for a, b in zip(mine, theirs, strict=True)),
        )

    def without_drafts(self) -> "Counts":
        """The same where nothing is said of drafts."""
        return replace(self, drafted=None, accepted=None, rounds=None, per_position=())


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
