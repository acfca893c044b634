"""Reads the log of a server: what it drafted and accepted, and what the log proves of its speculation."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from quadgen.log_lines import bare
from quadgen.observed import halogen_lines, llama_lines
from quadgen.observed.counts import Counts
from quadgen.observed.halogen_lines import Accounted
from quadgen.observed.llama_lines import Said, Unreadable
from quadgen.observed.log_book import Book
from quadgen.observed.log_digest import Digest, Line, digests, said, text
from quadgen.observed.log_pieces import Piece
from quadgen.observed.state import Observation
from quadgen.problems import Place, Problem, Rejected
from quadgen.server_log import Event

_SHOWN: Final = 20
"""Lines that are reported; what is wrong with one is mostly wrong with all."""
_BEGINNING: Final = 20
"""Characters of a line's words by which their place in the line is found."""
_WIDTH: Final = 200
"""Characters of a line that are shown."""
_MESSAGE: Final = "this line begins like one with a server's counts, and has none that make sense"
_HINT: Final = "open an issue with this line and the build that logged it, or take the line out to have the others read"
_BROKEN: Final = "the last line is broken off, and was left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRead:
    """What a log says."""

    observation: Observation
    plain: Counts
    """Requests that drafted nothing: their time is that of the target alone."""
    drafting: Counts
    """Requests that drafted."""
    runs: int
    """Starts of a server that the log has something of."""
    lines: int
    cut: bool
    """Whether the last line was broken off, and lost."""


def read_log(name: str, chunks: Iterable[bytes]) -> LogRead:
    """Read a log, of a file or of standard input, in chunks of any size.

    Plain logs of llama-server, those of `--log-jsonl`, halogen's, and each with what a journal, Podman or a router
    puts in front. Memory is constant, whatever the bytes are. Raises `Rejected` with `unreadable-log` for each line
    that begins like one with counts and has none that make sense: that must not look as if nothing had been drafted.
    """
    return added(name, digests(chunks))


def added(name: str, parts: Iterable[Digest | Piece]) -> LogRead:
    """Add up the parts of a log, in their order. Raises as `read_log` does."""
    reader = _Reader(name)
    for part in parts:
        reader.take(part)
    return reader.result()


class _Reader:
    """What has been read so far."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._book = Book()
        self._problems: list[Problem] = []
        self._unshown = 0
        self._lines = 0
        self._cut = False

    def take(self, part: Digest | Piece) -> None:
        """Add a part."""
        if isinstance(part, Piece):
            self._lines += 1
            self._last(part.data)
            return
        for each in part.found:
            if isinstance(each, Line):
                self._line(self._lines + each.at + 1, each)
            else:
                self._book.run.several(*each)
        self._lines += part.lines

    def result(self) -> LogRead:
        """Return what the log says; raises `Rejected` with every line that cannot be read."""
        if self._problems:
            raise Rejected(self._reported())
        self._book.close()
        notes = self._book.notes + ((_BROKEN,) if self._cut else ())
        plain, drafting = self._book.plain, self._book.drafting
        state, reasons, more = self._book.verdict
        observation = Observation(
            source=self._name, engine=self._book.engine, state=state, reasons=reasons, total=self._book.total,
            drafters=self._book.drafters, draft_seconds=self._book.draft_seconds, notes=more + notes,
        )  # fmt: skip
        return LogRead(
            observation=observation, plain=plain, drafting=drafting, runs=self._book.runs, lines=self._lines,
            cut=self._cut,
        )  # fmt: skip

    def _line(self, number: int, line: Line) -> None:
        found = line.found
        if found is None:
            self._refuse(number, line.text, bare(line.text))
        elif isinstance(found, Event):
            self._book.note(found, number, line.text)
        else:
            self._book.say(found)

    def _last(self, data: bytes) -> None:
        """Read a line without an end: it counts where it is whole, and is no mistake where it is not."""
        words = bare(text(data))
        try:
            found = said(words)
        except Unreadable:
            found = None
        if found is not None and _whole(found, words):
            self._book.say(found)
            return
        self._cut = True

    def _refuse(self, number: int, line: str, words: str) -> None:
        if len(self._problems) == _SHOWN:
            self._unshown += 1
            return
        shown = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in line[:_WIDTH].rstrip())
        column = max(0, shown.find(words[:_BEGINNING]))
        place = Place(file=self._name, line=number, column=column + 1, length=len(shown) - column, text=shown)
        self._problems.append(
            Problem(code="unreadable-log", message=_MESSAGE, file=self._name, place=place, hint=_HINT)
        )

    def _reported(self) -> list[Problem]:
        if not self._unshown:
            return self._problems
        *others, last = self._problems
        return [*others, replace(last, notes=(f"and {self._unshown} more such lines",))]


def _whole(found: Said | Accounted, words: str) -> bool:
    return halogen_lines.whole(words) if isinstance(found, Accounted) else llama_lines.whole(words)
