"""The work of `quadgen measure`: two arms, their samples, the verdict, and the rows that are recorded."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from quadgen.cli import measuring_key, measuring_ledger, measuring_next, measuring_prepared, measuring_workloads
from quadgen.cli.measuring_asked import Asked
from quadgen.cli.measuring_rows import rows
from quadgen.cli.measuring_taking import Taking
from quadgen.cli.measuring_values import Judged, Measured, Prepared
from quadgen.measuring.judging import Terms, judged
from quadgen.measuring.result import Outcome
from quadgen.measuring.sample import Clock, Sample, turns
from quadgen.measuring.workloads import Workload
from quadgen.sampling.journal import Journal
from quadgen.sampling.run import Setup


def measured(asked: Asked) -> Measured:
    """Do what was asked; everything that can be refused is, before a server is asked for its first sample.

    Raises `Rejected` and `Unavailable`, a usage error where an option does not fit what another one names, and
    `typer.Exit` where it was interrupted or a server was lost.
    """
    ready = measuring_prepared.prepared(asked, os.environ)
    asking = measuring_workloads.chosen(asked, ready.subject)
    ledger = measuring_ledger.target(asked.output, ready.compiled, ready.name)
    setup = _setup(asked, ready, asking)
    key = measuring_key.key(ready, asking, asked)
    with Journal.opened(measuring_key.directory(os.environ), key, resume=asked.resume) as journal:
        taking = Taking(setup=setup, journal=journal)
        taking.begin()
        found = _judged(taking, asking, asked, ready)
        outcome = Measured(
            subject=ready.subject,
            judged=found,
            samples=tuple(journal.samples),
            workloads={each.name: each.sha256 for each in asking},
            tokens=asked.tokens,
            state=_state(setup, ready),
            spent=asdict(taking.spent),
        )
        recorded = measuring_ledger.record(ledger, lambda taken: rows(outcome, ready, taken), ready.taken)
        if recorded.failed is None:
            journal.remove()
    return replace(
        outcome,
        rows=recorded.rows,
        ledger=recorded.ledger,
        text=recorded.text,
        failed=recorded.failed,
        next=None if recorded.ledger is None else measuring_next.asked_again(ready),
    )


def _setup(asked: Asked, ready: Prepared, asking: Sequence[Workload]) -> Setup:
    subject = ready.subject
    named: Mapping[str, Workload] = {each.name: each for each in asking}
    running = subject.launches is None
    remembers = subject.carries or subject.comparator_carries
    return Setup(
        candidate=ready.candidate,
        comparator=ready.comparator,
        prompt=lambda name, number: named[name].prompt(number),
        tokens=asked.tokens,
        count_cpu=subject.clock is Clock.CPU,
        fresh=subject.carries and not running,
        comparator_fresh=subject.comparator_carries and not running,
        steady=asked.steady or running,
        texts=None if running or not remembers else min(len(each.texts) for each in asking),
        together=asked.together,
    )


def _state(setup: Setup, ready: Prepared) -> str | None:
    if not ready.subject.carries:
        return None
    return "steady" if setup.steady else "fresh"


def _judged(taking: Taking, asking: Sequence[Workload], asked: Asked, ready: Prepared) -> tuple[Judged, ...]:
    """Every workload, and those that win a second time."""
    subject = ready.subject
    terms = Terms(
        clock=subject.clock,
        min_gain=ready.min_gain,
        drafts=bool(subject.request.setting.spec_types),
        comparator_drafts=bool(subject.request.against.spec_types),
        own=subject.own,
    )
    names = tuple(each.name for each in asking)
    samples = taking.taken(turns(names, range(asked.samples)))
    first = {name: judged(name, _of(name, samples), terms) for name in names}
    winning = tuple(name for name, result in first.items() if result.outcome is Outcome.WINS and not result.objections)
    if asked.no_confirm or not winning:
        return tuple(Judged(first=result) for result in first.values())
    again = taking.taken(turns(winning, range(asked.samples, 2 * asked.samples)), ", again")
    return tuple(
        Judged(
            first=result,
            confirmation=judged(name, _of(name, again), terms) if name in winning else None,
        )
        for name, result in first.items()
    )


def _of(name: str, samples: Sequence[Sample]) -> tuple[Sample, ...]:
    return tuple(sample for sample in samples if sample.turn.workload == name)
