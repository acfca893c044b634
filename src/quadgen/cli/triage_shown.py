"""The words of `quadgen triage`."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from quadgen.cli import console
from quadgen.cli.columns import Row, aligned, wrapped
from quadgen.triage import Answer, Projection, Target, Verdict, figures

Record = dict[str, Any]
_LETTERS: Final = "abcde"
_MEANING: Final = {
    "wins": "it pays even at the lower end of what is to be expected",
    "depends": "it pays at the upper end of what is to be expected, and not at the lower one",
    "loses": "it does not pay even at the upper end of what is to be expected",
    "cannot-pay": "no acceptance can pay",
    "undecided": "it would pay if drafting were free, and what drafting takes is not known",
    "cannot-attach": "there is no way to attach it",
}


def as_json(verdict: Verdict) -> str:
    """One object with all that is known; what is by width has the width as its key."""
    question = verdict.question
    drafter, verify, band = question.drafter, question.verify, question.acceptance
    told = {
        "verdict": verdict.answer.value,
        "incumbent": question.target.rate,
        "target": _target(question.target),
        "drafter": {
            "class": drafter.cost.name,
            "type": drafter.spec_type,
            "step_ms": None if question.draft_step is None else question.draft_step.value * 1000,
            "source": None if question.draft_step is None else question.draft_step.source,
            "passes": drafter.cost.passes,
            "free": verdict.free,
        },
        "verify": {
            "factors": {str(width): verify.factor(width + 1) for width in verdict.widths},
            "source": verify.source,
            "measured": verify.measured,
        },
        "acceptance": {"low": band.low, "high": band.high, "source": band.source},
        "widths": list(verdict.widths),
        "best_width": verdict.best.width,
        "best_rate": verdict.best.rate,
        "advised_width": verdict.advised,
        "drafting_share": None if question.share is None else question.share.value,
        "round_ms": {str(width): seconds * 1000 for width, seconds in verdict.round_time.items()},
        "break_even": {str(width): p for width, p in verdict.break_even.items()},
        "break_even_plain": {str(width): p for width, p in verdict.break_even_plain.items()},
        "accepted_length": _by_width(verdict, lambda each: each.length),
        "projection": _by_width(verdict, lambda each: each.rate),
        "overall": None if question.share is None else _by_width(verdict, lambda each: each.overall),
        "attachment": None if question.attachment is None else _attachment(verdict),
        "reasons": list(verdict.reasons),
        "notes": list(verdict.notes),
    }
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def _target(target: Target) -> Record:
    return {
        "step_ms": target.step * 1000,
        "commit_per_round": target.commit,
        "drafts": target.drafts,
        "source": target.source,
        "engine_internal": target.internal,
        "engine_rate": target.engine_rate,
        "plain_step_ms": target.plain_step * 1000,
        "plain_rate": target.plain_rate,
    }


def _attachment(verdict: Verdict) -> Record:
    attachment = verdict.question.attachment
    assert attachment is not None  # noqa: S101 - the caller looked
    problems = [console.record(each) for each in attachment.problems]
    return {"attachable": attachment.attachable, "reasons": list(attachment.reasons), "problems": problems}


def as_text(verdict: Verdict) -> str:
    """For people: the verdict, the five reasons with their tables, and what limits them."""
    return console.lines(line.rstrip() for line in _lines(verdict))


def _lines(verdict: Verdict) -> Iterator[str]:
    question = verdict.question
    answer = verdict.answer
    yield from wrapped(f"{question.drafter.words}: {answer.value}, {_MEANING[answer.value]}{_if(verdict)}")
    tables = {"b": _break_even(verdict), "c": _projected(verdict)}
    for letter, reason in zip(_LETTERS, verdict.reasons, strict=True):
        yield from wrapped(f"({letter}) {reason}")
        yield from aligned(tables.get(letter, []))
    yield "where the numbers are from"
    for label, source in _sources(verdict):
        yield from wrapped(f"  {label:<10} {source}", indent=13)
    for note in verdict.notes:
        yield from wrapped(f"note: {note}")


def _if(verdict: Verdict) -> str:
    """What a promise rests on."""
    promises = verdict.answer in (Answer.WINS, Answer.DEPENDS) and not verdict.question.verify.measured
    return ", if verifying costs what is assumed" if promises else ""


def _break_even(verdict: Verdict) -> list[Row]:
    drafts = verdict.question.target.drafts
    today = f"p for {figures.rate(verdict.question.target.rate)} tok/s"
    rows = [["width", "round", today, *([f"p for {figures.rate(verdict.question.target.plain_rate)}"] * drafts)]]
    for width, p in verdict.break_even.items():
        row = [str(width), figures.milliseconds(verdict.round_time[width]), figures.chance(p)]
        rows.append([*row, *([figures.chance(verdict.break_even_plain[width])] * drafts)])
    return [*rows]


def _projected(verdict: Verdict) -> list[Row]:
    band, share = verdict.question.acceptance, verdict.question.share
    rows = [["width"]]
    for p in band.ends:
        rows[0] += [f"p {figures.given(p)}: tokens", "tok/s", *(["over all"] * (share is not None))]
    for width in verdict.widths:
        row = [str(width)]
        for each in verdict.projections:
            if each.width == width:
                row += [figures.tokens(each.length), figures.rate(each.rate)]
                row += [] if each.overall is None else [figures.rate(each.overall)]
        rows.append(row)
    return [*rows]


def _sources(verdict: Verdict) -> Iterator[tuple[str, str]]:
    question = verdict.question
    yield "target", question.target.source
    if question.target.plain is not None:
        yield "plain pass", f"{figures.milliseconds(question.target.plain_step)}, from {question.target.plain.source}"
    if (step := question.draft_step) is not None:
        yield "drafter", f"{figures.milliseconds(step.value)} per pass, from {step.source}"
    else:
        yield "drafter", question.drafter.cost.passes if question.drafter.looks_up else "not measured, taken to be free"
    yield "acceptance", question.acceptance.source
    yield "verifying", question.verify.source
    if question.share is not None:
        yield "share", question.share.source


def _by_width(verdict: Verdict, value: Callable[[Projection], float | None]) -> Record:
    """What each projection says, by width and by the acceptance, as short as that can be written."""
    told: Record = {}
    for each in verdict.projections:
        told.setdefault(str(each.width), {})[figures.given(each.p)] = value(each)
    return told
