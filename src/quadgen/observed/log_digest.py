"""What pieces of a log say, each by itself: several can be read at the same time, and are added up in their order."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from quadgen.log_lines import bare, child
from quadgen.observed import halogen_lines, llama_lines
from quadgen.observed.halogen_lines import Accounted
from quadgen.observed.llama_lines import Said, Statistics, Unreadable
from quadgen.observed.log_blocks import Read, blocks
from quadgen.observed.log_pieces import LONGEST, Piece, pieces
from quadgen.observed.log_run import RECENT
from quadgen.observed.log_shapes import KINDS, Shapes
from quadgen.server_log import Event, event

_KEPT: Final = 4096
"""Characters of a line: more than a message shows of it."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that says something, or begins as if it did."""

    at: int
    """How many lines stand before it."""
    found: Said | Accounted | Event | None
    """None of one that has no counts that make sense."""
    text: str = ""
    """The line, of an event and where nothing was found: a log may have more of the others than memory."""


@dataclass(frozen=True, slots=True)
class Digest:
    """What some whole lines say."""

    lines: int
    """How many there are."""
    found: list[Read | Line]
    """Requests together, and lines apart, in the order of the log."""


def digests(chunks: Iterable[bytes]) -> Iterator[Digest | Piece]:
    """Read a log piece by piece; a last line without an end comes as it is."""
    known = Shapes()
    for piece in pieces(chunks):
        yield _digest(piece.data, known) if piece.ended else piece


def joined(parts: Iterable[Digest]) -> Digest:
    """Several that follow each other as one; of requests the newest are kept as far as anybody will ask for them."""
    lines, found = 0, list[Read | Line]()
    for part in parts:
        for each in part.found:
            if isinstance(each, Line):
                found.append(replace(each, at=lines + each.at))
            elif found and not isinstance(before := found[-1], Line) and len(each[2].keys) >= RECENT:
                before[0].add(each[0])
                before[1].add(each[1])
                found[-1] = (before[0], before[1], replace(each[2], last=each[2].last or before[2].last))
            else:
                found.append(each)
        lines += part.lines
    return Digest(lines, found)


def said(words: str) -> Said | Accounted | None:
    """Read the words of a line with counts. Raises `Unreadable`."""
    return llama_lines.said(words) or halogen_lines.accounted(words)


def text(line: bytes) -> str:
    """As much of a line as is looked at."""
    return line[:LONGEST].decode("utf-8", "replace")


def _digest(data: bytes, known: Shapes) -> Digest:
    lines, parts = blocks(data, known)
    found: list[Read | Line] = []
    for part in parts:
        if isinstance(part, tuple):
            found.append(part)
        else:
            found += (line for at, each in part if (line := _line(at, each, known)) is not None)
    return Digest(lines, found)


def _line(at: int, data: bytes, known: Shapes) -> Line | None:
    line = text(data)
    words = bare(line)
    try:
        found: Said | Accounted | Event | None = said(words)
    except Unreadable:
        return Line(at, None, line[:_KEPT])
    if isinstance(found, Statistics):
        return Line(at, replace(found, child=child(line)))
    if found is None:
        found = event(words)
        if found is None:
            known.hush(data)
        if found is None or found.kind not in KINDS:
            return None
        return Line(at, found, line[:_KEPT])
    return Line(at, found)
