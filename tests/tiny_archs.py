"""Checkpoints of a few hundred kilobytes, each of another architecture: what a context keeps differs between them.

    target = tiny_archs.make(tmp_path, "gemma4")

They are made as those of `tiny_gguf` are, and the real llama-server loads each. The shapes are those that llama.cpp
b11434 wants (src/models/, load_arch_tensors), with nothing that this leaves out.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import tiny_gguf
import tiny_states
from tiny_blocks import (
    AROUND,
    EXPERT_KEYS,
    LATENT,
    NEXTN,
    NOPE,
    WINDOW,
    attend,
    built,
    fed,
    header,
    named,
    qk_norms,
    routed,
)
from tiny_gguf import HEADS, INNER, KEYS, LAYERS, VOCABULARY, WIDTH, Model, Shapes


def _gemma3() -> Model:
    """Seven blocks with a sliding window, of which the sixth sees all."""
    keys = header(7, attention__sliding_window=WINDOW)
    return built("gemma3", keys, [attend() | qk_norms() | fed() | AROUND] * 7)


def _gpt_oss() -> Model:
    keys = header(LAYERS, attention__sliding_window=WINDOW, **EXPERT_KEYS)
    block = attend() | {"post_attention_norm": (WIDTH,), "attn_sinks": (HEADS,), "attn_output.bias": (WIDTH,)}
    return built("gpt-oss", keys, [block | routed(bias=True)] * LAYERS)


def _gemma4() -> Model:
    """Six blocks, of which the last two read what the two before them keep, and other heads where a window slides."""
    slides = [True, False] * 3
    heads = [2 if each else 1 for each in slides]
    keys = header(
        6, attention__head_count_kv=heads, attention__key_length=2 * KEYS, attention__value_length=2 * KEYS,
        attention__key_length_swa=KEYS, attention__value_length_swa=KEYS, attention__sliding_window=WINDOW,
        attention__sliding_window_pattern=slides, attention__shared_kv_layers=2, embedding_length_per_layer_input=0,
        rope__dimension_count=2 * KEYS, rope__dimension_count_swa=KEYS,
    )  # fmt: skip
    blocks = []
    for slid, kv in zip(slides, heads, strict=True):
        length = KEYS if slid else 2 * KEYS
        blocks.append(attend(kv, keys=length) | qk_norms(length) | fed() | AROUND)
    return built("gemma4", keys, blocks, rope_freqs=(KEYS,))


def _gemma4_assistant() -> Model:
    """Two heads for `gemma4`, of half its width: they have queries, and read its keys and values."""
    width = WIDTH // 2
    keys = header(
        2, nextn_predict_layers=2, embedding_length=width, embedding_length_out=WIDTH, attention__key_length=2 * KEYS,
        attention__value_length=2 * KEYS, attention__key_length_swa=KEYS, attention__value_length_swa=KEYS,
        attention__sliding_window=WINDOW, attention__sliding_window_pattern=[True, False],
        rope__dimension_count=2 * KEYS, rope__dimension_count_swa=KEYS,
    )  # fmt: skip
    shapes: Shapes = {
        "token_embd.weight": (width, VOCABULARY), "output_norm.weight": (width,), "rope_freqs.weight": (KEYS,),
        "nextn.pre_projection.weight": (2 * WIDTH, width), "nextn.post_projection.weight": (width, WIDTH),
    }  # fmt: skip
    for block, length in enumerate((KEYS, 2 * KEYS)):
        shapes |= named(f"blk.{block}.", {
            **dict.fromkeys(("attn_norm", "ffn_norm", *AROUND), (width,)), "attn_q": (width, HEADS * length),
            "attn_output": (HEADS * length, width), "attn_q_norm": (length,), "layer_output_scale": (1,),
            "ffn_gate": (width, INNER), "ffn_up": (width, INNER), "ffn_down": (INNER, width),
        })  # fmt: skip
    return Model(arch="gemma4-assistant", keys=keys, shapes=shapes)


def _gemma3n() -> Model:
    """Twenty-two blocks, of which the first twenty keep keys and values."""
    count, laurel, narrow, predictions = 22, 64, 256, 4
    block: Shapes = attend() | qk_norms() | fed() | AROUND | {
        "inp_gate": (WIDTH, narrow), "proj": (narrow, WIDTH), "post_norm": (WIDTH,),
        "altup_correct_coef": (predictions, predictions), "altup_correct_scale": (WIDTH,),
        "altup_predict_coef": (predictions, predictions**2), "altup_router": (WIDTH, predictions),
        "altup_router_norm": (WIDTH,), "laurel_l": (WIDTH, laurel), "laurel_r": (laurel, WIDTH),
        "laurel_post_norm": (WIDTH,),
    }  # fmt: skip
    return built(
        "gemma3n", header(count, attention__sliding_window=WINDOW), [block] * count,
        altup_proj=(WIDTH, WIDTH, predictions - 1), altup_unembd_proj=(WIDTH, WIDTH, predictions - 1),
        per_layer_token_embd=(narrow * count, VOCABULARY), per_layer_model_proj=(WIDTH, narrow * count),
        per_layer_proj_norm=(narrow,),
    )  # fmt: skip


def _step35() -> Model:
    """Three blocks and an MTP head, in which a window slides as well."""
    keys = header(
        4, nextn_predict_layers=1, attention__sliding_window=WINDOW, expert_feed_forward_length=KEYS,
        attention__sliding_window_pattern=[False, True, True, True],
    )  # fmt: skip
    block = attend() | fed()
    return built("step35", keys, [block] * 3 + [block | NEXTN])


def _qwen3moe() -> Model:
    keys = header(LAYERS, attention__head_count=4, attention__head_count_kv=2, **EXPERT_KEYS)
    block = attend(2, heads=4) | qk_norms() | {"ffn_norm": (WIDTH,)} | routed()
    return built("qwen3moe", keys, [block] * LAYERS)


def _deepseek2(*, latent: bool) -> Model:
    """MLA with an MTP head; without the keys for it the rows are taken apart before they are kept."""
    length, value = NOPE + KEYS, KEYS
    keys = header(
        LAYERS + 1, nextn_predict_layers=1, leading_dense_block_count=LAYERS, expert_shared_count=1, **EXPERT_KEYS,
        attention__q_lora_rank=LATENT, attention__kv_lora_rank=LATENT,
        attention__head_count_kv=1 if latent else HEADS, attention__key_length=LATENT + KEYS if latent else length,
        attention__value_length=LATENT if latent else value, attention__key_length_mla=length if latent else None,
        attention__value_length_mla=value if latent else None,
    )  # fmt: skip
    block: Shapes = {
        "attn_norm": (WIDTH,), "attn_q_a_norm": (LATENT,), "attn_kv_a_norm": (LATENT,), "attn_q_a": (WIDTH, LATENT),
        "attn_q_b": (LATENT, HEADS * length), "attn_kv_a_mqa": (WIDTH, LATENT + KEYS),
        "attn_output": (HEADS * value, WIDTH), "ffn_norm": (WIDTH,),
    }  # fmt: skip
    if latent:
        block |= {"attn_k_b": (NOPE, LATENT, HEADS), "attn_v_b": (LATENT, value, HEADS)}
    else:
        block |= {"attn_kv_b": (LATENT, HEADS * (NOPE + value))}
    shared = {"ffn_gate_shexp": (WIDTH, KEYS), "ffn_up_shexp": (WIDTH, KEYS), "ffn_down_shexp": (KEYS, WIDTH)}
    return built("deepseek2", keys, [block | fed()] * LAYERS + [block | routed() | shared | NEXTN])


def _deci() -> Model:
    """Three blocks of other heads, and one that has none of keys and values."""
    keys = header(3, attention__head_count_kv=[2, 0, 1])
    bare = {"attn_norm": (WIDTH,), "attn_output": (WIDTH, WIDTH)}
    return built("deci", keys, [each | fed() for each in (attend(2), bare, attend(1))])


MODELS: Final[Mapping[str, Callable[[], Model]]] = {
    "deci": _deci,
    "deepseek2": lambda: _deepseek2(latent=True),
    "deepseek2-apart": lambda: _deepseek2(latent=False),
    "falcon-h1": tiny_states.falcon_h1,
    "gemma3": _gemma3,
    "gemma3n": _gemma3n,
    "gemma4": _gemma4,
    "gpt-oss": _gpt_oss,
    "granitehybrid": tiny_states.granite_hybrid,
    "jamba": tiny_states.jamba,
    "kimi-linear": tiny_states.kimi_linear,
    "lfm2": tiny_states.lfm2,
    "lfm2-window": lambda: tiny_states.lfm2(WINDOW),
    "llama": tiny_gguf.MODELS["plain"],
    "mamba": tiny_states.mamba,
    "mamba2": tiny_states.mamba2,
    "minimax-01": tiny_states.minimax_01,
    "nemotron_h_moe": tiny_states.nemotron_h_moe,
    "qwen35": tiny_gguf.MODELS["headed"],
    "qwen35-listed": tiny_states.qwen35_listed,
    "qwen3moe": _qwen3moe,
    "qwen3next": tiny_states.qwen3next,
    "rwkv7": tiny_states.rwkv7,
    "step35": _step35,
}
"""By architecture, and what is unusual of it."""
DRAFTERS: Final[Mapping[str, Callable[[], Model]]] = {"gemma4-assistant": _gemma4_assistant}
"""What is no model by itself."""


def make(directory: Path, name: str) -> Path:
    """Write one of `MODELS` or `DRAFTERS` below `directory`, unless it is there, and give its path."""
    path = directory / f"{name}.gguf"
    if not path.exists():
        tiny_gguf.write(path, {**MODELS, **DRAFTERS}[name]())
    return path
