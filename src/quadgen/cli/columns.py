"""Sentences and tables that keep within the lines of whoever reads them."""

from collections.abc import Iterator, Sequence
from typing import Final

from quadgen.cli import console

Row = Sequence[str]
_GAPS: Final = (3, 2, 1)
"""Blanks between two columns, as many of these as there is room for."""


def wrapped(told: str | Sequence[str], *, indent: int = 4) -> Iterator[str]:
    """Lines of a sentence, or of words that each stay whole; those after the first are indented.

    A word that is longer than a line stays whole as well: a path can be copied.
    """
    first, *others = console.shown(told).split(" ") if isinstance(told, str) else map(console.shown, told)
    line, most = first, console.width()
    for word in others:
        if line.strip() and len(line) + 1 + len(word) > most:
            yield line.rstrip()
            line = " " * indent + word
        else:
            line += f" {word}"
    yield line


def aligned(rows: Sequence[Row], *, margin: int = 6) -> Iterator[str]:
    """Rows with their columns flush right, closer to each other where there is less room."""
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = console.width() - margin - sum(wide)
    gap = next((gap for gap in _GAPS if gap * (len(wide) - 1) <= room), _GAPS[-1])
    for row in rows:
        yield " " * margin + (" " * gap).join(f"{cell:>{size}}" for cell, size in zip(row, wide, strict=True))
