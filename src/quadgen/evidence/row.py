"""One measurement: a setting's decode rate against another setting's, on one machine and one workload."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from quadgen.evidence.setting import NO_SPECULATION, Setting

LEAST_ACCEPTANCE: Final = 0.005
"""Share of drafted tokens below which a drafter agrees with nothing: a broken head reads 1 of 894
(https://github.com/ROCmFPX/ROCmFPX/issues/23), 1 of 633 (ggml-org/llama.cpp#27151); the worst drafter that
merely lost read 0.01."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of a ledger, validated. Rates are decoded tokens per second (medians)."""

    id: str
    """Unique over all ledgers; printed wherever the row decides something."""
    engine: str
    build: str
    backend: str
    device: str
    model: str
    """The checkpoint's `id`."""
    workload: str
    setting: Setting
    against: Setting | None
    """The comparator; None is `default`, whatever that becomes on a request."""
    ratio: float
    """rate / against_rate where both are known, else as published; above 0."""
    samples: int
    source: str
    rate: float | None = None
    against_rate: float | None = None
    """Both rates are known, or neither."""
    unit: str = "tok/s"
    """Of both rates; `tok/CPU-s`: per second of the server's processor time, which other load does not move."""
    header: str | None = None
    """sha256 of the checkpoint's header."""
    acceptance: float | None = None
    """Accepted / drafted tokens, 0 to 1."""
    accepted: int | None = None
    drafted: int | None = None
    date: str | None = None
    """ISO 8601, YYYY-MM-DD."""
    spread: tuple[float, float] | None = None
    """Slowest and fastest sample of `rate`."""
    interval: tuple[float, float] | None = None
    """Of the ratio, lower and upper end, at 95% confidence: what decides where it is known."""
    drift: float | None = None
    """Of the comparator: median of its last three samples / that of its first three - 1; of the same texts where it
    drafts."""
    tokens: int | None = None
    """That each sample generated."""
    state: str | None = None
    """Of a drafter that remembers: `fresh`, a new server for each sample; `steady`, one server for all of them."""
    confirmed: bool | None = None
    """Of a win, whether a second run won as well, whose figures these are then; None where nothing won at first."""
    wall_rate: float | None = None
    against_wall_rate: float | None = None
    """Tokens per second beside rates per second of processor time; both are known, or neither."""
    tokens_per_round: float | None = None
    """Tokens that one verification pass yields; 1 is plain decoding."""
    commit: str | None = None
    """The engine's own version control id."""
    fingerprint: str | None = None
    """Digest of what else could change the rate: driver, flags, sampling."""
    quantization: str | None = None
    workload_sha256: str | None = None
    comparator: str | None = None
    """`id` of the row that measured the comparator itself."""
    command: str | None = None
    note: str | None = None
    file: str = ""
    """The ledger that holds it, as a place in a message names it."""
    index: int = 0
    """Its position among the ledger's `measurements`, from 0."""
    shipped: bool = False
    """Whether it came with quadgen, not with the fleet."""

    def __hash__(self) -> int:
        return hash(self.id)

    def gains(self, more_than: float) -> bool:
        """Whether it wins: the ratio exceeds `more_than`, or where an interval of it is known, its lower end does."""
        return (self.ratio if self.interval is None else self.interval[0]) > more_than

    def undecided(self, more_than: float) -> bool:
        """Whether its interval reaches to both sides of `more_than`, so that more samples might tell."""
        return self.interval is not None and self.interval[0] <= more_than < self.interval[1]

    @property
    def loses(self) -> bool:
        """Whether it is slower than its comparator: the ratio is below 1, or the upper end of its interval is."""
        return (self.ratio if self.interval is None else self.interval[1]) < 1

    @property
    def no_evidence(self) -> str | None:
        """Why this row decides nothing, in the words after its name; None where it does.

        A drafter that drafted nothing, or agreed with nothing, did not speculate.
        """
        if not self.setting.spec_types:
            return None
        if self.drafted == 0:
            return "drafted nothing"
        accepted = self.acceptance
        if self.accepted is not None and self.drafted:
            accepted = self.accepted / self.drafted
        if accepted == 0 or self.accepted == 0:
            return "accepted nothing"
        if accepted is not None and accepted < LEAST_ACCEPTANCE:
            return f"accepted {accepted:.1%} of its drafts"
        return None


_FLOORS: Final = {"default": None, "none": NO_SPECULATION}


def row_of(fields: Mapping[str, Any], *, file: str, index: int, shipped: bool) -> Row:
    """Make a row of a ledger's fields, which must be valid: canonical settings, the ratio worked out."""
    row = dict(fields)
    against = row["against"]
    row["setting"] = Setting.of(**row["setting"])
    row["against"] = _FLOORS[against] if isinstance(against, str) else Setting.of(**against)
    if row.get("rate") is not None:
        row["ratio"] = row["rate"] / row["against_rate"]
    for name in ("spread", "interval"):
        if row.get(name) is not None:
            row[name] = tuple(row[name])
    return Row(**row, file=file, index=index, shipped=shipped)
