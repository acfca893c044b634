"""What both arms of a measurement are asked: the texts that come with quadgen, or a file of one's own.

Each is the beginning of a document, not a message, so that a base model goes on as an instruct model does.
"""

import pkgutil
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from hashlib import sha256
from math import ceil
from typing import Final, NamedTuple

from quadgen.agreeing.prompts import prompts
from quadgen.engines.drafters import lookups
from quadgen.problems import Place, Problem, Rejected
from quadgen.resolve.bringing import OWN_WORKLOADS

SHIPPED: Final = OWN_WORKLOADS
"""Names of `data/workloads`, in the order in which they are asked."""
_TEXTS: Final = 3
"""Of each shipped workload, in files NAME-1.txt and so on."""
_SLUG: Final = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*")
"""A name that a ledger takes for a workload, see `evidence.reading`."""
_MARK: Final = "\n---\n"
"""Between the sections of a shipped file."""
_BYTES: Final = 2.5
"""UTF-8 bytes that a token has at least, on average over a text. Counted with the 32,000 tokens of Mistral 7B
(tokenizer.model.v1 of mistral-common 1.13.1), a small vocabulary: the shipped code and prose have 2.56 or more."""
_PLAIN: Final = 3.75
"""The same for the plain English of `copy`, of which they have 3.81 or more."""
_SPARE: Final = 8
"""Tokens of a context that are left alone: what a tokenizer puts around a prompt, and the step after the last."""
_MONTHS: Final = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
                  "November", "December")  # fmt: skip
_FIRST: Final = date(1987, 1, 5)
_STEP: Final = timedelta(days=37)
_LATE: Final = 999
"""A round whose line is as long as they get."""
_BEGUN: Final = 12
"""Words of a copy that are there already."""


