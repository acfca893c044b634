"""How many drafted tokens a server accepted, from the lines of its log, in every wording that builds have had.

`print_timing` closes each request with a line "draft acceptance", which is missing where nothing was drafted. A
trace log also has a line "statistics" for each drafter, whose counts run on from request to request. Wordings:
tools/server/server-context.cpp and common/speculative.cpp of llama.cpp b8877, b9310, b9702, b10434 and b11434
(https://github.com/ggml-org/llama.cpp).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from quadgen.log_lines import bare

_REQUEST: Final = re.compile(r"(?:slot +print_timing: id +\d+ \| task +-?\d+ \| +)?draft acceptance\b")
_REQUEST_COUNTS: Final = re.compile(
    r"(?: rate)? = +(?:[\d.]+|-?nan) \( *(\d{1,18}) accepted / *(\d{1,18}) generated\)"
    r"(?:, mean (?:acceptance length|len) = *(\d+\.\d+))?"
)
_DRAFTER: Final = re.compile(r"(?:spec +\S+: +)?statistics +([\w-]+):")
_DRAFTER_COUNTS: Final = re.compile(
    r".*#gen drafts = *(\d{1,18}), #acc drafts = *\d{1,18}, #gen tokens = *(\d{1,18}), #acc tokens = *(\d{1,18})"
)
_TELLING: Final = ("draft acceptance", "statistics")


class Unreadable(ValueError):  # noqa: N818 - it is a verdict on the line, not a fault of the program
    """A line that begins like one of acceptance and has no counts that make sense; `line` counts from 1."""

    def __init__(self, line: int, text: str) -> None:
        self.line = line
        self.text = text
        super().__init__(f"line {line}: this build words its acceptance in a way that is not known: {text}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """What one line says. The counts are exact; the rate that is printed beside them is not read."""

    line: int
    """Its number in the log, from 1."""
    accepted: int
    """Drafted tokens that the target model agreed with."""
    drafted: int
    rounds: int | None
    """Verification passes. A request's line tells them by its mean length, to two decimals: None where it has none,
    or where nothing was accepted."""
    mean_length: float | None
    """Tokens that a verification pass yields, at least 1; None where the build does not print it."""
    drafter: str | None = None
    """Whose statistics it is, as --spec-type names it; None of a request's own line, which adds all drafters up."""

    @property
    def rate(self) -> float | None:
        """Accepted / drafted, 0 to 1; None where nothing was drafted, which is not the same as 0."""
        return self.accepted / self.drafted if self.drafted else None


def read(lines: Iterable[str]) -> Iterator[Acceptance]:
    """Read every acceptance and statistics line of a log, in its order; other lines are passed over.

    Plain logs, those of `--log-jsonl`, and both with what a journal or a router puts in front. Raises `Unreadable`
    at a line that begins as one of these and lacks the counts, or accepts more than was drafted: that a wording is
    new must not look as if nothing had been drafted.
    """
    for number, line in enumerate(lines, 1):
        if any(word in line for word in _TELLING):
            yield from _read(number, line.rstrip("\r\n"))


def _read(number: int, line: str) -> Iterator[Acceptance]:
    text = bare(line)
    if found := _REQUEST.match(text):
        counts = _REQUEST_COUNTS.match(text, found.end())
        if counts is None:
            raise Unreadable(number, line)
        accepted, drafted = int(counts[1]), int(counts[2])
        mean = float(counts[3]) if counts[3] else None
        rounds = round(accepted / (mean - 1)) if mean is not None and mean > 1 else None
        made = Acceptance(line=number, accepted=accepted, drafted=drafted, rounds=rounds, mean_length=mean)
    elif found := _DRAFTER.match(text):
        counts = _DRAFTER_COUNTS.match(text, found.end())
        if counts is None:
            raise Unreadable(number, line)
        passes, drafted, accepted = int(counts[1]), int(counts[2]), int(counts[3])
        made = Acceptance(
            line=number, accepted=accepted, drafted=drafted, rounds=passes, drafter=found[1].replace("_", "-"),
            mean_length=1 + accepted / passes if passes else None,
        )  # fmt: skip
    else:
        return
    if made.accepted > made.drafted:
        raise Unreadable(number, line)
    yield made
