"""What a builder finds wrong, as problems with places."""

from collections.abc import Sequence
from typing import cast

from yaml.events import Event

from quadgen.document.spans import Mark, between, show
from quadgen.problems import Collector, Problem

_LINES = 8
"""Lines that a sentence names; of more, the first ones and the last."""


class Notes:
    """Problems of one text, collected with the places of the events that show them."""

    __slots__ = ("_collector", "_file", "_text")

    def __init__(self, file: str, text: str, collector: Collector) -> None:
        self._file = file
        self._text = text
        self._collector = collector

    def __len__(self) -> int:
        """How many there are."""
        return len(self._collector.problems)

    def add(self, event: Event, message: str, *, hint: str | None = None, code: str = "yaml-syntax") -> None:
        """Note a problem at an event."""
        start, end = cast("tuple[Mark, Mark]", (event.start_mark, event.end_mark))  # libyaml gives both always
        place = between(self._file, self._text, start, end)
        self._collector.add(Problem(code=code, message=message, hint=hint, file=self._file, place=place))

    def repeated(self, what: str, events: Sequence[Event], *, code: str = "yaml-syntax") -> None:
        """Note what is given more than once, at its second event; the sentence names the lines."""
        times = f"{len(events)} times" if events[2:] else "twice"
        lines = list(dict.fromkeys(str(event.start_mark.line + 1) for event in events if event.start_mark))
        if len(lines) > _LINES:
            lines[_LINES - 1 : -1] = ["…"]
        where = f": lines {', '.join(lines[:-1])} and {lines[-1]}" if lines[1:] else f" on line {lines[0]}"
        self.add(events[1], f"{show(what)} is given {times}{where}", code=code)