class Size(NamedTuple):
    """One text at one length."""

    text: str
    tokens: int
    """That can be written before what it asks for is done, at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Texts that take turns, under the name that a row gives them."""

    name: str
    texts: tuple[str, ...]
    """At least one; what is asked but for the line that makes a round's prompt its own."""
    sizes: tuple[tuple[Size, ...], ...] = ()
    """Every length of each text, the longest first; empty where they cannot be cut."""
    token: float = _BYTES
    """UTF-8 bytes that a token has at least, on average."""
    file: str | None = None
    """Where they were read; None for those that come with quadgen."""
    sha256: str = field(init=False)
    """Of the texts as they are asked, in order: each in UTF-8 with a zero byte behind it. Lower-case hex."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sha256", sha256(b"".join(text.encode() + b"\0" for text in self.texts)).hexdigest())

    def prompt(self, round: int) -> str:  # noqa: A002 - what a turn calls it
        """What both arms are asked in a round, from 0: a dated line that no other round has, and the text.

        The line comes first, so that a cache of prompts has nothing to give beyond it.
        """
        return _dated(round) + self.texts[round % len(self.texts)]


class _Form(NamedTuple):
    """How the files of a shipped workload become texts."""

    pieces: Callable[[Sequence[str]], Sequence[str]]
    """The pieces of what can be cut at its end, from the sections of a file."""
    text: Callable[[Sequence[str], Sequence[str]], str]
    """The text, from the sections and the pieces that are kept."""
    begun: Callable[[Sequence[str]], str]
    """What the text has of its answer already, from the sections."""
    written: float
    """Bytes of the pieces that a token of the answer stands for, at most, so that the answer ends before the pieces do.

    With the 262,144 tokens of Gemma 3, a large vocabulary, the copies have up to 4.43 bytes a token and the code 3.85;
    of the French, 5.1 to 5.7 stand for a token of the English that the prompts begin with.
    """
    token: float


def usual(types: Sequence[str]) -> str:
    """The workload that drafters of these types are for, where nobody says."""
    return "copy" if len(lookups(types)) == len(types) else "prose"


def shipped(names: Sequence[str] = SHIPPED) -> tuple[Workload, ...]:
    """The shipped workloads of these names, at their full length. Raises `KeyError` for a name that is none."""
    return tuple(_shipped(name, _FORMS[name]) for name in names)


def read(name: str, file: str, data: bytes) -> Workload:
    """A file of one's own: prompts as `agreeing.prompts` reads them, which take turns.

    Raises `Rejected` with the code `unreadable-prompts` for a file that holds none, and for a name that no row can
    have.
    """
    if not _SLUG.fullmatch(name):
        problem = Problem(
            code="unreadable-prompts",
            message=f"{name!r} is no name of a workload",
            hint="lower-case letters, digits and dashes, such as support-chat",
        )
        raise Rejected([problem])
    return Workload(name=name, texts=tuple(each.text for each in prompts(file, data)), file=file)


def fitted(workload: Workload, *, context: int, tokens: int) -> Workload:
    """The longest of its texts with which a prompt and `tokens` more fit into a context of so many tokens.

    How many tokens a text has is estimated from its bytes, rather too many than too few: see `_BYTES`. Raises
    `Rejected` with the code `workload-too-long` where not even the shortest fit.
    """
    sizes = workload.sizes or tuple((Size(text, tokens),) for text in workload.texts)
    going = [[size.text for size in each if size.tokens >= tokens] for each in sizes]
    if not all(going):
        most = min(max(size.tokens for size in each) for each in sizes)
        raise Rejected([_wrong(workload, f"its texts go on for {most} tokens, and {tokens} are asked for")])
    room = context - tokens - _SPARE
    found = [next((text for text in each if _tokens(text, workload.token) <= room), None) for each in going]
    texts = tuple(text for text in found if text is not None)
    if len(texts) < len(found):
        least = max(_tokens(each[-1], workload.token) for each in going) + tokens + _SPARE
        why = f"with {tokens} tokens of an answer it may need {least} tokens, and the context has {context}"
        raise Rejected([_wrong(workload, why)])
    return replace(workload, texts=texts)


def _tokens(text: str, token: float) -> int:
    """Tokens of a prompt, rather too many."""
    return ceil(len((_dated(_LATE) + text).encode()) / token)


def _wrong(workload: Workload, why: str) -> Problem:
    own = workload.file is not None
    return Problem(
        code="workload-too-long",
        message=f"{workload.name} cannot be measured: {why}",
        place=Place(file=workload.file, line=1, column=1, text="") if workload.file is not None else None,
        hint="fewer --tokens, a larger context, or "
        + ("shorter texts" if own else "texts of your own with --workload NAME=FILE"),
    )


def _dated(number: int) -> str:
    day = _FIRST + _STEP * number
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}, no. {number + 1}\n\n"


def _shipped(name: str, form: _Form) -> Workload:
    files = [
        (pkgutil.get_data("quadgen", f"data/workloads/{name}-{number}.txt") or b"").decode().strip().split(_MARK)
        for number in range(1, _TEXTS + 1)
    ]
    sizes = tuple(tuple(_sizes(form, sections)) for sections in files)
    return Workload(name=name, texts=tuple(each[0].text for each in sizes), sizes=sizes, token=form.token)


def _sizes(form: _Form, sections: Sequence[str]) -> Iterator[Size]:
    pieces = form.pieces(sections)
    begun = len(form.begun(sections).encode())
    for count in range(len(pieces), 0, -1):
        left = sum(len(piece.encode()) for piece in pieces[:count]) - begun
        if left > 0:
            yield Size(form.text(sections, pieces[:count]), int(left / form.written))


def _translated(sections: Sequence[str], lines: Sequence[str]) -> str:
    """Prose that no prompt holds, led by a text in another language.

    The numbers keep a small model at its place: without them it skips sentences, and then says the same again.
    """
    language, _, first = sections
    numbered = "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))
    return f"{language}:\n\n{numbered}\n\nEnglish:\n\n1. {first}\n2."


def _edited(sections: Sequence[str], blocks: Sequence[str]) -> str:
    """A file, how it shall change, and the beginning of it changed."""
    _, change, after = sections
    before = "\n\n".join(blocks)
    return f"Before:\n\n{before}\n\nChange: {change}\n\nAfter:\n\n{after}\n"


def _copied(sections: Sequence[str], paragraphs: Sequence[str]) -> str:
    """A text, and the beginning of the same."""
    return "\n\n".join([*paragraphs, "The same text again, word for word:", _words(sections)])


def _last(sections: Sequence[str]) -> str:
    return sections[-1]


def _words(sections: Sequence[str]) -> str:
    return " ".join(sections[0].split(" ")[:_BEGUN])


_FORMS: Final = {
    "prose": _Form(lambda sections: sections[1].split("\n"), _translated, _last, written=5.7, token=_BYTES),
    "code-edit": _Form(lambda sections: sections[0].split("\n\n"), _edited, _last, written=4.2, token=_BYTES),
    "copy": _Form(lambda sections: sections[0].split("\n\n"), _copied, _words, written=4.6, token=_PLAIN),
}
