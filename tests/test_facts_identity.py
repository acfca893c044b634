"""Whether two tokenizers are one, from their vocabularies and their tokens."""

from typing import Any

import pytest

from quadgen.facts.identity import Difference, Identity, Verdict, identity
from quadgen.facts.reading import facts
from quadgen.facts.record import Vocabulary
from quadgen.gguf.tokens import Words, words
from raw_gguf import held
from worded import checkpoint, tokens

PLAIN = tokens("a", "b", "c")
UNUSED, NORMAL = 5, 1


def read(texts: list[str | bytes], **more: Any) -> tuple[Vocabulary, Words]:
    data = checkpoint(texts, **more)
    found = facts([held(data)]).vocabulary
    assert found is not None
    return found, words(held(data))


def compared(one: tuple[Vocabulary, Words], other: tuple[Vocabulary, Words]) -> Identity:
    return identity(one[0], other[0], (one[1], other[1]))


def test_the_words_of_a_file_are_its_tokens_as_bytes_and_a_digest_of_its_merges() -> None:
    found = words(held(checkpoint([b"\xff\0", "ü"], merges=["a b", "c d"])))
    assert found.tokens == [b"\xff\0", "ü".encode()]
    assert found.merges == words(held(checkpoint(["x"], merges=["a b", "c d"]))).merges
    assert found.merges != words(held(checkpoint(["x"], merges=["c d", "a b"]))).merges


def test_the_same_tokens_merges_and_splitting_are_one_tokenizer() -> None:
    found = compared(read(PLAIN, pre="llama-bpe", merges=["a b"]), read(PLAIN, pre="llama-bpe", merges=["a b"]))
    assert found == Identity(Verdict.IDENTICAL, first=None, differing=0, pre=True, merges=True)


# https://github.com/ggml-org/llama.cpp/issues/7724
def test_the_same_tokens_that_are_split_otherwise_are_not_identical() -> None:
    found = compared(read(PLAIN, pre="llama-bpe"), read(PLAIN, pre="smaug-bpe"))
    assert found == Identity(Verdict.SAME_TOKENS, first=None, differing=0, pre=False, merges=True)


def test_the_same_tokens_with_other_merges_are_not_identical() -> None:
    found = compared(read(PLAIN, merges=["a b"]), read(PLAIN, merges=["b a"]))
    assert found == Identity(Verdict.SAME_TOKENS, first=None, differing=0, pre=True, merges=False)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"model": "llama", "pre": "default"}, {"model": "llama", "pre": "qwen2"}),
        ({}, {"pre": "default"}),
        ({"model": "gemma4", "pre": "qwen2"}, {"pre": "gemma4"}),
    ],
    ids=["SPM", "none is the default", "gemma4"],
)
def test_a_pre_that_changes_nothing_is_no_difference(one: dict[str, str], other: dict[str, str]) -> None:
    assert compared(read(PLAIN, **one), read(PLAIN, **other)).verdict is Verdict.IDENTICAL


def test_the_same_bytes_are_other_texts_in_a_vocabulary_of_another_type() -> None:
    found = compared(read(PLAIN, model="llama"), read(PLAIN, model="gpt2"))
    assert (found.verdict, found.first) == (Verdict.DIFFERENT, None)


@pytest.mark.parametrize(
    ("texts", "types"),
    [
        (tokens("a", "b", "c", "[PAD8]", "[PAD9]"), []),
        (tokens("a", "b", "c", "<unused0>"), [NORMAL] * 8 + [UNUSED]),
    ],
    ids=["by name", "by type"],
)
def test_a_vocabulary_that_is_filled_up_is_the_same_but_for_that(texts: list[str | bytes], types: list[int]) -> None:
    filled = read(texts, types=types)
    first = texts[8]
    assert isinstance(first, str)
    assert compared(read(PLAIN), filled)[:3] == (Verdict.PADDED, Difference(8, None, first.encode()), 0)
    assert compared(filled, read(PLAIN))[:3] == (Verdict.PADDED, Difference(8, first.encode(), None), 0)


def test_two_ways_to_fill_up_are_the_same_but_for_that() -> None:
    found = compared(read([*PLAIN, "[PAD8]"]), read([*PLAIN, "[PAD1]"]))
    assert found[:3] == (Verdict.PADDED, Difference(8, b"[PAD8]", b"[PAD1]"), 1)


def test_a_token_where_the_other_is_filled_up_is_a_difference() -> None:
    found = compared(read([*PLAIN, "[PAD8]"]), read([*PLAIN, "<tool>"]))
    assert found[:3] == (Verdict.DIFFERENT, Difference(8, b"[PAD8]", b"<tool>"), 1)


def test_the_first_of_several_differences_is_told_and_how_many_there_are() -> None:
    found = compared(read(tokens("a", "b", "c", "d")), read(tokens("a", "x", "c", "y", "z")))
    assert found[:3] == (Verdict.DIFFERENT, Difference(6, b"b", b"x"), 2)


def test_a_longer_vocabulary_without_padding_is_different_where_the_shorter_ends() -> None:
    found = compared(read(PLAIN), read([*PLAIN, "d"]))
    assert found[:3] == (Verdict.DIFFERENT, Difference(8, None, b"d"), 0)
