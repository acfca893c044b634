"""Whether one vocabulary can draft for another, decided from their digests: what llama.cpp asks, and what it forgets.

The rule is `common_speculative_are_compatible` (common/speculative.cpp:106-170 of b11434, the same in b10435), which
asks only draft-simple; what it forgets is that the two lists must be equally long. Seen on a real server
(tests/real/test_real_pairing.py).
"""

from collections.abc import Iterator
from typing import Final

from quadgen.facts.objection import Objection
from quadgen.facts.record import Vocabulary
from quadgen.problems import Severity

TOLERANCE: Final = 128
"""By so many tokens may the sizes differ (SPEC_VOCAB_MAX_SIZE_DIFFERENCE, speculative.cpp:30)."""
UNCOMPARED: Final = 5
"""Ids below it are not compared (SPEC_VOCAB_CHECK_START_TOKEN_ID)."""
_HEAD: Final = 2000
"""Tokens that `sha256_2000` is over."""
_OTHER: Final = "name the drafter that was made for this model"
_DIGITS: Final = 8
"""Of each digest in `Vocabulary.tail`."""

_KINDS: Final = {
    "bert": "WPM", "gemma4": "BPE", "gpt2": "BPE", "hybriddna": "BPE", "llama": "SPM", "no_vocab": "none",
    "none": "none", "plamo2": "PLaMo2", "rwkv": "RWKV", "t5": "UGM", "whitespace": "BPE",
}  # fmt: skip
"""`tokenizer.ggml.model` to the type of the vocabulary (src/llama-vocab.cpp:1979-2180)."""
_BEGIN: Final = frozenset({
    "chameleon", "falcon-h1", "falcon3", "jina-v5-nano", "lfm2", "llama-bpe", "llama-v3", "llama3", "midm-2.0",
    "pixtral", "tekken",
})  # fmt: skip
"""Pre-tokenizers of BPE by which every text begins with a token where no key says so (llama-vocab.cpp:2203-2368)."""
_GEMMA4: Final = frozenset({"gemma4", "granite-embed-multi-311m"})
"""Pre-tokenizers with which it does whatever the key says (llama-vocab.cpp:2262, :2687)."""
_NO_BEGINNING: Final = frozenset({"chatglm-bpe", "glm4", "glm5"})
"""Pre-tokenizers of BPE without a token for it (llama-vocab.cpp:2320-2327)."""
_DEFAULTS: Final = {"SPM": (1, 2), "WPM": (101, -1), "BPE": (11, 11), "UGM": (-1, 1), "PLaMo2": (1, 2)}
"""The ids for the beginning and the end of a text where no key says one; -1 is none."""


def vocabulary_kind(vocabulary: Vocabulary) -> str:
    """The type of the vocabulary in llama.cpp's short names: SPM, BPE, WPM, UGM, ...; an unknown one as it is."""
    return _KINDS.get(vocabulary.model, vocabulary.model)


def beginning(vocabulary: Vocabulary) -> int | None:
    """The id that llama.cpp puts before every text; None where it puts none, -1 where there is no such token."""
    kind = vocabulary_kind(vocabulary)
    pre = "gemma4" if vocabulary.model == "gemma4" else vocabulary.pre
    adds = kind in ("SPM", "WPM") or (kind == "BPE" and pre in _BEGIN)
    told = vocabulary.special.get("add_bos_token")
    adds = told if isinstance(told, bool) else adds
    if not adds and not (kind == "BPE" and pre in _GEMMA4):
        return None
    default = -1 if kind == "BPE" and (pre in _NO_BEGINNING or vocabulary.model == "gemma4") else _default(kind, 0)
    return _token(vocabulary, "bos_token_id", default)


def end(vocabulary: Vocabulary) -> int | None:
    """The id that llama.cpp puts after every text; None where it puts none, -1 where there is no such token."""
    kind = vocabulary_kind(vocabulary)
    told = vocabulary.special.get("add_eos_token")
    adds = told if isinstance(told, bool) else kind == "UGM"
    default = -1 if vocabulary.model == "gemma4" else _default(kind, 1)
    return _token(vocabulary, "eos_token_id", default) if adds else None


def _default(kind: str, which: int) -> int:
    return _DEFAULTS.get(kind, (-1, -1))[which]


