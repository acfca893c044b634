"""Tiny checkpoints of architectures with a state, alone or beside keys and values; tiny_archs.py lists them."""

from dataclasses import replace
from typing import Final

import tiny_gguf
from tiny_blocks import (
    DOUBLE,
    EXPERT_KEYS,
    EXPERTS,
    GROUPS,
    LATENT,
    NEXTN,
    NOPE,
    STEPS,
    attend,
    built,
    fed,
    header,
    qk_norms,
    routed,
)
from tiny_gguf import CONVOLUTION, HEADS, INNER, KEYS, LAYERS, STATE, WIDTH, Model, Shapes

_SSM_KEYS: Final = {
    "ssm__conv_kernel": CONVOLUTION, "ssm__inner_size": DOUBLE, "ssm__state_size": STATE, "ssm__time_step_rank": STEPS,
}  # fmt: skip


def _first() -> Shapes:
    return {
        "attn_norm": (WIDTH,), "ssm_in": (WIDTH, 2 * DOUBLE), "ssm_conv1d": (CONVOLUTION, DOUBLE),
        "ssm_conv1d.bias": (DOUBLE,), "ssm_x": (DOUBLE, STEPS + 2 * STATE), "ssm_dt": (STEPS, DOUBLE),
        "ssm_dt.bias": (DOUBLE,), "ssm_a": (STATE, DOUBLE), "ssm_d": (DOUBLE,), "ssm_out": (DOUBLE, WIDTH),
    }  # fmt: skip


