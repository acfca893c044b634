"""Which blocks of a checkpoint keep what, and keys of which nothing follows."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tiny_archs
import tiny_facts
from kv_facts import hybrid, kept, known, latent, of, reason
from made_facts import made, patterns, scalars
from quadgen.facts import kv
from quadgen.facts.architectures import ARCHITECTURES, COMMON, INDEXED, TELLING
from quadgen.facts.kv import Cache, Context, Unknown
from quadgen.facts.record import Facts


def test_a_hybrid_says_how_often_it_attends_or_which_blocks_do_not() -> None:
    assert len(kept(hybrid(full_attention_interval=8))["KV cache"]) == 8
    assert len(kept(hybrid(full_attention_interval=None))["KV cache"]) == 16
    listed = tuple(block != 5 for block in range(64))
    assert kept(hybrid(attention__recurrent_layers=listed))["KV cache"] == [5]
    assert 5 not in kept(hybrid(attention__recurrent_layers=listed))["recurrent state"]


@pytest.mark.parametrize(
    ("architecture", "keys", "blocks", "slides"),
    [
        ("gemma2", {}, 4, [0, 2]),
        ("gemma3", {"attention__sliding_window": 512}, 8, [0, 1, 2, 3, 4, 6, 7]),
        ("gemma3", {}, 8, []),
        ("gemma3", {"attention__sliding_window": 512, "attention__sliding_window_pattern": 2}, 4, [0, 2]),
        ("gemma3", {"attention__sliding_window": 512, "attention__sliding_window_pattern": 0}, 3, [0, 1, 2]),
        ("gpt-oss", {"attention__sliding_window": 128}, 4, [0, 2]),
        ("cohere2", {"attention__sliding_window": 128}, 5, [0, 1, 2, 4]),
        ("cohere2moe", {"attention__sliding_window": 128}, 5, [1, 2, 3]),
        ("laguna", {"attention__sliding_window": 128}, 5, [1, 2, 3]),
        ("smallthinker", {"attention__sliding_window": 128}, 5, [1, 2, 3]),
        ("llama4", {}, 5, [0, 1, 2, 4]),
        ("llama4", {"attention__sliding_window": 0}, 5, []),
        ("exaone4", {"attention__sliding_window": 128}, 30, []),
        ("exaone4", {}, 64, [block for block in range(64) if block % 4 != 3]),
        ("plamo3", {"attention__sliding_window": 128}, 9, [0, 1, 2, 3, 4, 5, 6, 8]),
        ("phi3", {"attention__sliding_window": 128}, 4, []),
        ("mimo2", {"attention__sliding_window": 128, "attention__sliding_window_pattern": (0, 1, 1, 0)}, 4, [1, 2]),
    ],
)  # fmt: skip
def test_an_architecture_says_where_its_window_slides(
    architecture: str, keys: dict[str, Any], blocks: int, slides: list[int]
) -> None:
    found = kept(of(architecture, blocks, **keys))
    assert found.get("KV cache of the sliding window", []) == slides
    assert found.get("KV cache", []) == [block for block in range(blocks) if block not in slides]


def test_blocks_that_share_keep_nothing() -> None:
    facts = of(
        "gemma4", 6, attention__sliding_window=512, attention__shared_kv_layers=2, attention__key_length_swa=32,
        attention__sliding_window_pattern=(True, False) * 3, attention__value_length_swa=32,
        attention__head_count_kv=(4, 1, 4, 1, 4, 1),
    )  # fmt: skip
    full, window = known(kv.caches(facts, Context(4096, 1)))
    assert full.layers == ((1, 4096 * 64 * 2 * 2), (3, 4096 * 64 * 2 * 2))
    assert window.layers == ((0, 1024 * 4 * 32 * 2 * 2), (2, 1024 * 4 * 32 * 2 * 2))
    twenty = of("gemma3n", 30, attention__sliding_window=512, attention__shared_kv_layers=10)
    assert sorted(block for blocks in kept(twenty).values() for block in blocks) == list(range(20))


def test_blocks_have_heads_of_their_own_or_none() -> None:
    facts = of("deci", 3, attention__head_count=(8, 8, 8), attention__head_count_kv=(4, 0, 1))
    [cache] = known(kv.caches(facts, Context(256, 1)))
    assert cache.layers == ((0, 256 * 4 * 64 * 4), (1, 0), (2, 256 * 64 * 4))
    [padded] = known(kv.caches(facts, Context(256, 1, flash=False)))
    assert padded.layers == ((0, 256 * 4 * 128 * 2), (1, 256 * 256 * 2), (2, 256 * (64 + 256) * 2))


@pytest.mark.parametrize(
    ("architecture", "keys", "state"),
    [
        ("mamba", {"ssm__conv_kernel": 4, "ssm__inner_size": 1536, "ssm__state_size": 16}, 3 * 1536 + 16 * 1536),
        (
            "mamba2",
            {"ssm__conv_kernel": 4, "ssm__inner_size": 512, "ssm__state_size": 128, "ssm__group_count": 2},
            3 * (512 + 2 * 2 * 128) + 128 * 512,
        ),
        ("rwkv7", {"wkv__head_size": 64}, 2 * 256 + 64 * 256),
        ("rwkv6qwen2", {"wkv__head_size": 64, "token_shift_count": 1}, 256 + 64 * 256),
    ],
)
def test_a_recurrent_model_keeps_a_state_and_nothing_else(architecture: str, keys: dict[str, Any], state: int) -> None:
    facts = of(architecture, attention__head_count=0, attention__head_count_kv=None, **keys)
    [cache] = known(kv.caches(facts, Context(8192, 2)))
    assert cache == Cache("recurrent state", 2, tuple((block, 2 * 4 * state) for block in range(4)))


@pytest.mark.parametrize("name", ["falcon-h1", "granitehybrid", "jamba", "kimi-linear", "lfm2", "minimax-01"])
def test_blocks_attend_or_keep_a_state_and_only_one_architecture_does_both(name: str) -> None:
    facts = tiny_facts.of_model(tiny_archs.MODELS[name](), name)
    found = kept(facts)
    both = set(found["KV cache"]) & set(found["recurrent state"])
    assert both == ({0, 1} if name == "falcon-h1" else set())
    assert set(found["KV cache"]) | set(found["recurrent state"]) == set(range(facts.number("block_count") or 0))


def test_some_hybrids_keep_the_keys_of_a_head_that_they_do_not_use() -> None:
    name = "nemotron_h_moe"
    facts = tiny_facts.of_model(tiny_archs.MODELS[name](), name)
    assert kept(facts) == {"KV cache": [1, 3], "recurrent state": [0]}


def test_there_is_no_head_where_none_is_announced_or_can_be_used() -> None:
    assert kv.head_caches(of("llama"), Context(512, 1)) == Unknown("the file announces no MTP head")
    found = kv.head_caches(of("granitehybrid", nextn_predict_layers=1, ssm__conv_kernel=4), Context(512, 1))
    assert found == Unknown("llama.cpp has no MTP context of its own for granitehybrid")
    assert kv.head_caches(of("bert"), Context(512, 1)) == Unknown("bert has no MTP context")


def test_what_reads_a_text_as_a_whole_keeps_nothing() -> None:
    assert kv.caches(of("bert"), Context(512, 1)) == ()
    assert kv.caches(of("modern-bert", attention__sliding_window=128), Context(512, 1)) == ()


def test_what_is_not_known_is_said_and_not_guessed() -> None:
    assert reason(of("brand-new")) == "the memory arithmetic does not know the architecture brand-new"
    assert reason(of("glm-dsa")) == "the memory arithmetic does not know the indexer caches of glm-dsa"
    for key in ("attention.indexer.key_length", "ssm.new", "attention.sliding_window", "full_attention_interval"):
        assert reason(of("llama", **{key: 4})) == f"the memory arithmetic does not know the key {key} of llama"
    drafter = of("dflash", hyper_connection__count=4)
    assert reason(drafter) == "the memory arithmetic does not know the key hyper_connection.count of dflash"
    assert reason(of("nanbeige", num_loops=2)).endswith("blocks that are run several times (num_loops)")
    assert kept(of("nanbeige", num_loops=1))


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"block_count": None}, "the key block_count is missing"),
        ({"block_count": 0}, "the key block_count is 0, and llama.cpp takes 1 to 512"),
        ({"block_count": 513}, "the key block_count is 513, and llama.cpp takes 1 to 512"),
        ({"block_count": "4"}, "the key block_count has a value that is no size"),
        ({"block_count": True}, "the key block_count has a value that is no size"),
        ({"block_count": (4,)}, "the key block_count has a value that is no size"),
        ({"nextn_predict_layers": 5}, "the key nextn_predict_layers is 5, and the file has 4 blocks"),
        ({"attention__head_count": -1}, "the key attention.head_count has a value that is no size"),
        ({"attention__head_count": 2**63}, "the key attention.head_count has a value that is no size"),
        ({"attention__head_count_kv": 2.0}, "the key attention.head_count_kv has a value that is no size"),
        ({"attention__head_count_kv": (1, 2)}, "the key attention.head_count_kv has 2 values for 4 blocks"),
        ({"attention__head_count_kv": (1, 2, 3, "4")}, "the key attention.head_count_kv has a value that is no size"),
        ({"attention__head_count_kv": 0}, "no block has heads of keys and values"),
        ({"attention__head_count": 0}, "no block has heads of keys and values"),
        ({"attention__head_count": None}, "no block has heads of keys and values"),
        ({"embedding_length": None}, "the key embedding_length is missing"),
        ({"attention__key_length": 2**32}, "the key attention.key_length has a value that is no size"),
    ],
)
def test_keys_without_sense_are_said(keys: dict[str, Any], said: str) -> None:
    assert reason(of("llama", **keys)) == said


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (of("gpt-oss"), "the key attention.sliding_window is missing"),
        (of("mimo2", attention__sliding_window=4), "the key attention.sliding_window_pattern is missing or no list"),
        (
            of("gemma2", attention__sliding_window_pattern=(True,)),
            "the key attention.sliding_window_pattern has 1 values for 4 blocks",
        ),
        (
            of("gemma2", attention__sliding_window_pattern=(0.5,) * 4),
            "the key attention.sliding_window_pattern has values that are no flags",
        ),
        (
            of("gemma2", attention__sliding_window_pattern=1),
            "the file has a sliding window, and no block in which it slides",
        ),
        (hybrid(full_attention_interval=0), "the key full_attention_interval is 0"),
        (hybrid(attention__recurrent_layers=True), "the key attention.recurrent_layers is no list"),
        (hybrid(ssm__state_size=None), "the key ssm.state_size is missing"),
        (
            latent(attention__value_length_mla=None),
            "of attention.key_length_mla and attention.value_length_mla one is missing or 0",
        ),
        (
            of("gemma4", attention__sliding_window=4, attention__shared_kv_layers=3,
               attention__sliding_window_pattern=(1, 0, 1, 0)),
            "the key attention.shared_kv_layers is 3, and the file has 4 blocks",
        ),
    ],
)  # fmt: skip
def test_keys_of_one_kind_without_sense_are_said(facts: Facts, said: str) -> None:
    assert reason(facts) == said


def test_every_architecture_names_its_source_and_only_keys_that_tell_something() -> None:
    for name, each in ARCHITECTURES.items():
        assert re.fullmatch(r"(\.\./llama-model|[a-z0-9-]+)\.cpp:\d+", each.source), name
        assert all(key.startswith(TELLING) for key in each.known), name
    assert all(key.startswith(TELLING) for key in COMMON)
    assert not ARCHITECTURES.keys() & INDEXED


KEYS = (
    *sorted(COMMON.union(*(each.known for each in ARCHITECTURES.values()))),
    "block_count", "embedding_length", "nextn_predict_layers", "feed_forward_length", "context_length",
)  # fmt: skip
small = st.integers(0, 40)
rows = st.lists(small | st.booleans(), max_size=5).map(tuple)


@given(
    st.sampled_from(sorted(ARCHITECTURES)),
    st.dictionaries(st.sampled_from(KEYS), small | rows | scalars | patterns),
    st.builds(
        Context, small | st.integers(0, 2**40), small, st.booleans(), st.booleans(), small,
        st.sampled_from(sorted(kv.TYPES)), st.sampled_from(sorted(kv.TYPES)), small, st.booleans(),
    ),
)  # fmt: skip
def test_no_keys_make_the_arithmetic_fail(architecture: str, keys: dict[str, Any], context: Context) -> None:
    facts = made({**of(architecture).keys, **keys}, architecture=architecture)
    for found in (kv.caches(facts, context), kv.head_caches(facts, context), kv.draft_caches(facts, facts, context)):
        if isinstance(found, Unknown):
            assert found.reason
        else:
            assert all(size >= 0 for each in found for _, size in each.layers)
    kv.refusal(facts, context)
