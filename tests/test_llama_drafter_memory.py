"""What a drafter takes beside its model, and where."""

from dataclasses import replace

import pytest

from made_facts import made
from memory_asks import MIB, lacking, shares, sizes
from quadgen.facts.record import Facts, Weights
from quadgen.resolution import Known

TWO = "gpus: [{name: A, vram: 24GiB}, {name: A, vram: 24GiB}]"
GPU = f"{{model: plain, backend: cuda, engine: cuda, context: 4096, {TWO}"
KEYS = {
    "context_length": 32768, "embedding_length": 1024, "feed_forward_length": 4096, "attention.head_count": 8,
    "attention.head_count_kv": 2, "attention.key_length": 128, "attention.value_length": 128, "vocab_size": 32000,
}  # fmt: skip
CACHE = 4096 * 2 * (128 + 128) * 2
"""Bytes of keys and values of a block."""
STATE = 4 * (3 * (2048 + 2 * 8 * 64) + 64 * 2048)
"""Bytes of the state of a block."""


def weights(blocks: int, each: int = 100) -> Weights:
    return Weights(
        input=40 * MIB, output=50 * MIB, tied=False, blocks=(each * MIB,) * blocks, experts=(), other=0
    )  # fmt: skip


PLAIN = made({"block_count": 4, **KEYS}, weights=weights(4))
SMALL = made({"block_count": 2, **KEYS}, weights=weights(2, each=10))


def hybrid(*, head: bool = True) -> Facts:
    """Two blocks with a state, two that attend, and a head."""
    keys = {
        **KEYS, "block_count": 4 + head, "full_attention_interval": 2, "ssm.conv_kernel": 4, "ssm.inner_size": 2048,
        "ssm.state_size": 64, "ssm.group_count": 8, "ssm.time_step_rank": 32, "nextn_predict_layers": int(head),
    }  # fmt: skip
    return made(
        keys, architecture="qwen35", weights=weights(4 + head), heads=(4,) if head else (),
        marks=("blk.0.attn_norm.weight", "output.weight", "output_norm.weight", "token_embd.weight"),
    )  # fmt: skip


def test_a_draft_model_has_weights_and_a_context_as_long_as_the_models_own() -> None:
    found = shares(GPU + ", devices: [0]}", Known(model=PLAIN, draft=SMALL), types=("draft-simple",), width=8)
    assert sizes(found, "draft model: weights") == {None: 40 * MIB, 0: 70 * MIB}
    assert sizes(found, "draft model: KV cache") == {0: 2 * CACHE}
    assert sizes(found, "weights") == {None: 40 * MIB, 0: 450 * MIB}
    assert sizes(found, "logits for verifying") == {}, "a few rows are less than a step of a block"


