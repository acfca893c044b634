"""What was measured, as the step times and factors that the formula takes, and how far the formula is off. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from quadgen.breakeven import Costs, Verify, acceptance_for
from quadgen.facts.kinds import passes
from quadgen.projecting.asking import Ask, Clock, Setting

AGREES: Final = 0.15
"""How far measurement and formula may lie apart before a note says so."""
_STEADY: Final = 0.10
"""By how much samples of the same setting may differ before a note says so."""
_FULL: Final = 0.95
"""The share of the width that rounds draft on average, at least, unless a note says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One setting, measured once: what a long request had more than a short one."""

    tokens: int
    """Tokens that were generated."""
    rounds: int
    """Passes that verified drafts."""
    drafted: int
    accepted: int
    seconds: float
    """What it took, by the clock that was asked for."""
    drafting: float | None
    """The share of that time in which the drafter ran, 0 to 1; None where the server does not say."""
    client_rate: float | None
    """Tokens per second of the long request as they arrived, from the first to the last; None for too few."""

    @property
    def plain(self) -> int:
        """Passes that verified nothing."""
        return self.tokens - self.rounds - self.accepted


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One setting, measured beside the formula."""

    width: int
    p: float
    """What was asked for."""
    drawn: float
    """What the dice of the server made of it: the chance at which a round yields as many tokens as it did."""
    rounds: int
    tokens_per_round: float
    round_time: float
    """Seconds."""
    formula: float
    """Tokens per second at `drawn`, by the formula with the measured costs."""
    client_rate: float | None
    """Tokens per second as they arrived, whatever the clock."""

    @property
    def measured(self) -> float:
        """Tokens per second."""
        return self.tokens_per_round / self.round_time

    @property
    def ratio(self) -> float:
        """Measured to formula."""
        return self.measured / self.formula


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """What the machine takes for its steps, and the formula beside the measurement. Times are in seconds of `clock`."""

    clock: Clock
    samples: int
    costs: Costs
    """The steps, and what a pass over several tokens takes, the drafter's own reading of them included."""
    client_rate: float | None
    """Tokens per second of the target alone, as they arrived."""
    points: tuple[Point, ...]
    notes: tuple[str, ...]
    """What limits the figures, in sentences without their end."""

    @property
    def verify_cost(self) -> str:
        """As `--verify-cost` of triage takes it: `4:2.31,8:5.7`."""
        return ",".join(f"{tokens}:{factor:.4g}" for tokens, factor in self.costs.verify.points)


def fitted(ask: Ask, seen: Mapping[Setting, Sequence[Sample]]) -> Projection:
    """Put together what was seen of every setting of `ask`, each with at least one sample that has rounds.

    At a chance of 0 every round costs the same and yields one token: its time, less the drafter's, is what verifying
    takes. The points at other chances had no part in that, so they can contradict it.
    """
    step = _typical(ask.clock, map(_per_pass, seen[Setting()]))
    rounds = {width: _round_time(ask.clock, seen[Setting(width)], step) for width in sorted(ask.widths)}
    drafter = _draft_step(ask, seen, rounds)
    verify = tuple(
        (width + 1, (whole - passes(ask.spec_type, width) * (drafter or 0.0)) / step) for width, whole in rounds.items()
    )
    costs = Costs(target_step=step, draft_step=drafter or 0.0, sequential=ask.sequential, verify=Verify(points=verify))
    points = tuple(
        _point(ask.clock, costs, setting, samples, step=step) for setting, samples in seen.items() if setting.p
    )
    return Projection(
        clock=ask.clock,
        samples=ask.samples,
        costs=costs,
        client_rate=_client(seen[Setting()]),
        points=points,
        notes=tuple(_notes(seen, points, drafter)),
    )


def _typical(clock: Clock, times: Iterable[float]) -> float:
    """One time for several: the middle one, or of CPU seconds the least, to which other work can only add."""
    return min(times) if clock is Clock.CPU else median(times)


def _per_pass(sample: Sample) -> float:
    return sample.seconds / sample.tokens


def _round_time(clock: Clock, samples: Sequence[Sample], step: float) -> float:
    """Seconds of a round that drafts; the odd pass that does not is taken out."""
    return _typical(clock, ((each.seconds - each.plain * step) / each.rounds for each in samples))


def _draft_step(ask: Ask, seen: Mapping[Setting, Sequence[Sample]], rounds: Mapping[int, float]) -> float | None:
    """Seconds of a pass of the drafter over all widths; None where the server does not say."""
    time = run = 0.0
    for width, whole in rounds.items():
        shares = [each.drafting for each in seen[Setting(width)] if each.drafting is not None]
        if not shares:
            return None
        time += median(shares) * whole
        run += passes(ask.spec_type, width)
    return time / run


def _point(clock: Clock, costs: Costs, setting: Setting, samples: Sequence[Sample], *, step: float) -> Point:
    rounds = sum(each.rounds for each in samples)
    length = 1 + sum(each.accepted for each in samples) / rounds
    drawn = acceptance_for(length, setting.width)
    assert drawn is not None  # noqa: S101 - no more is accepted than was drafted
    return Point(
        width=setting.width,
        p=setting.p,
        drawn=drawn,
        rounds=rounds,
        tokens_per_round=length,
        round_time=_round_time(clock, samples, step),
        formula=costs.rate(drawn, setting.width),
        client_rate=_client(samples),
    )


def _client(samples: Sequence[Sample]) -> float | None:
    rates = [each.client_rate for each in samples if each.client_rate is not None]
    return median(rates) if rates else None


def _notes(seen: Mapping[Setting, Sequence[Sample]], points: Sequence[Point], drafter: float | None) -> Iterator[str]:
    plain = [_per_pass(each) for each in seen[Setting()]]
    if max(plain) > min(plain) * (1 + _STEADY):
        moved = max(plain) / min(plain) - 1
        yield f"a pass of the target alone took {moved:.0%} longer at one time than at another: other work goes on here"
    if drafter is None:
        yield "the server does not say how long it drafted, so that this is part of what verifying costs"
    for setting, samples in seen.items():
        drafted = sum(each.drafted for each in samples)
        rounds = sum(each.rounds for each in samples)
        if setting.width and drafted < rounds * setting.width * _FULL:
            yield f"rounds of {setting.words} drafted {drafted / rounds:.3g} tokens on average"
    for point in points:
        if abs(point.ratio - 1) > AGREES:
            where = f"width {point.width} at p = {point.p:g}"
            apart = f"formula and measurement are {abs(point.ratio - 1):.0%} apart at {where}"
            yield f"{apart}: a round costs {'less' if point.ratio > 1 else 'more'} there than where nothing is accepted"
