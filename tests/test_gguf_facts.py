"""From headers to facts: where the weights go, which tokenizer it is, what else a checkpoint says of itself."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parts
import tiny_facts
import tiny_gguf
from made_facts import plain
from quadgen.disk import windows
from quadgen.facts.reading import facts, read
from quadgen.facts.record import MARKS, Facts, Vocabulary
from quadgen.gguf.source import Malformed
from raw_gguf import ARRAY, F32, FLAG, I32, TEXT, U16, U32, Entry, Held, Key, Raw, held

ARCHITECTURE: Key = ("general.architecture", TEXT, "llama")


def said(*keys: Key, tensors: Sequence[Entry] = (), architecture: str = "llama") -> Facts:
    named = ("general.architecture", TEXT, architecture)
    return facts([held(Raw(keys=[named, *keys], tensors=tensors).file())])


@pytest.mark.parametrize("name", tiny_gguf.MODELS)
def test_a_file_has_the_facts_that_it_was_made_of(tmp_path: Path, name: str) -> None:
    path = tiny_gguf.make(tmp_path, name)
    with windows.opened(str(path)) as sources:
        found, (header,) = read(sources)
    expected = tiny_facts.of_model(tiny_gguf.MODELS[name](), name)
    told = {
        key: float(np.float32(value)) if isinstance(value, float) else value for key, value in expected.keys.items()
    }
    assert list(found.keys.items()) == list(told.items())
    for field in ("architecture", "name", "type", "heads", "marks", "vocabulary", "shards"):
        assert plain(getattr(found, field)) == plain(getattr(expected, field)), field
    assert found.size == path.stat().st_size
    assert found.header == header.sha256
    assert found.weights.total == sum(tensor.size for tensor in header.tensors)
    assert found.weights.tied is expected.weights.tied


def test_a_real_checkpoint_has_the_facts_that_its_authors_publish() -> None:
    with windows.opened(str(parts.gemma())) as sources:
        found = facts(sources)
    assert (found.architecture, found.name, found.type, found.quantization) == (
        "gemma3", "Gemma 3 270m", "model", "Q4_K_M"
    )  # fmt: skip
    assert (found.size, found.shards, found.heads) == (253113024, 1, ())
    assert found.header == "734dc913752602edd298a94fdc46d0e3184912794436c435c05511acd22947a4"
    assert found.number("block_count") == len(found.weights.blocks) == 18
    assert found.weights.tied
    assert found.weights.input == 178257920
    assert found.vocabulary is not None
    vocabulary = found.vocabulary
    assert (vocabulary.model, vocabulary.pre, vocabulary.size, vocabulary.merges) == ("llama", "default", 262144, 0)
    assert vocabulary.special == {
        "add_bos_token": True, "add_eos_token": False, "add_sep_token": False, "add_space_prefix": False,
        "bos_token_id": 2, "eos_token_id": 1, "padding_token_id": 0, "unknown_token_id": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("tensors", "architecture", "expected"),
    [
        (
            ["token_embd.weight", "per_layer_token_embd.weight", "position_embd.weight", "token_types.weight"], "x",
            "input",
        ),
        (["output.weight", "output_norm.weight", "cls.output.bias", "enc.output_norm.weight"], "x", "output"),
        (["fc.weight", "d2t", "markov_w1.weight", "selector_hidden.weight", "output_hc_fn.weight"], "x", "output"),
        (["token_embd_norm.weight"], "lfm2", "output"),
        (["blk.0.attn_q.weight", "enc.blk.0.attn_q.weight", "dec.blk.0.ffn_up.weight"], "t5", "blocks"),
        (["blk.0.w", "token_embd_norm.weight", "rope_freqs.weight", "per_layer_model_proj.weight"], "x", "blocks"),
        (["v.blk.0.attn_q.weight", "mm.0.weight", "rope_freqs.weight", "outputs.weight", "blk.x.w"], "x", "other"),
        (["a.blk.1.w", "token_embds.weight", "blk.99999999999.w"], "clip", "other"),
    ],
)  # fmt: skip
def test_each_tensor_is_where_llama_cpp_puts_it(tensors: list[str], architecture: str, expected: str) -> None:
    found = said(tensors=[(name, (2,), 0) for name in tensors], architecture=architecture).weights
    sizes = {"input": found.input, "output": found.output, "blocks": sum(found.blocks), "other": found.other}
    assert sizes == {**dict.fromkeys(sizes, 0), expected: 8 * len(tensors)}
    assert found.total == 8 * len(tensors)


def test_blocks_are_counted_by_their_number_and_experts_within_them() -> None:
    tensors: list[Entry] = [
        ("blk.2.attn_q.weight", (4,), 0), ("blk.2.ffn_up_exps.weight", (2, 2, 3), 0), ("blk.0.ffn_up.weight", (3,), 0),
        ("blk.2.ffn_gate_up_exps.weight", (1,), 0), ("blk.2.ffn_down_chexps.weight", (1,), 0),
        ("blk.2.ffn_gate_shexp.weight", (1,), 0), ("blk.2.ffn_gate_inp.weight", (1,), 0),
    ]  # fmt: skip
    found = said(tensors=tensors).weights
    assert found.blocks == (12, 0, 16 + 48 + 4 + 4 + 4 + 4)
    assert found.experts == (0, 0, 48 + 4 + 4)
    assert said(tensors=tensors[:1]).weights.experts == ()


def test_a_file_without_an_output_takes_its_embeddings_for_it() -> None:
    embeddings: Entry = ("token_embd.weight", (4, 2), 0)
    assert said(tensors=[embeddings]).weights.tied
    assert said(tensors=[embeddings, ("output_norm.weight", (4,), 0)]).weights.tied
    assert not said(tensors=[embeddings, ("output.weight", (4, 2), 0)]).weights.tied


def test_a_block_with_an_absurd_number_costs_nothing() -> None:
    with pytest.raises(Malformed) as error:
        said(tensors=[("blk.4000000000.w", (1,), 0)])
    assert error.value.message == "a tensor is of block 4000000000, and quadgen reads up to 4096 blocks"
    assert len(said(tensors=[("blk.4095.w", (1,), 0)]).weights.blocks) == 4096


def test_heads_and_marks_are_told_by_tensors() -> None:
    tensors = [
        ("blk.3.nextn.eh_proj.weight", (1,), 0), ("blk.2.nextn.pre_projection.weight", (1,), 0),
        ("blk.1.nextn.enorm.weight", (1,), 0), *[(mark, (1,), 0) for mark in reversed(MARKS)],
    ]  # fmt: skip
    found = said(("llama.nextn_predict_layers", U32, 1), tensors=tensors)
    assert found.heads == (2, 3)
    assert found.marks == tuple(sorted(MARKS))
    assert said(("llama.nextn_predict_layers", U32, 1)).heads == ()


def test_the_keys_are_those_of_the_architecture_sorted_and_without_lists_of_texts() -> None:
    found = said(
        ("llama.z", U32, 1), ("llama.a.b", TEXT, "x"), ("llama.flags", ARRAY, (FLAG, [True, False])),
        ("llama.many", ARRAY, (U32, [1] * 1025)), ("llama.words", ARRAY, (TEXT, ["a"])), ("llama2.z", U32, 1),
        ("general.name", TEXT, "N"), ("general.type", TEXT, "model"), ("general.file_type", U32, 15),
    )  # fmt: skip
    assert list(found.keys.items()) == [("a.b", "x"), ("flags", (True, False)), ("z", 1)]
    assert (found.name, found.type, found.quantization) == ("N", "model", "Q4_K_M")
    assert found.vocabulary is None


def test_a_file_that_says_nothing_has_facts_too() -> None:
    found = facts([held(Raw(keys=[(".x", U32, 1), ("general.file_type", U32, 999), ("general.name", U32, 1)]).file())])
    assert (found.architecture, found.name, found.quantization, dict(found.keys)) == ("", None, None, {})


def test_the_size_of_a_file_that_nobody_tells_is_where_its_tensors_end() -> None:
    data = Raw(keys=[ARCHITECTURE], tensors=[("a", (100,), 0)]).file()
    assert facts([Held(data)]).size == facts([held(data)]).size == len(data)


def digest(tokens: Sequence[str]) -> str:
    return hashlib.sha256("".join(f"{token}\0" for token in tokens).encode()).hexdigest()


def spoken(tokens: Sequence[str], *more: Key, window: int = 2**20, kinds: Sequence[int] = ()) -> Vocabulary:
    keys: list[Key] = [("tokenizer.ggml.tokens", ARRAY, (TEXT, tokens)), *more]
    keys += [("tokenizer.ggml.token_type", ARRAY, (I32, kinds))] if kinds else []
    found = facts([held(Raw(keys=keys).file(), window=window)]).vocabulary
    assert found is not None
    return found


@pytest.mark.parametrize("size", [0, 1, 5, 6, 7, 127, 128, 132, 133, 134, 1999, 2000, 2001, 4095, 4096, 4097, 9000])
@pytest.mark.parametrize("window", [1, 2**20])
def test_the_digests_of_a_vocabulary_are_those_of_its_tokens(size: int, window: int) -> None:
    tokens = [f"t{number}" for number in range(size)]
    found = spoken(tokens, window=window)
    assert found.size == size
    assert found.sha256 == digest(tokens)
    assert found.sha256_2000 == digest(tokens[:2000])
    lengths = range(max(6, size - 128), size + 1)
    assert [found.tail[at : at + 8] for at in range(0, len(found.tail), 8)] == [
        digest(tokens[5:length])[:8] for length in lengths
    ]


@given(
    flags=st.lists(st.tuples(st.booleans(), st.booleans()), max_size=12),
    filler=st.sampled_from([0, 3, 5000]),
    window=st.sampled_from([1, 64, 2**20]),
)
def test_padding_is_what_fills_up_by_its_type_or_by_its_text(
    flags: list[tuple[bool, bool]], filler: int, window: int
) -> None:
    every = [*[(False, False)] * filler, *flags]
    tokens = [f"[PAD{number}]" if spelled else f"PAD{number}" for number, (spelled, _) in enumerate(every)]
    expected = 0
    while expected < len(every) and any(every[-1 - expected]):
        expected += 1
    found = spoken(tokens, window=window, kinds=[5 if unused else 1 for _, unused in every])
    assert found.padding == expected


def test_a_vocabulary_says_what_belongs_to_its_identity() -> None:
    found = spoken(
        ["a"], ("tokenizer.ggml.model", TEXT, "gpt2"), ("tokenizer.ggml.pre", TEXT, "qwen2"),
        ("tokenizer.ggml.merges", ARRAY, (TEXT, ["a b", "c d"])), ("tokenizer.ggml.eos_token_id", U32, 2),
        ("tokenizer.ggml.add_bos_token", FLAG, False), ("tokenizer.ggml.bos_token_id", U16, 1),
        ("tokenizer.ggml.eog_token_ids", ARRAY, (U32, [1])), ("tokenizer.ggml.add_list", ARRAY, (U32, [1])),
        ("tokenizer.ggml.unused", U32, 1), ("tokenizer.chat_template", TEXT, "x"), ("llama.eos_token_id", U32, 9),
    )  # fmt: skip
    assert (found.model, found.pre, found.merges) == ("gpt2", "qwen2", 2)
    assert list(found.special.items()) == [("add_bos_token", False), ("bos_token_id", 1), ("eos_token_id", 2)]
    bare = spoken(["a"], ("tokenizer.ggml.model", U32, 1))
    assert (bare.model, bare.pre, bare.merges, dict(bare.special)) == ("none", None, 0, {})


@pytest.mark.parametrize(
    "odd",
    [
        ("tokenizer.ggml.tokens", ARRAY, (I32, [1, 2])),
        ("tokenizer.ggml.tokens", TEXT, "a"),
        ("tokenizer.ggml.token_type", ARRAY, (TEXT, ["a"])),
        ("tokenizer.ggml.token_type", ARRAY, (F32, [5.0, 1.5])),
        ("tokenizer.ggml.token_type", ARRAY, (I32, [5] * 3000)),
    ],
)
def test_a_tokenizer_of_odd_types_does_no_harm(odd: Any) -> None:
    found = said(odd, *([] if odd[0].endswith("tokens") else [("tokenizer.ggml.tokens", ARRAY, (TEXT, ["a"]))]))
    assert found.vocabulary is None or found.vocabulary.size == 1
