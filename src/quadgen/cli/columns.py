"""Sentences and tables that keep within the lines of whoever reads them."""

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Final

from quadgen.cli import console

Row = Sequence[str]
_GAPS: Final = (3, 2, 1)
"""Blanks between two columns, as many of these as there is room for."""


def wrapped(sentence: str, *, indent: int = 4) -> Iterator[str]:
    """Lines of a sentence, broken between words alone; those after the first are indented."""
    yield from wrap(
        sentence, console.width(), subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )


def aligned(rows: Sequence[Row], *, margin: int = 6) -> Iterator[str]:
    """Rows with their columns flush right, closer to each other where there is less room."""
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = console.width() - margin - sum(wide)
    gap = next((gap for gap in _GAPS if gap * (len(wide) - 1) <= room), _GAPS[-1])
    for row in rows:
        yield " " * margin + (" " * gap).join(f"{cell:>{size}}" for cell, size in zip(row, wide, strict=True))
