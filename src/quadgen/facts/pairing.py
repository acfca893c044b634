"""Whether a drafter works with a target, from the facts of both: what llama.cpp would say, and what it fails to say.

Read in the sources of b11434 and b10435 (https://github.com/ggml-org/llama.cpp); `spec` is common/speculative.cpp. Each
rule that a tiny file can show is shown on a real server (tests/pairings.py). What nobody can know from two headers,
such as which finetune a head was trained on, is no objection.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from quadgen.facts.agreement import refused, same_words
from quadgen.facts.heads import head
from quadgen.facts.hidden import block_drafter, eagle3, out_width, same_width
from quadgen.facts.kinds import TRAITS, Kind, kind
from quadgen.facts.objection import Objection
from quadgen.facts.record import Facts
from quadgen.problems import Severity

__all__ = ["Objection", "objections", "own_head", "widest"]

_NEEDED: Final[Mapping[str, tuple[Kind, ...]]] = MappingProxyType(
    {
        "draft-simple": (Kind.MODEL, Kind.EMBEDDING),
        "draft-eagle3": (Kind.EAGLE3,),
        "draft-mtp": (Kind.MTP_HEAD, Kind.GEMMA4_ASSISTANT, Kind.MODEL),
        "draft-dflash": (Kind.DFLASH,),
        "draft-dspark": (Kind.DSPARK,),
    }
)
_UNLOADABLE: Final = frozenset({Kind.PROJECTOR, Kind.ADAPTER, Kind.STATISTICS, Kind.VOCABULARY})
_ENDS: Final = "the server ends at load"
_LOST: Final = "the server starts healthy without speculating, and n-gram types of the same profile are lost with it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A target and a drafter, with what sentences call them."""

    target: Facts
    drafter: Facts
    model: str
    draft: str


def objections(
    target: Facts,
    drafter: Facts,
    spec_type: str,
    *,
    width: int | None = None,
    p_min: float = 0,
    called: tuple[str, str] = ("the model", "the drafter"),
) -> Iterator[Objection]:
    """Yield what speaks against a drafter in a file of its own; nothing where nothing does.

    `width` is --spec-draft-n-max where it is known, `p_min` --spec-draft-p-min, and `called` what sentences call the
    two. A `spec_type` that needs no drafter has no objections.
    """
    if spec_type not in _NEEDED:
        return
    pair = Pair(target=target, drafter=drafter, model=called[0], draft=called[1])
    if kind(drafter) not in _NEEDED[spec_type]:
        yield _wrong_kind(pair, spec_type)
        return
    if spec_type == "draft-simple":
        yield from _simple(pair)
    elif spec_type == "draft-mtp":
        yield from _sidecar(pair)
    elif spec_type == "draft-eagle3":
        yield from eagle3(target, drafter, called)
    else:
        yield from block_drafter(target, drafter, called, spec_type, p_min)
    if spec_type != "draft-simple":
        yield from same_words(target.vocabulary, drafter.vocabulary, called)
    yield from _clamped(drafter, spec_type, width, called[1])


def own_head(target: Facts, *, width: int | None = None, called: str = "the model") -> Iterator[Objection]:
    """Yield what speaks against draft-mtp with the head in the target's own file."""
    found = head(target)
    if not found.drafts:
        why = found.wrong or "has no MTP head"
        yield Objection(code="head-missing", sentence=f"{called} {why}", note=_no_head(target))
        return
    yield from _clamped(target, "draft-mtp", width, called)


def _no_head(facts: Facts) -> str | None:
    """What draft-mtp does with a file that has no head at all (llama-context.cpp:3884)."""
    return None if head(facts).wrong else "llama.cpp reports that the model does not contain MTP layers, and ends"


def widest(drafter: Facts, spec_type: str) -> int | None:
    """At most so many tokens are in a draft, whatever --spec-draft-n-max says; None where that alone decides.

    `drafter` is the target where the head is in its file. spec:1075 for blocks, spec:1485 for heads.
    """
    if spec_type == "draft-mtp":
        return head(drafter).widest
    if spec_type not in ("draft-dflash", "draft-dspark"):
        return None
    block = drafter.number("block_size")
    block = 16 if block is None else block
    anchored = spec_type == "draft-dspark" and drafter.keys.get("sample_from_anchor") is not False
    return max(0, block if anchored else block - 1)


