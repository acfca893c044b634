"""The facts of the tiny checkpoints, from what they are made of and not from their bytes."""

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from math import prod

import tiny_gguf
import tiny_pairs
from quadgen.facts.record import MARKS, Facts, Scalar, Vocabulary, Weights

_BLOCK = re.compile(r"blk\.(\d+)\.")
_HEAD = re.compile(r"blk\.(\d+)\.nextn\.eh_proj\.weight")


@cache
def of(name: str) -> Facts:
    """What the header of `tiny_pairs.make(..., name)` says."""
    return of_model(tiny_pairs.MODELS[name](), name)


def of_model(model: tiny_gguf.Model, name: str) -> Facts:
    """What the header of a file says that is written of `model`."""
    sizes = {name: 4 * prod(shape) for name, shape in model.shapes.items()}
    blocks: dict[int, int] = {}
    for tensor, size in sizes.items():
        if found := _BLOCK.match(tensor):
            blocks[int(found[1])] = blocks.get(int(found[1]), 0) + size
    within, outside = sizes.pop("token_embd.weight", 0), sizes.pop("output.weight", 0)
    rest = sum(size for tensor, size in sizes.items() if not _BLOCK.match(tensor))
    keys: dict[str, Scalar | tuple[Scalar, ...]] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in sorted(model.keys.items())
    }
    return Facts(
        size=sum(sizes.values()), shards=1, header=hashlib.sha256(name.encode()).hexdigest(), architecture=model.arch,
        name=None, type=model.kind, quantization=None, keys=keys,
        heads=tuple(sorted(int(found[1]) for found in map(_HEAD.fullmatch, model.shapes) if found)),
        marks=tuple(mark for mark in MARKS if mark in model.shapes), vocabulary=_vocabulary(model),
        weights=Weights(
            input=within, output=outside, tied=not outside, experts=(), other=rest,
            blocks=tuple(blocks.get(number, 0) for number in range(max(blocks, default=-1) + 1)),
        ),
    )  # fmt: skip


def _vocabulary(model: tiny_gguf.Model) -> Vocabulary:
    special: dict[str, Scalar] = {"add_bos_token": model.bos, "bos_token_id": 1, "eos_token_id": 2}
    special |= {"mask_token_id": 0} if model.mask else {}
    return vocabulary(tiny_gguf.texts(model), special={**special, "unknown_token_id": 0})


def vocabulary(
    texts: list[str], *, special: Mapping[str, Scalar], model: str = "llama", pre: str | None = None, padding: int = 0
) -> Vocabulary:
    """The identity of a tokenizer with these tokens."""
    size, parts = len(texts), [text.encode() + b"\0" for text in texts]
    tail = [
        hashlib.sha256(b"".join(parts[5:length])).hexdigest()[:8]
        for length in range(max(6, size - 128), size + 1)
    ]  # fmt: skip
    return Vocabulary(
        model=model, pre=pre, size=size, merges=0, padding=padding,
        sha256_2000=hashlib.sha256(b"".join(parts[:2000])).hexdigest(),
        sha256=hashlib.sha256(b"".join(parts)).hexdigest(), tail="".join(tail), special=dict(sorted(special.items())),
    )  # fmt: skip
