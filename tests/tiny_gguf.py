"""Checkpoints of a few hundred kilobytes that the real llama-server loads in some tens of milliseconds.

    target = tiny_gguf.make(tmp_path, "plain")

The weights are random and the seeds fixed, so that a file is the same in every run. Each has the shape of its
architecture as llama.cpp b11434 reads it (src/models/{llama,qwen35,eagle3,dflash}.cpp), and nothing that this leaves
out. A greedy model counts: after each word it says the next one, and after the last the first, so that an n-gram
drafter finds its drafts and a draft model of the same kind is always right. Heads and drafters of hidden states are
as good as none.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from gguf import GGUFWriter

WIDTH, HEADS, KEYS, INNER = 64, 2, 32, 96
"""Embedding length, attention heads, length of a key and of a value, feed-forward length. A quantised cache needs
keys and values whose length is a multiple of 32."""
CONTEXT, VOCABULARY, LAYERS = 1024, 320, 2
STATE, CONVOLUTION = 32, 4
"""Of qwen35's linear attention: the length of a head's state, and how many tokens it convolves."""
BLOCK = 8
"""Tokens that a dflash drafter denoises at once, the last one that is known among them."""

Weights = np.ndarray[Any, np.dtype[np.float32]]
Shapes = dict[str, tuple[int, ...]]
"""As llama.cpp writes them: the dimension that lies together in memory first."""
FIRST: Final = 259
"""The first word; special tokens and bytes are before it."""
_SPECIAL: Final = ("<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)))
_KINDS: Final = (2, 3, 3, *[6] * 256)
"""Unknown, control, bytes; every other token is normal, 1 (include/llama.h, llama_token_type)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One file: its architecture, the keys below that name, its tensors, and what is unusual in its vocabulary."""

    arch: str
    keys: Mapping[str, Any]
    shapes: Shapes
    size: int = VOCABULARY
    texts: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    """Tokens that have another text than usual, by id."""
    bos: bool = True
    """Whether every text begins with a token of its own."""
    mask: bool = True
    """Whether there is a token for what is to be guessed."""
    kind: str | None = None
    """`general.type`, where the file says it."""


def _keys(layers: int, **more: Any) -> dict[str, Any]:
    """The keys that every architecture here reads, and more of them with `__` for a dot."""
    return {
        "block_count": layers, "context_length": CONTEXT, "embedding_length": WIDTH, "feed_forward_length": INNER,
        "attention.head_count": HEADS, "attention.head_count_kv": HEADS, "attention.key_length": KEYS,
        "attention.value_length": KEYS, "attention.layer_norm_rms_epsilon": 1e-6, "rope.dimension_count": KEYS,
        **{name.replace("__", "."): value for name, value in more.items()},
    }  # fmt: skip


def _block(layer: int, shapes: Shapes) -> Shapes:
    bare = ("ssm_a", "ssm_dt.bias")
    return {f"blk.{layer}.{name}{'' if name in bare else '.weight'}": shape for name, shape in shapes.items()}


def _embeddings(size: int = VOCABULARY) -> Shapes:
    return {"token_embd.weight": (WIDTH, size), "output_norm.weight": (WIDTH,), "output.weight": (WIDTH, size)}


def _attention(*, reads: int = WIDTH, gated: bool = False) -> Shapes:
    """Attention over `reads` numbers a token; a gated one has a gate for each query."""
    wide = HEADS * KEYS
    return {
        "attn_norm": (WIDTH,), "attn_q": (reads, wide * (2 if gated else 1)), "attn_k": (reads, wide),
        "attn_v": (reads, wide), "attn_output": (wide, WIDTH),
    }  # fmt: skip


def _forward(norm: str) -> Shapes:
    return {norm: (WIDTH,), "ffn_gate": (WIDTH, INNER), "ffn_down": (INNER, WIDTH), "ffn_up": (WIDTH, INNER)}


_QK: Final[Shapes] = {"attn_q_norm": (KEYS,), "attn_k_norm": (KEYS,)}
_RECURRENT: Final[Shapes] = {
    "attn_norm": (WIDTH,), "attn_qkv": (WIDTH, 3 * HEADS * STATE), "attn_gate": (WIDTH, HEADS * STATE),
    "ssm_conv1d": (CONVOLUTION, 3 * HEADS * STATE), "ssm_dt.bias": (HEADS,), "ssm_a": (HEADS,),
    "ssm_beta": (WIDTH, HEADS), "ssm_alpha": (WIDTH, HEADS), "ssm_norm": (STATE,), "ssm_out": (HEADS * STATE, WIDTH),
}  # fmt: skip
_NEXTN: Final[Shapes] = {"nextn.eh_proj": (2 * WIDTH, WIDTH), "nextn.enorm": (WIDTH,), "nextn.hnorm": (WIDTH,)}


def _llama(size: int = VOCABULARY) -> Model:
    shapes = _embeddings(size)
    for layer in range(LAYERS):
        shapes |= _block(layer, _attention() | _forward("ffn_norm"))
    return Model(arch="llama", keys=_keys(LAYERS), shapes=shapes, size=size)


def _qwen35(*, trunk: bool = True, head: bool = True) -> Model:
    """A hybrid of a recurrent and a full layer that announces an MTP head in a third."""
    keys = _keys(
        LAYERS + 1, nextn_predict_layers=1, full_attention_interval=LAYERS, rope__dimension_sections=[4, 4, 4, 4],
        ssm__conv_kernel=CONVOLUTION, ssm__inner_size=HEADS * STATE, ssm__state_size=STATE,
        ssm__time_step_rank=HEADS, ssm__group_count=HEADS,
    )  # fmt: skip
    forward = _forward("post_attention_norm")
    full = _attention(gated=True) | _QK | forward
    shapes = _embeddings()
    if trunk:
        shapes |= _block(0, _RECURRENT | forward) | _block(1, full)
    if head:
        shapes |= _block(LAYERS, full | _NEXTN)
    return Model(arch="qwen35", keys=keys, shapes=shapes)


def _eagle3() -> Model:
    """A drafter that reads three layers of the target, with the target's width."""
    keys = _keys(1, target_layers=[0, 1, 1], target_hidden_size=WIDTH)
    block = _attention(reads=2 * WIDTH) | {"attn_norm_2": (WIDTH,)} | _forward("ffn_norm")
    return Model(arch="eagle3", keys=keys, shapes=_embeddings() | {"fc.weight": (3 * WIDTH, WIDTH)} | _block(0, block))