def _clamped(drafter: Facts, spec_type: str, width: int | None, draft: str) -> Iterator[Objection]:
    most = widest(drafter, spec_type)
    if most == 0:
        yield Objection(
            code="does-not-compose", sentence=f"{draft} was made for blocks of one token, and drafts nothing",
            note="the server starts healthy and drafts nothing",
        )  # fmt: skip
    elif width is not None and most is not None and width > most:
        why = "as many tokens as it has heads" if spec_type == "draft-mtp" else "no more than its trained block"
        yield Objection(
            code="does-not-compose", severity=Severity.NOTE, sentence=f"{draft} drafts {most} tokens and not {width}",
            note=f"it drafts {why}, whatever `draft_n_max` says", hint=f"`draft_n_max: {most}`",
        )  # fmt: skip


def _wrong_kind(pair: Pair, spec_type: str) -> Objection:
    trait = TRAITS[kind(pair.drafter)]
    needed = "an MTP head" if spec_type == "draft-mtp" else TRAITS[_NEEDED[spec_type][0]].what
    return Objection(
        code="head-missing" if spec_type == "draft-mtp" else "does-not-compose",
        sentence=f"{pair.draft} is {trait.what}, and {spec_type} needs {needed}",
        note=_then(pair, kind(pair.drafter), spec_type),
        hint=f"use {trait.drafts_with}" if trait.drafts_with else f"name {needed}",
    )


def _then(pair: Pair, found: Kind, spec_type: str) -> str:
    """What the server does with a drafter of the wrong kind."""
    if found in _UNLOADABLE or spec_type == "draft-mtp":  # no MTP layers: llama-context.cpp:3884
        return _ENDS
    if spec_type == "draft-simple":
        if found is Kind.MTP_HEAD:  # the blocks that it runs are not there
            return "the server crashes at load"
        made = "it would draft without the model's hidden states, which it was made for"
        return "it does not write token after token" if found in (Kind.ENCODER, Kind.DIFFUSION) else made
    layers = pair.drafter.keys.get("target_layers")
    told = len(layers) if isinstance(layers, tuple) else 0
    if spec_type == "draft-eagle3":  # spec:562 counts the layers and nothing else
        return _LOST if told != 3 else "the server aborts at the first request"  # noqa: PLR2004 - as many as it reads
    if found is Kind.EAGLE3:
        return "every request is answered with an error"
    if found in (Kind.DFLASH, Kind.DSPARK):  # spec:1243-1248, spec:1340: one reads from the first place, one after it
        return "it would take the drafts from other places of the block than those that were trained for them"
    return "the server aborts at load"  # spec:1033


def _simple(pair: Pair) -> Iterator[Objection]:
    ours, theirs = pair.target.vocabulary, pair.drafter.vocabulary
    if ours is None or theirs is None:
        if ours is not theirs:
            bare = pair.model if ours is None else pair.draft
            yield Objection(
                code="does-not-compose", note=_LOST, sentence=f"{bare} has no tokens, and the two must have the same",
            )  # fmt: skip
        return
    why = refused(ours, theirs)
    if why is None:
        yield from same_words(ours, theirs, (pair.model, pair.draft))
        return
    yield Objection(
        code="does-not-compose", sentence=f"{pair.draft} has other tokens than {pair.model}: {why}", note=_LOST,
        hint="name a draft model of the same family; `quadgen gguf compare` says where the two differ",
    )  # fmt: skip


def _sidecar(pair: Pair) -> Iterator[Objection]:
    target, drafter = pair.target, pair.drafter
    found = head(drafter)
    if not found.drafts:
        yield Objection(
            code="head-missing",
            sentence=f"{pair.draft} {found.wrong or 'has no MTP head'}",
            note=_no_head(drafter) if found.loads else _ENDS,
        )
        return
    assistant = kind(drafter) is Kind.GEMMA4_ASSISTANT  # models/gemma4-assistant.cpp, llama-model.cpp:2825
    wanted = "gemma4" if assistant else drafter.architecture
    if target.architecture != wanted:
        then = (
            "it works on the cache of a gemma4 model and has none of its own"
            if assistant
            else "the server starts healthy, and no draft can be right"
        )
        yield Objection(
            code="does-not-compose", note=then,
            sentence=f"{pair.draft} is the head of a {wanted} model, and {pair.model} is {target.architecture}",
            hint="name the head that was published with the model",
        )  # fmt: skip
        return
    yield from same_width(out_width(target), out_width(drafter), (pair.model, pair.draft))
    if kind(drafter) is Kind.MODEL:
        yield Objection(
            code="does-not-compose", severity=Severity.WARNING,
            sentence=f"{pair.draft} is a whole model, and only its MTP head is run",
            note="all of its blocks are loaded beside the model's",
            hint="`mtp: true` where it is the model's own file, or a file with the head alone",
        )  # fmt: skip
