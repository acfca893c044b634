"""What the blocks of tiny checkpoints are made of (tiny_archs.py, tiny_states.py), and the keys that go with them."""

from collections.abc import Mapping
from typing import Any, Final

from tiny_gguf import CONTEXT, HEADS, INNER, KEYS, VOCABULARY, WIDTH, Model, Shapes

WINDOW: Final = 64
EXPERTS, USED = 4, 2
LATENT, NOPE = 64, 32
"""Of MLA: the width of the latent row, and of the part of a key that is not rotated."""
DOUBLE: Final = 2 * WIDTH
"""The inner size of a state-space layer."""
GROUPS, STEPS = 2, 4
_BARE: Final = frozenset({"ssm_a", "ssm_d"})
"""Tensors without a suffix."""


def header(blocks: int, **more: Any) -> dict[str, Any]:
    """The keys that most architectures read, and more of them with `__` for a dot; `None` takes one out."""
    keys = {
        "block_count": blocks, "context_length": CONTEXT, "embedding_length": WIDTH, "feed_forward_length": INNER,
        "attention.head_count": HEADS, "attention.head_count_kv": 1, "attention.key_length": KEYS,
        "attention.value_length": KEYS, "attention.layer_norm_rms_epsilon": 1e-6, "rope.dimension_count": KEYS,
    }  # fmt: skip
    more = {name.replace("__", "."): value for name, value in more.items()}
    return {name: value for name, value in {**keys, **more}.items() if value is not None}


def named(before: str, shapes: Shapes, *, bare: frozenset[str] = _BARE) -> Shapes:
    """Tensors with their names in full."""
    return {
        f"{before}{name}{'' if name in bare or name.endswith(('.bias', '.weight')) else '.weight'}": shape
        for name, shape in shapes.items()
    }


def built(arch: str, keys: Mapping[str, Any], blocks: list[Shapes], **more: tuple[int, ...]) -> Model:
    """A model of these blocks, with tensors of its own below their names."""
    shapes: Shapes = {"token_embd.weight": (WIDTH, VOCABULARY), "output_norm.weight": (WIDTH,)}
    shapes |= {"output.weight": (WIDTH, VOCABULARY)} | named("", more)
    for number, block in enumerate(blocks):
        shapes |= named(f"blk.{number}.", block)
    return Model(arch=arch, keys=keys, shapes=shapes)


def attend(kv: int = 1, *, heads: int = HEADS, keys: int = KEYS, gated: bool = False) -> Shapes:
    queries = heads * keys
    return {
        "attn_norm": (WIDTH,), "attn_q": (WIDTH, queries * (2 if gated else 1)), "attn_k": (WIDTH, kv * keys),
        "attn_v": (WIDTH, kv * keys), "attn_output": (queries, WIDTH),
    }  # fmt: skip


def qk_norms(length: int = KEYS) -> Shapes:
    return {"attn_q_norm": (length,), "attn_k_norm": (length,)}


def fed(norm: str = "ffn_norm") -> Shapes:
    return {norm: (WIDTH,), "ffn_gate": (WIDTH, INNER), "ffn_up": (WIDTH, INNER), "ffn_down": (INNER, WIDTH)}


def routed(*, bias: bool = False) -> Shapes:
    made: Shapes = {
        "ffn_gate_inp": (WIDTH, EXPERTS), "ffn_gate_exps": (WIDTH, KEYS, EXPERTS),
        "ffn_up_exps": (WIDTH, KEYS, EXPERTS), "ffn_down_exps": (KEYS, WIDTH, EXPERTS),
    }  # fmt: skip
    if bias:
        made |= {
            "ffn_gate_inp.bias": (EXPERTS,), "ffn_gate_exps.bias": (KEYS, EXPERTS),
            "ffn_up_exps.bias": (KEYS, EXPERTS), "ffn_down_exps.bias": (WIDTH, EXPERTS),
        }  # fmt: skip
    return made


NEXTN: Final[Shapes] = {"nextn.eh_proj": (2 * WIDTH, WIDTH), "nextn.enorm": (WIDTH,), "nextn.hnorm": (WIDTH,)}
AROUND: Final[Shapes] = {"post_attention_norm": (WIDTH,), "post_ffw_norm": (WIDTH,)}
EXPERT_KEYS: Final = {"expert_count": EXPERTS, "expert_used_count": USED, "expert_feed_forward_length": KEYS}
