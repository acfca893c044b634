"""What one line of llama-server's log says of drafts and of time, in every wording that builds have had.

`print_timing` closes each request: a line "eval time", and a line "draft acceptance", which is missing where nothing
was drafted. A trace log has a line "acc per pos" behind it, and a line "statistics" for each drafter, whose counts run
on from request to request; older builds log these always. Wordings: tools/server/server-context.cpp and
common/speculative.cpp of llama.cpp b8877, b9310, b9702, b10434 and b11434 (https://github.com/ggml-org/llama.cpp).
"""

import re
from dataclasses import dataclass
from typing import Final

Key = tuple[int, int] | None
"""Slot and task of a request; None where the build prints its lines without them."""

_SLOT: Final = r"(?:slot +print_timing: id +(\d{1,9}) \| task +(-?\d{1,18}) \| +)?"
_BEGINS: Final = re.compile(_SLOT + r"(?:(eval time\b)|(draft acceptance\b)|(acc per pos\b))", re.ASCII)
_TIME: Final = re.compile(r" = +(\d{1,15})\.(\d\d) ms / +(\d{1,18}) tokens \(.*\)", re.ASCII)
_ACCEPTED: Final = re.compile(
    r"(?: rate)? = +(?:[\d.]+|-?nan) \( *(\d{1,18}) accepted / *(\d{1,18}) generated\)"
    r"(?:, mean (?:acceptance length|len) = *(?:(\d{1,15}\.\d+)|-?nan|-?inf)"
    r"(?:, acceptance rate per position = \(([^()]*)\))?|(, (?!mean ).*))?",
    re.ASCII,
)
_POSITIONS: Final = re.compile(r" = \(([^()]*)\)", re.ASCII)
_DRAFTER: Final = re.compile(r"(?:spec +\S+: +)?statistics +([\w-]{1,40}):", re.ASCII)
_STATISTICS: Final = re.compile(
    r".*#gen drafts = *(\d{1,18}), #acc drafts = *\d{1,18}, #gen tokens = *(\d{1,18}), #acc tokens = *(\d{1,18})\b"
    r"(?:, #mean acc len = *\S+)?(?:, #acc rate/pos = \(([^()]*)\))?"
    r"(?:, dur\(b,g,a\) = *[\d.]+, *(\d{1,15}\.\d+), *[\d.]+ ms)?(, (?!#|dur).*)?",
    re.ASCII,
)
_WHOLE: Final = re.compile(r".*(?:\)|, mean (?:acceptance length|len) = *\d+\.\d\d| ms)", re.ASCII)


class Unreadable(ValueError):  # noqa: N818 - it is a verdict on the line, not a fault of the program
    """A line that begins like one with counts, and has none that make sense: a new wording, or a broken line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """Line "eval time" of a request."""

    key: Key
    tokens: int
    """Tokens generated, the first included."""
    ticks: int
    """Time of generating them in units of 10 us, which is what the line has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """Line "draft acceptance" of a request. The counts are exact; the rate that is printed beside them is not read."""

    key: Key
    accepted: int
    """Drafted tokens that the target agreed with; at most `drafted`."""
    drafted: int
    mean: float | None
    """Tokens that a round yields, to two decimals, at least 1; None where the build does not say."""
    rates: tuple[float, ...] = ()
    """Of each position the share of rounds in which it was accepted, to three decimals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Positions:
    """Line "acc per pos" of a request, behind its `Accepted`."""

    key: Key
    rates: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Line "statistics" of a drafter, counted since the server started."""

    drafter: str
    """As --spec-type names it."""
    rounds: int
    accepted: int
    drafted: int
    rates: tuple[float, ...]
    seconds: float | None
    """Time spent drafting; None where the build does not say."""
    child: str = ""
    """Which server of a router said it: its port."""


Said = Timed | Accepted | Positions | Statistics


def said(words: str) -> Said | None:
    """Read the words of one line, as `log_lines.bare` leaves them; None for a line that says nothing of these.

    Raises `Unreadable` at a line that begins as one of these and lacks the counts, or accepts more than was drafted.
    """
    if found := _BEGINS.match(words):
        key = None if found[1] is None else (int(found[1]), int(found[2]))
        return _timed(words, found.end(), key) if found[3] else _drafted(words, found, key)
    if found := _DRAFTER.match(words):
        return _statistics(words, found.end(), found[1].replace("_", "-"))
    return None


def whole(words: str) -> bool:
    """Whether a line that `said` reads ends where such lines end: it was not broken off within its last number."""
    return _WHOLE.fullmatch(words) is not None


def _timed(words: str, at: int, key: Key) -> Timed:
    counts = _TIME.fullmatch(words, at)
    if counts is None:
        raise Unreadable
    return Timed(key=key, tokens=int(counts[3]), ticks=int(counts[1] + counts[2]))


def _drafted(words: str, found: re.Match[str], key: Key) -> Accepted | Positions:
    if found[5]:
        rates = _POSITIONS.fullmatch(words, found.end())
        if rates is None:
            raise Unreadable
        return Positions(key=key, rates=_rates(rates[1]))
    counts = _ACCEPTED.fullmatch(words, found.end())
    if counts is None or int(counts[1]) > int(counts[2]):
        raise Unreadable
    mean = float(counts[3]) if counts[3] else None
    return Accepted(key=key, accepted=int(counts[1]), drafted=int(counts[2]), mean=mean, rates=_rates(counts[4] or ""))


def _statistics(words: str, at: int, drafter: str) -> Statistics:
    counts = _STATISTICS.fullmatch(words, at)
    if counts is None or int(counts[3]) > int(counts[2]):
        raise Unreadable
    return Statistics(
        drafter=drafter, rounds=int(counts[1]), drafted=int(counts[2]), accepted=int(counts[3]),
        rates=_rates(counts[4] or ""), seconds=float(counts[5]) / 1000 if counts[5] else None,
    )  # fmt: skip


def _rates(text: str) -> tuple[float, ...]:
    try:
        rates = tuple(float(each) for each in text.split(",")) if text.strip() else ()
    except ValueError:
        raise Unreadable from None
    if not all(0 <= each <= 1 for each in rates):  # not a number is refused by this, too
        raise Unreadable
    return rates