def _token(vocabulary: Vocabulary, key: str, default: int) -> int:
    """An id beyond the vocabulary is not taken (llama-vocab.cpp:2650-2668)."""
    told = vocabulary.special.get(key)
    if isinstance(told, int) and not isinstance(told, bool) and 0 <= told < vocabulary.size:
        return told
    return default if default < vocabulary.size else -1


def prefix(vocabulary: Vocabulary, length: int) -> str | None:
    """A digest of the tokens from id 5 to `length`; None where there is nothing to compare, or nobody recorded it."""
    last = len(vocabulary.tail) - _DIGITS * (vocabulary.size - length)
    if length <= UNCOMPARED or length > vocabulary.size or last < _DIGITS:
        return None
    return vocabulary.tail[last - _DIGITS : last]


def same_texts(one: Vocabulary, other: Vocabulary) -> bool:
    """False where a token that both have, from id 5 on, is proven to have another text."""
    common = min(one.size, other.size)
    first, second = prefix(one, common), prefix(other, common)
    return first is None or second is None or first == second


def refused(target: Vocabulary, drafter: Vocabulary) -> str | None:
    """Why draft-simple does not draft with this vocabulary, as half a sentence; None where it does."""
    kinds = vocabulary_kind(target), vocabulary_kind(drafter)
    if kinds[0] != kinds[1]:
        return f"the one has a vocabulary of the type {kinds[0]} and the other of {kinds[1]}"
    for what, ids in (
        ("begins every text with", (beginning(target), beginning(drafter))),
        ("ends every text with", (end(target), end(drafter))),
    ):
        if ids[0] != ids[1]:
            return f"the one {what} {_said(ids[0])} and the other with {_said(ids[1])}"
    if abs(target.size - drafter.size) > TOLERANCE:
        return f"the one has {target.size} tokens and the other {drafter.size}"
    if not same_texts(target, drafter):
        return "a token from id 5 on has another text"
    return None


def _said(token: int | None) -> str:
    return "no token" if token is None else f"token {token}"


def same_words(ours: Vocabulary | None, theirs: Vocabulary | None, called: tuple[str, str]) -> Iterator[Objection]:
    """Yield what speaks against the tokens of a drafter where the engine does not ask, or forgets to.

    A token that only one of the two has ends the server: b11434 aborts, b10434 answers HTTP 500
    (common/common.cpp:2216).
    """
    if ours is None or theirs is None:
        return
    if theirs.size > ours.size:
        yield Objection(
            code="does-not-compose", hint=_OTHER,
            sentence=f"{called[1]} has {theirs.size} tokens, and {called[0]} only {ours.size}",
            note=f"the server aborts once a draft has a token from {ours.size} on",
        )  # fmt: skip
    elif theirs.size < ours.size:
        padded = ours.size - ours.padding <= theirs.size
        yield Objection(
            code="does-not-compose",
            severity=Severity.NOTE if padded else Severity.ERROR,
            hint=None if padded else _OTHER,
            sentence=f"{called[1]} has only {theirs.size} of the {ours.size} tokens of {called[0]}"
            + (", all but its padding" if padded else ""),
            note=f"the server aborts at a request with a token from {theirs.size} on"
            + (", which only a client that sends tokens can make" if padded else ""),
        )  # fmt: skip
    near = abs(ours.size - theirs.size) <= TOLERANCE
    whole = ours.size == theirs.size or min(ours.size, theirs.size) >= _HEAD
    early = whole and ours.sha256_2000 != theirs.sha256_2000
    if vocabulary_kind(ours) != vocabulary_kind(theirs) or (early and not (near and same_texts(ours, theirs))):
        yield Objection(
            code="does-not-compose", hint=_OTHER, note="it drafts numbers that mean other words there",
            sentence=f"{called[1]} was made for another tokenizer than that of {called[0]}",
        )  # fmt: skip
    elif near and not same_texts(ours, theirs):
        yield Objection(
            code="does-not-compose", severity=Severity.WARNING,
            sentence=f"{called[1]} and {called[0]} have different texts for some tokens",
            note="the first 2000 are the same" if whole else "not all of the first 2000 could be compared",
        )  # fmt: skip
