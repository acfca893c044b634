"""Locks of made-up and of tiny checkpoints, as the files beside a fleet."""

from collections.abc import Mapping
from typing import Any

import tiny_facts
from made_facts import made
from quadgen.facts import lock_file
from quadgen.facts.record import Facts, Lock, Weights

MIB = 2**20
GIB = 2**30
LOCK = "models.lock.yml"
GEOMETRY: dict[str, Any] = {
    "block_count": 40, "context_length": 131072, "embedding_length": 4096, "feed_forward_length": 12288,
    "attention.head_count": 32, "attention.head_count_kv": 8, "attention.key_length": 128,
    "attention.value_length": 128,
}  # fmt: skip
"""A dense model whose cache takes 160 KiB for a token: 40 layers of 8 heads of 128 keys and values of 2 bytes."""
TOKEN = 40 * 8 * (128 + 128) * 2
"""Bytes of the cache for one token of `dense`."""


def dense(size: int = 16 * GIB, **keys: Any) -> Facts:
    """A model of `size` bytes, in its blocks but for 1 GiB of embeddings that are the output too."""
    blocks = GEOMETRY["block_count"]
    each = (size - GIB) // blocks
    return made(
        {**GEOMETRY, **{name.replace("__", "."): value for name, value in keys.items()}},
        size=size,
        marks=("blk.0.attn_norm.weight", "output_norm.weight", "token_embd.weight"),
        weights=Weights(input=GIB, output=0, tied=True, blocks=(each,) * blocks, experts=(), other=0),
    )


def tiny(name: str) -> Facts:
    """The facts of a tiny checkpoint, as if it had been recorded from its file."""
    return tiny_facts.of(name)


def locked(files: Mapping[str, Facts]) -> dict[str, str]:
    """The lock of these files, for the files around a fleet."""
    return {LOCK: lock_file.dump(Lock(files=dict(files)))}
