"""Checkpoints of a few hundred bytes whose tokens are what a test says, and whose weights are one tensor of zeros."""

from collections.abc import Sequence
from typing import Any

from raw_gguf import ARRAY, FLAG, I32, TEXT, U32, Key, Raw

BYTES = tuple(f"<{number}>" for number in range(5))
"""The first tokens, whose text llama.cpp does not compare."""


def tokens(*words: str | bytes) -> list[str | bytes]:
    """Five tokens that nobody compares, and these."""
    return [*BYTES, *words]


def checkpoint(
    texts: Sequence[str | bytes] | None,
    *,
    model: str = "gpt2",
    pre: str | None = None,
    merges: Sequence[str] = (),
    types: Sequence[int] = (),
    **special: int | bool,
) -> bytes:
    """A model with these tokens; with none at all for None."""
    keys: list[Key] = [("general.architecture", TEXT, "llama"), ("llama.context_length", U32, 512)]
    if texts is not None:
        keys += [("tokenizer.ggml.model", TEXT, model), ("tokenizer.ggml.tokens", ARRAY, (TEXT, texts))]
    keys += [("tokenizer.ggml.pre", TEXT, pre)] if pre is not None else []
    keys += [("tokenizer.ggml.merges", ARRAY, (TEXT, merges))] if merges else []
    keys += [("tokenizer.ggml.token_type", ARRAY, (I32, types))] if types else []
    keys += [(f"tokenizer.ggml.{name}", _kind(value), value) for name, value in special.items()]
    return Raw(keys=keys, tensors=[("token_embd.weight", (4, 8), 0), ("blk.0.attn_norm.weight", (4,), 0)]).file()


def _kind(value: Any) -> int:
    return FLAG if isinstance(value, bool) else U32
