"""What logs and agreement files say of the quantities of triage.

Raises `Rejected` with `nothing-measured` where a log does not say what it is asked for: that is not a 0.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from quadgen.breakeven import Verify, acceptance_for
from quadgen.facts.kinds import COSTS
from quadgen.log_lines import MESSAGE
from quadgen.observed.counts import Counts
from quadgen.observed.foreign import START
from quadgen.observed.log import LogRead
from quadgen.observed.state import Observation, State
from quadgen.problems import Problem, Rejected
from quadgen.triage.drafter import Drafter
from quadgen.triage.given import Given
from quadgen.triage.question import Band, VerifyCost
from quadgen.triage.target import Figures, idle

_JSON: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\{|\[\s*(?:[\[\]{\"]|\Z))|\xff\xfe[{\[]\0|\xfe\xff\0[{\[]")
"""How an object or a list begins, in UTF-8 or UTF-16, and no line of a log but one that is an object itself."""
_SILENT: Final = "halogen does not log that: have it answer with another drafter, and compare what a client sees"
_TRACE: Final = "run the server with -lv 4, which makes it print its statistics, and give that log"


def figures_of(read: LogRead) -> Figures:
    """What the log of the target says that it does: the engine's own rate, and the tokens of its rounds."""
    name, total = read.observation.source, read.observation.total
    if total is None or total.rate is None:
        raise _unsaid(
            f"{name} does not say how long generating took", "give the log of a server that answered requests"
        )
    commit = None if total.tokens_per_pass is None else Given(value=total.tokens_per_pass, source=name)
    plain = Given(value=1 / read.plain.rate, source=name) if total.drafted and read.plain.rate else None
    return Figures(
        rate=Given(value=total.rate, source=name), commit=commit, plain_step=plain, internal=True,
        idle=_idle(read.observation, total) if commit is not None and commit.value == 1 else None,
    )  # fmt: skip


def _idle(seen: Observation, total: Counts) -> str | None:
    if seen.state not in {State.IDLE, State.RUNNING, State.NEVER_ACCEPTED}:
        return None
    drafted = bool(total.drafted or total.rounds)  # halogen counts rounds, and no drafts
    return idle(seen.requested or (*seen.drafters,), f"in {seen.source}", drafted=drafted)


def draft_step(read: LogRead, drafter: Drafter) -> Given:
    """Seconds of a pass of the drafter: of its statistics, or of a drafter that ran as a server of its own."""
    name, seen = read.observation.source, read.observation
    for each in filter(lambda each: _is(each, drafter), seen.draft_seconds):
        counts = seen.drafters.get(each, Counts())
        passes = counts.drafted if drafter.cost.sequential else counts.rounds
        if passes and seen.draft_seconds[each] > 0:
            return Given(value=seen.draft_seconds[each] / passes, source=f"{name}, statistics of {each}")
    if drafter.cost.name == "plain" and read.plain.rate is not None:
        return Given(value=1 / read.plain.rate, source=f"{name}, its own tokens")
    if drafter.cost.name == "plain":
        raise _unsaid(
            f"{name} does not say what a token of the drafter takes", "give the log of a server that runs it alone"
        )
    raise _unsaid(f"{name} has no statistics of {drafter.words}", _trace(read))


def verify_cost(read: LogRead, plain_step: Given | None) -> VerifyCost:
    """What verifying took, from requests that drafted beside a plain step of the same server.

    Their time is that of plain passes, of verifying ones and of drafting; what is left of it for verifying, in plain
    steps, is the factor at the mean width.
    """
    name, counts = read.observation.source, read.drafting
    if counts.seconds is None or not counts.rounds or counts.passes is None or counts.width is None:
        raise _unsaid(f"{name} has no request that drafted, with its time and its rounds", _trace(read))
    step = Given(value=1 / read.plain.rate, source=name) if read.plain.rate else plain_step
    if step is None:
        hint = "have it answer a request in which nothing is drafted too, or give the plain step with --target-step"
        raise _unsaid(f"{name} has no request without drafts, so what a plain pass takes is not known", hint)
    drafting = sum(read.observation.draft_seconds.values())
    plain = max(0, counts.passes - counts.rounds)
    factor = (counts.seconds - drafting - plain * step.value) / (counts.rounds * step.value)
    if factor <= 0:
        took = f"{step.value * 1000:.4g} ms ({step.source})"
        raise _unsaid(f"{name} contradicts a plain step of {took}", "take both from one machine, alone with its work")
    tokens = max(2, round(counts.width) + 1)
    source = f"{name}: {factor:.3g} passes for {tokens} tokens"
    if step.source != name:
        source += f" beside {step.value * 1000:.4g} ms from {step.source}"
    if not drafting:
        source += ", drafting included"
    return VerifyCost(factor=Verify(points=((tokens, factor),)), source=source, measured=True)


