"""Cuts a stream of bytes into pieces of whole lines, in constant memory."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

_SIZE: Final = 131_072
"""Bytes of a piece: what is worked over several times stays in the processor's cache."""
LONGEST: Final = 65_536
"""Bytes that are kept of a line that does not end: more than any message has."""

_REQUEST: Final = b" release: id "
"""What llama-server logs when a request is done, behind all that it says of it."""
_NEAR: Final = 4096
"""Bytes in front of the last newline in which the end of a request is looked for."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some lines, divided by newlines; the last one's own newline is not in `data`."""

    data: bytes
    ended: bool
    """Whether its last line had a newline: without one the log was cut there."""


def pieces(chunks: Iterable[bytes]) -> Iterator[Piece]:
    """Cut chunks of any size into pieces; of a line that fits in none, its beginning is kept."""
    left = b""
    for part in _parts(chunks):
        end = _end(part)
        if end < 0:
            left += part[: LONGEST - len(left)] if len(left) < LONGEST else b""
            continue
        yield Piece(_joined(left, part, end), ended=True)
        left = part[end + 1 : end + 1 + LONGEST]
    whole, newline, last = left.rpartition(b"\n")
    if newline:
        yield Piece(whole, ended=True)
    if last:
        yield Piece(last, ended=False)


def _end(part: bytes) -> int:
    """The newline to cut at: behind a request, so that its lines stay together, or else the last one; -1 for none."""
    last = part.rfind(b"\n")
    request = part.rfind(_REQUEST, max(0, last - _NEAR), last)
    return last if request < 0 else part.find(b"\n", request)


def _joined(left: bytes, part: bytes, end: int) -> bytes:
    """What was left over and the lines that end in `part`; the middle of a line that is too long is left out."""
    if len(left) < LONGEST:
        return left + part[:end]
    return left + part[part.find(b"\n") : end]


def _parts(chunks: Iterable[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        if len(chunk) <= _SIZE:
            yield chunk
        else:
            for start in range(0, len(chunk), _SIZE):
                yield chunk[start : start + _SIZE]
