"""What the header of a checkpoint says, as far as a fleet is decided by it; the values of models.lock.yml."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

Scalar = int | float | bool | str
NOTHING: Mapping[str, Scalar] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Vocabulary:
    """A tokenizer's identity. Digests are SHA-256 in hex, over each token's bytes and one NUL, in the order of ids."""

    model: str
    """`tokenizer.ggml.model`: llama, gpt2, bert, t5, rwkv, none."""
    pre: str | None
    """`tokenizer.ggml.pre`."""
    size: int
    """Tokens."""
    merges: int
    padding: int
    """How many of the last tokens only fill the vocabulary up: of the type UNUSED, or spelled `[PAD123]`."""
    sha256_2000: str
    """Of the first 2000 tokens, or of all where there are fewer."""
    sha256: str
    """Of all."""
    tail: str
    """For each length from size - 128 to size, those up to 5 left out, 8 hex digits, one after the other.

    They are the first digits of the digest over the tokens from id 5 on: llama.cpp compares the ids from 5 on, and
    takes sizes that differ by up to 128 (common/speculative.cpp).
    """
    special: Mapping[str, Scalar]
    """`bos_token_id`, `add_bos_token`, ...: the keys below `tokenizer.ggml.` that end in `_token_id`, or begin with
    `add_`, sorted."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weights:
    """Bytes of tensor data by where llama.cpp puts them; all shards together."""

    input: int
    """Of the input layer: `token_embd` and what belongs to it, which stays in the host's memory."""
    output: int
    """Of the output layer; `input` is there too where `tied`."""
    tied: bool
    """No `output.weight`: the embeddings are the output as well."""
    blocks: tuple[int, ...]
    """Of `blk.N.*`, by N; 0 where there is none of a number."""
    experts: tuple[int, ...]
    """Of these, what is in expert tensors (`*_exps`), by N; empty where there are none."""
    other: int
    """All the rest, such as a projector's tensors."""

    @property
    def total(self) -> int:
        """Bytes of all tensors."""
        return self.input + self.output + sum(self.blocks) + self.other


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Facts:
    """What one checkpoint says of itself, all shards together."""

    size: int
    """Bytes of the file, or of all shards."""
    shards: int
    """1 for a file that is whole."""
    header: str
    """SHA-256 in hex over the header, from the magic to the last tensor's entry; of shards, over their digests."""
    architecture: str
    """`general.architecture`."""
    name: str | None
    """`general.name`."""
    type: str | None
    """`general.type`: model, adapter, mmproj, ..."""
    quantization: str | None
    """`general.file_type` in llama.cpp's words, without `mostly`: Q4_K_M, F16; None where it is unknown."""
    keys: Mapping[str, Scalar | tuple[Scalar, ...]]
    """The keys below the architecture's name, sorted: scalars, and arrays of up to 1024 numbers or flags."""
    heads: tuple[int, ...]
    """Blocks with `nextn.eh_proj.weight` or `nextn.pre_projection.weight`, which only an MTP head has."""
    marks: tuple[str, ...]
    """Which of `MARKS` are there, sorted."""
    vocabulary: Vocabulary | None
    """None where the file has no tokens."""
    weights: Weights

    def number(self, key: str) -> int | None:
        """A whole number among the keys; None where it is absent or something else."""
        found = self.keys.get(key)
        return found if isinstance(found, int) and not isinstance(found, bool) else None


MARKS: tuple[str, ...] = (
    "blk.0.attn_norm.weight", "d2t", "fc.weight", "markov_w1.weight", "nextn.pre_projection.weight",
    "output.weight", "output_norm.weight", "token_embd.weight",
)  # fmt: skip
"""Tensors by whose presence one kind of file is told from another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """Facts by the name of the file, as the fleet writes it in `file`, `url`, `mtp` or `mmproj`.

    What stands after `hf` has `hf:` in front.
    """

    files: Mapping[str, Facts] = field(default_factory=dict)
