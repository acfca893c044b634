"""Which lines of a log say something, and which of them says why a server ended or does not speculate."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from quadgen.log_lines import LONGEST, bare
from quadgen.server_log.arguments import ARGUMENTS
from quadgen.server_log.ending import ENDING
from quadgen.server_log.machine import MACHINE
from quadgen.server_log.models import MODELS
from quadgen.server_log.speculating import SPECULATING
from quadgen.server_log.wording import Depth, Marks, Severity, Wording

WORDINGS: Final = (*ARGUMENTS, *SPECULATING, *MODELS, *MACHINE, *ENDING)
"""All that is known. Of two that fit a line, the earlier one counts: the more telling one stands first."""
LONGEST_VALUE: Final = 300
"""Characters of a flag, a file or a reason that a message quotes."""

_HEAD: Final = (
    r"(?:(?:error loading model(?: \w+)?|failed to initialize (?:the|speculative decoding) context"
    r"|(?:[a-z]{2,5} +)?[\w.@\\~<>:-]+(?:\(\))?): +){0,4}"
)
"""What stands before the words: the part of the server, functions, a unit, and errors that quote an error."""
_PLACE: Final = r"(?P<file>[^:]*+)(?=:\d++: )(?:(?<=\.[cmh])|(?<=\.(?:cc|cu|mm))|(?<=\.(?:cpp|cuh|hpp))):(?P<at>\d++): "
_SHORT: Final = 512
"""Characters of words that are worth remembering."""
_GROUP: Final = re.compile(r"\(\?P<\w+>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What one line says."""

    kind: str
    """A slug that stays the same whatever a build words it like."""
    severity: Severity
    message: str
    """A sentence for people, with the flag, the file or the number that the line names."""
    hint: str
    """What to do about it, or empty."""
    line: int
    """Its number in the log, from 1."""
    text: str
    """The line without its end, and no more of it than is read."""


def events(lines: Iterable[str]) -> Iterator[Event]:
    """Recognise what the lines of a log say, in their order; lines of which nothing is known are passed over.

    Plain logs of llama-server, those of `--log-jsonl`, and both with what a journal, Podman or a router puts in
    front; also what systemd and the kernel say of the process in the same journal. One line is at most one event.
    Nothing is raised, whatever a line holds, and the work for a line is bounded.
    """
    for event, _ in _told(lines):
        yield event


def event(words: str) -> Event | None:
    """Recognise the words of one line, as `log_lines.bare` leaves them; its number is 0, and its text these words."""
    return _known(words) if len(words) <= _SHORT else _known.__wrapped__(words)


@lru_cache(maxsize=1024)
def _known(words: str) -> Event | None:
    """What a server that starts says is mostly what it said before."""
    wording = _wording(words)
    return None if wording is None else _event(wording, words, 0, words)


def cause(lines: Iterable[str]) -> Event | None:
    """Return the event that says why a server ended or does not speculate; None where no line says so.

    A journal may hold several runs: the newest one counts, and until it has said how it went, the one before. What a
    server survived (it listens after all) is no cause. Of several events that are, the one that ends the server goes
    first, then the one that is nearest to the reason, then the earliest.
    """
    before: Event | None = None
    told: list[tuple[Event, Wording]] = []
    for event, wording in _told(lines):
        if wording.marks is Marks.RUN:
            before = _decisive(told) or before
            told = []
        elif wording.marks is Marks.RECOVERY:
            told = [each for each in told if each[0].severity is not Severity.FATAL]
            before = None
        told.append((event, wording))
    return _decisive(told) or before


def _decisive(told: list[tuple[Event, Wording]]) -> Event | None:
    decisive = [each for each in told if each[0].severity in {Severity.FATAL, Severity.NOT_SPECULATING}]
    return min(decisive, key=_order)[0] if decisive else None


def _order(told: tuple[Event, Wording]) -> tuple[bool, Depth, int]:
    event, wording = told
    return event.severity is not Severity.FATAL, wording.depth, event.line


def _told(lines: Iterable[str]) -> Iterator[tuple[Event, Wording]]:
    for number, line in enumerate(lines, 1):
        words = bare(line)
        wording = _wording(words)
        if wording is not None:
            yield _event(wording, words, number, line), wording


def _wording(words: str) -> Wording | None:
    found = _recogniser().match(words)
    return WORDINGS[int(found.lastgroup[1:])] if found is not None and found.lastgroup is not None else None


def _event(wording: Wording, words: str, number: int, line: str) -> Event:
    found = _captures(wording).match(words)
    named = {name: _shown(value) for name, value in found.groupdict("").items()} if found else {}
    return Event(
        kind=wording.kind,
        severity=wording.severity,
        message=wording.message.format_map(named),
        hint=wording.hint.format_map(named),
        line=number,
        text=line[:LONGEST].rstrip("\r\n"),
    )


def _shown(value: str) -> str:
    """A captured text as a message can quote it: short, and without what would move a cursor."""
    short = value if len(value) <= LONGEST_VALUE else f"{value[:LONGEST_VALUE]}…"
    return short if short.isprintable() else short.encode("unicode_escape").decode("ascii")


@cache
def _recogniser() -> re.Pattern[str]:
    """All wordings at once; the empty group behind each names it.

    It stands behind and not around, because a literal at the front is what makes an alternative cheap to rule out.
    """
    named = [
        (each.located, f"{_GROUP.sub('(?:', each.pattern)}(?P<w{number}>)") for number, each in enumerate(WORDINGS)
    ]
    plain = "|".join(pattern for located, pattern in named if not located)
    behind = "|".join(pattern for located, pattern in named if located)
    return re.compile(f"{_HEAD}(?:{plain}|{_GROUP.sub('(?:', _PLACE)}(?:{behind}))")


@cache
def _captures(wording: Wording) -> re.Pattern[str]:
    return re.compile(f"{_HEAD}{_PLACE if wording.located else ''}(?:{wording.pattern})")
