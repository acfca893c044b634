"""What triage is asked: the target, the drafter, what verifying costs, and which acceptance is to be expected."""

from dataclasses import dataclass, field
from typing import Final

from quadgen.breakeven import FLAT_VERIFY, Verify
from quadgen.problems import Problem
from quadgen.triage.drafter import Drafter
from quadgen.triage.given import Given
from quadgen.triage.target import Figures, Target

ASSUMED_LOW: Final = 0.4
ASSUMED_HIGH: Final = 0.6
"""The acceptance of a matched pair, where nobody measured it: a trained drafter of depth 7 was seen at 41% of its
drafts on the target that it was made for (docs/triage.md)."""
_ASSUMED: Final = Verify()


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """The acceptance per position that is to be expected: from `low` to `high`, both 0 to 1.

    It is the chance that a drafted token is accepted when those before it were, which is more than accepted / drafted.
    """

    low: float = ASSUMED_LOW
    high: float = ASSUMED_HIGH
    source: str = "assumed: the band of a matched pair"

    @property
    def middle(self) -> float:
        """Halfway between both ends."""
        return (self.low + self.high) / 2

    @property
    def ends(self) -> tuple[float, ...]:
        """Both ends, or the one that they are."""
        return (self.low,) if self.low == self.high else (self.low, self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyCost:
    """What a pass over several tokens costs, and who says so."""

    factor: Verify = _ASSUMED
    source: str = f"assumed: {FLAT_VERIFY} whatever the width, which a GPU may reach"
    measured: bool = False
    mirrored: bool = False
    """Whether what the drafter itself reads of a pass is part of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """How a service that runs natively is started, with the drafter."""

    program: str
    arguments: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachability:
    """Whether the drafter can be attached to the target at all, decided elsewhere."""

    attachable: bool | None
    """None where nothing speaks against it, and not everything is known."""
    reasons: tuple[str, ...]
    """Sentences without their end."""
    problems: tuple[Problem, ...] = ()
    """What blocks it, and what else there is to say of it, with places."""
    today: tuple[str, ...] | None = None
    """The --spec-type with which the target is meant to draft as it is; None where nobody knows."""
    figures: Figures | None = None
    """What the ledger says of the target as it is; None where nobody measured it."""
    looked_up: Band | None = None
    """What the shipped ledger and the fleet's own have of n-gram drafters; None without a fleet, or without a row."""
    engine: str | None = None
    """The kind of the target's engine; None where nobody knows."""
    started: Started | None = field(default=None, repr=False)
    """None where it runs in a container, or cannot be started with the drafter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Everything that a verdict is made of."""

    target: Target
    drafter: Drafter
    draft_step: Given | None = None
    """Seconds of one pass of the drafter; None where nobody measured it, or where there is none to run."""
    verify: VerifyCost = VerifyCost()
    acceptance: Band = Band()
    widths: tuple[int, ...] = ()
    """Tokens that a round drafts, each at least 1; empty for the drafter's own."""
    share: Given | None = None
    """The share of rounds, 0 to 1, in which an n-gram drafter finds something to draft; None where nobody knows."""
    attachment: Attachability | None = None
    """None where nobody asked."""
