"""Why the samples of a workload are no evidence, whatever they come to."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Final

from quadgen.agreeing.loops import loop
from quadgen.evidence.row import LEAST_ACCEPTANCE
from quadgen.measuring.drifting import ENDS, LIMIT, ends, paces
from quadgen.measuring.likeness import Pair
from quadgen.measuring.result import Outcome, Result
from quadgen.measuring.sample import Arm, Sample
from quadgen.problems import Problem

BEYOND: Final = 1.1
"""How far a gain may be above what its drafts explain: by noise, and by what a first token costs."""
_QUOTED: Final = 48
"""Characters that are shown of a loop, from its end."""


def objections(result: Result, pairs: Sequence[Pair], *, drafts: Mapping[Arm, bool], own: bool) -> Iterator[Problem]:
    """Everything that speaks against samples; `own` is whether this is the workload on which the profile must win.

    On any other workload a drafter may find nothing to draft, or nothing right: that is what the profile costs there.
    """
    arms = {Arm.CANDIDATE: [one for one, _ in pairs], Arm.COMPARATOR: [other for _, other in pairs]}
    yield from _drifted(result, pairs, drafts=drafts[Arm.COMPARATOR])
    if result.outcome is Outcome.WINS and not drafts[Arm.COMPARATOR]:
        yield from _unexplained(result, pairs)
    for arm, samples in arms.items():
        yield from _cached(result, arm, samples)
        yield from _cut_short(result, arm, samples, most=max(each.tokens for pair in pairs for each in pair))
        if not drafts[arm]:
            yield from _unasked(result, arm, samples)
        elif own:
            yield from speculated(result.workload, arm, samples)
    yield from _looped(result, arms)


def speculated(workload: str, arm: Arm, samples: Sequence[Sample]) -> Iterator[Problem]:
    """Whether an arm that is to draft did, and was ever right; else nobody speculated."""
    drafted, accepted = sum(each.drafted for each in samples), sum(each.accepted for each in samples)
    if not drafted:
        message = f"the {arm} drafted nothing in {len(samples)} samples of {workload}"
        hint = (
            "without a draft the profile was not measured: take a workload that it is for, or a setting that drafts"
            " sooner (shorter n-grams, a lower least probability)"
        )
        yield Problem(code="nothing-drafted", message=message, hint=hint)
    elif accepted / drafted < LEAST_ACCEPTANCE:
        message = f"the {arm} drafted {drafted} tokens on {workload}, and {_share(accepted, drafted)} were accepted"
        hint = (
            "a drafter that is never right is broken, or of another model: see to its file, its head and its"
            " vocabulary with `quadgen gguf show`"
        )
        yield Problem(code="nothing-accepted", message=message, hint=hint)


def _share(accepted: int, drafted: int) -> str:
    return "none" if not accepted else f"{accepted} ({accepted / drafted:.2%})"


def _drifted(result: Result, pairs: Sequence[Pair], *, drafts: bool) -> Iterator[Problem]:
    limit = LIMIT[result.clock]
    ours, theirs = (ends(paces(arm, result.clock)) for arm in zip(*pairs, strict=True))
    if result.drift is None or ours is None or theirs is None or abs(result.drift) <= limit:
        return
    unit = result.clock.unit
    first, last = theirs
    of = ", what it drafted evened out" if drafts else ""
    message = (
        f"the comparator went from {first:.2f} to {last:.2f} {unit} on {result.workload} ({result.drift:+.1%}), by the"
        f" medians of its first and last {ENDS} samples{of}; {limit:.0%} is the most"
    )
    notes = (f"the candidate went from {ours[0]:.2f} to {ours[1]:.2f} {unit} meanwhile",)
    hint = "let other work end and clocks and temperature come to rest, then measure again"
    yield Problem(code="baseline-drift", message=message, notes=notes, hint=hint)


def _unexplained(result: Result, pairs: Sequence[Pair]) -> Iterator[Problem]:
    """A gain that the drafts cannot have made: then the comparator was held up, from its first sample to its last.

    A pass that verifies drafts yields one token and those that are accepted, and takes no less than one that yields
    one token; so no pair is further apart than the candidate's tokens of a pass.
    """
    gains = [one.rate(result.clock) / other.rate(result.clock) for one, other in pairs]
    most = [one.tokens / max(1, one.tokens - one.accepted) for one, _ in pairs]
    if median(gain / bound for gain, bound in zip(gains, most, strict=True)) <= BEYOND:
        return
    message = (
        f"the candidate is {median(gains):.2f} times as fast on {result.workload}, and a pass of it yielded"
        f" {median(most):.3g} tokens: its drafts cannot have made it so"
    )
    hint = (
        "something held the comparator up: see that both have the same processors, cards, limits and priority, and"
        " nothing else the machine"
    )
    yield Problem(code="unexplained-gain", message=message, hint=hint)


def _cached(result: Result, arm: Arm, samples: Sequence[Sample]) -> Iterator[Problem]:
    found = [each for each in samples if each.cached]
    if found:
        most = max(each.cached for each in found)
        message = (
            f"the {arm} took up to {most} tokens of the prompt from a cache, in {len(found)} of {len(samples)} samples"
            f" of {result.workload}"
        )
        hint = "start the server with `--cache-ram 0`, and let nobody else ask it meanwhile"
        yield Problem(code="cached-prompt", message=message, hint=hint)


def _cut_short(result: Result, arm: Arm, samples: Sequence[Sample], *, most: int) -> Iterator[Problem]:
    found = [each for each in samples if each.truncated or each.tokens < most]
    if found:
        least = min(each.tokens for each in found)
        why = "the context was full" if any(each.truncated for each in found) else f"others of the workload have {most}"
        message = (
            f"the {arm} ended early in {len(found)} of {len(samples)} samples of {result.workload}: {least} tokens"
            f" after the first, {why}"
        )
        hint = "give fewer `--tokens`, shorter texts, or the service more `context`"
        yield Problem(code="truncated", message=message, hint=hint)


def _unasked(result: Result, arm: Arm, samples: Sequence[Sample]) -> Iterator[Problem]:
    drafted = sum(each.drafted for each in samples)
    if drafted:
        message = f"the {arm} drafted {drafted} tokens on {result.workload}, and its setting has no drafter"
        hint = "see to what else makes this server speculate: its environment, its program, its `--spec-` options"
        yield Problem(code="unasked-drafts", message=message, hint=hint)


def _looped(result: Result, arms: Mapping[Arm, Sequence[Sample]]) -> Iterator[Problem]:
    """Every loop counts: what repeats is drafted many times as fast as what is said anew."""
    found = [(each, at) for samples in arms.values() for each in samples if (at := loop(each.output)) is not None]
    if not found:
        return
    sample, start = min(found, key=lambda each: each[1])
    rounds = sorted({each.turn.round + 1 for each, _ in found})
    which = f"round {rounds[0]}" if len(rounds) == 1 else f"{len(rounds)} of {result.samples} rounds"
    message = (
        f"what is said on {result.workload} only repeats itself in {which}: of the {sample.turn.arm} in round"
        f" {sample.turn.round + 1}, from token {start + 1} of {len(sample.output)} on"
    )
    hint = (
        "a loop is copied, and says nothing of other texts: take texts of your own (`--workload NAME=FILE`), a larger"
        " or an instructed model, or fewer `--tokens`"
    )
    notes = (f"it ends: {sample.text[-_QUOTED:]!r}",)
    yield Problem(code="degenerate-output", message=message, notes=notes, hint=hint)
