"""From rounds to the acceptance of a pair: by position, all together, and how far that may be off."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from quadgen.agreeing.intervals import Interval, interval
from quadgen.agreeing.rounds import Round
from quadgen.observed.counts import Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """One place in a draft, over all rounds."""

    drafted: int
    """Rounds whose draft was so long."""
    tried: int
    """Those in which every token before was accepted."""
    accepted: int

    @property
    def p(self) -> float | None:
        """The chance that this token is accepted when those before it were; None where it never came to that."""
        return self.accepted / self.tried if self.tried else None

    @property
    def reached(self) -> float | None:
        """The share of rounds in which it was accepted, those before it included."""
        return self.accepted / self.drafted if self.drafted else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What rounds over several prompts say."""

    prompts: int
    """Those that had a round."""
    positions: tuple[Position, ...]
    rounds: int
    drafted: int
    accepted: int
    bounds: Interval | None
    """Of `p`; None where nothing was drafted."""

    @property
    def p(self) -> float | None:
        """The chance that a drafted token is accepted when those before it were, all positions together."""
        tried = sum(each.tried for each in self.positions)
        return self.accepted / tried if tried else None

    @property
    def counts(self) -> Counts:
        """The same as a speculating server would count it."""
        return Counts(
            drafted=self.drafted,
            accepted=self.accepted,
            rounds=self.rounds,
            per_position=tuple(each.accepted for each in self.positions if each.accepted),
        )


def estimate(texts: Iterable[Sequence[Round]]) -> Estimate:
    """Count the rounds of each prompt; the interval takes what one prompt says as hanging together."""
    prompts = [rounds for rounds in texts if rounds]
    every = [each for rounds in prompts for each in rounds]
    widest = max((each.drafted for each in every), default=0)
    positions = tuple(
        Position(
            drafted=sum(each.drafted > at for each in every),
            tried=sum(each.tried > at for each in every),
            accepted=sum(each.accepted > at for each in every),
        )
        for at in range(widest)
    )
    return Estimate(
        prompts=len(prompts),
        positions=positions,
        rounds=len(every),
        drafted=sum(each.drafted for each in every),
        accepted=sum(each.accepted for each in every),
        bounds=interval([(sum(r.tried for r in rounds), sum(r.accepted for r in rounds)) for rounds in prompts]),
    )
