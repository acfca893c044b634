"""From the samples of one workload to what they come to."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from quadgen.measuring import bootstrap
from quadgen.measuring.drifting import drift, paces
from quadgen.measuring.likeness import Pair, likeness
from quadgen.measuring.objections import objections
from quadgen.measuring.remarks import remarks
from quadgen.measuring.result import Outcome, Rate, Result
from quadgen.measuring.sample import Arm, Clock, Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What samples are judged by."""

    clock: Clock
    min_gain: float
    """Ratio that must be exceeded to win."""
    drafts: bool
    """Whether the candidate is to draft at all."""
    comparator_drafts: bool
    own: str | None
    """The workload on which the profile must win; None where nobody says, and then each is taken for it."""


def judged(workload: str, samples: Sequence[Sample], terms: Terms) -> Result:
    """Judge the samples of one workload: both arms, complete rounds, at least two, in any order.

    Raises `ValueError` where a round has one arm alone, or there is no second one.
    """
    pairs = paired(samples)
    candidates, comparators = [one for one, _ in pairs], [other for _, other in pairs]
    ours = [each.rate(terms.clock) for each in candidates]
    theirs = [each.rate(terms.clock) for each in comparators]
    ends = bootstrap.interval(ours, theirs)
    rounds, accepted = (sum(each) for each in zip(*((each.rounds, each.accepted) for each in candidates), strict=True))
    wall = tuple(median(each.rate(Clock.WALL) for each in arm) for arm in (candidates, comparators))
    result = Result(
        workload=workload,
        clock=terms.clock,
        candidate=_rate(ours),
        comparator=_rate(theirs),
        ratio=median(ours) / median(theirs),
        interval=ends,
        samples=len(pairs),
        drift=drift(paces(comparators, terms.clock)),
        drafted=sum(each.drafted for each in candidates),
        accepted=accepted,
        tokens_per_round=1 + accepted / rounds if rounds else None,
        comparator_drafted=sum(each.drafted for each in comparators),
        likeness=likeness(pairs),
        wall=None if terms.clock is Clock.WALL else (wall[0], wall[1]),
        outcome=outcome(ends, terms.min_gain),
    )
    own = terms.own in (None, workload)
    drafts = {Arm.CANDIDATE: terms.drafts, Arm.COMPARATOR: terms.comparator_drafts}
    return replace(
        result,
        objections=tuple(objections(result, pairs, drafts=drafts, own=own)),
        remarks=tuple(remarks(result, pairs, drafts=drafts, own=own, min_gain=terms.min_gain)),
    )


def paired(samples: Sequence[Sample]) -> tuple[Pair, ...]:
    """Candidate and comparator of each round, in the order of the rounds."""
    arms = {arm: {each.turn.round: each for each in samples if each.turn.arm is arm} for arm in Arm}
    ours, theirs = arms[Arm.CANDIDATE], arms[Arm.COMPARATOR]
    if ours.keys() != theirs.keys():
        raise ValueError("a round has one arm alone")
    return tuple((ours[number], theirs[number]) for number in sorted(ours))


def outcome(interval: tuple[float, float], min_gain: float) -> Outcome:
    """Say on which side of what must be exceeded the whole interval lies."""
    low, high = interval
    if low > min_gain:
        return Outcome.WINS
    return Outcome.LOSES if high <= min_gain else Outcome.UNDECIDED


def _rate(rates: Sequence[float]) -> Rate:
    return Rate(median=median(rates), slowest=min(rates), fastest=max(rates))
