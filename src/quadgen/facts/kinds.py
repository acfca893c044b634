"""What a checkpoint is, by its header: what it drafts with, and what a round of drafting costs there.

Read in llama.cpp b11434 (https://github.com/ggml-org/llama.cpp); `spec` is common/speculative.cpp.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from quadgen.facts.keys import BLOCKS
from quadgen.facts.record import Facts

NEXTN: Final = "nextn_predict_layers"
"""How many of the last blocks are MTP heads; `block_count` includes them (llama-hparams.cpp:348)."""


class Kind(StrEnum):
    """What a file is."""

    MODEL = "model"
    EMBEDDING = "embedding"
    """A decoder whose header says how its output is pooled."""
    ENCODER = "encoder"
    """It reads a text as a whole and writes none."""
    DIFFUSION = "diffusion"
    """It writes a text as a whole, which llama-server does not do."""
    MTP_HEAD = "mtp-head"
    """MTP heads without the blocks below them: a sidecar."""
    GEMMA4_ASSISTANT = "gemma4-assistant"
    EAGLE3 = "eagle3"
    DFLASH = "dflash"
    DSPARK = "dspark"
    PROJECTOR = "projector"
    ADAPTER = "adapter"
    STATISTICS = "statistics"
    VOCABULARY = "vocabulary"
    """Tokens, and no weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trait:
    """What follows from a kind."""

    what: str
    """In a sentence, with its article."""
    drafts_with: str | None
    """The --spec-type that it drafts with, where it is a drafter; n-gram types need none."""
    serves: bool
    """Whether llama-server takes it for --model and answers sensibly."""


TRAITS: Final[Mapping[Kind, Trait]] = MappingProxyType({
    kind: Trait(what=what, drafts_with=drafts_with, serves=serves)
    for kind, what, drafts_with, serves in (
        (Kind.MODEL, "an ordinary model", "draft-simple", True),
        (Kind.EMBEDDING, "an embedding model", "draft-simple", True),
        (Kind.ENCODER, "an encoder, which writes no text", None, True),
        (Kind.DIFFUSION, "a diffusion model", None, False),
        (Kind.MTP_HEAD, "an MTP head without its model", "draft-mtp", False),
        (Kind.GEMMA4_ASSISTANT, "a Gemma 4 assistant head", "draft-mtp", False),
        (Kind.EAGLE3, "an EAGLE-3 drafter", "draft-eagle3", False),
        (Kind.DFLASH, "a DFlash drafter", "draft-dflash", False),
        (Kind.DSPARK, "a DSpark drafter", "draft-dspark", False),
        (Kind.PROJECTOR, "a multimodal projector", None, False),
        (Kind.ADAPTER, "an adapter", None, False),
        (Kind.STATISTICS, "a file of statistics", None, False),
        (Kind.VOCABULARY, "a vocabulary without weights", None, False),
    )
})  # fmt: skip

_BY_ARCHITECTURE: Final[Mapping[str, Kind]] = MappingProxyType({
    "clip": Kind.PROJECTOR,  # llama-model.cpp: CLIP cannot be used as main model
    "controlvector": Kind.ADAPTER,
    "imatrix": Kind.STATISTICS,
    "eagle3": Kind.EAGLE3,
    "gemma4-assistant": Kind.GEMMA4_ASSISTANT,
    **dict.fromkeys(
        # graphs that use build_attn_inp_no_cache, and t5encoder (llama-model.cpp:3337)
        (
            "bert", "clef", "eurobert", "gemma-embedding", "jina-bert-v2", "jina-bert-v3", "llama-embed",
            "modern-bert", "neo-bert", "nomic-bert", "nomic-bert-moe", "t5encoder",
        ),
        Kind.ENCODER,
    ),
    **dict.fromkeys(("dream", "llada", "llada-moe", "rnd1"), Kind.DIFFUSION),  # llama-arch.cpp:1150-1156
})  # fmt: skip
_BY_TYPE: Final[Mapping[str | None, Kind]] = MappingProxyType(
    {"mmproj": Kind.PROJECTOR, "adapter": Kind.ADAPTER, "imatrix": Kind.STATISTICS}
)
"""Of `general.type` (gguf-py/gguf/constants.py, GGUFType)."""


