"""What is asked of a ledger, and what it answers."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from quadgen.evidence.row import Row
from quadgen.evidence.setting import Setting

Degree = Literal["ignore", "warn", "refuse"]
Difference = Literal["build", "device"]


class Kind(StrEnum):
    """The three verdicts."""

    WINS = "wins"
    LOSES = "loses"
    UNMEASURED = "unmeasured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How strictly evidence is judged; the values are a fleet's defaults."""

    evidence: Literal["model", "backend"] = "model"
    """What a row must share with a request beside backend, setting, comparator and workload: the model, or
    nothing more."""
    min_gain: float = 1.0
    """Ratio that must be exceeded to win."""
    build: Degree = "warn"
    device: Degree = "warn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One service's wish to speculate."""

    engine: str
    """Its kind."""
    build: str | None
    """None where the fleet states none: then every row was measured on another build."""
    backend: str
    devices: tuple[str, ...]
    """Names of the cards that it will see; empty where nobody says, and then no difference is claimed."""
    model: str
    """The checkpoint's `id`."""
    header: str | None
    """sha256 of the checkpoint's header, where it is recorded."""
    quantization: str | None = None
    """What the checkpoint is quantised to, by its header or its name; None where neither says."""
    setting: Setting
    against: Setting
    """What it must beat."""
    default: Setting
    """What the profile `default` becomes on this request: rows against `default` mean this."""
    workload: str
    policy: Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The ledger's answer, with the rows that it rests on."""

    kind: Kind
    row: Row | None = None
    """The row that decides; None where nothing was measured for this request."""
    rows: tuple[Row, ...] = ()
    """Every row to quote: `row` and one that disagrees with it, or those that `blocked_by` kept out."""
    build_differs: bool = False
    """Measured on another build, and the policy says to warn."""
    device_differs: bool = False
    """Measured on another card, and the policy says to warn."""
    blocked_by: tuple[Difference, ...] = ()
    """Why `rows` did not count, where the policy refuses rows of other builds or cards."""
    dismissed: tuple[Row, ...] = ()
    """Rows for exactly this request that are no evidence."""

    @property
    def ratio(self) -> float | None:
        """The deciding row's ratio."""
        return self.row.ratio if self.row else None
