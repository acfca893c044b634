"""Settings of speculation with what the real llama-server b11434 makes of each, and what quadgen says to it.

One table for both, so that a rule of quadgen's that is not the engine's behaviour cannot stand.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

Then = Literal["exits", "aborts", "crashes", "dies", "fails", "plain", "idle", "drafts"]
"""What the server does: ends at load with status 1, by abort(), or by a fault; is aborted at the first request;
answers every request with an error; serves without speculating; speculates and drafts nothing; drafts."""
NOTHING: Mapping[str, Any] = MappingProxyType({})
NO_HEAD = ("context type MTP requested but model doesn't contain MTP layers", "failed to create MTP context",
           "exiting due to model loading error")  # fmt: skip
NO_DRAFT = ("failed to initialize speculative decoding context: draft-simple requires a draft context",)
NO_TYPE = ("no implementations specified for speculative decoding",)
NO_LAYERS = ('GGML_ASSERT(target_layer_ids_n > 0 && "DFlash model has no target_layer_ids") failed',)
OTHER_WORDS = (
    "the target and draft vocabs are not compatible",
    "draft model vocab type must match target model to use speculation",
)
BATCH = ("decode() failed: failed to process speculative batch",)
ROOM = ("batch must be large enough to hold the sampled and draft tokens",)
FLASH = ("quantized V cache requires flash_attn to be enabled",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """One setting on one target. Files are names of tests/tiny_gguf.py."""

    types: str
    """As --spec-type takes them; empty leaves the option out."""
    then: Then
    active: str | None = None
    """The types that run, where it speculates and these are not all."""
    code: str | None = None
    """Of quadgen's refusal; None where it allows the setting once it is measured."""
    target: str = "plain"
    drafter: str | None = None
    draft_n_max: int | None = None
    flags: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    """Further --spec-* options of the profile."""
    service: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    """Further options of the service."""
    slots: int = 1
    says: tuple[str, ...] = ()
    """Parts of lines of its log."""
    warns: str | None = None
    """The code of quadgen's warning."""

    @property
    def title(self) -> str:
        """The setting in a few words."""
        words = [self.target, self.types or "no-type", self.drafter or "", f"{self.slots}-slots" * (self.slots > 1)]
        words += [f"n-max={self.draft_n_max}"] if self.draft_n_max is not None else []
        words += [f"{name}={value}" for name, value in (*self.flags.items(), *self.service.items())]
        return " ".join(filter(None, words))


def _row(types: str, then: Then, code: str | None = None, **more: Any) -> Composition:
    return Composition(types=types, then=then, code=code, **more)


NGRAMS = ("ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache")
MADE_FOR_IT = ("draft-eagle3", "draft-dflash", "draft-dspark")

NEEDS = (
    *(_row(kind, "drafts") for kind in NGRAMS),
    _row("draft-simple", "drafts", drafter="draft"),
    _row("draft-simple", "plain", "does-not-compose", says=NO_DRAFT),
    _row("draft-simple,ngram-cache", "plain", "does-not-compose", says=NO_DRAFT),
    _row("draft-mtp", "drafts", target="headed"),
    _row("draft-mtp", "drafts", target="headed", drafter="head"),
    _row("draft-mtp", "exits", "head-missing", says=NO_HEAD),
    _row("draft-mtp,ngram-cache", "exits", "head-missing", says=NO_HEAD),
    *(_row(kind, "drafts", drafter=kind.removeprefix("draft-")) for kind in MADE_FOR_IT),
    *(_row(kind, "plain", "does-not-compose", says=NO_TYPE) for kind in MADE_FOR_IT),
    *(_row(f"{kind},ngram-cache", "drafts", "does-not-compose", active="ngram-cache") for kind in MADE_FOR_IT),
)
"""What each type needs, and what happens without it."""

