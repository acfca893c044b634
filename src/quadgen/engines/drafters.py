"""What each drafter type of llama-server is: what it needs, how much it drafts, and which options its code reads.

Read in the sources at b10435 and b11434 (https://github.com/ggml-org/llama.cpp), and seen on a real server of b11434
(tests/real/test_real_combinations.py). Places are lines of b11434; `spec` is common/speculative.cpp.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from quadgen.evidence.setting import DEFAULT_WIDTH

DRAFT: Final = "draft-"
"""Types of this prefix share the one draft context (spec:2606); n-gram types have none."""
DRAFT_WIDTH: Final = "spec-draft-n-max"
"""The option that `draft_n_max` of a profile becomes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafter:
    """One type of --spec-type. Options are named without their dashes."""

    name: str
    needs: str
    """`nothing`, or what must be there to draft with."""
    missing: str
    """What the server does without it; empty where nothing can be missing."""
    width: int
    """Tokens that it drafts in a round at most, where nobody says."""
    bounded_by: str | None
    """The option that says otherwise; None where none does."""
    options: tuple[str, ...] = ()
    """What else its code reads."""
    source: str


_SKIPPED: Final = "the server starts healthy without speculating, except by the n-gram types of the same profile"
_LOST: Final = "the server starts healthy without speculating, and n-gram types of the same profile are lost with it"
_DIES: Final = "the server ends at load"

_COMMON: Final = ("spec-draft-n-min", "spec-draft-p-min", "spec-draft-type-k", "spec-draft-type-v")
IN_A_FILE: Final = (
    "spec-draft-cpu-moe", "spec-draft-device", "spec-draft-n-cpu-moe", "spec-draft-ngl", "spec-draft-override-tensor",
    "spec-draft-threads", "spec-draft-threads-batch",
)  # fmt: skip
"""What is read for a drafter in a file of its own, and not for a head in the model's (spec:2536)."""
_ON_DEVICE: Final = "spec-draft-backend-sampling"
_SAMPLED: Final = "spec-draft-sampling"


def _draft(name: str, needs: str, missing: str, source: str, *options: str) -> Drafter:
    return Drafter(
        name=name, needs=needs, missing=missing, width=DEFAULT_WIDTH, bounded_by=DRAFT_WIDTH,
        options=(*_COMMON, *IN_A_FILE, *options), source=source,
    )  # fmt: skip


def _ngram(name: str, width: int, bounded_by: str | None, source: str, *options: str) -> Drafter:
    return Drafter(
        name=name, needs="nothing", missing="", width=width, bounded_by=bounded_by, options=options, source=source
    )


DRAFTERS: Final[Mapping[str, Drafter]] = MappingProxyType({
    each.name: each
    for each in (
        _ngram("ngram-simple", 48, "spec-ngram-simple-size-m", "spec:1840", "spec-ngram-simple-size-n"),
        _ngram("ngram-map-k", 48, "spec-ngram-map-k-size-m", "spec:1884", "spec-ngram-map-k-size-n"),
        _ngram(
            "ngram-map-k4v", 48, "spec-ngram-map-k4v-size-m", "spec:1884, common/ngram-map.cpp:401",
            "spec-ngram-map-k4v-size-n", "spec-ngram-map-k4v-min-hits",
        ),
        _ngram(
            "ngram-mod", 64, "spec-ngram-mod-n-max", "spec:1955, spec:2038",
            "spec-ngram-mod-n-match", "spec-ngram-mod-n-min",
        ),
        _ngram("ngram-cache", 8, None, "spec:2272"),
        _draft("draft-simple", "a draft model with the same vocabulary", _LOST, "spec:239, spec:106-170", _SAMPLED),
        _draft("draft-eagle3", "an EAGLE-3 drafter made for the model", _SKIPPED, "spec:2704, spec:562", _ON_DEVICE),
        _draft(
            "draft-mtp", "an MTP head, in the model's file or in one of its own", _DIES,
            "tools/server/server-context.cpp:1258", _ON_DEVICE, _SAMPLED,
        ),
        _draft("draft-dflash", "a DFlash drafter made for the model", _SKIPPED, "spec:2706, spec:1033", _ON_DEVICE),
        _draft("draft-dspark", "a DSpark drafter made for the model", _SKIPPED, "spec:2707, spec:1033", _ON_DEVICE),
    )
})  # fmt: skip
"""Every type, in the order in which the engine tries them: the first with a draft wins the round (spec:2697-2707)."""

CARRYING: Final = frozenset({"ngram-cache", "ngram-map-k", "ngram-map-k4v", "ngram-mod"})
"""Types whose state survives requests, so that what the next one gets depends on those before it.

ngram-cache passes over as many tokens of a prompt as it has read before (spec:2172, spec:2226), ngram-mod finds what
other requests said (spec:1933), and both ngram-map look for nothing among as many tokens as the prompt before had
(common/ngram-map.cpp:128-168). Seen with b11434: of a copy that a fresh ngram-map-k drafts 116 tokens of, and all of
them are accepted, it drafts none after another prompt."""

CLAMPED_BY: Final[Mapping[str, str]] = MappingProxyType({
    "draft-mtp": "and no more than its heads where a model has several",
    "draft-dflash": "and no more than its trained block",
    "draft-dspark": "and no more than its trained block",
})  # fmt: skip
"""What of the drafter itself makes it draft less than it is allowed to (spec:1485, spec:1075)."""

DEFAULTS: Final[Mapping[str, int]] = MappingProxyType({
    "spec-ngram-simple-size-n": 12, "spec-ngram-mod-n-match": 24, "spec-ngram-mod-n-min": 48, "spec-draft-n-min": 0,
})  # fmt: skip
"""Options that a rule compares with others, where nobody says them: common/common.h:328-368."""

UNREAD: Final[Mapping[str, str]] = MappingProxyType({
    # examples/speculative/speculative.cpp:67 is all that reads it
    "spec-draft-p-split": "only the example program llama-speculative reads it",
    # common/ngram-map.cpp: ngram-simple has no hits, and ngram-map-k returns at line 382 before they are compared
    "spec-ngram-simple-min-hits": "only ngram-map-k4v counts hits",
    "spec-ngram-map-k-min-hits": "only ngram-map-k4v counts hits",
    # spec:2553-2555 takes the number of threads, and nothing else that says how they run
    **dict.fromkeys(
        (
            "spec-draft-cpu-mask", "spec-draft-cpu-mask-batch", "spec-draft-cpu-range", "spec-draft-cpu-strict",
            "spec-draft-cpu-strict-batch", "spec-draft-poll", "spec-draft-poll-batch", "spec-draft-prio",
            "spec-draft-prio-batch",
        ),
        "of a drafter's threads, the server takes only their number",
    ),
})  # fmt: skip
"""Options that the argument parser takes and no code of the server reads, with why."""


def readers(option: str) -> tuple[str, ...]:
    """The types whose code reads an option; empty for one that is not of a type, or that nothing reads."""
    return tuple(each.name for each in DRAFTERS.values() if option == each.bounded_by or option in each.options)


def drafts(types: Iterable[str]) -> tuple[str, ...]:
    """The types that use the draft context."""
    return tuple(kind for kind in types if kind.startswith(DRAFT))


def lookups(types: Iterable[str]) -> tuple[str, ...]:
    """The types that draft without one, by looking up what was said before."""
    return tuple(kind for kind in types if not kind.startswith(DRAFT))