def test_a_draft_model_can_have_a_card_of_its_own_and_other_types_of_caches() -> None:
    more = (("--spec-draft-device", "CUDA1"), ("-ctkd", "q8_0"), ("-ctvd", "q8_0"))
    fields = GPU + ", flags: {split-mode: none}}"
    found = shares(fields, Known(model=PLAIN, draft=SMALL), *more, types=("draft-simple",), width=8)
    assert sizes(found, "draft model: weights") == {None: 40 * MIB, 1: 70 * MIB}
    assert sizes(found, "draft model: KV cache") == {1: 2 * CACHE * 34 // 64}
    assert sizes(found, "weights") == {None: 40 * MIB, 0: 450 * MIB}
    assert set(sizes(found, "driver (estimated)")) == {0, 1}


def test_a_draft_model_can_stay_on_the_host() -> None:
    fields = GPU + ", devices: [0]}"
    for more in (("--spec-draft-device", "none"), ("-ngld", "0")):
        found = shares(fields, Known(model=PLAIN, draft=SMALL), more, types=("draft-simple",), width=8)
        assert sizes(found, "draft model: weights") == {None: 110 * MIB}, more
        assert sizes(found, "draft model: KV cache") == {None: 2 * CACHE}


def test_a_draft_model_without_a_header_is_said_to_be_missing() -> None:
    known = Known(model=PLAIN, draft=None)
    assert not lacking(shares(GPU + "}", known, types=("ngram-cache",)))
    found = shares(GPU + "}", known, ("--spec-draft-model", "/d.gguf"), types=("draft-simple",), draft_file=True)
    assert lacking(found) == {"draft model: all": "nobody recorded what its header says"}


def test_a_head_in_the_file_has_its_block_and_keeps_only_what_that_attends_to() -> None:
    found = shares(GPU + "}", Known(model=hybrid()), types=("draft-mtp",), width=3)
    # six layers with the output, three on each card
    assert sizes(found, "weights") == {None: 40 * MIB, 0: 300 * MIB, 1: 150 * MIB}
    assert sizes(found, "MTP head: weights") == {1: 100 * MIB}
    assert sizes(found, "MTP head: KV cache") == {1: CACHE}
    assert set(sizes(found, "MTP head: compute buffer (estimated)")) == {None, 1}
    assert sizes(found, "KV cache of 4096 tokens") == {0: CACHE, 1: CACHE}


def test_a_head_that_is_not_asked_for_is_not_loaded() -> None:
    found = shares(GPU + "}", Known(model=hybrid()))
    assert sum(sizes(found, "weights").values()) == 490 * MIB
    assert not [each.what for each in found if each.what.startswith("MTP")]


@pytest.mark.parametrize(
    ("types", "states"), [(("draft-mtp",), 6), (("draft-mtp", "ngram-mod"), 6), (("ngram-mod",), 1), ((), 1)]
)
def test_a_state_is_kept_for_each_token_of_a_draft_from_hidden_states(types: tuple[str, ...], states: int) -> None:
    found = shares(GPU + ", devices: [0], slots: 2}", Known(model=hybrid()), types=types, width=5)
    assert sizes(found, "recurrent state") == {0: 2 * states * 2 * STATE}
    assert sizes(found, "copies of the state, 32 for a slot") == {None: 32 * 2 * 2 * STATE}


def test_a_head_of_its_own_comes_beside_the_one_in_the_models_file() -> None:
    alone = made(
        {**hybrid().keys, "block_count": 5}, architecture="qwen35", heads=(4,),
        marks=("output.weight", "output_norm.weight", "token_embd.weight"),
        weights=replace(weights(5), blocks=(0, 0, 0, 0, 90 * MIB)),
    )  # fmt: skip
    found = shares(GPU + ", devices: [0]}", Known(model=hybrid(), head=alone), types=("draft-mtp",), width=3)
    assert sizes(found, "MTP head: weights") == {None: 40 * MIB, 0: 140 * MIB}
    assert sizes(found, "MTP head: KV cache") == {0: CACHE}
    assert sizes(found, "weights") == {None: 40 * MIB, 0: 550 * MIB}, "llama.cpp loads both"


@pytest.mark.parametrize(
    ("types", "width", "rows"),
    [
        (("ngram-mod",), None, 65),
        (("ngram-simple",), None, 49),
        (("ngram-cache",), None, 9),
        (("draft-mtp",), 50, 51),
        (("draft-mtp", "ngram-mod"), 5, 65),
    ],
)
def test_verifying_a_wide_draft_takes_a_row_of_logits_for_each_of_its_tokens(
    types: tuple[str, ...], width: int | None, rows: int
) -> None:
    wide = made({**hybrid().keys, "vocab_size": 262144, "feed_forward_length": 64}, architecture="qwen35",
                weights=hybrid().weights, heads=(4,), marks=hybrid().marks)  # fmt: skip
    found = shares(GPU + ", devices: [0], slots: 4}", Known(model=wide), types=types, width=width)
    buffer, row = sizes(found, "compute buffer (estimated)")[0], 262144 * 4
    together = buffer + sizes(found, "logits for verifying")[0]
    assert 4 * rows * row <= together <= 4 * rows * row + 40 * MIB
    assert sizes(found, "output buffer")[None] >= 4 * rows * row


def test_a_batch_has_no_more_rows_of_logits_than_tokens() -> None:
    fields = GPU + ", devices: [0], slots: 4, flags: {batch-size: 100}}"
    found = shares(fields, Known(model=PLAIN), types=("ngram-mod",))
    assert sizes(found, "output buffer") == {None: 100 * 32000 * 4}


def test_a_drafter_on_a_device_that_counts_no_card_is_not_placed() -> None:
    more = ("--spec-draft-device", "Vulkan0")
    found = shares(GPU + "}", Known(model=PLAIN, draft=SMALL), more, types=("draft-simple",), width=3)
    assert lacking(found) == {"draft model: all": "nobody says which card Vulkan0 is"}
    assert {each.card for each in found} == {None, 0, 1}


def test_a_table_of_ngrams_is_on_the_host() -> None:
    assert sizes(shares(GPU + "}", Known(model=PLAIN), types=("ngram-mod",)), "n-gram table") == {None: 16 * MIB}
    assert not sizes(shares(GPU + "}", Known(model=PLAIN), types=("ngram-cache",)), "n-gram table")