TOGETHER = (
    _row(",".join(NGRAMS), "drafts"),
    _row("ngram-cache,ngram-simple", "drafts"),
    _row("draft-simple,ngram-cache", "drafts", drafter="draft"),
    _row("draft-mtp,ngram-cache", "drafts", target="headed"),
    _row("draft-mtp,ngram-cache", "drafts", target="headed", drafter="head"),
    *(_row(f"{kind},ngram-mod", "drafts", drafter=kind.removeprefix("draft-")) for kind in MADE_FOR_IT),
    _row("draft-mtp,draft-simple", "fails", "does-not-compose", target="headed", says=BATCH),
    _row("draft-mtp,draft-simple", "exits", "does-not-compose", target="headed", drafter="draft", says=NO_HEAD),
    _row("draft-mtp,draft-simple", "fails", "does-not-compose", target="headed", drafter="head", says=BATCH),
    _row("draft-mtp,draft-dflash", "aborts", "does-not-compose", target="headed", says=NO_LAYERS),
    _row("draft-mtp,draft-dflash", "exits", "does-not-compose", target="headed", drafter="dflash", says=NO_HEAD),
    _row("draft-mtp,draft-dflash", "aborts", "does-not-compose", target="headed", drafter="head", says=NO_LAYERS),
    _row("draft-mtp,draft-eagle3", "plain", "does-not-compose", target="headed"),
    _row("draft-mtp,draft-eagle3", "exits", "does-not-compose", target="headed", drafter="eagle3", says=NO_HEAD),
    _row("draft-simple,draft-eagle3", "fails", "does-not-compose", drafter="eagle3", says=BATCH),
    _row("draft-simple,draft-dflash", "fails", "does-not-compose", drafter="dflash", says=BATCH),
    _row("draft-dflash,draft-dspark", "fails", "does-not-compose", drafter="dspark", says=BATCH),
    _row("none,ngram-cache", "plain", "unexpected-value"),
    _row("", "plain", "unexpected-value", drafter="draft"),
    _row("", "plain", "unexpected-value", drafter="eagle3"),
    _row("", "drafts", "unexpected-value", target="headed", drafter="head", active="draft-mtp"),
    _row("", "drafts", "unexpected-value", drafter="dflash", active="draft-dflash"),
    _row("", "drafts", "unexpected-value", drafter="dspark", active="draft-dspark"),
)
"""Which types go together; and a draft model without a type, which the engine reads from some files."""

