"""The one measurement that would settle a verdict, and what it is expected to show."""

from quadgen.breakeven import Costs, accepted_length
from quadgen.triage import figures
from quadgen.triage.question import Band
from quadgen.triage.verdict import Answer, Verdict


def settling(verdict: Verdict, costs: Costs) -> str:
    """A sentence without its end."""
    question = verdict.question
    if verdict.answer is Answer.CANNOT_ATTACH:
        return "no measurement helps: there is nothing to run"
    if verdict.answer is Answer.UNDECIDED:
        return f"{_step(verdict)}; {_limit(verdict, costs)}"
    if verdict.answer in (Answer.LOSES, Answer.CANNOT_PAY):
        return _lost(verdict, costs)
    expected = _expected(verdict)
    if verdict.answer is Answer.DEPENDS:
        p = costs.break_even(verdict.advised, question.target.rate)
        needed = f"it pays from {figures.chance(p)} on at a width of {verdict.advised}"
        return f"measure the acceptance: {_how(verdict)}; {needed}; {expected}{_while(verdict, costs)}"
    return f"run it at a width of {verdict.advised} and compare what a client sees; {expected}{_while(verdict, costs)}"


def _step(verdict: Verdict) -> str:
    """How to learn what drafting takes, or what that would tell."""
    attachment = verdict.question.attachment
    if attachment is not None and attachment.engine == "halogen":
        return (
            'halogen does not log what drafting takes: send it the same requests with "drafter" set to this one and '
            'to "serial", and compare what a client sees'
        )
    return "measure the drafter's step: run the target with it at -lv 4 and give the log with --draft-log"


def _how(verdict: Verdict) -> str:
    question = verdict.question
    if question.drafter.cost.name == "plain" and question.acceptance == Band():
        return "quadgen agreement TARGET_URL DRAFT_URL estimates it before anything is deployed"
    return "run it, and read its log with quadgen observe, or with --acceptance LOG here"


def _expected(verdict: Verdict) -> str:
    question = verdict.question
    width = verdict.advised
    rates = [accepted_length(p, width) for p in question.acceptance.ends]
    shown = [figures.tokens(each) for each in rates]
    return f"expect {' to '.join(shown)} tokens per round there"


def _lost(verdict: Verdict, costs: Costs) -> str:
    """What would have to be otherwise, and how to see whether it is."""
    if verdict.answer is Answer.CANNOT_PAY:
        return f"{_slow(verdict, costs, 1.0, 'with every draft accepted')}{_assumed(verdict)}"
    question, rate = verdict.question, verdict.question.target.rate
    least, width = min((p, width) for width in verdict.scanned if (p := costs.break_even(width, rate)) is not None)
    high = figures.given(question.acceptance.high)
    needed = f"it would take {figures.chance(least)} at a width of {width}, and {high} at most is to be expected"
    free = question.drafter.looks_up or verdict.free
    faster = "" if free else f"; {_slow(verdict, costs, question.acceptance.high, f'at {high}')}"
    return f"measure the acceptance: {_how(verdict)}; {needed}{faster}{_assumed(verdict)}"


def _slow(verdict: Verdict, costs: Costs, p: float, at: str) -> str:
    """Which step of the drafter would pay."""
    step, width = max((affordable(costs, p, width, verdict.question.target.rate), -width) for width in verdict.scanned)
    if verdict.question.drafter.looks_up:
        return f"it does not pay {at}: what verifying costs decides"
    if step <= 0:
        return f"not even a drafter that takes no time would pay {at}: what verifying costs decides"
    takes = "" if verdict.free else f", and this one takes {figures.milliseconds(costs.draft_step)}"
    per = f"{figures.milliseconds(step)} per {_pass(verdict)}"
    return f"a drafter of less than {per} would pay {at} (width {-width}){takes}"


def _assumed(verdict: Verdict) -> str:
    if verdict.question.verify.measured:
        return ""
    return "; what verifying costs is assumed, which is seldom too much: --verify-log measures it"


def _pass(verdict: Verdict) -> str:
    return "drafted token" if verdict.question.drafter.cost.sequential else "block"


def _limit(verdict: Verdict, costs: Costs) -> str:
    question = verdict.question
    p = question.acceptance.high
    step, width = max((affordable(costs, p, width, question.target.rate), -width) for width in verdict.scanned)
    return (
        f"it pays at {figures.given(p)} only below {figures.milliseconds(step)} per {_pass(verdict)} (width {-width})"
    )


def _while(verdict: Verdict, costs: Costs) -> str:
    """Up to which cost of verifying it pays, where that cost is assumed."""
    question, width = verdict.question, verdict.advised
    if question.verify.measured:
        return ""
    p = question.acceptance.low if verdict.answer is Answer.WINS else question.acceptance.high
    drafting = costs.round_time(width) - costs.verify(width + 1) * costs.target_step
    most = (accepted_length(p, width) / question.target.rate - drafting) / costs.target_step
    return (
        f"; what verifying costs is assumed: at {figures.given(p)} it pays only while a pass over {width + 1} tokens "
        f"takes less than {most:.3g} passes over one (--verify-log measures it)"
    )


def affordable(costs: Costs, p: float, width: int, incumbent: float) -> float:
    """Seconds that a drafter's pass may take for a width to reach the incumbent at this acceptance; may be below 0."""
    passes = width if costs.sequential else min(width, 1)
    return (accepted_length(p, width) / incumbent - costs.verify(width + 1) * costs.target_step) / passes
