"""A question to a verdict: the formula over the widths and the band, and the word for it."""

from collections.abc import Sequence
from dataclasses import replace

from quadgen.breakeven import Costs, accepted_length, overall
from quadgen.triage.drafter import WIDEST
from quadgen.triage.notes import notes
from quadgen.triage.question import Question
from quadgen.triage.reasons import reasons
from quadgen.triage.verdict import Answer, Projection, Verdict


def judge(question: Question) -> Verdict:
    """Decide whether the drafter pays against the target as it is today."""
    costs = costs_of(question)
    widths = tuple(sorted(set(question.widths or question.drafter.widths)))
    scanned = widths if question.drafter.looks_up else tuple(sorted({*widths, *range(1, WIDEST + 1)}))
    band, rate = question.acceptance, question.target.rate
    best = _best(question, costs, scanned)
    sure, able = ([width for width in scanned if costs.rate(p, width) > rate] for p in (band.low, band.high))
    paying = sure or able
    advised = best if best.width in paying or not paying else _best(question, costs, paying)
    bare = Verdict(
        answer=_answer(question, costs, scanned, sure=bool(sure), able=bool(able)),
        question=question,
        widths=widths,
        scanned=scanned,
        round_time={width: costs.round_time(width) for width in widths},
        break_even={width: costs.break_even(width, rate) for width in widths},
        break_even_plain={width: costs.break_even(width, question.target.plain_rate) for width in widths},
        projections=tuple(_projected(question, costs, width, p) for width in widths for p in band.ends),
        best=best,
        advised=advised.width,
        free=_free(question),
        reasons=(),
        notes=notes(question, advised.width),
    )
    return replace(bare, reasons=reasons(bare, costs))


def costs_of(question: Question) -> Costs:
    """The costs that the formula takes; a drafter whose step nobody measured is taken to be free."""
    return Costs(
        target_step=question.target.plain_step,
        draft_step=question.draft_step.value if question.draft_step else 0.0,
        sequential=question.drafter.cost.sequential,
        verify=question.verify.factor,
    )


def _free(question: Question) -> bool:
    return question.draft_step is None and not question.drafter.looks_up


def _projected(question: Question, costs: Costs, width: int, p: float) -> Projection:
    length, rate, target = accepted_length(p, width), costs.rate(p, width), question.target
    together = None
    if question.share is not None:
        # what an n-gram drafter finds nothing for runs as it does today: the engine asks its other drafters then
        together = overall(question.share.value, rate, target.rate, length, plain_length=target.commit)
    return Projection(width=width, p=p, length=length, rate=rate, overall=together)


def _best(question: Question, costs: Costs, widths: Sequence[int]) -> Projection:
    """Of these widths the one with the highest rate at the middle of the band, the narrower one of two."""
    each = (_projected(question, costs, width, question.acceptance.middle) for width in widths)
    return max(each, key=lambda it: (it.rate, -it.width))


def _answer(question: Question, costs: Costs, scanned: Sequence[int], *, sure: bool, able: bool) -> Answer:
    """`sure` is whether some width pays at the lower end of the band, `able` whether one does at the upper end."""
    if question.attachment is not None and question.attachment.attachable is False:
        return Answer.CANNOT_ATTACH
    if all(costs.break_even(width, question.target.rate) is None for width in scanned):
        return Answer.CANNOT_PAY
    if not able:
        return Answer.LOSES
    if _free(question):
        return Answer.UNDECIDED
    return Answer.WINS if sure else Answer.DEPENDS
