"""What triage answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from quadgen.triage.question import Question


class Answer(StrEnum):
    """The verdict in a word."""

    WINS = "wins"
    """Even the lower end of the band beats the target as it is today, at the width that is advised."""
    DEPENDS = "depends"
    """The upper end beats it, the lower one does not."""
    LOSES = "loses"
    """Not even the upper end beats it, at any width."""
    CANNOT_PAY = "cannot-pay"
    """No acceptance beats it, at any width."""
    UNDECIDED = "undecided"
    """It would pay if drafting were free, and nobody measured what it takes."""
    CANNOT_ATTACH = "cannot-attach"
    """There is no way to connect this drafter to this target, whatever the numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """What a width comes to at an acceptance."""

    width: int
    p: float
    length: float
    """Tokens that a round yields, its own one included."""
    rate: float
    """Tokens per second in rounds that draft: all of them, but for n-gram drafters."""
    overall: float | None
    """Tokens per second over all rounds; None where the share that drafts is not known, or every round drafts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer, and the numbers that it rests on."""

    answer: Answer
    question: Question
    widths: tuple[int, ...]
    """The widths that are shown, ascending; the keys of what is given by width."""
    scanned: tuple[int, ...]
    """The widths that the answer looks at."""
    round_time: Mapping[int, float]
    """Seconds of a round, by width."""
    break_even: Mapping[int, float | None]
    """The acceptance from which a width beats the target as it is today; None where none does."""
    break_even_plain: Mapping[int, float | None]
    """The same against passes that yield one token each: a target that does not draft."""
    projections: tuple[Projection, ...]
    """By width, then by the ends of the band."""
    best: Projection
    """The best of the scanned widths at the middle of the band."""
    advised: int
    """The width to run: the best one, unless it does not pay at the end of the band where another one does."""
    free: bool
    """Whether the drafter's step is taken to be 0 because nobody measured it."""
    reasons: tuple[str, ...]
    """Five, in order: what the target does today, break-even, projection, attachment, the measurement that settles."""
    notes: tuple[str, ...]
    """What limits the answer, in sentences."""
