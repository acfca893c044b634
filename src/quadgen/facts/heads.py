"""Whether a file has an MTP head that llama.cpp can draft with, and what it does with one that it cannot.

Announced by the key `nextn_predict_layers`; each head is one of the last blocks, told by its tensor
`blk.N.nextn.eh_proj.weight`. Read in the sources of b10435, b10705, b10724 and b11434
(https://github.com/ggml-org/llama.cpp, src/models/), and seen on a real server of b11434 where a tiny file can show it
(tests/real/test_real_pairing.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from quadgen.facts.kinds import NEXTN, Kind, kind, trunk
from quadgen.facts.record import Facts

FIRST: Final = 10435
"""The oldest build whose source was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What an architecture does with heads; each build is the first of those that were read."""

    drafts: int | None = FIRST
    """It has a graph for them; None where it keeps their tensors and has none."""
    several: bool = False
    """It runs one after the other; else its graph asserts that there is one."""
    lenient: int | None = None
    """It loads without the tensors that are announced (`trunk_only`), where the first head's are not there."""
    alone: int | None = FIRST
    """It loads heads without the blocks below (`mtp_only`)."""


_UNUSED: Final = _Known(drafts=None, alone=None)
_KNOWN: Final[Mapping[str, _Known]] = MappingProxyType({
    "cohere2moe": _Known(lenient=FIRST),  # cohere2moe.cpp:48, :293
    "deepseek2": _Known(lenient=FIRST),  # deepseek2.cpp:61, :173
    "deepseek32": _Known(lenient=FIRST),  # deepseek32.cpp:51, :498
    "deepseek4": _Known(),  # deepseek4.cpp:20-24: see `_uncounted`; :1366
    "glm-dsa": _Known(lenient=FIRST),  # glm-dsa.cpp:84, :542
    "hy_v3": _Known(lenient=FIRST, several=True),  # hy-v3.cpp:30, :247
    "mimo2": _Known(lenient=FIRST, several=True, alone=11434),  # mimo2.cpp:28, :30, :276
    "nemotron_h_moe": _Known(),  # nemotron-h.cpp:52, nemotron-h-moe.cpp:13
    "qwen35": _Known(),  # qwen35.cpp:36, :503
    "qwen35moe": _Known(),  # qwen35moe.cpp:39, :554
    "qwen3next": _Known(),  # qwen3next.cpp:38, :631
    "step35": _Known(lenient=FIRST, several=True),  # step35.cpp:45, :376
    "bailingmoe3": _Known(drafts=10705, lenient=10705, alone=10705),  # bailingmoe3.cpp:69, :426
    "glm4moe": _Known(drafts=10705, lenient=10705, alone=10705),  # glm4-moe.cpp:34, :135
    "qwen4exp": _Known(drafts=11434, alone=11434),  # qwen4exp.cpp:179, :531
    "bailingmoe2": _UNUSED,  # bailingmoe2.cpp:73
    "exaone-moe": _UNUSED,  # exaone-moe.cpp:91
    "exaone4": _UNUSED,  # exaone4.cpp:42
    "glm4": _UNUSED,  # glm4.cpp:50
    "glm5-next": _UNUSED,  # glm5-next.cpp:189 throws
    "mistral4": _Known(drafts=None, lenient=FIRST),  # mistral4.cpp:4, the tensors are deepseek2's
    "nemotron_h": _UNUSED,  # nemotron-h.cpp:184
    "dots3note": _Known(drafts=None, lenient=10705, alone=None),  # dots3note.cpp:77
})  # fmt: skip
_REPURPOSED: Final = frozenset({"graniteswitch"})
"""The key counts a router there (granite-switch.cpp:59, llama-context.cpp:3883)."""


_SHARED: Final = "ggml-org/llama.cpp#28243"
"""Reads the key `nextn_shared_target_tensors`, which no release does."""


class State(StrEnum):
    """How the key and the tensors go together."""

    NONE = "none"
    COMPLETE = "complete"
    """As many heads as announced, in the blocks where they belong."""
    STRIPPED = "stripped"
    """Announced, and no head is there."""
    PARTIAL = "partial"
    """Announced, and some are missing."""
    KEYLESS = "keyless"
    """There, and not announced."""
    MISPLACED = "misplaced"
    """In other blocks than the last ones, or more of them announced than there are blocks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The MTP heads of a file."""

    state: State
    announced: int
    """How many the key says; 0 where there is none."""
    loads: bool
    """Whether llama.cpp loads the file at all, with or without speculation; False only where that is proven."""
    drafts: bool
    """Whether draft-mtp works with this file as the model, or as the head's own file."""
    since: int | None = None
    """The first build that drafts with heads of this architecture, of those read; None where no build is known to."""
    widest: int | None = None
    """A draft has at most so many tokens, as many as there are heads; None where one head drafts them all.

    common/speculative.cpp:1482-1485.
    """
    wrong: str | None = None
    """What is wrong, after the name of the file; None for a head that works, and where there is none to be wrong."""


