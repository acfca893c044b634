"""Anchors and aliases, and the bound on what they can stand for."""

from dataclasses import dataclass
from typing import Any, Final

from yaml.events import AliasEvent, NodeEvent

from quadgen.document.notes import Notes
from quadgen.document.spans import show

EXPANSION: Final = 2_000_000
EXPANSION_PER_CHARACTER: Final = 4
"""Values that a file may stand for with its aliases and merges written out: the larger of two million and
four per character. Without aliases a value takes a character at least, so length alone reaches no bound; ten
thousand hosts that each merge thirty keys stand for some 700,000."""


class Stop(Exception):  # noqa: N818 - it ends the reading; the error is already noted
    """Nothing after this point can be read; the problem is noted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """What an alias stands for. The data is shared by all aliases, so nobody may change it."""

    data: Any
    text: str | None
    """A scalar as it was written, for its use as a key; None for a mapping or a list."""
    size: int
    """Values below it, with its own aliases written out."""


class Anchors:
    """The anchors of one document, and how many values it stands for up to now (`size`)."""

    __slots__ = ("_complete", "_given", "_limit", "_notes", "size")

    def __init__(self, notes: Notes, *, characters: int) -> None:
        self._notes = notes
        self._limit = max(EXPANSION, EXPANSION_PER_CHARACTER * characters)
        self._given: dict[str, NodeEvent] = {}
        self._complete: dict[str, Anchor] = {}
        self.size = 0

    def declare(self, name: str, event: NodeEvent) -> None:
        """Note that an event gives an anchor, which stands for something only once that is complete.

        YAML lets a later anchor take an earlier one's name; PyYAML does not, and here it is a mistake too.
        """
        first = self._given.setdefault(name, event)
        if first is not event:
            self._notes.repeated(f"&{name}", [first, event])

    def complete(self, name: str, anchor: Anchor) -> None:
        """Give an anchor its meaning."""
        self._complete[name] = anchor

    def resolve(self, event: AliasEvent) -> Anchor | None:
        """Return what an alias stands for, and count it; None where a problem was noted.

        Raises `Stop` where the bound on expansion is passed.
        """
        name = str(event.anchor)
        anchor = self._complete.get(name)
        if anchor is None:
            if name in self._given:
                self._notes.add(event, f"{show(f'*{name}')} stands inside what it stands for")
            else:
                message = f"{show(f'*{name}')} stands for nothing: no {show(f'&{name}')} comes before it"
                self._notes.add(event, message, hint="quote a value that begins with `*`")
            return None
        self.size += anchor.size
        if self.size > self._limit:
            message = f"alias expansion makes more than {self._limit:,} values of this file"
            self._notes.add(event, message, hint="an alias of aliases multiplies them: write the values out")
            raise Stop
        return anchor
