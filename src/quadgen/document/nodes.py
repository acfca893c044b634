"""Finding a node among the events of a text, with the places of everything in it, aliases included.

A composed graph has no place for an alias, only for what it stands for.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, MappingStartEvent, ScalarEvent

from quadgen.document.libyaml import CParser

Event = Any
"""One of libyaml, whose marks are always there; its type says that they need not be."""


def events_of(text: str) -> list[Event]:
    """List all events of a text that `load` has accepted."""
    parser = CParser(text)
    events = []
    while parser.check_event():
        events.append(parser.get_event())
    return events


def children(events: Sequence[Event], at: int) -> list[int]:
    """Find where each node in the collection that begins at an event begins, and at last the collection's end."""
    found = [at + 1]
    while not isinstance(events[found[-1]], CollectionEndEvent):
        found.append(_past(events, found[-1]))
    return found


def _past(events: Sequence[Event], at: int) -> int:
    """The event after the node that begins with this one."""
    depth = 0
    while True:
        depth += isinstance(events[at], CollectionStartEvent) - isinstance(events[at], CollectionEndEvent)
        at += 1
        if depth == 0:
            return at


def top(events: Sequence[Event]) -> int | None:
    """Find the mapping at the top of a text; None where something else is."""
    begins = (at for at, event in enumerate(events) if isinstance(event, (ScalarEvent, CollectionStartEvent)))
    root = next(begins, None)
    return root if root is not None and isinstance(events[root], MappingStartEvent) else None


def entry(events: Sequence[Event], mapping: int, key: str) -> tuple[int, int] | None:
    """Find a key of a mapping and its value; of an alias what it stands for. None where the key is not there."""
    for name, value in list(pairwise(children(events, mapping)))[::2]:
        if isinstance(event := events[name], ScalarEvent) and event.value == key:
            return name, _meant(events, value)
    return None


def _meant(events: Sequence[Event], at: int) -> int:
    """What a node is: of an alias the last node before it that has the anchor."""
    alias = events[at]
    if not isinstance(alias, AliasEvent):
        return at
    anchored = (ScalarEvent, CollectionStartEvent)
    return max(
        where for where, event in enumerate(events[:at]) if isinstance(event, anchored) and event.anchor == alias.anchor
    )
