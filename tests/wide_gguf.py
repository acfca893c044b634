"""Checkpoints with the shapes of real ones, and with holes of the file system where their weights would be.

    model = wide_gguf.make(tmp_path, "llama")

The real llama-server loads each in less than a second, as it maps what it never reads: only what its buffers are sized
by is true. Each has one block of every kind that its architecture has, most have an MTP head where that can be, and of
experts there are few, as only those count that a token uses.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.constants import GGML_QUANT_SIZES

import tiny_gguf
from tiny_gguf import Model, Shapes

_WIDE, _NARROW = GGMLQuantizationType.IQ1_S, GGMLQuantizationType.Q5_0
"""Of rows of 256 and of 32 numbers; the CPU packs neither anew, which would read the weights."""
_TOKENS: Final = 32000
_BARE: Final = ("ssm_a", "ssm_d", ".bias")


def _model(arch: str, width: int, blocks: list[Shapes], *, tied: bool = False, **keys: Any) -> Model:
    """A model of these blocks, with `__` for a dot in its keys."""
    told = {
        "block_count": len(blocks), "context_length": 262144, "embedding_length": width,
        "attention.layer_norm_rms_epsilon": 1e-6, **{name.replace("__", "."): value for name, value in keys.items()},
    }  # fmt: skip
    shapes: Shapes = {"token_embd.weight": (width, _TOKENS), "output_norm.weight": (width,)}
    shapes |= {} if tied else {"output.weight": (width, _TOKENS)}
    for number, block in enumerate(blocks):
        named = {name if name.endswith(_BARE) else f"{name}.weight": shape for name, shape in block.items()}
        shapes |= {f"blk.{number}.{name}": shape for name, shape in named.items()}
    return Model(arch=arch, keys=told, shapes=shapes, size=_TOKENS)


def _attend(width: int, heads: int, kv: int, length: int, *, gated: bool = False) -> Shapes:
    return {
        "attn_norm": (width,), "attn_q": (width, heads * length * (2 if gated else 1)),
        "attn_k": (width, kv * length), "attn_v": (width, kv * length), "attn_output": (heads * length, width),
    }  # fmt: skip


def _heads(heads: int, kv: int, length: int) -> dict[str, Any]:
    return {
        "attention__head_count": heads, "attention__head_count_kv": kv, "attention__key_length": length,
        "attention__value_length": length, "rope__dimension_count": length,
    }  # fmt: skip


def _fed(width: int, inner: int, norm: str = "ffn_norm") -> Shapes:
    return {norm: (width,), "ffn_gate": (width, inner), "ffn_up": (width, inner), "ffn_down": (inner, width)}


def _routed(width: int, inner: int, experts: int, norm: str = "ffn_norm") -> Shapes:
    return {
        norm: (width,), "ffn_gate_inp": (width, experts), "ffn_gate_exps": (width, inner, experts),
        "ffn_up_exps": (width, inner, experts), "ffn_down_exps": (inner, width, experts),
    }  # fmt: skip


def _shared(width: int, inner: int) -> Shapes:
    return {"ffn_gate_shexp": (width, inner), "ffn_up_shexp": (width, inner), "ffn_down_shexp": (inner, width)}


def _norms(length: int) -> Shapes:
    return {"attn_q_norm": (length,), "attn_k_norm": (length,)}


def _nextn(width: int) -> Shapes:
    return {"nextn.eh_proj": (2 * width, width), "nextn.enorm": (width,), "nextn.hnorm": (width,)}


def _llama() -> Model:
    """As Llama 3 8B."""
    block = _attend(4096, 32, 8, 128) | _fed(4096, 14336)
    return _model("llama", 4096, [block] * 2, feed_forward_length=14336, **_heads(32, 8, 128))


def _qwen3moe() -> Model:
    """As Qwen3 30B-A3B."""
    block = _attend(2048, 32, 4, 128) | _norms(128) | _routed(2048, 768, 16)
    return _model(
        "qwen3moe", 2048, [block] * 2, feed_forward_length=6144, expert_count=16, expert_used_count=8,
        expert_feed_forward_length=768, **_heads(32, 4, 128),
    )  # fmt: skip


def _gemma3() -> Model:
    """As Gemma 3 27B."""
    around = {"post_attention_norm": (5376,), "post_ffw_norm": (5376,)}
    block = _attend(5376, 32, 16, 128) | _norms(128) | _fed(5376, 21504) | around
    return _model(
        "gemma3", 5376, [block] * 6, tied=True, feed_forward_length=21504, attention__sliding_window=1024,
        **_heads(32, 16, 128),
    )  # fmt: skip


def _states(width: int, *, moe: bool) -> tuple[Shapes, dict[str, Any]]:
    """The recurrent part of a block of Qwen3.5, and its keys."""
    state, groups, steps = 128, 16, 32 if moe else 48
    inner = state * steps
    channels = inner + 2 * groups * state
    return {
        "attn_norm": (width,), "attn_qkv": (width, channels), "attn_gate": (width, inner),
        "ssm_conv1d": (4, channels), "ssm_dt.bias": (steps,), "ssm_a": (steps,), "ssm_beta": (width, steps),
        "ssm_alpha": (width, steps), "ssm_norm": (state,), "ssm_out": (inner, width),
    }, {
        "ssm__conv_kernel": 4, "ssm__inner_size": inner, "ssm__state_size": state, "ssm__time_step_rank": steps,
        "ssm__group_count": groups, "full_attention_interval": 2, "nextn_predict_layers": 1,
        "rope__dimension_sections": [11, 11, 10, 0],
    }  # fmt: skip


def _qwen35() -> Model:
    """As Qwen3.5 27B, with its head."""
    recurrent, keys = _states(5120, moe=False)
    forward = _fed(5120, 17408, "post_attention_norm")
    full = _attend(5120, 24, 4, 256, gated=True) | _norms(256) | forward
    return _model(
        "qwen35", 5120, [recurrent | forward, full, full | _nextn(5120)], feed_forward_length=17408,
        **{**_heads(24, 4, 256), "rope__dimension_count": 64}, **keys,
    )  # fmt: skip


def _qwen35moe() -> Model:
    """As Qwen3.5 35B-A3B, with its head."""
    recurrent, keys = _states(2048, moe=True)
    forward = _routed(2048, 512, 16, "post_attention_norm") | _shared(2048, 512) | {"ffn_gate_inp_shexp": (2048,)}
    full = _attend(2048, 16, 2, 256, gated=True) | _norms(256) | forward
    return _model(
        "qwen35moe", 2048, [recurrent | forward, full, full | _nextn(2048)], expert_count=16,
        expert_used_count=8, expert_feed_forward_length=512, expert_shared_feed_forward_length=512,
        **{**_heads(16, 2, 256), "rope__dimension_count": 64}, **keys,
    )  # fmt: skip


def _deepseek2() -> Model:
    """As DeepSeek V3, with its head."""
    width, heads, latent, rotated, plain, value, experts = 7168, 128, 512, 64, 128, 128, 16
    block: Shapes = {
        "attn_norm": (width,), "attn_q_a": (width, 1536), "attn_q_a_norm": (1536,),
        "attn_q_b": (1536, heads * (plain + rotated)), "attn_kv_a_mqa": (width, latent + rotated),
        "attn_kv_a_norm": (latent,), "attn_k_b": (plain, latent, heads), "attn_v_b": (latent, value, heads),
        "attn_output": (heads * value, width),
    }  # fmt: skip
    routed = _routed(width, 2048, experts) | _shared(width, 2048) | {"exp_probs_b.bias": (experts,)}
    return _model(
        "deepseek2", width, [block | _fed(width, 18432), block | routed, block | routed | _nextn(width)],
        feed_forward_length=18432, attention__head_count=heads, attention__head_count_kv=1,
        attention__key_length=latent + rotated, attention__value_length=latent,
        attention__key_length_mla=plain + rotated, attention__value_length_mla=value,
        attention__kv_lora_rank=latent, attention__q_lora_rank=1536, rope__dimension_count=rotated,
        leading_dense_block_count=1, expert_count=experts, expert_used_count=8, expert_shared_count=1,
        expert_feed_forward_length=2048, nextn_predict_layers=1,
    )  # fmt: skip


def _gpt_oss() -> Model:
    """As gpt-oss 120B."""
    width, experts = 2880, 8
    block = _attend(width, 64, 8, 64) | {"post_attention_norm": (width,), "attn_sinks": (64,)}
    routed = _routed(width, 2880, experts) | {
        "ffn_gate_inp.bias": (experts,), "ffn_gate_exps.bias": (2880, experts), "ffn_up_exps.bias": (2880, experts),
        "ffn_down_exps.bias": (width, experts), "attn_output.bias": (width,),
    }  # fmt: skip
    del routed["ffn_norm"]
    return _model(
        "gpt-oss", width, [block | routed] * 2, attention__sliding_window=128, expert_count=experts,
        expert_used_count=4, expert_feed_forward_length=2880, **_heads(64, 8, 64),
    )  # fmt: skip


def _mamba2() -> Model:
    """As Mamba-Codestral 7B."""
    width, inner, state, groups, steps = 4096, 8192, 128, 8, 128
    channels = inner + 2 * groups * state
    block: Shapes = {
        "attn_norm": (width,), "ssm_in": (width, 2 * inner + 2 * groups * state + steps), "ssm_conv1d": (4, channels),
        "ssm_conv1d.bias": (channels,), "ssm_dt.bias": (steps,), "ssm_a": (1, steps), "ssm_d": (1, steps),
        "ssm_norm": (inner // groups, groups), "ssm_out": (inner, width),
    }  # fmt: skip
    return _model(
        "mamba2", width, [block] * 2, ssm__conv_kernel=4, ssm__inner_size=inner, ssm__state_size=state,
        ssm__time_step_rank=steps, ssm__group_count=groups, attention__head_count=0, feed_forward_length=0,
    )  # fmt: skip


MODELS: Final[Mapping[str, Callable[[], Model]]] = {
    "llama": _llama,
    "qwen3moe": _qwen3moe,
    "gemma3": _gemma3,
    "qwen35": _qwen35,
    "qwen35moe": _qwen35moe,
    "deepseek2": _deepseek2,
    "gpt-oss": _gpt_oss,
    "mamba2": _mamba2,
}


def _kind(name: str, shape: tuple[int, ...]) -> GGMLQuantizationType:
    """The type of a tensor: matrices are as small as can be, all else is of 32 bits."""
    if len(shape) == 1 or "norm" in name or name.endswith(".bias") or "ssm_conv1d" in name or shape[0] % 32:
        return GGMLQuantizationType.F32
    return _WIDE if shape[0] % 256 == 0 else _NARROW


def sizes(model: Model) -> dict[str, int]:
    """Bytes of each tensor as `make` writes it."""
    found = {}
    for name, shape in model.shapes.items():
        count, size = GGML_QUANT_SIZES[_kind(name, shape)]
        found[name] = int(np.prod(shape, dtype=np.int64)) // count * size
    return found


def make(directory: Path, name: str) -> Path:
    """Write one of `MODELS` below `directory`, unless it is there, and give its path."""
    path, model = directory / f"wide-{name}.gguf", MODELS[name]()
    if path.exists():
        return path
    writer = GGUFWriter(path, model.arch)
    tiny_gguf.describe(writer, model)
    total, wanted = 0, sizes(model)
    for tensor, shape in model.shapes.items():
        kind = _kind(tensor, shape)
        writer.add_tensor_info(tensor, shape[::-1], np.dtype(np.float32), wanted[tensor], raw_dtype=kind)
        total += -(-wanted[tensor] // 32) * 32
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    with path.open("r+b") as file:
        file.truncate(-(-path.stat().st_size // 32) * 32 + total)
    return path
