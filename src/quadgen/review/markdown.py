"""A review as Markdown for the comment of a merge request, whatever a fleet puts into it.

Every value stands in a code span, where neither Markdown nor HTML nor a mention means anything (CommonMark 0.31, 6.1),
and quadgen's own words hold nothing that does. A table would break at a pipe, so there is none.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from quadgen.review.change import Review
from quadgen.review.words import Line, Paragraph, Value, heading, paragraphs, summary

MOST: Final = 65_536
"""Characters of a comment on GitHub, which takes the least (GitLab and Forgejo take more)."""
_ROOM: Final = 2_000
"""Characters kept for the head and for what says that something was left out."""
_VALUE: Final = 400
"""Characters of one value."""
_UNFOLDED: Final = 12
"""Lines that a paragraph shows without being opened."""
_WORDS: Final = {"~ ": "changed ", "+ ": "added ", "- ": "removed "}
_ticks = re.compile(r"`+").findall


def markdown(review: Review) -> str:
    """The whole comment, of at most `MOST` bytes; what finds no room is counted."""
    head = f"### quadgen plan: {summary(review)}\n\n{_line(heading(review))}\n"
    found, room, missing = [head], MOST - _ROOM - len(head.encode()), 0
    for paragraph in paragraphs(review):
        for block in (_block(paragraph), _head(paragraph)):
            size = len(block.encode()) + 1
            if size <= room:
                found.append(block)
                room -= size
                break
        else:
            missing += 1
    if missing:
        what = "1 paragraph" if missing == 1 else f"{missing} paragraphs"
        found.append(f"**Left out: {what}**, for which a comment has no room. `quadgen plan` prints everything.\n")
    return "\n".join(found)


def _block(paragraph: Paragraph) -> str:
    """A paragraph with its lines as a list, which has to be opened where it is long."""
    shown, rest = paragraph.lines[:_UNFOLDED], paragraph.lines[_UNFOLDED:]
    if len(rest) == 1:
        shown, rest = paragraph.lines, ()
    parts = [f"{_titled(paragraph)}\n", *(["\n"] if shown else []), *_list(shown)]
    if rest:
        parts += [f"\n<details><summary>{len(rest)} more</summary>\n\n", *_list(rest), "\n</details>\n"]
    return "".join(parts)


def _head(paragraph: Paragraph) -> str:
    """A paragraph without its lines."""
    return f"{_titled(paragraph)} ({len(paragraph.lines)} lines are left out)\n"


def _titled(paragraph: Paragraph) -> str:
    head = _line(paragraph.head)
    return f"{_SIGNS[paragraph.sign]}**{head}**" if paragraph.sign in _SIGNS else head


_SIGNS: Final = {"!": "❌ ", "-": "➖ ", "~": "✏️ ", "+": "➕ "}  # noqa: RUF001 - a sign that shows, not a minus


def _list(lines: Sequence[Line]) -> Iterator[str]:
    return (f"- {_line(_told(line))}\n" for line in lines)


def _told(line: Line) -> Line:
    """A line whose sign would begin another list."""
    first, *others = line
    return (_WORDS.get(first[:2], first[:2]) + first[2:], *others)


def _line(parts: Iterable[str]) -> str:
    return "".join(code(part) if isinstance(part, Value) else part for part in parts)


def code(value: str) -> str:
    """A value as a code span that shows each of its characters, and ends where it does."""
    shown = visible(value if len(value) <= _VALUE else f"{value[:_VALUE]}…")
    fence = "`" * (1 + max(map(len, _ticks(shown)), default=0))
    # one blank inside each end goes with the span's own marks, where both are there and something else is
    pad = " " if shown[:1] in ("`", " ", "") or shown[-1:] in ("`", " ") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def visible(text: str) -> str:
    """Text whose characters all show: no line break ends a list, nothing turns a line around."""
    return text if text.isprintable() else "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
