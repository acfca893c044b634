"""Places in a text: a mark or an offset becomes file, line, column, length and the line itself."""

import re
from dataclasses import dataclass, replace
from typing import Protocol

from quadgen.problems import Place

_LINE_END = re.compile(r"[\r\n]")
_SHOWN = 60


class Mark(Protocol):
    """A position as libyaml counts it: `index` from the start of the text, `line` and `column` all from 0."""

    @property
    def index(self) -> int:
        """Characters before it."""

    @property
    def line(self) -> int:
        """Lines before its own."""

    @property
    def column(self) -> int:
        """Characters before it on its line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spot:
    index: int
    line: int
    column: int


def between(file: str, text: str, start: Mark, end: Mark) -> Place:
    """Return the place from one mark to another, or to the end of the first one's line."""
    stop = _line_end(text, start.index)
    visible = text[start.index : min(end.index, stop)].rstrip()
    return Place(
        file=file,
        line=start.line + 1,
        column=start.column + 1,
        length=max(1, len(visible)),
        text=text[start.index - start.column : stop],
    )


def at(file: str, text: str, offset: int) -> Place:
    """Return the place of the one character at an offset from the start of the text."""
    breaks = text.count("\n", 0, offset) + text.count("\r", 0, offset) - text.count("\r\n", 0, offset)
    begin = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
    spot = _Spot(index=offset, line=breaks, column=offset - begin)
    return between(file, text, spot, spot)


def after(place: Place, characters: int) -> Place:
    """Return a place without the characters that it begins with, which must be fewer than it has."""
    return replace(place, column=place.column + characters, length=place.length - characters)


def rest_of_line(text: str, offset: int) -> str:
    """Return the text from an offset to the end of its line, without blanks at the end."""
    return text[offset : _line_end(text, offset)].rstrip()


def show(text: str) -> str:
    """Return a text of the user's for use inside a sentence: short, on one line and in backticks."""
    if not text.isprintable():
        text = repr(text)[1:-1]
    quote = '"' if "`" in text else "`"
    return f"{quote}{text if len(text) <= _SHOWN else text[: _SHOWN - 1] + '…'}{quote}"


def _line_end(text: str, offset: int) -> int:
    found = _LINE_END.search(text, offset)
    return found.start() if found else len(text)
