"""What one run of a server has logged so far, added up: of constant size, however many requests there were."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from quadgen.observed.halogen_lines import Accounted
from quadgen.observed.llama_lines import Accepted, Key, Positions, Said, Statistics, Timed
from quadgen.observed.log_rounds import by_position, rounds
from quadgen.observed.log_sums import TICKS, Sums
from quadgen.server_log import Event

RECENT: Final = 64
"""Requests whose lines may lie apart, because slots and other threads log in between."""
_MOST: Final = 64
"""Events of a run that are remembered: there are a dozen, and a log may hold anything."""
_TOLD: Final = 2048
"""Drafters of a run whose statistics are remembered: a dozen of each server, of which a router starts many."""


@dataclass(slots=True)
class Request:
    """A request whose time is told; `drafts` once its line of acceptance was read."""

    key: Key
    tokens: int
    ticks: int
    drafts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Newest:
    """The newest of requests that were read at once, a column for each field of `Request`; mostly nobody asks."""

    keys: Sequence[bytes] = ()
    """As the log has them: "id  1 | task 2 |"."""
    tokens: Sequence[int] = ()
    ticks: Sequence[int] = ()
    drafts: Sequence[bool] = ()
    last: tuple[bytes, int, int, float] | None = None
    """Key, accepted, drafted and mean length of the newest that drafts."""

    @property
    def accepted(self) -> Accepted | None:
        """The newest line of acceptance."""
        if self.last is None:
            return None
        key, accepted, drafted, mean = self.last
        return Accepted(key=_key(key), accepted=accepted, drafted=drafted, mean=mean)

    def requests(self) -> Iterator[Request]:
        """Return them one by one."""
        for key, tokens, ticks, drafts in zip(self.keys, self.tokens, self.ticks, self.drafts, strict=True):
            yield Request(_key(key), tokens, ticks, drafts)


def _key(text: bytes) -> tuple[int, int]:
    _, slot, _, _, task, _ = text.split()
    return int(slot), int(task)


@dataclass(slots=True)
class Run:
    """One start of a server, or the part of it that the log has."""

    plain: Sums = field(default_factory=Sums)
    """Requests that drafted nothing."""
    drafting: Sums = field(default_factory=Sums)
    halogen: bool = False
    statistics: dict[tuple[str, str], Statistics] = field(default_factory=dict)
    """The newest of each drafter, of each server of a router: by `child` and `drafter`."""
    events: dict[str, Event] = field(default_factory=dict)
    """The first of each message, in their order."""
    listening: bool = False
    headless: Accepted | None = None
    """A first line of acceptance whose time stands in front of where the log begins."""
    _recent: deque[Request] = field(default_factory=lambda: deque(maxlen=RECENT))
    _unread: list[Newest] = field(default_factory=list)
    """Requests that come after those of `_recent`."""
    _last: Accepted | None = None
    """The newest line of acceptance, until its positions are told."""

    @property
    def served(self) -> bool:
        """Whether it generated for anyone."""
        return bool(self.plain.requests or self.drafting.requests)

    @property
    def touched(self) -> bool:
        """Whether the log has anything of this run."""
        return self.served or self.listening or bool(self.events or self.statistics or self.headless)

    def note(self, event: Event, number: int) -> None:
        """Remember an event and its line; a server that says the same again says nothing new."""
        if event.message not in self.events and len(self.events) < _MOST:
            self.events[event.message] = replace(event, line=number)

    def follows(self, said: Statistics) -> bool:
        """Whether statistics go on from those before: they only grow as long as the server runs."""
        before = self.statistics.get((said.child, said.drafter))
        return before is None or (before.drafted <= said.drafted and before.accepted <= said.accepted)

    def part(self, said: Statistics) -> None:
        """End what a server of a router has counted: another one has its port, and these statistics."""
        key = said.child, said.drafter
        self.statistics[f"{said.child} {len(self.statistics)}", said.drafter] = self.statistics.pop(key)

    def say(self, said: Said | Accounted) -> None:
        """Add what a line says."""
        match said:
            case Timed():
                self._time(said)
            case Accepted():
                self._begin(said)
            case Positions():
                if self._last is not None and self._last.key == said.key:
                    self._place(self._last, said.rates)
            case Statistics():
                key = said.child, said.drafter
                if key in self.statistics or len(self.statistics) < _TOLD:
                    self.statistics[key] = said
            case Accounted():
                self._account(said)

    def several(self, plain: Sums, drafting: Sums, newest: Newest) -> None:
        """Add requests that were read at once; `newest` are the last `RECENT` of them, in their order."""
        self.plain.add(plain)
        self.drafting.add(drafting)
        if len(newest.keys) == RECENT:
            self._unread.clear()
        if newest.keys:
            self._unread.append(newest)
            self._last = newest.accepted or self._last
        if len(self._unread) > RECENT:
            self._read_newest()

    def settle(self) -> None:
        """Finish the counts, when all has been read.

        Rounds and positions are taken from the statistics, where these are about the same drafts: theirs are exact,
        and the requests' follow from lengths of two decimals. A request without its time counts if all are like that.
        """
        timed = self.plain.requests + self.drafting.requests - self.drafting.untimed
        if self.headless and not timed:
            self._accept(self.headless)
            self.headless = None
        every = self.statistics.values()
        told = sum(each.drafted for each in every), sum(each.accepted for each in every)
        if not told[0] or told != (self.drafting.drafted, self.drafting.accepted):
            return
        self.drafting.rounds, self.drafting.doubt = sum(each.rounds for each in every), 0
        placed = [by_position(each.accepted, each.rounds, 0, each.rates) for each in every if each.accepted]
        if all(placed):
            self.drafting.positions = []
            for found in placed:
                self.drafting.place(found[1] if found else ())
            self.drafting.placed = self.drafting.requests

    def _read_newest(self) -> None:
        for newest in self._unread:
            self._recent.extend(newest.requests())
        self._unread.clear()

    def _time(self, said: Timed) -> None:
        if said.tokens:
            self._read_newest()
            self.plain.time(said.tokens, said.ticks)
            self._recent.append(Request(said.key, said.tokens, said.ticks))

    def _begin(self, said: Accepted) -> None:
        if said.key is not None and not self.touched:
            self.headless = said
        else:
            self._accept(said)

    def _accept(self, said: Accepted) -> None:
        near, doubt = rounds(said.accepted, said.drafted, said.mean)
        self.drafting.drafted += said.drafted
        self.drafting.accepted += said.accepted
        self.drafting.rounds += near
        self.drafting.doubt += doubt
        request = self._of(said.key)
        if request is None:
            self.drafting.requests += 1
            self.drafting.untimed += 1
        else:
            request.drafts = True
            self.plain.time(request.tokens, request.ticks, sign=-1)
            self.drafting.time(request.tokens, request.ticks)
        self._last = said
        if said.rates:
            self._place(said, said.rates)

    def _of(self, key: Key) -> Request | None:
        """The request whose time was told under this key, or else the newest that was told without one."""
        self._read_newest()
        waiting = [each for each in reversed(self._recent) if not each.drafts]
        return next((each for each in waiting if each.key == key), None) or next(
            (each for each in waiting if each.key is None), None
        )

    def _place(self, said: Accepted, rates: Sequence[float]) -> None:
        near, doubt = rounds(said.accepted, said.drafted, said.mean)
        if found := by_position(said.accepted, near, doubt, rates):
            self.drafting.rounds += found[0] - near
            self.drafting.doubt -= doubt
            self.drafting.place(found[1])
        self._last = None

    def _account(self, said: Accounted) -> None:
        self.halogen = True
        sums = self.drafting if said.drafts else self.plain
        sums.time(said.tokens, round(said.seconds * TICKS))
        if said.drafts:
            sums.accepted += said.accepted or 0
            sums.rounds += said.rounds or 0
            sums.doubt += said.tokens if said.rounds is None else 0
