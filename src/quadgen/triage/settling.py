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
        return (
            f"measure the drafter's step: run the target with it at -lv 4 and give the log with --draft-log; "
            f"{_limit(verdict, costs)}"
        )
    if verdict.answer in (Answer.LOSES, Answer.CANNOT_PAY):
        return _lost(verdict, costs)
    expected = _expected(verdict)
    if verdict.answer is Answer.DEPENDS:
        p = costs.break_even(verdict.best.width, question.target.rate)
        needed = f"it pays from {figures.chance(p)} on at a width of {verdict.best.width}"
        return f"measure the acceptance: {_how(verdict)}; {needed}; {expected}{_while(verdict, costs)}"
    return (
        f"run it at a width of {verdict.best.width} and compare what a client sees; {expected}{_while(verdict, costs)}"
    )


def _how(verdict: Verdict) -> str:
    question = verdict.question
    if question.drafter.cost.name == "plain" and question.acceptance == Band():
        return "quadgen agreement TARGET_URL DRAFT_URL estimates it before anything is deployed"
    return "run it, and read its log with quadgen observe, or with --acceptance LOG here"


def _expected(verdict: Verdict) -> str:
    question = verdict.question
    width = verdict.best.width
    rates = [accepted_length(p, width) for p in question.acceptance.ends]
    shown = [figures.tokens(each) for each in rates]
    return f"expect {' to '.join(shown)} tokens per round there"


def _lost(verdict: Verdict, costs: Costs) -> str:
    question = verdict.question
    cannot = verdict.answer is Answer.CANNOT_PAY
    if question.drafter.looks_up or verdict.free:
        return _dear(verdict, "even a drafter that takes no time does not pay")
    p = 1.0 if cannot else question.acceptance.high
    step, width = max((affordable(costs, p, width, question.target.rate), -width) for width in verdict.scanned)
    if step <= 0:
        return _dear(verdict, f"even a drafter that takes no time does not pay at {figures.given(p)}")
    at = "with every draft accepted" if cannot else f"at {figures.given(p)}"
    return (
        f"a drafter of less than {figures.milliseconds(step)} per {_pass(verdict)} would pay {at} (width {-width}); "
        f"this one takes {figures.milliseconds(costs.draft_step)}: measuring it again is of use only if that is wrong"
        f"{_assumed(verdict)}"
    )


def _dear(verdict: Verdict, sentence: str) -> str:
    return f"{sentence}: what the target's pass over several tokens costs decides{_assumed(verdict)}"


def _assumed(verdict: Verdict) -> str:
    if verdict.question.verify.measured:
        return ""
    return "; what verifying costs is assumed, and --verify-log measures it: it is seldom less than assumed"


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
    question, width = verdict.question, verdict.best.width
    if question.verify.measured:
        return ""
    drafting = costs.round_time(width) - costs.verify(width + 1) * costs.target_step
    most = (accepted_length(question.acceptance.high, width) / question.target.rate - drafting) / costs.target_step
    return (
        f"; what verifying costs is assumed: at {figures.given(question.acceptance.high)} it pays only while a pass "
        f"over {width + 1} tokens takes less than {most:.3g} passes over one (--verify-log measures it)"
    )


def affordable(costs: Costs, p: float, width: int, incumbent: float) -> float:
    """Seconds that a drafter's pass may take for a width to reach the incumbent at this acceptance; may be below 0."""
    passes = width if costs.sequential else min(width, 1)
    return (accepted_length(p, width) / incumbent - costs.verify(width + 1) * costs.target_step) / passes
