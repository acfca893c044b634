"""What is to be said of a workload's samples that does not keep them from being recorded."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Final

from quadgen.measuring.bootstrap import LEVEL
from quadgen.measuring.drifting import ENDS
from quadgen.measuring.likeness import Pair
from quadgen.measuring.objections import speculated
from quadgen.measuring.result import Outcome, Result
from quadgen.measuring.sample import Arm, Clock
from quadgen.problems import Problem, Severity

WIDE: Final = 1.25
"""Fastest / slowest sample of one arm and one text from which something else has had a part in them: on an idle
machine they lie within a few percent."""
UNEQUAL: Final = 1.5
"""Processors that one arm had, as a multiple of the other's, from which they were not treated alike: they take turns,
so that other work meets both."""
_MOST: Final = 20
"""Times the samples that there are: asking for more than that is no advice."""


def remarks(
    result: Result, pairs: Sequence[Pair], *, drafts: Mapping[Arm, bool], own: bool, min_gain: float
) -> Iterator[Problem]:
    """What a reader of the figures should know; `own` as in `objections`."""
    if result.outcome is Outcome.UNDECIDED:
        yield _undecided(result, min_gain)
    if result.drift is None:
        message = f"{result.samples} samples of {result.workload} are too few to see whether the machine changed"
        hint = f"take {2 * ENDS} or more: `--samples {2 * ENDS}`"
        yield Problem(code="baseline-drift", message=message, severity=Severity.NOTE, hint=hint)
    if not drafts[Arm.COMPARATOR]:
        yield from _wide(result)
    yield from _unequal(result, pairs)
    for arm, samples in zip(Arm, zip(*pairs, strict=True), strict=True):
        if drafts[arm] and not own:
            for problem in speculated(result.workload, arm, samples):
                hint = "this is what the profile costs here, and decides nothing"
                yield replace(problem, severity=Severity.NOTE, hint=hint)
    yield from _different(result)


def needed(result: Result, min_gain: float) -> int | None:
    """About how many samples would decide, if these are what others will be like; None where it is too close.

    The interval's half that reaches over `min_gain` shrinks with the root of their number. It is a rough figure: the
    ratio itself is known no better than the interval says.
    """
    low, high = (math.log(each) for each in result.interval)
    middle, edge = math.log(result.ratio), math.log(min_gain)
    half, gap = (middle - low, middle - edge) if middle > edge else (high - middle, edge - middle)
    if gap <= 0 or (times := (half / gap) ** 2) > _MOST:
        return None
    return max(result.samples + 1, math.ceil(result.samples * times))


def _undecided(result: Result, min_gain: float) -> Problem:
    low, high = result.interval
    message = (
        f"{result.samples} samples of {result.workload} do not decide: {result.ratio:.3f}x, and {low:.3f} to {high:.3f}"
        f" at {LEVEL:.0%}, where {min_gain:g} must be exceeded"
    )
    number = needed(result, min_gain)
    hint = (
        "the two are too close to tell apart; a profile that pays is told by a few samples"
        if number is None
        else f"about {number} samples would, if they go on like this: `--samples {number}`"
    )
    return Problem(code="undecided", message=message, severity=Severity.WARNING, hint=hint)


def _wide(result: Result) -> Iterator[Problem]:
    """Of a comparator without a drafter, whose rate no text moves."""
    rate = result.comparator
    if rate.fastest / rate.slowest > WIDE:
        unit = result.clock.unit
        message = (
            f"samples of the comparator on {result.workload} lie between {rate.slowest:.2f} and {rate.fastest:.2f}"
            f" {unit}: other work had a part in them"
        )
        other = "keep the machine free of it" if result.clock is Clock.WALL else "give the server one thread"
        hint = f"{other}, or take more samples"
        yield Problem(code="wide-spread", message=message, severity=Severity.WARNING, hint=hint)


def _unequal(result: Result, pairs: Sequence[Pair]) -> Iterator[Problem]:
    """CPU seconds hide that a server waited for a processor, and say so beside its own clock."""
    shares = [
        [each.cpu_seconds / each.seconds for each in arm if each.cpu_seconds is not None]
        for arm in zip(*pairs, strict=True)
    ]
    if result.clock is Clock.WALL or not all(shares):
        return
    ours, theirs = map(median, shares)
    if max(ours, theirs) / min(ours, theirs) <= UNEQUAL:
        return
    message = (
        f"on {result.workload} the candidate had {ours:.2f} processors while it generated, and the comparator"
        f" {theirs:.2f}: they were not treated alike"
    )
    hint = "see that both have the same limits and priority, and nothing else the machine"
    yield Problem(code="unequal-share", message=message, severity=Severity.WARNING, hint=hint)


def _different(result: Result) -> Iterator[Problem]:
    alike = result.likeness
    if alike.first is None:
        return
    number, token = alike.first
    message = (
        f"candidate and comparator said the same in {alike.same} of {alike.rounds} rounds of {result.workload}; in"
        f" round {number + 1} they part at token {token + 1}"
    )
    notes = (f"candidate: {alike.candidate!r}", f"comparator: {alike.comparator!r}")
    hint = (
        "passes of several tokens round otherwise than those of one, so texts may part where two tokens are as likely;"
        " that they part at once in every round would mean a drafter that changes what is said"
    )
    yield Problem(code="greedy-difference", message=message, severity=Severity.NOTE, notes=notes, hint=hint)
