"""The rows of what was measured, with what only the command line knows: the day, and the command itself."""

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from quadgen.cli.measuring_values import Judged, Measured, Prepared
from quadgen.evidence import Row
from quadgen.measuring.rows import About, row
from quadgen.server.address import address

_ADDRESSES: Final = ("--url", "--against-url")


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
    """What was typed, without passwords: a ledger is in git. That it went on with samples of before changes nothing."""
    return shlex.join(["quadgen", *(word for word in _open(words) if word != "--resume")])


def _open(words: Sequence[str]) -> Iterator[str]:
    before = ""
    for word in words:
        name, says, value = word.partition("=")
        if before in _ADDRESSES:
            yield _shown(word)
        elif name in _ADDRESSES and says:
            yield f"{name}={_shown(value)}"
        else:
            yield word
        before = word


def _shown(url: str) -> str:
    found = address(url)
    return url if found.user is None else found.base
