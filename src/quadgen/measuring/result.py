"""What the samples of one workload come to."""

from dataclasses import dataclass
from enum import StrEnum

from quadgen.measuring.sample import Clock
from quadgen.problems import Problem


class Outcome(StrEnum):
    """What a measured workload says of the candidate."""

    WINS = "wins"
    """The lower end of the interval is above what must be exceeded."""
    LOSES = "loses"
    """The upper end is not."""
    UNDECIDED = "undecided"
    """Neither: more samples would narrow it. A ledger's row of it does not allow the profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """One arm's rate on one workload, in tokens per second of the clock."""

    median: float
    slowest: float
    fastest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """Whether both arms said the same, as greedy decoding should."""

    same: int
    """Rounds in which every token was the same."""
    rounds: int
    first: tuple[int, int] | None = None
    """Round and token of the earliest difference; None where there is none."""
    candidate: str = ""
    comparator: str = ""
    """What each said there: some characters from the difference on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One workload, judged."""

    workload: str
    clock: Clock
    candidate: Rate
    comparator: Rate
    ratio: float
    """candidate.median / comparator.median."""
    interval: tuple[float, float]
    """Bootstrap interval of the ratio at the confidence of `bootstrap.LEVEL`."""
    samples: int
    """Of each arm."""
    drift: float | None
    """Median of the comparator's last three samples / that of its first three - 1, of the same texts where it drafts;
    None of too few samples for that."""
    drafted: int
    accepted: int
    tokens_per_round: float | None
    """Of the candidate's rounds that draft, at least 1; None without any."""
    comparator_drafted: int
    likeness: Likeness
    wall: tuple[float, float] | None
    """Medians in tok/s of candidate and comparator, where `clock` is another."""
    outcome: Outcome
    objections: tuple[Problem, ...] = ()
    """Why it is no evidence: errors. Empty where it may be recorded."""
    remarks: tuple[Problem, ...] = ()
    """What does not keep it from being recorded: warnings and notes."""

    @property
    def acceptance(self) -> float | None:
        """Accepted / drafted, 0 to 1; None where nothing was drafted."""
        return self.accepted / self.drafted if self.drafted else None
