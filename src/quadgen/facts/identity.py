"""Whether two tokenizers are one: each id is the same text, and a text is taken apart in the same way.

Drafts are ids, so that a drafter needs the first; the second tells a tokenizer from one that shares its tokens. What
llama.cpp asks instead is in `quadgen.facts.agreement`.
"""

from enum import StrEnum
from operator import ne
from typing import NamedTuple

from quadgen.facts.agreement import vocabulary_kind
from quadgen.facts.record import Vocabulary
from quadgen.gguf.tokens import Words


class Verdict(StrEnum):
    """What two tokenizers are to each other."""

    IDENTICAL = "identical"
    """Tokens, merges and pre-tokenizer are the same."""
    SAME_TOKENS = "same-tokens"
    """Each id is the same text; the merges or the pre-tokenizer differ."""
    PADDED = "equal-up-to-padding"
    """Each id is the same text but for what only fills the vocabulary up."""
    DIFFERENT = "different"


class Difference(NamedTuple):
    """An id with two texts; None where there is no such id."""

    id: int
    target: bytes | None
    draft: bytes | None


class Identity(NamedTuple):
    """What a comparison came to."""

    verdict: Verdict
    first: Difference | None
    """Of the lowest id; None where there is none."""
    differing: int
    """How many of the ids that both have are two texts."""
    pre: bool
    """Whether both split a text alike before they merge. Only a vocabulary of the type BPE asks `pre`."""
    merges: bool
    """Whether the merges are the same."""


def identity(target: Vocabulary, draft: Vocabulary, read: tuple[Words, Words]) -> Identity:
    """Compare two tokenizers, whose words were `read` in the same order."""
    ours, theirs = (words.tokens for words in read)
    first, differing = _compared(ours, theirs)
    kinds = vocabulary_kind(target), vocabulary_kind(draft)
    pre = "BPE" not in kinds or _splitting(target) == _splitting(draft)
    merges = read[0].merges == read[1].merges
    real = target.size - target.padding
    if kinds[0] != kinds[1]:
        verdict = Verdict.DIFFERENT  # the same bytes stand for two texts: a blank is `▁` here and `Ġ` there
    elif first is None:
        verdict = Verdict.IDENTICAL if pre and merges else Verdict.SAME_TOKENS
    elif real == draft.size - draft.padding and ours[:real] == theirs[:real]:
        verdict = Verdict.PADDED
    else:
        verdict = Verdict.DIFFERENT
    return Identity(verdict, first, differing, pre, merges)


def _splitting(vocabulary: Vocabulary) -> str:
    """The pre-tokenizer of a BPE vocabulary (src/llama-vocab.cpp:2179, :2189 of b11434)."""
    return "gemma4" if vocabulary.model == "gemma4" else vocabulary.pre or "default"


def _compared(ours: list[bytes], theirs: list[bytes]) -> tuple[Difference | None, int]:
    """The first difference, and how many there are below the shorter length."""
    if ours == theirs:
        return None, 0
    odd = list(map(ne, ours, theirs))
    at = odd.index(True) if True in odd else len(odd)
    return Difference(at, *(each[at] if at < len(each) else None for each in (ours, theirs))), sum(odd)
