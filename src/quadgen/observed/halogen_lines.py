"""The line with which halogen-flash-server accounts for a request.

    serve_api: mtp 250 tok in 6.75s = 37.05 t/s | 153 rounds, commit 1.63/round | prompt 1287 (1035 cached), prefill …

A round commits the target's own token and those that it accepted, and the first token comes out of the prompt: commit
is (tokens - 1) / rounds. The serial drafter has no rounds, and neither has a request of one token. Seen of 0.7 to 0.17,
which append fields: logs that users of https://github.com/peonist-ai/halogen-flash-server have published.
"""

import re
from dataclasses import dataclass
from typing import Final

from quadgen.observed.llama_lines import Unreadable

SERIAL: Final = "serial"
"""The drafter that drafts nothing."""
_BEGINS: Final = re.compile(r"serve_api: +([a-z]\w{0,30}) +(?=\S+ +tok\b|\d)", re.ASCII)
_COUNTS: Final = re.compile(
    r"(\d{1,18}) tok in (\d{1,15}\.\d+)s = (?:[\d.]+ t/s|n/a)"
    r"(?: \| (\d{1,18}) rounds, commit [\d.]+/round(?= \||$))?(?! \| \S+ rounds)(?: \| .*)?",
    re.ASCII,
)
_WHOLE: Final = re.compile(r".*/round|serve_api: +serial .* t/s|.* = n/a|.* \| prompt .*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounted:
    """What was generated for one request."""

    drafter: str
    """As the request or HALOGEN_DRAFTER_DEFAULT names it."""
    tokens: int
    """Tokens generated, the first included."""
    seconds: float
    """The engine's own time of generating them, to two decimals."""
    rounds: int | None
    """Passes of the target that verified drafts; None where the line has none."""

    @property
    def drafts(self) -> bool:
        """Whether its drafter drafts at all."""
        return self.drafter != SERIAL

    @property
    def accepted(self) -> int | None:
        """Drafted tokens that the target agreed with; None where the rounds are not known."""
        return None if self.rounds is None else max(0, self.tokens - 1 - self.rounds)


def accounted(words: str) -> Accounted | None:
    """Read the words of one line; None for another line. Raises `Unreadable` as `llama_lines.said` does."""
    found = _BEGINS.match(words)
    if found is None:
        return None
    counts = _COUNTS.fullmatch(words, found.end())
    if counts is None:
        raise Unreadable
    rounds = int(counts[3]) if counts[3] else None
    return Accounted(
        drafter=found[1], tokens=int(counts[1]), seconds=float(counts[2]),
        rounds=0 if rounds is None and int(counts[1]) <= 1 else rounds,
    )  # fmt: skip


def whole(words: str) -> bool:
    """Whether a line was not broken off within a number."""
    return _WHOLE.fullmatch(words) is not None