OPTIONS = (
    _row("draft-simple", "drafts", drafter="draft", draft_n_max=7),
    _row("draft-simple,ngram-cache", "drafts", drafter="draft", draft_n_max=2),
    _row("ngram-cache", "drafts", "unexpected-value", draft_n_max=2),
    _row("draft-simple", "dies", "unexpected-value", drafter="draft", draft_n_max=0, says=("n_outputs_max",)),
    _row("draft-simple", "exits", "unexpected-value", drafter="draft", draft_n_max=-1, says=("invalid value",)),
    _row("draft-dflash", "drafts", drafter="dflash", draft_n_max=5),
    _row("draft-simple", "drafts", drafter="draft", flags={"spec-draft-n-min": 3}),
    _row("draft-simple", "idle", "does-not-compose", drafter="draft", flags={"spec-draft-n-min": 4}),
    _row("draft-simple", "idle", "does-not-compose", drafter="draft", flags={"spec-draft-n-min": -1}),
    _row("draft-simple", "drafts", drafter="draft", flags={"spec-draft-p-min": 0.5}),
    _row("draft-simple", "idle", "bad-flag-value", drafter="draft", flags={"spec-draft-p-min": 1.5}),
    _row("draft-simple", "drafts", drafter="draft", flags={"spec-draft-p-min": 1.0}, warns="unexpected-value"),
    _row("draft-simple", "drafts", "bad-flag-value", drafter="draft", flags={"spec-draft-p-min": -1}),
    _row("draft-simple", "drafts", "unexpected-value", drafter="draft", flags={"spec-draft-p-split": 7}),
    _row("draft-simple", "drafts", "unexpected-value", drafter="draft", flags={"spec-ngram-mod-n-max": 2}),
    _row("ngram-mod", "drafts", "unexpected-value", flags={"spec-draft-p-min": 1}),
    _row("ngram-simple", "drafts", flags={"spec-ngram-simple-size-m": 16}),
    _row("ngram-simple", "drafts", "unexpected-value", flags={"spec-ngram-simple-min-hits": 99}),
    _row("ngram-simple", "idle", "does-not-compose", flags={"spec-ngram-simple-size-m": 11}),
    _row("ngram-simple", "idle", "does-not-compose", flags={"spec-ngram-simple-size-n": 49}),
    _row("ngram-map-k", "drafts", flags={"spec-ngram-map-k-size-m": 5}),
    _row("ngram-map-k", "drafts", "unexpected-value", flags={"spec-ngram-map-k-min-hits": 99}),
    _row("ngram-map-k4v", "drafts", flags={"spec-ngram-map-k4v-size-m": 5}),
    _row("ngram-map-k4v", "idle", flags={"spec-ngram-map-k4v-min-hits": 99}),
    _row("ngram-mod", "drafts", flags={"spec-ngram-mod-n-max": 20}),
    _row(
        "ngram-mod", "drafts", flags={"spec-ngram-mod-n-max": 20, "spec-ngram-mod-n-min": 30},
        warns="unexpected-value",
    ),
    _row("ngram-mod", "idle", "does-not-compose", flags={"spec-ngram-mod-n-max": 0}),
    _row("ngram-mod", "exits", "bad-flag-value", flags={"spec-ngram-mod-n-max": 1025}, says=("between 0 and 1024",)),
    _row(
        "ngram-mod", "drafts", flags={"spec-ngram-mod-n-match": 8}, warns="unexpected-value",
        says=("n_match=8 is too small",),
    ),
    _row("draft-simple", "drafts", drafter="draft", flags={"spec-draft-type-k": "q8_0", "spec-draft-type-v": "q8_0"}),
    _row(
        "draft-simple", "exits", "does-not-compose", drafter="draft", flags={"spec-draft-type-v": "q8_0"},
        service={"flash-attn": "off"}, says=FLASH,
    ),
    _row("draft-mtp", "exits", "does-not-compose", target="headed", flags={"spec-draft-type-v": "q4_0"},
         service={"flash-attn": "off"}, says=FLASH),
    _row("draft-simple", "drafts", drafter="draft", flags={"spec-draft-type-k": "q8_0"}, service={"flash-attn": "off"}),
    _row(
        "draft-simple", "exits", "bad-flag-value", drafter="draft", flags={"spec-draft-type-k": "q3_0"},
        says=("Unsupported cache type: q3_0",),
    ),
    _row("draft-mtp", "drafts", target="headed", flags={"spec-draft-threads": 1}, warns="unexpected-value"),
    _row("draft-mtp", "drafts", target="headed", drafter="head", flags={"spec-draft-threads": 1}),
    _row("draft-simple", "drafts", drafter="draft", slots=3),
    _row("ngram-cache", "drafts", service={"batch-size": 9}),
    _row("ngram-cache", "dies", "does-not-compose", service={"batch-size": 8}, says=ROOM),
    _row("draft-simple", "drafts", drafter="draft", service={"batch-size": 4}),
    _row("draft-simple", "dies", "does-not-compose", drafter="draft", service={"batch-size": 3}, says=ROOM),
    _row("draft-mtp", "dies", "does-not-compose", target="headed", service={"batch-size": 3}),
    _row("ngram-cache", "drafts", service={"ubatch-size": 4}),
    _row("ngram-cache", "exits", "does-not-compose", service={"split-mode": "tensor"}, says=("needs >= 1 devices",)),
    _row("ngram-cache", "aborts", "bad-flag-value", service={"mirostat": 3}, says=("unknown mirostat version",)),
    _row("ngram-cache", "aborts", "bad-flag-value", service={"batch-size": 0}),
    _row("ngram-cache", "aborts", "bad-flag-value", service={"n-cpu-moe": 4096}, says=("overrides not terminated",)),
    _row("ngram-cache", "exits", "bad-flag-value", service={"repeat-penalty": 0}, says=("greater than 0",)),
    _row("ngram-cache", "drafts", "bad-flag-value", service={"samplers": "top_k;typo"}, says=("by name 'typo'",)),
    _row("ngram-cache", "exits", "unexpected-value", slots=257, says=("n_seq_max must be <= 256",)),
    _row("draft-mtp,ngram-mod", "drafts", target="headed", slots=2),
)  # fmt: skip
"""What an option does, where it does anything; a draft beside several slots and another cache."""

FILES = (
    _row("draft-eagle3", "plain", drafter="draft", says=("draft model is not eagle3 (expected 3",)),
    _row("draft-eagle3,ngram-mod", "plain", drafter="dflash", says=("expected 3 extract layers, got 2",)),
    _row("draft-dflash", "aborts", drafter="draft", says=NO_LAYERS),
    _row("draft-dspark", "aborts", drafter="draft", says=NO_LAYERS),
    _row("draft-dflash", "fails", drafter="eagle3", says=BATCH),
    _row("draft-simple", "plain", drafter="larger", says=OTHER_WORDS),
    _row("draft-simple", "plain", drafter="other-word", says=OTHER_WORDS),
    _row("draft-simple", "plain", drafter="no-bos", says=OTHER_WORDS),
    _row("draft-simple", "drafts", drafter="other-special"),
    _row("draft-simple", "dies", drafter="slightly-larger", says=("failed to add token",)),
    _row("draft-mtp", "exits", target="stripped", says=("tensor 'blk.2.attn_norm.weight' not found",)),
    _row("draft-simple", "exits", drafter="missing", says=("failed to load draft model",)),
)  # fmt: skip
"""What only the files say: quadgen takes the fleet's word for them."""
