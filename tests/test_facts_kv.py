"""What the caches of a context take, by what a header says; tests/real/test_real_memory.py asks the real server."""

from itertools import pairwise
from typing import Any

import pytest

import tiny_archs
import tiny_facts
from kv_facts import MIB, hybrid, kept, known, latent, of, reason, sizes
from made_facts import made
from quadgen.facts import kv
from quadgen.facts.architectures import ARCHITECTURES, INDEXED, ROLLS_BACK
from quadgen.facts.kv import Context


@pytest.mark.parametrize(("kind", "full"), [("f16", 16384), ("q8_0", 8704), ("q4_0", 4608)])
def test_of_a_hybrid_only_each_fourth_block_grows_with_the_context(kind: str, full: int) -> None:
    at = {
        tokens: sizes(hybrid(), Context(tokens, 1, type_k=kind, type_v=kind)) for tokens in (131072, 262144)
    }  # fmt: skip
    assert at[262144] == [("KV cache", 262144, full), ("recurrent state", 1, 149.625)]
    assert at[131072] == [("KV cache", 131072, full / 2), ("recurrent state", 1, 149.625)]
    assert kept(hybrid())["KV cache"] == list(range(3, 64, 4))


def test_the_state_of_a_hybrid_is_there_for_each_slot_and_each_state_to_go_back_to() -> None:
    assert sizes(hybrid(), Context(8192, 4))[1] == ("recurrent state", 4, 4 * 149.625)
    assert sizes(hybrid(), Context(8192, 4, rollback=3))[1] == ("recurrent state", 4, 16 * 149.625)
    other = made(dict(hybrid().keys), architecture="qwen3next")
    assert sizes(other, Context(8192, 4, rollback=3))[1] == ("recurrent state", 4, 4 * 149.625)


def test_which_architectures_go_back_depends_on_the_build() -> None:
    assert [kv.rolls_back("qwen35", build) for build in (10433, 10434, 11434)] == [False, True, True]
    assert [kv.rolls_back("lfm2", build) for build in (10434, 11433, 11434)] == [False, False, True]
    assert not kv.rolls_back("qwen3next")
    assert not kv.rolls_back("llama")
    assert ROLLS_BACK.keys() <= ARCHITECTURES.keys() | INDEXED


def test_of_mla_one_row_is_kept_and_not_two() -> None:
    [cache] = known(kv.caches(latent(), Context(163840, 1)))
    assert cache.size == 163840 * 70272
    assert round(cache.size / 2**30, 2) == 10.72
    halved = known(kv.caches(latent(), Context(163840, 1, type_v="q8_0")))
    assert halved == (cache,)


def test_without_its_keys_mla_is_kept_as_other_attention_is() -> None:
    apart = latent(
        attention__key_length_mla=None, attention__value_length_mla=None, attention__head_count_kv=128,
        attention__key_length=192, attention__value_length=128,
    )  # fmt: skip
    assert sizes(apart, Context(1024, 1)) == [("KV cache", 1024, 61 * 128 * (192 + 128) * 2 / 1024)]


@pytest.mark.parametrize(
    ("context", "cells", "size"),
    [
        (Context(8192, 4), 2048, 16),
        (Context(32768, 4), 8192, 64),
        (Context(8192, 4, unified=True), 8192, 16),
        (Context(1000, 3), 512, 3),
        (Context(1000, 3, unified=True), 1024, 2),
        (Context(1, 1), 256, 0.5),
        (Context(256, 256), 256, 128),
        (Context(0, 1), 4096, 8),
    ],
)
def test_slots_share_the_context_and_cells_come_in_steps(context: Context, cells: int, size: float) -> None:
    assert sizes(of("llama"), context) == [("KV cache", cells, size)]


@pytest.mark.parametrize(
    ("kind", "each"),
    [("f32", 4), ("f16", 2), ("bf16", 2), ("q8_0", 1.0625), ("q5_1", 0.75), ("q5_0", 0.6875), ("q4_1", 0.625),
     ("q4_0", 0.5625), ("iq4_nl", 0.5625)],
)  # fmt: skip
def test_a_type_has_its_bytes(kind: str, each: float) -> None:
    [cache] = known(kv.caches(of("llama"), Context(1024, 1, type_k=kind, type_v="f16")))
    assert cache.size == 1024 * 4 * 128 * (each + 2)


@pytest.mark.parametrize(
    ("architecture", "keys", "context", "cells"),
    [
        ("gemma3", {"attention__sliding_window": 512}, Context(8192, 1), 1024),
        ("gemma3", {"attention__sliding_window": 512}, Context(8192, 1, ubatch=2048), 2560),
        ("gemma3", {"attention__sliding_window": 512}, Context(8192, 4), 1024),
        ("gemma3", {"attention__sliding_window": 512}, Context(8192, 4, unified=True), 2560),
        ("gemma3", {"attention__sliding_window": 512}, Context(8192, 4, unified=True, swa_full=True), 8192),
        ("gemma3", {"attention__sliding_window": 512}, Context(512, 1), 512),
        ("gemma2", {}, Context(16384, 1), 4608),
        ("llama4", {"attention__sliding_window": 100}, Context(16384, 1), 8704),
        ("smallthinker", {"attention__sliding_window": 100}, Context(16384, 1), 4608),
    ],
)
def test_a_window_has_room_for_itself_and_what_is_read_at_once(
    architecture: str, keys: dict[str, Any], context: Context, cells: int
) -> None:
    caches = known(kv.caches(of(architecture, 8, **keys), context))
    assert {each.what: each.cells for each in caches}["KV cache of the sliding window"] == cells