def _dflash(*, markov: bool = False) -> Model:
    """A drafter that reads two layers of the target and denoises a block; with a Markov head it is a dspark one."""
    shapes = _embeddings() | {"fc.weight": (2 * WIDTH, WIDTH), "enc.output_norm.weight": (WIDTH,)}
    if markov:
        shapes |= {"markov_w1.weight": (KEYS, VOCABULARY), "markov_w2.weight": (KEYS, VOCABULARY)}
    keys = _keys(1, target_layers=[0, 1], block_size=BLOCK)
    return Model(arch="dflash", keys=keys, shapes=shapes | _block(0, _attention() | _QK | _forward("ffn_norm")))


MODELS: Final[Mapping[str, Callable[[], Model]]] = {
    "plain": _llama,
    "draft": _llama,
    "larger": lambda: _llama(VOCABULARY + 129),
    "slightly-larger": lambda: _llama(VOCABULARY + 128),
    "other-word": lambda: replace(_llama(), texts={300: "▁other"}),
    "other-special": lambda: replace(_llama(), texts={0: "<none>"}),
    "no-bos": lambda: replace(_llama(), bos=False),
    "headed": _qwen35,
    "stripped": lambda: _qwen35(head=False),
    "head": lambda: _qwen35(trunk=False),
    "eagle3": _eagle3,
    "dflash": _dflash,
    "dspark": lambda: _dflash(markov=True),
}
"""What can be made: targets, drafters whose vocabulary is or is not the target's, an MTP head in the file, announced
but missing, and alone in a file, and drafters of a target's hidden states."""


def make(directory: Path, name: str) -> Path:
    """Write one of `MODELS` below `directory`, unless it is there, and give its path."""
    path = directory / f"{name}.gguf"
    if not path.exists():
        write(path, MODELS[name]())
    return path


def write(path: Path, model: Model) -> None:
    """Write a file of what it shall be."""
    writer = GGUFWriter(path, model.arch)
    describe(writer, model)
    for name, weights in _weights(model.shapes):
        writer.add_tensor(name, weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def describe(writer: GGUFWriter, model: Model) -> None:
    """Say everything of a file but its tensors."""
    if model.kind is not None:
        writer.add_type(model.kind)
    for name, value in model.keys.items():
        key = f"{model.arch}.{name}"
        if isinstance(value, list):
            writer.add_array(key, value)
        elif isinstance(value, bool):
            writer.add_bool(key, value)
        elif isinstance(value, float):
            writer.add_float32(key, value)
        else:
            writer.add_uint32(key, value)
    _tokenizer(writer, model)


def texts(model: Model) -> list[str]:
    """Its tokens, in the order of their ids."""
    words = [*_SPECIAL, *(f"▁w{number}" for number in range(model.size - len(_SPECIAL)))]
    for token, text in model.texts.items():
        words[token] = text
    return words


def _tokenizer(writer: GGUFWriter, model: Model) -> None:
    writer.add_tokenizer_model("llama")
    writer.add_token_list(texts(model))
    writer.add_token_scores([-float(number) for number in range(model.size)])
    writer.add_token_types([*_KINDS, *[1] * (model.size - len(_KINDS))])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    if model.mask:
        writer.add_mask_token_id(0)
    writer.add_add_bos_token(model.bos)


def _weights(shapes: Shapes) -> Iterator[tuple[str, Weights]]:
    """Random weights that leave a token's embedding what it is, and an output that makes the next word of it."""
    random = np.random.default_rng(1)
    embeddings = np.zeros(0, dtype=np.float32)
    for name, shape in shapes.items():
        if name == "output.weight":
            following = np.roll(embeddings, 1, axis=0)
            following[0], following[FIRST] = 0, embeddings[-1]
            yield name, following
        elif len(shape) == 1:  # a norm; the decay of a recurrent layer must forget
            yield name, np.full(shape, -1 if name.endswith("ssm_a") else 1, dtype=np.float32)
        else:
            drawn = random.standard_normal(shape[::-1], dtype=np.float32)
            embeddings = drawn if name == "token_embd.weight" else embeddings
            yield name, drawn * np.float32(1 if name == "token_embd.weight" else 0.01)