def head(facts: Facts) -> Head:
    """What the file says of its heads; decided from its key and its tensors, never from one of them alone."""
    what, announced = facts.architecture, max(0, facts.number(NEXTN) or 0)
    found = kind(facts)
    if found is Kind.GEMMA4_ASSISTANT:
        return _assistant(facts, announced)
    if what in _REPURPOSED:
        wrong = f"has no MTP head: `{NEXTN}` counts a router in the architecture {what}" if announced else None
        return Head(state=State.NONE, announced=0, loads=True, drafts=False, wrong=wrong)
    if not announced:
        return _unannounced(facts)
    state, known = _state(facts, announced), _KNOWN.get(what)
    if state is not State.COMPLETE:
        return _broken(facts, state, announced, known)
    return _complete(facts, announced, known, alone=found is Kind.MTP_HEAD)


def _state(facts: Facts, announced: int) -> State:
    blocks = facts.number("block_count")
    expected = set(range(trunk(facts), trunk(facts) + announced))
    there = set(facts.heads)
    if (blocks is not None and announced > blocks) or there - expected:
        return State.MISPLACED
    if there == expected:
        return State.COMPLETE
    return State.PARTIAL if there else State.STRIPPED


def _unannounced(facts: Facts) -> Head:
    """Extra tensors, or a head's block taken for an ordinary one (llama-model-loader.cpp:1392)."""
    if not facts.heads:
        return Head(state=State.NONE, announced=0, loads=True, drafts=False)
    wrong = (
        f"has the tensors of an MTP head and no key `{facts.architecture}.{NEXTN}`, "
        "so that llama.cpp does not load it, not even without speculation"
    )
    return Head(state=State.KEYLESS, announced=0, loads=False, drafts=False, wrong=wrong)


def _uncounted(facts: Facts) -> bool:
    """Whether the blocks that shall be heads are ordinary ones: deepseek4 then takes the key for 0."""
    ordinary = facts.weights.blocks[trunk(facts) : facts.number("block_count")]
    return facts.architecture == "deepseek4" and bool(ordinary) and all(ordinary) and not facts.heads


def _broken(facts: Facts, state: State, announced: int, known: _Known | None) -> Head:
    first_missing = trunk(facts) not in facts.heads
    lenient = known is not None and known.lenient is not None and first_missing
    # of an architecture that nobody read here nothing is proven
    loads = state is not State.MISPLACED and (lenient or known is None or _uncounted(facts))
    heads = "an MTP head" if announced == 1 else f"{announced} MTP heads"
    what = {
        State.STRIPPED: f"announces {heads} and has no tensor of {'it' if announced == 1 else 'them'}",
        State.PARTIAL: f"announces {heads} and has {len(facts.heads)}",
        State.MISPLACED: f"announces {heads} in other blocks than those that have the tensors",
    }[state]
    blocks = facts.number("block_count")
    if blocks is not None and announced > blocks:
        what = f"announces {heads}, more than its {blocks} blocks"
    then = (
        "it serves without speculation, and draft-mtp ends the server at load"
        if loads
        else "llama.cpp does not load it, not even without speculation"
    )
    return Head(state=state, announced=announced, loads=loads, drafts=False, wrong=f"{what}: {then}")


def _complete(facts: Facts, announced: int, known: _Known | None, *, alone: bool) -> Head:
    what = facts.architecture
    missing = [name for name in ("token_embd.weight", "output_norm.weight") if name not in facts.marks]
    wrong, loads = None, True
    if alone and known is not None and known.alone is None:
        wrong, loads = f"has only the MTP head of a model, and llama.cpp loads no such file of {what}", False
    elif alone and "token_embd.weight" in missing and facts.keys.get("nextn_shared_target_tensors"):
        wrong, loads = "is an MTP head that takes its model's embeddings: no build loads it without " + _SHARED, False
    elif alone and missing and known is not None and (what != "qwen4exp" or "token_embd.weight" in missing):
        wrong, loads = f"is an MTP head without {missing[0]}, so that llama.cpp does not load it", False
    elif known is not None and known.drafts is None:
        wrong = f"has an MTP head that llama.cpp keeps and cannot draft with: it has no graph for one of {what}"
    elif known is not None and announced > 1 and not known.several:
        wrong = f"has {announced} MTP heads, and llama.cpp drafts with one of {what}: draft-mtp aborts the server"
    return Head(
        state=State.COMPLETE, announced=announced, loads=loads, drafts=wrong is None,
        since=known.drafts if known is not None else None, widest=announced if announced > 1 else None, wrong=wrong,
    )  # fmt: skip


def _assistant(facts: Facts, announced: int) -> Head:
    """All of its blocks are heads and run in one graph (src/models/gemma4-assistant.cpp:34-56)."""
    missing = [
        name
        for name in ("nextn.pre_projection.weight", "token_embd.weight", "output_norm.weight")
        if name not in facts.marks
    ]
    out, own = facts.number("embedding_length_out"), facts.number("embedding_length")
    wrong = None
    if not announced:
        wrong = f"is a Gemma 4 assistant without the key `{facts.architecture}.{NEXTN}`: it has no MTP head"
    elif missing:
        wrong = f"is a Gemma 4 assistant without {missing[0]}, so that llama.cpp does not load it"
    elif out is None or out == own:
        wrong = "is a Gemma 4 assistant that does not say its model's hidden size, so that llama.cpp does not load it"
    return Head(
        state=State.COMPLETE if wrong is None else State.PARTIAL, announced=announced, loads=wrong is None,
        drafts=wrong is None, since=FIRST, wrong=wrong,
    )  # fmt: skip