def test_a_head_has_a_context_of_its_own_and_is_in_no_other() -> None:
    facts = hybrid(block_count=65, nextn_predict_layers=1)
    assert sizes(facts, Context(262144, 1)) == sizes(hybrid(), Context(262144, 1))
    [head] = known(kv.head_caches(facts, Context(262144, 1, rollback=3)))
    assert (head.what, head.layers) == ("KV cache", ((64, 1024 * MIB),))
    sliding = of(
        "step35", 4, nextn_predict_layers=1, attention__sliding_window=512,
        attention__sliding_window_pattern=(False, True, True, True),
    )  # fmt: skip
    [head] = known(kv.head_caches(sliding, Context(8192, 1)))
    assert (head.what, head.cells, [block for block, _ in head.layers]) == ("KV cache of the sliding window", 1024, [3])


def test_a_drafter_has_the_targets_tokens_and_slots() -> None:
    target, draft = of("llama", context_length=65536), of("llama", 1)
    asked = Context(0, 2, type_k="q8_0", type_v="q8_0")
    [cache] = known(kv.draft_caches(target, draft, asked))
    assert (cache.cells, cache.size) == (32768, 65536 * 128 * 2 * 1.0625)
    whole = hybrid(block_count=65, nextn_predict_layers=1)
    assert kv.draft_caches(target, whole, Context(512, 1), mtp=True) == kv.head_caches(whole, Context(512, 1))
    assert known(kv.draft_caches(target, whole, Context(512, 1, rollback=7))) == known(
        kv.caches(whole, Context(512, 1))
    )
    assert kv.draft_caches(target, made(architecture="gemma4-assistant"), Context(512, 1)) == ()


def test_a_head_without_a_model_drafts_as_a_head() -> None:
    name = "head"
    alone, target = tiny_facts.of(name), tiny_facts.of("headed")
    assert kv.draft_caches(target, alone, Context(512, 1)) == kv.head_caches(target, Context(512, 1))


def test_a_context_without_sense_is_said() -> None:
    assert reason(of("llama"), Context(512, 0)) == "a context of 512 tokens in 0 slots is none"
    assert reason(of("llama"), Context(512, 257)) == "a context of 512 tokens in 257 slots is none"
    assert reason(of("llama", context_length=None), Context(0, 1)) == "a context of 0 tokens in 1 slots is none"
    assert reason(of("llama"), Context(512, 1, type_k="q9")) == "the memory arithmetic does not know the cache type q9"
    odd = of("llama", attention__key_length=80, attention__head_count_kv=1)
    assert reason(odd, Context(512, 1, type_k="q8_0")) == "rows of 80 and 64 numbers are none of q8_0 and f16"


def test_what_a_model_was_trained_for_is_a_number_or_nothing() -> None:
    assert [kv.trained(of("llama", context_length=value)) for value in (4096, 0, "4096", None, True)] == [
        4096, None, None, None, None,
    ]  # fmt: skip


def test_the_server_refuses_types_that_do_not_fit() -> None:
    odd = of("llama", attention__key_length=80, attention__value_length=40)
    assert kv.refusal(odd, Context(512, 1)) is None
    assert kv.refusal(odd, Context(512, 1, type_k="q8_0")) == (
        "the keys of a head are 80 numbers, and q8_0 needs a multiple of 32"
    )
    assert kv.refusal(odd, Context(512, 1, type_v="iq4_nl")) == (
        "the values of a head are 40 numbers, and iq4_nl needs a multiple of 32"
    )
    assert kv.refusal(of("llama"), Context(512, 1, type_v="q8_0", flash=False)) == (
        "a cache of values of the type q8_0 needs flash attention"
    )
    assert kv.refusal(of("grok"), Context(512, 1, type_v="q8_0")) is not None
    assert kv.refusal(of("llama"), Context(512, 1, type_k="q8_0", flash=False)) is None
    assert kv.refusal(latent(), Context(512, 1, type_k="q8_0")) == (
        "deepseek2 keeps keys and values in one row, so the types of both caches must be the same"
    )
    assert kv.refusal(of("brand-new"), Context(512, 1, type_k="q8_0")) is None


def test_more_tokens_never_take_less() -> None:
    for name, model in tiny_archs.MODELS.items():
        facts = tiny_facts.of_model(model(), name)
        taken = [
            sum(each.size for each in known(kv.caches(facts, Context(tokens, 3, unified=unified))))
            for unified in (False, True)
            for tokens in range(200, 4000, 97)
        ]
        half = len(taken) // 2
        assert all(less <= more for part in (taken[:half], taken[half:]) for less, more in pairwise(part)), name
