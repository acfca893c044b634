"""The files that `quadgen triage` reads, each once."""

from collections.abc import Mapping, Sequence

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
        """The band that a file says: what `quadgen agreement` printed, or a log."""
        first = next(pieces(name), b"")
        told = reading.agreement_in(first) if len(first) < PIECE else None  # what it prints is short
        return reading.acceptance(self.log(name), drafter, widths) if told is None else reading.agreement(name, told)
