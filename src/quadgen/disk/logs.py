"""The log of a server, read by several processes at once where it is a large file; what it says is the same."""

import os
import signal
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
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
    from multiprocessing.process import BaseProcess

SPAN: Final = 16 * 2**20
"""Bytes that a process reads at a time."""
_FEW: Final = 4
"""Spans of a file that is worth several processes."""
_MOST: Final = 4
"""Processes: more of them wait for the one that adds up."""

_PORTION: Final = 512
"""Things found that a process hands over at once: what it found in a span may be more than memory."""

_Span = tuple[int, int | None]
"""The bytes in which a line must begin to be of the span; None is the end of the file."""
_Portion = list[Digest | Piece]
_Wire = _Portion | OSError | None
"""What a process sends: portions, None behind those of a span, or why it cannot read it."""


def read(name: str, chunks: Iterable[bytes], *, span: int = SPAN) -> LogRead:
    """Read the log `name`, whose bytes are `chunks`; a large file is opened by its name, and `chunks` are left alone.

    The name `-` is that of standard input, and never of a file. Raises as `read_log` does, and `Unavailable`.
    """
    workers = min(_MOST, len(os.sched_getaffinity(0))) if sys.platform == "linux" else 1
    if workers == 1 or _size(name) < _FEW * span:
        return read_log(name, chunks)
    with _opened(name) as file:  # once, for all: another file may have its name before the last span is read
        size = os.fstat(file.fileno()).st_size
        starts = range(0, max(size, 1), span)
        spans: list[_Span] = [(start, start + span if start + span < size else None) for start in starts]
        try:
            at_work = _Readers(file.fileno(), spans, workers)
        except OSError:  # no process can be started here, or no pipe
            return read_log(name, chunks)
        with closing(at_work):
            found = added(name, at_work.portions(name))
        if os.fstat(file.fileno()).st_size < size:
            raise Unavailable(f"cannot read {shown(name)}: it was cut off while it was read")
        return found


def _size(name: str) -> int:
    """Bytes of a regular file; 0 of anything else, which can be read only once."""
    if name == "-":
        return 0
    try:
        found = Path(name).stat()
    except (OSError, ValueError):
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def _opened(name: str) -> FileIO:
    try:
        return Path(name).open("rb", buffering=0)
    except OSError as error:
        raise unavailable("read", name, error) from error


class _Readers:
    """Processes of which each reads every so manyth span, and waits while nobody takes what it found."""

    def __init__(self, file: int, spans: list[_Span], workers: int) -> None:
        """Start them. Raises `OSError` where that cannot be done; none is left behind then."""
        import multiprocessing  # noqa: PLC0415 - costs time, and only a large file needs it

        context = multiprocessing.get_context("fork")
        self._spans = spans
        self._receivers: list[Connection] = []
        self._processes: list[BaseProcess] = []
        try:
            for first in range(workers):
                receiver, sender = context.Pipe(duplex=False)
                self._receivers.append(receiver)
                arguments = (file, spans[first::workers], sender, self._receivers)
                process = context.Process(target=_work, args=arguments, daemon=True)
                with closing(sender):
                    process.start()
                self._processes.append(process)
        except BaseException:
            self.close()
            raise

    def portions(self, name: str) -> Iterator[Digest | Piece]:
        """What the spans say, in their order. Raises `Unavailable`."""
        for number in range(len(self._spans)):
            receiver = self._receivers[number % len(self._receivers)]
            while (found := _taken(receiver, name)) is not None:
                yield from found

    def close(self) -> None:
        """End them, whatever they do."""
        for process in self._processes:
            process.kill()
            process.join()
        for receiver in self._receivers:
            receiver.close()


def _taken(receiver: "Connection", name: str) -> _Portion | None:
    try:
        found: _Wire = receiver.recv()
    except (EOFError, OSError):
        raise Unavailable(f"cannot read {shown(name)}: a process that read it was killed") from None
    if isinstance(found, OSError):
        raise unavailable("read", name, found)
    return found


def _work(file: int, spans: list[_Span], sender: "Connection", receivers: "list[Connection]") -> None:
    """Read spans, until there is nobody left to send them to."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all of a terminal, and the one that waits ends these
    for receiver in receivers:  # while one of these is open anywhere, a write to it waits
        receiver.close()
    try:
        for span in spans:
            for portion in _read(file, span):
                sender.send(portion)
    except BrokenPipeError:
        return


def _read(file: int, span: _Span) -> Iterator[_Wire]:
    found: list[Digest] = []
    try:
        for part in digests(_chunks(file, *span)):
            if isinstance(part, Piece):
                yield [joined(found), part]
                found = []
                continue
            found.append(part)
            if sum(len(each.found) for each in found) >= _PORTION:
                yield [joined(found)]
                found = []
    except OSError as error:
        yield error
        return
    yield [joined(found)]
    yield None


def _chunks(file: int, start: int, end: int | None) -> Iterator[bytes]:
    """The lines that begin from `start` on and before `end`, whole."""
    at = _line_from(file, start, end)
    while at is not None and (block := os.pread(file, PIECE, at)):
        ends = -1 if end is None or at + len(block) < end else block.find(b"\n", max(0, end - 1 - at))
        yield block if ends < 0 else block[: ends + 1]
        at = None if ends >= 0 else at + len(block)


def _line_from(file: int, start: int, end: int | None) -> int | None:
    """Where the first line begins from `start` on; None where none does before `end`."""
    if not start:
        return 0
    at = start - 1
    while (end is None or at + 1 < end) and (block := os.pread(file, PIECE, at)):
        found = block.find(b"\n")
        if found >= 0:
            return at + found + 1 if end is None or at + found + 1 < end else None
        at += len(block)
    return None
