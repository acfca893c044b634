"""The rows of what was measured, with what only the command line knows: the day, and the command itself."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from quadgen.cli.measuring_values import Judged, Measured, Prepared
from quadgen.evidence import Row
from quadgen.measuring.rows import About, row


def rows(measured: Measured, ready: Prepared, taken: frozenset[str]) -> Mapping[str, Row]:
    """A row for each workload that is evidence, by its name, with ids of their own."""
    made: dict[str, Row] = {}
    for each in measured.judged:
        if not each.final.objections:
            name = each.final.workload
            about = _about(measured, ready, each)
            made[name] = row(each.final, about, taken | {other.id for other in made.values()})
    return made


def _about(measured: Measured, ready: Prepared, each: Judged) -> About:
    subject = measured.subject
    return About(
        request=subject.request,
        build=subject.build,
        device=subject.device,
        name=ready.name,
        profile=subject.profile,
        workload_sha256=measured.workloads[each.final.workload],
        tokens=measured.tokens,
        date=datetime.now(UTC).date().isoformat(),
        command=_command(sys.argv[1:]),
        commit=subject.commit,
        fingerprint=subject.fingerprint,
        state=measured.state,
        confirmed=each.confirmed,
    )


def _command(words: Sequence[str]) -> str:
    """What was typed, on one line; that it went on with samples of before changes nothing."""
    return shlex.join(["quadgen", *(word for word in words if word != "--resume")])
