"""The log of a server, read by several processes at once where it is a large file; what it says is the same."""

import os
import signal
import stat
import sys
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from quadgen.disk.pieces import PIECE
from quadgen.disk.reading import unavailable
from quadgen.observed.log import LogRead, added, read_log
from quadgen.observed.log_digest import Digest, digests, joined
from quadgen.observed.log_pieces import Piece
from quadgen.ownership import shown
from quadgen.problems import Unavailable

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

SPAN: Final = 16 * 2**20
"""Bytes that a process reads at a time."""
_FEW: Final = 4
"""Spans of a file that is worth several processes."""
_MOST: Final = 4
"""Processes: more of them wait for the one that adds up."""

_Span = tuple[str, int, int | None]
"""A file, and the bytes in which a line must begin to be of the span; None is the end of the file."""


def read(name: str, chunks: Iterable[bytes], *, span: int = SPAN) -> LogRead:
    """Read the log `name`, whose bytes are `chunks`; a large file is opened by its name, and `chunks` are left alone.

    The name `-` is that of standard input, and never of a file.

    Raises as `read_log` does, and `Unavailable`.
    """
    workers = min(_MOST, len(os.sched_getaffinity(0))) if sys.platform == "linux" else 1
    size = _size(name)
    if workers == 1 or size < _FEW * span:
        return read_log(name, chunks)
    starts = range(0, size, span)
    spans: list[_Span] = [(name, start, start + span if start + span < size else None) for start in starts]
    return added(name, _at_once(spans, workers))


def _size(name: str) -> int:
    """Bytes of a regular file; 0 of anything else, which can be read only once."""
    if name == "-":
        return 0
    try:
        found = Path(name).stat()
    except (OSError, ValueError):
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def _at_once(spans: list[_Span], workers: int) -> Iterator[Digest | Piece]:
    """What the spans say, in their order. Each process reads every so manyth, and waits while nobody takes the next."""
    import multiprocessing  # noqa: PLC0415 - costs time, and only a large file needs it

    context = multiprocessing.get_context("fork")
    receivers: list[Connection] = []
    processes = []
    try:
        for first in range(workers):
            receiver, sender = context.Pipe(duplex=False)
            receivers.append(receiver)
            arguments = (spans[first::workers], sender, receivers)
            processes.append(context.Process(target=_work, args=arguments, daemon=True))
            processes[-1].start()
            sender.close()
        for number in range(len(spans)):
            yield from _taken(receivers[number % workers], spans[number])
    finally:
        for process in processes:
            if process.pid is not None:
                process.kill()
                process.join()
        for receiver in receivers:
            receiver.close()


def _taken(receiver: "Connection", span: _Span) -> list[Digest | Piece]:
    try:
        found: list[Digest | Piece] | OSError = receiver.recv()
    except (EOFError, OSError):
        raise Unavailable(f"cannot read {shown(span[0])}: a process that read it was killed") from None
    if isinstance(found, OSError):
        raise unavailable("read", span[0], found)
    return found


def _work(spans: list[_Span], sender: "Connection", receivers: "list[Connection]") -> None:
    """Read spans, until there is nobody left to send them to."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all of a terminal, and the one that waits ends these
    for receiver in receivers:  # while one of these is open anywhere, a write to it waits
        receiver.close()
    for span in spans:
        found: list[Digest | Piece] | OSError
        try:
            found = _read(span)
        except OSError as error:
            found = error
        try:
            sender.send(found)
        except OSError:
            return


def _read(span: _Span) -> list[Digest | Piece]:
    parts = list(digests(_chunks(*span)))
    whole = [part for part in parts if isinstance(part, Digest)]
    return [joined(whole), *(part for part in parts if isinstance(part, Piece))]


def _chunks(name: str, start: int, end: int | None) -> Iterator[bytes]:
    """The lines that begin from `start` on and before `end`, whole."""
    with Path(name).open("rb", buffering=0) as file:
        at = _line_from(file, start, end)
        if at is None:
            return
        file.seek(at)
        while block := file.read(PIECE):
            ends = -1 if end is None or at + len(block) < end else block.find(b"\n", max(0, end - 1 - at))
            yield block if ends < 0 else block[: ends + 1]
            if ends >= 0:
                return
            at += len(block)


def _line_from(file: FileIO, start: int, end: int | None) -> int | None:
    """Where the first line begins from `start` on; None where none does before `end`."""
    if not start:
        return 0
    at = start - 1
    file.seek(at)
    while (end is None or at + 1 < end) and (block := file.read(PIECE)):
        found = block.find(b"\n")
        if found >= 0:
            return at + found + 1 if end is None or at + found + 1 < end else None
        at += len(block)
    return None
