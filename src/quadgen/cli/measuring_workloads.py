"""What both arms of a measurement are asked, from the options."""

from collections.abc import Sequence

import typer

from quadgen import disk
from quadgen.cli.measuring_asked import Asked
from quadgen.cli.measuring_values import Subject
from quadgen.engines.drafters import CARRYING
from quadgen.measuring import workloads
from quadgen.measuring.workloads import SHIPPED, Workload
from quadgen.problems import Problem, Rejected


def chosen(asked: Asked, subject: Subject) -> tuple[Workload, ...]:
    """The workloads that were named, else all that are shipped, each of a size that fits the context.

    Raises a usage error where the one on which the profile must win is missing, `Unavailable` where a file cannot be
    read, and `Rejected` where it is none, or does not fit.
    """
    named = [each.partition("=")[::2] for each in asked.workloads] or [(name, "") for name in SHIPPED]
    names = [name for name, _ in named]
    unknown = [name for name, file in named if not file and name not in SHIPPED]
    if unknown:
        raise _bad(f"there is no {unknown[0]!r}: {', '.join(SHIPPED)}, or NAME=FILE for texts of your own")
    own = subject.own
    if subject.decides and own is not None and own not in names:
        how = f"--workload {own}" if own in SHIPPED else f"--workload {own}=FILE, with texts of that kind"
        raise _bad(f"{subject.profile} must win on {own}, so that has to be measured: {how}")
    found = [
        workloads.read(name, file, disk.read_file(file)) if file else workloads.shipped((name,))[0]
        for name, file in named
    ]
    fitting = tuple(workloads.fitted(each, context=subject.context, tokens=asked.tokens) for each in found)
    _new(fitting, asked, subject)
    return fitting


def _new(found: Sequence[Workload], asked: Asked, subject: Subject) -> None:
    """Refuse to ask a server that is never restarted a text again where its drafter remembers the answer."""
    types = dict.fromkeys(
        each
        for setting in (subject.request.setting, subject.request.against)
        for each in setting.spec_types
        if each in CARRYING
    )
    if subject.launches is not None or not types:
        return
    rounds = asked.samples if asked.no_confirm else 2 * asked.samples
    few = [each for each in found if len(set(each.texts)) < rounds]
    if few:
        raise Rejected([
            Problem(
                code="repeated-texts",
                message=f"{each.name} has {len(set(each.texts))} texts for {rounds} rounds, "
                f"and what {' and '.join(types)} kept of a text counts when it comes again",
                hint=f"--workload {each.name}=FILE with {rounds} texts that these servers were not asked before; "
                "or --server, which starts a server for each",
            )
            for each in few
        ])  # fmt: skip


def _bad(message: str) -> typer.BadParameter:
    return typer.BadParameter(message, param_hint="--workload")
