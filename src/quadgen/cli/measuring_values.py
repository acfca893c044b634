"""What `quadgen measure` compares, and what came out, as values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from quadgen.evidence import Request, Row
from quadgen.measuring.launch import Launch
from quadgen.measuring.result import Outcome, Result
from quadgen.measuring.sample import Clock, Sample
from quadgen.pipeline import Compiled
from quadgen.problems import Problem, Severity
from quadgen.sampling.opening import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Two arms, and what is known of what they run on."""

    what: str
    """Whose measurement it is: a service of a fleet, a checkpoint, two addresses."""
    profile: str
    against: str
    """Name of the profile that it must beat."""
    floor: bool
    """Whether that profile is allowed anyway."""
    own: str | None
    """The workload that it is for."""
    decides: bool
    """Whether that has to be measured, since it must win there."""
    request: Request
    """What the gate asks of the ledgers on the next render."""
    launches: tuple[Launch, Launch] | None
    """How candidate and comparator are started; None where they run already."""
    clock: Clock
    context: int
    """Tokens that one conversation may use."""
    carries: bool
    """Whether the candidate's drafters remember what they were asked."""
    comparator_carries: bool
    program: str
    """What runs: its version as it says it."""
    build: str
    commit: str | None
    fingerprint: str | None
    device: str
    comparator_drafts: bool
    image: str | None = None
    """The id of the image that it runs in; None natively."""
    remarks: tuple[Problem, ...] = ()
    """On program, machine and model: warnings and notes."""

    @property
    def differing(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Words that only the candidate gets, and only the comparator."""
        if self.launches is None:
            return (), ()
        one, other = (_options(launch.arguments) for launch in self.launches)
        return (
            tuple(word for option in one if option not in other for word in option),
            tuple(word for option in other if option not in one for word in option),
        )


def _options(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Options with their values."""
    found: list[tuple[str, ...]] = []
    for word in words:
        if word.startswith("--") or not found:
            found.append((word,))
        else:
            found[-1] += (word,)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Two arms that can be asked, and what their rows are to say."""

    subject: Subject
    candidate: Source
    comparator: Source
    min_gain: float
    name: str
    """How ids of rows begin: the host, or what stands for it."""
    host: str
    place: str
    """The service as people name it: host, or host/service."""
    asks: bool
    """Whether the service asks for this profile as the fleet is now."""
    taken: frozenset[str]
    """Ids of rows that there are."""
    compiled: Compiled | None
    """The fleet that was asked about; None where there is none."""
    files: tuple[str, ...] = ()
    """Every file that a server of either arm opens."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Those of quadgen's own that native servers get and that can change their figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One workload: what was judged at first, and what a confirmation said."""

    first: Result
    confirmation: Result | None = None

    @property
    def final(self) -> Result:
        """Whose figures are recorded."""
        return self.confirmation or self.first

    @property
    def confirmed(self) -> bool | None:
        """Whether it won a second time; None where there was no win to confirm."""
        if self.first.outcome is not Outcome.WINS:
            return None
        return self.confirmation is not None and self.confirmation.outcome is Outcome.WINS


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """What the gate says after the rows were recorded."""

    granted: bool
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """All that came out."""

    subject: Subject
    judged: tuple[Judged, ...]
    samples: tuple[Sample, ...]
    workloads: Mapping[str, str]
    """sha256 of each workload's texts."""
    tokens: int
    state: str | None
    """`fresh` or `steady`, where the drafter remembers; else None."""
    rows: Mapping[str, Row] = field(default_factory=dict)
    """By workload: those that are evidence."""
    ledger: str | None = None
    """Where they were recorded, or would have been; None where nowhere."""
    text: str | None = None
    """The rows as a ledger of their own, where no ledger has them."""
    failed: str | None = None
    """Why the ledger could not be written."""
    next: Next | None = None
    spent: Mapping[str, float] = field(default_factory=dict)
    """Seconds in requests, in starting servers, and of the instrument between them."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What keeps a workload from being evidence, and what else is to be said."""
        of = [each.final for each in self.judged]
        # what spoke against the first figures, which a confirmation has replaced, is said by its outcome
        return (
            *self.subject.remarks,
            *(problem for result in of for problem in (*result.objections, *result.remarks)),
        )

    @property
    def refused(self) -> bool:
        """Whether something that was measured is no evidence."""
        return any(problem.severity is Severity.ERROR for problem in self.problems)
