"""Whether two running models have the same tokens, id by id, as far as a server tells.

A draft is a list of ids, so an id has to mean the same to both. A server turns ids into text, with what is no UTF-8
replaced, and a text of several ids does not show where one ends: so a mark stands between every two, and the bytes of
those that were replaced are asked for.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from quadgen.facts.agreement import TOLERANCE, UNCOMPARED
from quadgen.gguf.tape import MOST as TAPE

MARK: Final = "⟦|⟧"
"""What stands between two tokens; hardly a part of any."""
CHUNK: Final = 8192
"""Ids of a request."""
RAW: Final = 1024
"""Ids of a request for bytes."""
MOST: Final = TAPE // 16
"""Tokens of a vocabulary. In the header of a model each takes 8 bytes for its length, 4 for its type and some text, and
of more quadgen reads no header either; Gemma 3, whose vocabulary is a large one, has a sixteenth of that."""
_REPLACED: Final = "\ufffd"

First = tuple[int, str, str]
"""An id that differs, and what it is in the target and in the drafter, fit to be shown."""


class Reads(Protocol):
    """What a model's server knows of its tokens."""

    def ids(self, text: str) -> tuple[int, ...]:
        """The tokens of a text, nothing put before or after it."""

    def text(self, ids: Sequence[int]) -> str:
        """What ids of the vocabulary say, special ones as their names; bytes that are no text are replaced."""

    def raw(self, ids: Sequence[int]) -> Mapping[int, bytes]:
        """The bytes of each, at most `RAW` of them; without those that the server does not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Two vocabularies, target and drafter."""

    sizes: tuple[int, int]
    kinds: tuple[int | None, int | None]
    """The type of each as llama.cpp numbers them (llama_vocab_type, include/llama.h); None where it is not said."""
    differing: tuple[int, ...] = ()
    """Ids that both have, with another meaning."""
    first: First | None = None
    """The first of these from `UNCOMPARED` on, else the first of all."""
    unread: int = 0
    """Ids whose bytes a server did not tell, so that only their text was compared."""

    @property
    def same(self) -> bool:
        """Whether every id means the same to both, and both have all of them."""
        return self.sizes[0] == self.sizes[1] and not self.differing

    @property
    def refusal(self) -> str | None:
        """Why a draft of the one's is nothing to the other, as half a sentence; None where it is.

        The rule of llama.cpp for draft-simple (common/speculative.cpp:106-170 of b11434), and what it forgets: a
        token that only the drafter has ends the server.
        """
        ours, theirs = self.sizes
        if None not in self.kinds and self.kinds[0] != self.kinds[1]:
            return "they are tokenizers of two types"
        if abs(ours - theirs) > TOLERANCE:
            return f"the target has {ours} tokens and the drafter {theirs}"
        if self.first is not None and self.first[0] >= UNCOMPARED:
            at, mine, other = self.first
            more = f", the first of {len(self.differing)} that differ" if len(self.differing) > 1 else ""
            return f"token {at} is {mine} to the target and {other} to the drafter{more}"
        if theirs > ours:
            return f"the drafter has {theirs} tokens and the target only {ours}: a server ends at a draft of the others"
        return None

    @property
    def notes(self) -> Iterator[str]:
        """What else there is to say, in sentences without their end."""
        ours, theirs = self.sizes
        if theirs < ours:
            yield (
                f"the target has {ours} tokens and the drafter {theirs}: llama.cpp takes a difference of {TOLERANCE}, "
                f"and the server aborts at a request that holds one of the last {ours - theirs}"
            )
        early = [at for at in self.differing if at < UNCOMPARED]
        if early:
            yield (
                f"the two differ in {', '.join(f'token {at}' for at in early)}, of those below {UNCOMPARED} that "
                "llama.cpp does not compare: a draft that holds one means something else to the target"
            )
        if self.unread:
            are = "token that is" if self.unread == 1 else "tokens that are"
            yield f"the bytes of {self.unread} {are} no text alone are not told, and were not compared"


def compared(one: Reads, other: Reads, sizes: tuple[int, int], kinds: tuple[int | None, int | None]) -> Compared:
    """Compare all ids that both have, in a few requests for tens of thousands.

    Where types differ, or sizes by too much, nothing is asked.
    """
    if abs(sizes[0] - sizes[1]) > TOLERANCE or (None not in kinds and kinds[0] != kinds[1]):
        return Compared(sizes=sizes, kinds=kinds)
    marks = _mark(one), _mark(other)
    found: dict[int, tuple[str, str]] = {}
    odd: list[int] = []
    for start in range(0, min(sizes), CHUNK):
        ids = range(start, min(start + CHUNK, *sizes))
        mine, theirs = _texts(one, ids, *marks[0]), _texts(other, ids, *marks[1])
        for at, ours, others in zip(ids, mine, theirs, strict=True):
            if ours != others:
                found[at] = (_shown(ours), _shown(others))
            elif _REPLACED in ours:
                odd.append(at)
    unread = 0
    for start in range(0, len(odd), RAW):
        some = odd[start : start + RAW]
        ours_raw, others_raw = one.raw(some), other.raw(some)
        unread += sum(at not in ours_raw or at not in others_raw for at in some)
        for at in some:
            if at in ours_raw and at in others_raw and ours_raw[at] != others_raw[at]:
                found[at] = (_shown(ours_raw[at]), _shown(others_raw[at]))
    differing = tuple(sorted(found))
    first = next((at for at in differing if at >= UNCOMPARED), differing[0] if differing else None)
    return Compared(
        sizes=sizes, kinds=kinds, differing=differing, unread=unread,
        first=None if first is None else (first, *found[first]),
    )  # fmt: skip


def _mark(model: Reads) -> tuple[tuple[int, ...], str]:
    """What stands between two tokens, and how this model says it."""
    mark = model.ids(MARK)
    return mark, model.text(mark)


def _texts(model: Reads, ids: Sequence[int], mark: Sequence[int], shown: str) -> list[str]:
    """What each says by itself. `shown` is the text of `mark`."""
    pieces = model.text([each for at in ids for each in (at, *mark)]).split(shown) if shown else []
    if len(pieces) != len(ids) + 1 or pieces[-1]:  # a token holds the mark, or swallows it
        return [model.text([at]) for at in ids]
    return pieces[:-1]


def _shown(word: str | bytes) -> str:
    text = word if isinstance(word, str) else word.decode(errors="backslashreplace")
    return f'"{text[:40]}{"..." if len(text) > 40 else ""}"'  # noqa: PLR2004 - enough to tell them apart
