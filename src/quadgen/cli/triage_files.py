"""The files that `quadgen triage` reads, each once."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from quadgen.disk.pieces import PIECE, pieces
from quadgen.observed.log import LogRead, read_log
from quadgen.triage import Band, Drafter, reading


class Files:
    """What was read so far, by name."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self._logs: dict[str, LogRead] = {}

    def log(self, name: str) -> LogRead:
        """What a log says. Raises `Rejected` where a line cannot be read, `Unavailable` where the file cannot."""
        if name not in self._logs:
            self._logs[name] = read_log(name, pieces(name))
        return self._logs[name]

    def acceptance(self, name: str, drafter: Drafter, widths: Sequence[int] = ()) -> Band:
        """The band that a file says: what `quadgen agreement` printed, or a log. A pipe can be read only once."""
        if name not in self._logs:
            rest = pieces(name)
            start = _start(rest)
            told = reading.agreement_in(start) if len(start) < PIECE else None  # what it prints is short
            if told is not None:
                return reading.agreement(name, told)
            self._logs[name] = read_log(name, chain((start,), rest))
        return reading.acceptance(self._logs[name], drafter, widths)


def _start(rest: Iterator[bytes]) -> bytes:
    """The first `PIECE` bytes or more, or all there are: a pipe gives what it has."""
    start = b""
    for piece in rest:
        start += piece
        if len(start) >= PIECE:
            break
    return start