def _second() -> Shapes:
    convolved = DOUBLE + 2 * GROUPS * STATE
    return {
        "attn_norm": (WIDTH,), "ssm_in": (WIDTH, DOUBLE + convolved + STEPS),
        "ssm_conv1d": (CONVOLUTION, convolved), "ssm_conv1d.bias": (convolved,), "ssm_dt.bias": (STEPS,),
        "ssm_a": (1, STEPS), "ssm_d": (1, STEPS), "ssm_norm": (DOUBLE // GROUPS, GROUPS), "ssm_out": (DOUBLE, WIDTH),
    }  # fmt: skip


def lfm2(window: int | None = None) -> Model:
    """Short convolutions, and blocks of other heads between them."""
    heads = [0, 1, 0, 2]
    keys = header(4, attention__head_count_kv=heads, shortconv__l_cache=3, attention__sliding_window=window)
    convolution = {
        "attn_norm": (WIDTH,), "shortconv.conv": (3, WIDTH), "shortconv.in_proj": (WIDTH, 3 * WIDTH),
        "shortconv.out_proj": (WIDTH, WIDTH),
    }  # fmt: skip
    blocks = [(attend(kv) | qk_norms() if kv else convolution) | fed() for kv in heads]
    model = built("lfm2", keys, blocks, token_embd_norm=(WIDTH,))
    return replace(model, shapes={name: shape for name, shape in model.shapes.items() if name != "output_norm.weight"})


def mamba() -> Model:
    """Nothing but states."""
    keys = header(LAYERS, attention__head_count=0, attention__head_count_kv=None, feed_forward_length=0, **_SSM_KEYS)
    return built("mamba", keys, [_first()] * LAYERS)


def mamba2() -> Model:
    """Nothing but states, convolved in groups."""
    keys = {**mamba().keys, "ssm.group_count": GROUPS}
    return built("mamba2", keys, [_second()] * LAYERS)


def jamba() -> Model:
    """A state, and a block that attends."""
    keys = header(LAYERS, attention__head_count_kv=[0, 1], **_SSM_KEYS)
    normed = {"ssm_dt_norm": (STEPS,), "ssm_b_norm": (STATE,), "ssm_c_norm": (STATE,)}
    return built("jamba", keys, [_first() | normed | fed(), attend() | fed()])


def granite_hybrid() -> Model:
    """A block that attends between two states."""
    keys = header(3, attention__head_count_kv=[0, 2, 0], ssm__group_count=GROUPS, **_SSM_KEYS)
    state = _second() | fed()
    return built("granitehybrid", keys, [state, attend(2) | fed(), state])


def falcon_h1() -> Model:
    """Each block has a state and keys and values as well."""
    keys = header(LAYERS, ssm__group_count=GROUPS, **_SSM_KEYS)
    model = built("falcon-h1", keys, [_second() | attend() | fed()] * LAYERS)
    bare = {f"blk.{number}.ffn_norm.weight": f"blk.{number}.ffn_norm" for number in range(LAYERS)}
    return replace(model, shapes={bare.get(name, name): shape for name, shape in model.shapes.items()})


def nemotron_h_moe() -> Model:
    """One block of each kind: a state, attention, experts; and an MTP head that has all but a state."""
    keys = header(
        4, nextn_predict_layers=1, attention__head_count_kv=[0, 2, 0, 1], feed_forward_length=[0, 0, INNER, 0],
        attention__layer_norm_epsilon=1e-6, expert_shared_feed_forward_length=KEYS, ssm__group_count=GROUPS,
        **_SSM_KEYS, **EXPERT_KEYS,
    )  # fmt: skip
    experts: Shapes = {name: shape for name, shape in routed().items() if name != "ffn_gate_exps"} | {
        "exp_probs_b.bias": (EXPERTS,), "ffn_up_shexp": (WIDTH, KEYS), "ffn_down_shexp": (KEYS, WIDTH),
    }  # fmt: skip
    head = attend(1) | experts | NEXTN | {"post_attention_norm": (WIDTH,), "nextn.shared_head_norm": (WIDTH,)}
    return built("nemotron_h_moe", keys, [_second(), attend(2), {"attn_norm": (WIDTH,)} | experts, head])


def qwen3next() -> Model:
    """Three recurrent blocks and one that sees all, as four in a row are by default."""
    wide = HEADS * STATE
    keys = header(
        4, rope__dimension_sections=None, ssm__conv_kernel=CONVOLUTION, ssm__inner_size=wide, ssm__state_size=STATE,
        ssm__time_step_rank=HEADS, ssm__group_count=HEADS, **EXPERT_KEYS,
    )  # fmt: skip
    experts: Shapes = {"post_attention_norm": (WIDTH,)} | routed() | {
        "ffn_gate_inp_shexp": (WIDTH,), "ffn_gate_shexp": (WIDTH, INNER), "ffn_up_shexp": (WIDTH, INNER),
        "ffn_down_shexp": (INNER, WIDTH),
    }  # fmt: skip
    state = {
        "attn_norm": (WIDTH,), "attn_qkv": (WIDTH, 3 * wide), "attn_gate": (WIDTH, wide),
        "ssm_conv1d": (CONVOLUTION, 3 * wide), "ssm_dt.bias": (HEADS,), "ssm_a": (HEADS,),
        "ssm_ba": (WIDTH, 2 * HEADS), "ssm_norm": (STATE,), "ssm_out": (wide, WIDTH),
    }  # fmt: skip
    return built("qwen3next", keys, [state | experts] * 3 + [attend(gated=True) | qk_norms() | experts])


def qwen35_listed() -> Model:
    """A hybrid that names its recurrent blocks, and announces an MTP head behind them."""
    model = tiny_gguf.MODELS["headed"]()
    keys = {key: value for key, value in model.keys.items() if key != "full_attention_interval"}
    return replace(model, keys={**keys, "attention.recurrent_layers": [True, False, False]})


def minimax_01() -> Model:
    """Linear attention without a convolution, and the full one in each second block."""
    keys = header(LAYERS, full_attention_interval=2, residual_scale=1.0, **EXPERT_KEYS)
    experts = {name: tuple(INNER if part == KEYS else part for part in shape) for name, shape in routed().items()}
    wide = HEADS * KEYS
    linear: Shapes = {
        "attn_norm": (WIDTH,), "attn_norm_2": (wide,), "attn_qkv": (WIDTH, 3 * wide), "attn_gate": (WIDTH, wide),
        "attn_output": (wide, WIDTH),
    }  # fmt: skip
    forward = {"ffn_norm": (WIDTH,)} | experts
    return built("minimax-01", keys, [linear | forward, attend() | forward])


def kimi_linear() -> Model:
    """A block of KDA and one of MLA."""
    length, wide = NOPE + KEYS, HEADS * KEYS
    keys = header(
        LAYERS, attention__head_count_kv=[0, 1], attention__key_length=LATENT + KEYS, attention__value_length=LATENT,
        attention__kv_lora_rank=LATENT, attention__key_length_mla=length, attention__value_length_mla=KEYS,
        ssm__conv_kernel=CONVOLUTION, kda__head_dim=KEYS, leading_dense_block_count=LAYERS, expert_shared_count=0,
        expert_feed_forward_length=KEYS, expert_gating_func=2,
    )  # fmt: skip
    delta: Shapes = attend(HEADS) | {f"ssm_conv1d_{which}": (CONVOLUTION, 1, wide) for which in "qkv"} | {
        "ssm_f_a": (WIDTH, KEYS), "ssm_f_b": (KEYS, wide), "ssm_beta": (WIDTH, HEADS), "ssm_a": (1, HEADS),
        "ssm_dt.bias": (wide,), "ssm_g_a": (WIDTH, KEYS), "ssm_g_b": (KEYS, wide), "ssm_norm": (KEYS,),
    }  # fmt: skip
    latent: Shapes = {
        "attn_norm": (WIDTH,), "attn_kv_a_norm": (LATENT,), "attn_q": (WIDTH, HEADS * length),
        "attn_kv_a_mqa": (WIDTH, LATENT + KEYS), "attn_k_b": (NOPE, LATENT, HEADS),
        "attn_v_b": (LATENT, KEYS, HEADS), "attn_output": (wide, WIDTH),
    }  # fmt: skip
    return built("kimi-linear", keys, [delta | fed(), latent | fed()])


def rwkv7() -> Model:
    """Two blocks that mix the tokens before into a square for each head."""
    rank = 8
    keys = header(
        LAYERS, attention__head_count=0, attention__head_count_kv=None, attention__layer_norm_epsilon=1e-5,
        wkv__head_size=KEYS, attention__decay_lora_rank=rank, attention__iclr_lora_rank=rank,
        attention__value_residual_mix_lora_rank=rank, attention__gate_lora_rank=rank,
    )  # fmt: skip
    norms = ("attn_norm", "attn_norm_2", "time_mix_ln")
    block: Shapes = {f"{name}{end}": (WIDTH,) for name in norms for end in ("", ".bias")}
    block |= {f"time_mix_{name}0": (WIDTH,) for name in "wav"} | {
        f"time_mix_{name}": (WIDTH,) for name in ("k_k", "k_a", "r_k")
    }
    block |= {f"time_mix_{name}1": (WIDTH, rank) for name in "wavg"} | {
        f"time_mix_{name}2": (rank, WIDTH) for name in "wavg"
    }
    block |= {f"time_mix_{name}": (WIDTH, WIDTH) for name in ("key", "value", "receptance", "output")}
    block |= {
        "time_mix_lerp_fused": (WIDTH, 1, 1, 6), "channel_mix_lerp_k": (WIDTH, 1, 1),
        "channel_mix_key": (WIDTH, INNER), "channel_mix_value": (INNER, WIDTH),
    }  # fmt: skip
    more = {"token_embd_norm": (WIDTH,), "token_embd_norm.bias": (WIDTH,), "output_norm.bias": (WIDTH,)}
    return built("rwkv7", keys, [block] * LAYERS, **more)
