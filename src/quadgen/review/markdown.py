"""A review as Markdown for the comment of a merge request, whatever a fleet puts into it.

Every value stands in a code span, where neither Markdown nor HTML nor a mention means anything (CommonMark 0.31, 6.1),
and quadgen's own words hold nothing that does. A table would break at a pipe, so there is none.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Final

from quadgen.review.change import Review
from quadgen.review.differing import Line, Value
from quadgen.review.words import Paragraph, count, heading, paragraphs, summary

MOST: Final = 65_000
"""Bytes of a comment. GitHub takes 65,536 characters, which is the least (GitLab and Forgejo take more); what posts it
has room for a mark of its own and the commit."""
_ROOM: Final = 1_500
"""Bytes kept for what says that something was left out."""
_VALUE: Final = 400
"""Characters of one value; of what is longer the digest tells whether it is the same."""
_UNFOLDED: Final = 12
"""Lines that a paragraph shows without being opened."""
_WORDS: Final = {"~ ": "changed ", "+ ": "added ", "- ": "removed "}
_ticks = re.compile(r"`+").findall


def markdown(review: Review) -> str:
    """The whole comment, of at most `MOST` bytes; what finds no room is counted."""
    head = f"### quadgen plan: {summary(review)}\n\n{_line(heading(review))}\n"
    found, room, missing = [head], MOST - _ROOM - len(head.encode()), Counter[str]()
    for paragraph in paragraphs(review):
        for block in (_block(paragraph), _head(paragraph)):
            size = len(block.encode()) + 1
            if size <= room:
                found.append(block)
                room -= size
                break
        else:
            missing[paragraph.sign] += 1
    if missing:
        what = ", ".join(count(missing[sign], word) for sign, word in _MISSING.items() if missing[sign])
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
    number = len(paragraph.lines)
    return f"{_titled(paragraph)} ({count(number, 'line')} {'is' if number == 1 else 'are'} left out)\n"


def _titled(paragraph: Paragraph) -> str:
    head = _line(paragraph.head)
    return f"{_SIGNS[paragraph.sign]}**{head}**" if paragraph.sign in _SIGNS else head


_SIGNS: Final = {"!": "❌ ", "-": "➖ ", "~": "✏️ ", "+": "➕ "}  # noqa: RUF001 - a sign that shows, not a minus
_MISSING: Final = {"!": "refusal", "-": "removal", "~": "change", "+": "addition", " ": "paragraph"}


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
    shown = visible(value if len(value) <= _VALUE else _cut(value))
    fence = "`" * (1 + max(map(len, _ticks(shown)), default=0))
    # one blank inside each end goes with the span's own marks, where both are there and something else is
    pad = " " if shown[:1] in ("`", " ", "") or shown[-1:] in ("`", " ") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def _cut(value: str) -> str:
    digest = sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{value[:_VALUE]}… ({len(value):,} characters, sha256 {digest}…)"


def visible(text: str) -> str:
    """Text whose characters all show: no line break ends a list, nothing turns a line around."""
    return text if text.isprintable() else "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
