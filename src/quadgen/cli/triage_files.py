"""The files that `quadgen triage` reads, each once."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final

from quadgen.disk import logs
from quadgen.disk.pieces import pieces
from quadgen.observed.foreign import Wanted, beginning, begun, refuse
from quadgen.observed.log import LogRead
from quadgen.triage import Band, Drafter, reading

_LOG: Final = Wanted(then="> server.log", instead="the log of a server")
_ACCEPTANCE: Final = Wanted(
    then="> server.log", instead="the log of a server, or what `quadgen agreement --format json` printed"
)


class Files:
    """What was read so far, by name."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self._logs: dict[str, LogRead] = {}
        self._agreed: dict[str, Band] = {}

    def log(self, name: str) -> LogRead:
        """What a log says. Raises `Rejected` where a line cannot be read, `Unavailable` where the file cannot."""
        if name not in self._logs:
            _, rest = begun(name, pieces(name), _LOG)
            self._logs[name] = logs.read(name, rest)
        return self._logs[name]

    def acceptance(self, name: str, drafter: Drafter, widths: Sequence[int] = ()) -> Band:
        """The band that a file says: what `quadgen agreement` printed, or a log. A pipe can be read only once."""
        if name in self._agreed:
            return self._agreed[name]
        if name not in self._logs:
            rest = pieces(name)
            start = beginning(rest)
            told = reading.agreement_in(name, start)
            if told is not None:
                return self._agreed.setdefault(name, reading.agreement(name, told))
            refuse(name, start, _ACCEPTANCE)
            self._logs[name] = logs.read(name, chain((start,), rest))
        return reading.acceptance(self._logs[name], drafter, widths)