def kind(facts: Facts) -> Kind:
    """What the file is. A complete model with an MTP head is a MODEL: `quadgen.facts.heads` says what of its head."""
    found = _BY_TYPE.get(facts.type) or _BY_ARCHITECTURE.get(facts.architecture)
    if found is not None:
        return found
    if facts.architecture == "dflash":  # spec:2374
        return Kind.DSPARK if "markov_w1.weight" in facts.marks else Kind.DFLASH
    if not facts.weights.total:
        return Kind.VOCABULARY
    if facts.heads and (facts.number(NEXTN) or 0) > 0 and not has_trunk(facts):
        return Kind.MTP_HEAD
    if facts.keys.get("attention.causal") is False:
        return Kind.ENCODER
    return Kind.EMBEDDING if (facts.number("pooling_type") or 0) > 0 else Kind.MODEL


def trait(facts: Facts) -> Trait:
    """What follows from what the file is."""
    return TRAITS[kind(facts)]


def block_count(facts: Facts) -> int:
    """How many blocks a file has: as many as are there, or as it announces, if llama.cpp takes so many."""
    return max(min(facts.number("block_count") or 0, BLOCKS), len(facts.weights.blocks))


def trunk(facts: Facts) -> int:
    """How many blocks there are below the heads, by the keys; 0 where the heads are all, or more than all."""
    announced = facts.number("block_count")
    blocks = len(facts.weights.blocks) if announced is None else announced
    return max(0, blocks - max(0, facts.number(NEXTN) or 0))


def has_trunk(facts: Facts) -> bool:
    """Whether any of the blocks below the heads is in the file.

    llama.cpp looks for one tensor, `blk.0.attn_norm.weight` in most architectures (src/models/qwen35.cpp:36).
    """
    return "blk.0.attn_norm.weight" in facts.marks or any(facts.weights.blocks[: trunk(facts)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a round of drafting costs, apart from verifying what it drafted."""

    name: str
    """The class: ngram, head, block, or plain."""
    sequential: bool
    """Whether each drafted token is a pass of its own after the one before; if not, one pass drafts them all."""
    passes: str
    """What is run, in words."""
    mirror: str
    """What the drafter runs besides over every token that the target reads or verifies, also in rounds that another
    type wins; empty where it is nothing."""


_NGRAM: Final = Cost(name="ngram", sequential=False, passes="no pass of a model: a look-up", mirror="")
_HEAD: Final = "one pass of a single small block for each drafted token"
_BLOCK: Final = "one pass of a small model for the whole block, however wide"
COSTS: Final[Mapping[str, Cost]] = MappingProxyType({
    **dict.fromkeys(("ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache"), _NGRAM),
    # spec:357-459: the first pass reads the last token, each further one the token drafted before
    "draft-simple": Cost(
        name="plain", sequential=True, passes="one pass of the whole draft model for each drafted token",
        mirror="the whole draft model",  # spec:304
    ),
    # spec:798-890, and the encoder and the block in spec:667-794
    "draft-eagle3": Cost(name="head", sequential=True, passes=_HEAD, mirror="a projection and the block"),
    # spec:1595-1720; several heads are run in turn, each over all that was drafted (chain_heads)
    "draft-mtp": Cost(
        name="head", sequential=True, passes=_HEAD,
        mirror="the block, once for each head; nothing where the head shares the model's cache",  # spec:1519-1559
    ),
    # spec:1250-1299, and the projection of spec:1204-1246
    **dict.fromkeys(
        ("draft-dflash", "draft-dspark"),
        Cost(name="block", sequential=False, passes=_BLOCK, mirror="a projection into the drafter's cache"),
    ),
})  # fmt: skip
"""By --spec-type."""


def passes(spec_type: str, width: int) -> int:
    """Passes of a drafter in a round that drafts `width` tokens, which is at least 1; without its mirror."""
    cost = COSTS[spec_type]
    if cost.sequential:
        return width
    return 0 if cost is _NGRAM else 1
