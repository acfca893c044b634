"""What a run of a server, as far as the log has it, proves of its speculation."""

from typing import Final

from quadgen.observed.counts import Counts
from quadgen.observed.log_run import Run
from quadgen.observed.state import State, doubt, judged
from quadgen.server_log import Event, Severity

_NOTHING: Final = frozenset({"no-drafters"})
"""Kinds that say that nothing is drafted, and not whether anything was asked for."""
_ELSEWHERE: Final = frozenset({"router-mode"})
"""Kinds that say nothing of the servers behind this one."""
_READY: Final = frozenset({"drafter-added", "speculation-ready"})

Verdict = tuple[State, tuple[str, ...], tuple[str, ...]]
"""The state, what proves it, and what else to know."""


def verdict(run: Run) -> Verdict:
    """Judge one run. A missing line proves nothing: OFF takes a line that says so."""
    failed = [each for each in run.events.values() if each.severity in {Severity.FATAL, Severity.NOT_SPECULATING}]
    asked = [each for each in failed if each.kind not in _NOTHING | _ELSEWHERE]
    if run.halogen:
        return _halogen(run)
    if state := judged(run.drafting.counts()):
        return state, (_rate(run.drafting.counts()),), tuple(map(_line, asked))
    ready = [each for each in run.events.values() if each.kind in _READY]
    if ready and not (asked and asked[-1].line > ready[-1].line):
        return State.IDLE, (*map(_line, ready), "no request drafted a token"), tuple(map(_line, asked))
    if asked:
        return State.NOT_RUNNING, tuple(map(_line, asked)), ()
    if nothing := [each for each in failed if each.kind in _NOTHING]:
        return State.OFF, tuple(map(_line, nothing)), ()
    return State.UNKNOWN, (_unknown(run, failed),), ()


def _halogen(run: Run) -> Verdict:
    notes: tuple[str, ...] = ("the engine's own figures leave out prompts, waiting and delivery: a client sees less",)
    counts = run.drafting.counts(drafted=False)
    if not counts.requests:
        return State.OFF, (f"the serial drafter answered {_many(run.plain.requests, 'request')}",), notes
    if run.plain.requests:
        notes += (f"the serial drafter answered {_many(run.plain.requests, 'request')}",)
    if counts.accepted and counts.rounds:
        tokens = 1 + counts.accepted / counts.rounds
        return State.RUNNING, (f"{_many(counts.rounds, 'round')} yielded {tokens:.2f} tokens each",), notes
    if counts.rounds:
        return State.NEVER_ACCEPTED, (f"{_many(counts.rounds, 'round')} yielded one token each",), notes
    return State.UNKNOWN, ("the drafter is on, and no request tells its rounds",), notes


def _unknown(run: Run, failed: list[Event]) -> str:
    if failed:
        return _line(failed[-1])
    if run.served:
        return "no request drafted a token; the log does not say whether speculation is on (start with -lv 4)"
    return "the log shows no request, and nothing of speculation"


def _rate(counts: Counts) -> str:
    requests = _many(counts.requests, "request")
    return f"{counts.accepted} of {counts.drafted} drafted tokens were accepted in {requests}{doubt(counts)}"


def _line(event: Event) -> str:
    return f"{event.message} (line {event.line})"


def _many(count: int | None, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
