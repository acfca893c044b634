"""The five reasons of a verdict, in the order in which they are asked for."""

from typing import Final

from quadgen.breakeven import Costs
from quadgen.triage import figures
from quadgen.triage.settling import settling
from quadgen.triage.verdict import Verdict

_ANSWERS: Final = {
    True: "it can be attached",
    False: "it cannot be attached",
    None: "it is not known whether it can be attached",
}


def reasons(verdict: Verdict, costs: Costs) -> tuple[str, ...]:
    """Sentences without their end; several of one reason go together with semicolons."""
    return (_today(verdict), _break_even(verdict), _projected(verdict), _attached(verdict), settling(verdict, costs))


def _today(verdict: Verdict) -> str:
    target = verdict.question.target
    seen = "engine-internal" if target.internal else "client-visible"
    beside = f", while its engine says {figures.rate(target.engine_rate)}" if target.engine_rate else ""
    rate = f"{figures.rate(target.rate)} tok/s ({seen}){beside}"
    if target.drafts:
        return (
            f"the target drafts already: {figures.tokens(target.commit)} tokens per round of "
            f"{figures.milliseconds(target.step)}, {rate}; that is what a drafter has to beat, and not the "
            f"{figures.rate(target.plain_rate)} tok/s of passes that yield one token"
        )
    if not target.told and target.plain is not None:  # its round is not known, and its pass is
        plain = f"a pass without drafts takes {figures.milliseconds(target.plain_step)}"
        return f"{_silence(verdict)}: {rate}; {plain}, {figures.rate(target.plain_rate)} tok/s"
    return f"{_silence(verdict)}: one token per pass of {figures.milliseconds(target.step)}, {rate}"


def _silence(verdict: Verdict) -> str:
    """What there is to say of a target whose rounds are taken to yield one token."""
    attachment = verdict.question.attachment
    meant = attachment.today if attachment is not None else None
    if verdict.question.target.idle and not verdict.question.target.drafts:
        return verdict.question.target.idle
    if verdict.question.target.told:
        return "the target does not draft"
    if meant:
        return f"the fleet has it draft with {figures.joined(list(meant))}, and nobody said what a round of that yields"
    return "nobody said that the target drafts" if meant is None else "by the fleet, the target does not draft"


def _break_even(verdict: Verdict) -> str:
    rate = figures.rate(verdict.question.target.rate)
    where = [f"{figures.chance(p)} at a width of {width}" for width, p in verdict.break_even.items() if p is not None]
    never = [str(width) for width, p in verdict.break_even.items() if p is None]
    free = ", with a drafter that takes no time" if verdict.free else ""
    parts = []
    if where:
        parts.append(f"it beats {rate} tok/s from an acceptance of {figures.joined(where)} on{free}")
    if never:
        parts.append(f"no acceptance beats {rate} tok/s at a width of {figures.joined(never, 'or')}{free}")
    return "; ".join(parts)


def _projected(verdict: Verdict) -> str:
    band, best = verdict.question.acceptance, verdict.best
    ends = " to ".join(map(figures.given, band.ends))
    rates = [each.rate for each in verdict.projections]
    low, high = figures.rate(min(rates)), figures.rate(max(rates))
    span = f"{low} tok/s" if low == high else f"{low} to {high} tok/s over these widths"
    where = " in rounds that draft" if verdict.question.drafter.looks_up else ""
    told = (
        f"an acceptance of {ends} ({band.source}) gives {span}{where}; the best width at "
        f"{figures.given(band.middle)} is {best.width}, with {figures.rate(best.rate)} tok/s"
    )
    return told + _overall(verdict)


def _overall(verdict: Verdict) -> str:
    if not verdict.question.drafter.looks_up:
        return ""
    share, today = verdict.question.share, figures.rate(verdict.question.target.rate)
    if share is None:
        return (
            f"; over all rounds that is between {today} tok/s where nothing is drafted and these rates where every "
            "round drafts: the share of rounds that draft is not known"
        )
    overall = figures.rate(verdict.best.overall or 0)
    return f"; with {figures.given(share.value)} of the rounds drafting that makes {overall} tok/s over all of them"


def _attached(verdict: Verdict) -> str:
    attachment = verdict.question.attachment
    if attachment is None:
        return "whether it can be attached, and fits, was not asked"
    return f"{_ANSWERS[attachment.attachable]}: {'; '.join(attachment.reasons)}"
