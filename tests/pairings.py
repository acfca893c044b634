"""Heads and drafters with what the real llama-server b11434 makes of them, and what the facts of the files say.

One table for both, so that a rule about files that is not the engine's behaviour cannot stand. Files are names of
tests/tiny_pairs.py; what a server does is in the words of tests/compositions.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from compositions import BATCH, NO_HEAD, NO_LAYERS, NOTHING, OTHER_WORDS, Then
from quadgen.facts.heads import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Alone:
    """A file as the model, and the head in it."""

    file: str
    state: State
    plain: Then = "plain"
    """What the server does without speculation."""
    drafting: Then = "exits"
    """What it does with draft-mtp."""
    width: int | None = None
    """How many tokens it drafts where it is allowed 5; None where it does not draft."""
    says: tuple[str, ...] = ()
    """Parts of lines of its log, with draft-mtp."""


ALONE = (
    Alone(file="plain", state=State.NONE, says=NO_HEAD),
    Alone(file="zero-key", state=State.NONE, says=NO_HEAD),
    Alone(file="headed", state=State.COMPLETE, drafting="drafts", width=5),
    Alone(file="two-heads", state=State.COMPLETE, drafting="aborts", says=("only supports a single MTP block",)),
    Alone(file="glm4", state=State.COMPLETE, says=("failed to create MTP context",)),
    Alone(file="hy", state=State.COMPLETE, drafting="drafts", width=5),
    Alone(file="hy-two", state=State.COMPLETE, drafting="drafts", width=2),
    Alone(
        file="stripped", state=State.STRIPPED, plain="exits", says=("tensor 'blk.2.attn_norm.weight' not found",)
    ),
    Alone(
        file="only-wiring", state=State.STRIPPED, plain="exits",
        says=("tensor 'blk.2.nextn.eh_proj.weight' not found",),
    ),
    Alone(file="glm4-stripped", state=State.STRIPPED, plain="exits", says=("'blk.2.attn_norm.weight' not found",)),
    Alone(file="hy-stripped", state=State.STRIPPED, drafting="aborts", says=("MTP block missing nextn.eh_proj",)),
    Alone(file="one-of-two", state=State.PARTIAL, plain="exits", says=("'blk.3.attn_norm.weight' not found",)),
    Alone(file="hy-one-of-two", state=State.PARTIAL, plain="exits", says=("'blk.3.attn_norm.weight' not found",)),
    Alone(file="keyless", state=State.KEYLESS, plain="exits", says=("tensor 'blk.2.ssm_conv1d.weight' not found",)),
    Alone(file="keyless-trunk", state=State.KEYLESS, plain="exits", says=("wrong number of tensors",)),
    Alone(
        file="too-many-heads", state=State.MISPLACED, plain="aborts", drafting="aborts",
        says=("hparams.n_layer_nextn <= hparams.n_layer_all",),
    ),
    Alone(file="early-head", state=State.MISPLACED, plain="exits", says=("not found",)),
)  # fmt: skip
"""Every state of a head, in architectures that load without it and in those that do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """A drafter in a file of its own, on a target."""

    types: str
    drafter: str
    then: Then
    target: str = "plain"
    error: str | None = None
    """The code of what speaks against it."""
    warning: str | None = None
    """The code of what speaks for another one."""
    poor: bool = False
    """It drafts, and was not made for it: the engine does not know."""
    flags: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    says: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The pair in a few words."""
        return " ".join([self.types, self.drafter, "on", self.target, *(f"{k}={v}" for k, v in self.flags.items())])


def _bad(types: str, drafter: str, then: Then, *says: str, **more: Any) -> Pairing:
    return Pairing(**{"error": "does-not-compose", **more}, types=types, drafter=drafter, then=then, says=says)


def _poor(types: str, drafter: str, **more: Any) -> Pairing:
    return _bad(types, drafter, "drafts", poor=True, **more)


def _good(types: str, drafter: str, **more: Any) -> Pairing:
    return Pairing(types=types, drafter=drafter, then="drafts", **more)


_TOKEN = "failed to add token"  # noqa: S105 - of a text
_WIDTH = "embedding size mismatch"
_LAYER = 'GGML_ASSERT(t_layer_inp[il] != nullptr && "layer input tensor is null") failed'
_NOT_EAGLE3 = "draft model is not eagle3 (expected 3"
_MTP = {"target": "headed", "error": "head-missing"}

PAIRS = (
    # which tokens
    _good("draft-simple", "draft"),
    _good("draft-simple", "other-special"),
    _bad("draft-simple", "larger", "plain", *OTHER_WORDS),
    _bad("draft-simple", "other-word", "plain", *OTHER_WORDS),
    _bad("draft-simple", "no-bos", "plain", *OTHER_WORDS),
    _bad("draft-simple", "slightly-larger", "dies", _TOKEN),
    _bad("draft-simple", "slightly-smaller", "dies", _TOKEN),
    _bad("draft-mtp", "head-smaller", "dies", _TOKEN, target="headed"),
    _bad("draft-mtp", "head-larger", "dies", _TOKEN, target="headed"),
    _bad("draft-eagle3", "eagle3-smaller", "dies", _TOKEN),
    _bad("draft-eagle3", "eagle3-larger", "dies", _TOKEN),
    _bad("draft-dflash", "dflash-smaller", "dies", _TOKEN),
    # files of another kind
    _good("draft-simple", "embedder"),
    _good("draft-simple", "headed"),
    _bad("draft-simple", "head", "crashes"),
    _poor("draft-simple", "eagle3"),
    _poor("draft-simple", "dflash"),
    _bad("draft-simple", "projector", "exits", "CLIP cannot be used as main model"),
    _bad("draft-simple", "adapter", "exits", "key not found in model: llama.context_length"),
    _bad("draft-mtp", "draft", "exits", *NO_HEAD, **_MTP),
    _bad("draft-mtp", "eagle3", "exits", *NO_HEAD, **_MTP),
    _bad("draft-mtp", "dflash", "exits", *NO_HEAD, **_MTP),
    _bad("draft-mtp", "projector", "exits", "CLIP cannot be used as main model", **_MTP),
    _bad("draft-eagle3", "draft", "plain", _NOT_EAGLE3),
    _bad("draft-eagle3", "dflash", "plain", _NOT_EAGLE3),
    _bad("draft-eagle3", "dflash-three", "dies", "failed to set the embedding of token"),
    _bad("draft-dflash", "draft", "aborts", *NO_LAYERS),
    _bad("draft-dspark", "draft", "aborts", *NO_LAYERS),
    _bad("draft-dflash", "eagle3", "fails", *BATCH),
    _bad("draft-dspark", "eagle3", "fails", *BATCH),
    _poor("draft-dflash", "dspark"),
    _poor("draft-dspark", "dflash"),
    # heads
    _good("draft-mtp", "head", target="headed"),
    _good("draft-mtp", "headed", target="headed", warning="does-not-compose"),
    _good("draft-mtp", "hy-head", target="hy-stripped"),
    _bad("draft-mtp", "stripped", "exits", "'blk.2.attn_norm.weight' not found", **_MTP),
    _bad("draft-mtp", "head-bare", "exits", "'token_embd.weight' not found", **_MTP),
    _bad("draft-mtp", "head-shared", "exits", "'token_embd.weight' not found", **_MTP),
    _bad("draft-mtp", "head-no-norm", "exits", "'output_norm.weight' not found", **_MTP),
    _bad("draft-mtp", "head-narrow", "aborts", "must match the target h_nextn width", target="headed"),
    _poor("draft-mtp", "head"),
    _poor("draft-mtp", "hy-head", target="headed"),
    # drafters of hidden states
    _good("draft-eagle3", "eagle3"),
    _good("draft-eagle3", "eagle3-bare"),
    _good("draft-eagle3", "eagle3-narrow"),
    _good("draft-eagle3", "eagle3-last", warning="does-not-compose"),
    _bad("draft-eagle3", "eagle3-narrow-bare", "aborts", "GGML_ASSERT(ggml_can_mul_mat(a, b)) failed"),
    _bad("draft-eagle3", "eagle3-wide", "dies", _WIDTH),
    _bad("draft-eagle3", "eagle3-beyond", "aborts"),
    _bad("draft-eagle3", "eagle3-two", "exits", "EAGLE3 requires exactly 3 entries"),
    _bad("draft-eagle3", "eagle3", "dies", _LAYER, target="glm4"),
    _good("draft-dflash", "dflash"),
    _good("draft-dflash", "dflash-bare"),
    _bad("draft-dflash", "dflash-narrow", "dies", _WIDTH),
    _bad("draft-dflash", "dflash-beyond", "aborts", "GGML_ASSERT(lid <= model.hparams.n_layer()) failed"),
    _bad("draft-dflash", "dflash-last", "dies", _LAYER),
    _bad("draft-dflash", "dflash-maskless", "dies", "failed to add embedding"),
    _bad("draft-dflash", "dflash-one", "idle", "clamping to 0"),
    _bad("draft-dflash", "dflash", "dies", _LAYER, target="glm4"),
    _good("draft-dspark", "dspark"),
    _good("draft-dspark", "dspark-unsure"),
    _bad(
        "draft-dspark", "dspark-unsure", "plain", "DSpark draft has no confidence head",
        flags={"spec-draft-p-min": 0.5},
    ),
    _bad("draft-dspark", "dspark-blockless", "aborts", "DSpark draft requires 'dflash.block_size'"),
)  # fmt: skip
"""What a drafter must be, and of what target."""

WIDTHS = (
    ("draft-dflash", "dflash", 7),
    ("draft-dspark", "dspark", 8),
    ("draft-dspark", "dspark-anchored", 7),
)
"""How many tokens a drafter has in a draft at most, where it is allowed 20."""
