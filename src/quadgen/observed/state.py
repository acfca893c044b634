"""Whether a server speculates, and what says so."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from quadgen.evidence.row import LEAST_ACCEPTANCE
from quadgen.observed.counts import Counts

ENOUGH: Final = round(1 / LEAST_ACCEPTANCE)
"""Drafted tokens of which one should be accepted, if any ever is: fewer condemn no drafter."""


class State(StrEnum):
    """What can be told of a server's speculation."""

    OFF = "off"
    """It does not speculate, and was not asked to as far as it says."""
    NOT_RUNNING = "requested-not-running"
    """It was asked to, and answers without."""
    IDLE = "nothing-drafted"
    """It speculates, and has drafted nothing so far: not the same as an acceptance of 0."""
    NEVER_ACCEPTED = "never-accepted"
    """It drafts, and the target takes none of it, or less than `LEAST_ACCEPTANCE`."""
    RUNNING = "running"
    UNKNOWN = "unknown"
    """Nothing that was seen says either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What was seen of one server."""

    source: str
    """The address or file, as the user wrote it."""
    engine: str | None
    """`llama.cpp` or `halogen`; None where nothing says."""
    state: State
    reasons: tuple[str, ...]
    """What proves the state, in sentences without their end; never empty."""
    total: Counts | None = None
    """Since the server started, or over the whole log."""
    window: Counts | None = None
    """Between two readings of a running server."""
    window_seconds: float | None = None
    drafters: Mapping[str, Counts] = field(default_factory=dict)
    """By --spec-type, where the log tells them apart."""
    draft_seconds: Mapping[str, float] = field(default_factory=dict)
    """Time spent drafting, by --spec-type: `dur(b,g,a)` of a trace log, its second figure."""
    requested: tuple[str, ...] | None = None
    """The --spec-type that the server was given; None where it does not say."""
    notes: tuple[str, ...] = ()
    """What else a person should know, in sentences without their end."""


def judged(counts: Counts | None) -> State | None:
    """What the counts alone prove: RUNNING, NEVER_ACCEPTED, or nothing."""
    if counts is None or not counts.drafted or counts.accepted is None:
        return None
    return State.NEVER_ACCEPTED if counts.accepted < counts.drafted * LEAST_ACCEPTANCE else State.RUNNING


def doubt(counts: Counts) -> str:
    """What to say behind counts that condemn a drafter and are too few for it; else empty."""
    few = judged(counts) is State.NEVER_ACCEPTED and (counts.drafted or 0) < ENOUGH
    return ", which is too few to say much" if few else ""