def acceptance(read: LogRead, drafter: Drafter, widths: Sequence[int] = ()) -> Band:
    """The chance per position that gives the tokens per round of a log at its width.

    A log that does not say how much was drafted, such as halogen's, is taken to be of the one width that was given. One
    that does not say what drafted, since it has no statistics, is taken to be of this drafter.
    """
    name, seen = read.observation.source, read.observation
    mine = [counts for each, counts in seen.drafters.items() if _is(each, drafter)]
    if seen.drafters and not mine:
        others = ", ".join(seen.drafters)
        raise _unsaid(f"{name} has no statistics of {drafter.words}, but of {others}", "give a log in which it drafted")
    counts = sum(mine[1:], mine[0]) if mine else seen.total
    drafted = counts.width if counts is not None else None
    if drafted is None and len(widths) == 1:
        drafted = widths[0]
    if counts is None or counts.tokens_per_round is None or drafted is None:
        raise _unsaid(f"{name} does not say how many tokens a round of drafting yields", _trace(read))
    p = acceptance_for(counts.tokens_per_round, drafted)
    rounds = f"{counts.tokens_per_round:.3g} tokens per round"
    if p is None:
        raise _unsaid(f"{name}: {rounds} are more than a width of {drafted:.3g} yields", _trace(read))
    return Band(low=p, high=p, source=f"{name}: {rounds} at a width of {drafted:.3g}")


def agreement(name: str, told: dict[str, Any]) -> Band:
    """The band of what `quadgen agreement --format json` printed. Raises `Rejected` where it is not that."""
    found = told.get("acceptance")
    if told.get("kind") == "agreement" and "acceptance" in told and found is None:
        raise _unsaid(f"{name} has no acceptance: the two models could not be compared", "it says why")
    ends = [found.get(key) for key in ("low", "high")] if isinstance(found, dict) else []
    numbers = [end for end in ends if isinstance(end, int | float) and not isinstance(end, bool)]
    if told.get("kind") != "agreement" or len(numbers) != 2 or not _ordered(*numbers):  # noqa: PLR2004 - both ends
        raise _no_agreement(name)
    return Band(low=float(numbers[0]), high=float(numbers[1]), source=name)


def agreement_in(name: str, start: bytes) -> dict[str, Any] | None:
    """The object that a file holds, by its start; None where it is a log, whose lines may be objects too.

    Raises `Rejected` with `unreadable-agreement` where it is neither: another value, or JSON that is broken off.
    """
    if not (name.lower().endswith(".json") or _JSON.match(start)) or _is_record(start.partition(b"\n")[0]):
        return None
    try:
        told = json.loads(start)
    except (ValueError, RecursionError) as error:
        lines = start.split(b"\n")  # the first one of a log may be broken off
        if any(_is_record(line) for line in lines if b"{" in line):
            return None
        why = "it is nested too deep" if isinstance(error, RecursionError) else f"it is no JSON: {error}"
        raise _no_agreement(name, why if len(start) < START else "it is larger than any of these") from None
    if not isinstance(told, dict):
        raise _no_agreement(name)
    return told


def _is_record(line: bytes) -> bool:
    """Whether it is one of a log that is written as JSON."""
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(told, dict) and any(key in told for key in MESSAGE)


def _no_agreement(name: str, *notes: str) -> Rejected:
    message = f"{name} is not what `quadgen agreement --format json` prints"
    hint = "it is an object whose `kind` is agreement, with `low` and `high` of its `acceptance`"
    return Rejected([Problem(code="unreadable-agreement", message=message, notes=notes, hint=hint)])


def _is(spec_type: str, drafter: Drafter) -> bool:
    """Whether statistics are of this drafter: of its type, or of one of its class where only that was named."""
    if drafter.spec_type is not None:
        return spec_type == drafter.spec_type
    cost = COSTS.get(spec_type)  # a newer server may have types that nobody here knows
    return cost is not None and cost.name == drafter.cost.name


def _ordered(low: float, high: float) -> bool:
    return 0 <= low <= high <= 1  # nan is in no order


def _trace(read: LogRead) -> str:
    """How to make a server log more."""
    return _SILENT if read.observation.engine == "halogen" else _TRACE


def _unsaid(sentence: str, hint: str) -> Rejected:
    return Rejected([Problem(code="nothing-measured", message=sentence, hint=hint)])
