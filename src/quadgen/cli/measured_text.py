"""The outcome of a measurement in words and tables."""

import shlex
from collections.abc import Iterator
from typing import Final

from quadgen.cli import console
from quadgen.cli.columns import Row, aligned, wrapped
from quadgen.cli.measuring_values import Judged, Measured
from quadgen.evidence import Row as LedgerRow
from quadgen.measuring import bootstrap
from quadgen.measuring.result import Outcome, Rate, Result

_SAID: Final = {Outcome.WINS: "wins", Outcome.LOSES: "loses", Outcome.UNDECIDED: "undecided"}
_LATER: Final = "          "
"""Before the lines that go on with what a word at the margin began."""


def as_text(measured: Measured) -> str:
    """For people: what was compared, each workload, what was recorded, and what the gate says now."""
    return console.lines(line.rstrip() for line in _lines(measured))


def _lines(measured: Measured) -> Iterator[str]:
    yield from _compared(measured)
    yield ""
    yield from aligned(list(_table(measured)), margin=0)
    yield ""
    for each in measured.judged:
        yield from wrapped(_more(each), indent=len(each.final.workload) + 2)
    yield ""
    yield from _recorded(measured)


def _compared(measured: Measured) -> Iterator[str]:
    subject, request = measured.subject, measured.subject.request
    settings = f"{subject.profile} ({request.setting.describe()}) against {subject.against}"
    yield from _told("measured", f"{settings} ({request.against.describe()})")
    facts = [request.model, request.quantization, f"on {request.backend}", subject.device]
    yield from _told("", f"{subject.what}: {', '.join(filter(None, facts))}")
    commit = f", commit {subject.commit}" if subject.commit and subject.commit not in subject.program else ""
    yield from _told("", f"{subject.program}{commit}; {subject.build} in the rows")
    for whose, words in zip(("candidate", "comparator"), subject.differing, strict=True):
        if words:
            yield from _told("", f"only the {whose}: {shlex.join(words)}")
    state = "" if measured.state is None else f"; {_STATES[measured.state]}"
    yield from _told("", f"{console.count(measured.tokens, 'token')} a sample, in {subject.clock.unit}{state}")


_STATES: Final = {
    "fresh": "a server of its own for each sample of the candidate, whose drafter remembers",
    "steady": "one server of each, whose drafter remembers what was asked before",
}


def _told(word: str, sentence: str) -> Iterator[str]:
    yield from wrapped(f"{word:<{len(_LATER)}}{sentence}" if word else _LATER + sentence, indent=len(_LATER) + 2)


def _table(measured: Measured) -> Iterator[Row]:
    yield ("workload", "n", "candidate", "comparator", "ratio", f"{bootstrap.LEVEL:.0%} interval", "verdict")
    for each in measured.judged:
        result = each.final
        low, high = result.interval
        yield (
            result.workload,
            str(result.samples),
            _rate(result.candidate),
            _rate(result.comparator),
            f"{result.ratio:.3f}x",
            f"{low:.3f}-{high:.3f}",
            _verdict(each),
        )


def _rate(rate: Rate) -> str:
    return f"{rate.median:.2f} ({rate.slowest:.2f}-{rate.fastest:.2f})"


def _verdict(each: Judged) -> str:
    if each.final.objections:
        return "no evidence"
    said = _SAID[each.final.outcome]
    if each.confirmation is None:
        return said if each.confirmed is None else f"{said}, not confirmed"
    return f"{said} again" if each.final.outcome is Outcome.WINS else f"won once, then {said}"


def _more(each: Judged) -> str:
    result = each.final
    parts = [_drafts(result), _alike(result)]
    if result.drift is not None:
        parts.append(f"comparator {result.drift:+.1%} from its first samples to its last")
    if result.wall is not None:
        parts.append(f"{result.wall[0]:.1f} against {result.wall[1]:.1f} tok/s")
    if each.confirmation is not None:
        low, high = each.first.interval
        parts.append(f"at first {each.first.ratio:.3f}x ({low:.3f}-{high:.3f})")
    return f"{result.workload}: {'; '.join(parts)}"


def _drafts(result: Result) -> str:
    if result.acceptance is None:
        return "nothing drafted"
    a_round = "" if result.tokens_per_round is None else f", {result.tokens_per_round:.2f} tokens a round that drafts"
    return f"{result.accepted} of {result.drafted} drafts accepted ({result.acceptance:.1%}){a_round}"


def _alike(result: Result) -> str:
    likeness = result.likeness
    if likeness.first is None:
        return "both said the same"
    at, token = likeness.first
    return f"the same in {likeness.same} of {likeness.rounds} rounds, else from token {token + 1} of round {at + 1} on"


def _recorded(measured: Measured) -> Iterator[str]:
    rows: list[LedgerRow] = list(measured.rows.values())
    ids = ", ".join(row.id for row in rows)
    if not rows:
        yield from _told("recorded", "nothing")
    elif measured.ledger is None:
        yield from _told("recorded", f"nowhere; the rows are on standard output: {ids}")
    else:
        yield from _told("recorded", f"in {measured.ledger}: {ids}")
    if measured.next is not None:
        yield from _told("render", measured.next.said)
