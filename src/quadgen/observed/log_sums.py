"""Requests of a log, added up."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from quadgen.observed.counts import Counts

TICKS: Final = 100_000
"""Units of time in a second: 10 us, to which a log tells it. Whole numbers, so that no order of adding matters."""
_EXACT: Final = 0.01
"""Share of the rounds by which they may be off for a figure to be given."""


@dataclass(slots=True, kw_only=True)
class Sums:
    """Requests of one kind; of constant size, however many there were."""

    requests: int = 0
    tokens: int = 0
    ticks: int = 0
    untimed: int = 0
    """Requests among them of which no line tells tokens and time."""
    drafted: int = 0
    accepted: int = 0
    rounds: int = 0
    doubt: int = 0
    """How far off `rounds` may be."""
    placed: int = 0
    """Requests whose positions are told."""
    positions: list[int] = field(default_factory=list)

    def time(self, tokens: int, ticks: int, *, sign: int = 1) -> None:
        """Add a request's tokens and time, or take them away."""
        self.requests += sign
        self.tokens += sign * tokens
        self.ticks += sign * ticks

    def place(self, at: Sequence[int]) -> None:
        """Add the rounds in which each position of a request was accepted."""
        self.placed += 1
        self.positions += [0] * (len(at) - len(self.positions))
        for position, count in enumerate(at):
            self.positions[position] += count

    def add(self, more: "Sums") -> None:
        """Add other requests."""
        self.requests += more.requests
        self.tokens += more.tokens
        self.ticks += more.ticks
        self.untimed += more.untimed
        self.drafted += more.drafted
        self.accepted += more.accepted
        self.rounds += more.rounds
        self.doubt += more.doubt
        placed = self.placed + more.placed
        self.place(more.positions)
        self.placed = placed

    def times(self) -> Counts:
        """Requests, tokens and time as counts; what not all of them tell, nobody tells."""
        return Counts(
            requests=self.requests,
            generated=None if self.untimed else self.tokens,
            seconds=None if self.untimed else self.ticks / TICKS,
        )

    def counts(self, *, drafted: bool = True) -> Counts:
        """The same with drafts; `drafted` says whether the server tells how many tokens it drafted."""
        times = self.times()
        if not self.requests:
            return times
        return Counts(
            requests=times.requests,
            generated=times.generated,
            seconds=times.seconds,
            drafted=self.drafted if drafted else None,
            accepted=self.accepted,
            rounds=self.rounds if self.doubt <= self.rounds * _EXACT else None,
            per_position=tuple(self.positions) if self.placed == self.requests else (),
        )
