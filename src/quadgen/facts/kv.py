"""How much memory the contexts of a checkpoint take, from what its header says.

The rules are those of llama.cpp b11434: the rounding of contexts of src/llama-context.cpp:283-307, the caches of
src/llama-kv-cache.cpp and src/llama-kv-cache-iswa.cpp, the states of src/llama-memory-recurrent.cpp. The server prints
each cache at `--log-verbosity 4`. Weights and compute buffers are not in here.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from quadgen.facts.architectures import ROLLS_BACK
from quadgen.facts.kinds import Kind, kind
from quadgen.facts.layers import Layout, Row, Unknown, layout
from quadgen.facts.record import Facts

__all__ = [
    "SLOTS", "TYPES", "Cache", "Context", "Unknown", "caches", "cells", "draft_caches", "head_caches", "refusal",
    "rolls_back", "sized", "trained",
]  # fmt: skip

FULL: Final = "KV cache"
SLIDING: Final = "KV cache of the sliding window"
STATE: Final = "recurrent state"

TYPES: Final[Mapping[str, tuple[int, int]]] = MappingProxyType({
    "f32": (1, 4), "f16": (1, 2), "bf16": (1, 2), "q8_0": (32, 34), "q4_0": (32, 18), "q4_1": (32, 20),
    "iq4_nl": (32, 18), "q5_0": (32, 22), "q5_1": (32, 24),
})  # fmt: skip
"""The types that a cache may have (common/arg.cpp, kv_cache_types): so many numbers are so many bytes."""
SLOTS: Final = 256
"""The most that a context has (src/llama-cparams.h, LLAMA_MAX_SEQ)."""
STEP: Final = 256
"""Cells come in multiples of it."""
_NUMBER: Final = 4
"""Bytes of each number in a state."""
_BUILD: Final = 11434
"""The build whose rules these are."""


class Context(NamedTuple):
    """What the server is asked for, as far as the caches are sized by it."""

    tokens: int
    """`--ctx-size`: all slots together; 0 for what the model was trained for."""
    slots: int
    """`--parallel`, 1 to 256."""
    unified: bool = False
    """`--kv-unified`: all slots share the cells."""
    swa_full: bool = False
    """`--swa-full`: a sliding window has as many cells as the context."""
    ubatch: int = 512
    """`--ubatch-size`, or `--batch-size` where that is less."""
    type_k: str = "f16"
    type_v: str = "f16"
    rollback: int = 0
    """The earlier states that a slot keeps, where the architecture can: `--spec-draft-n-max` with a drafter of hidden
    states (draft-mtp, draft-eagle3, draft-dflash, draft-dspark), else 0."""
    flash: bool = True
    """Whether flash attention is on, or `auto`."""


class Cache(NamedTuple):
    """One cache of a context, in all its slots."""

    what: str
    cells: int
    """In each stream: a slot, or all where they are unified; of a state the slots."""
    layers: tuple[tuple[int, int], ...]
    """By block its number and bytes; of blocks that have no heads 0."""

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(size for _, size in self.layers)


def trained(facts: Facts) -> int | None:
    """How many tokens the model was trained for; None where the file does not say."""
    found = facts.number("context_length")
    return found if found is not None and found > 0 else None


def rolls_back(architecture: str, build: int = _BUILD) -> bool:
    """Whether the state of an architecture can be rolled back after a refused draft.

    Where it cannot, the server writes and reads a checkpoint of it in each round.
    """
    since = ROLLS_BACK.get(architecture)
    return since is not None and build >= since


def cells(context: Context) -> int:
    """The cells of one slot, or of all where they are unified: multiples of 256, at least what was asked for."""
    tokens = -(-context.tokens // STEP) * STEP
    return tokens if context.unified else -(-(tokens // context.slots) // STEP) * STEP


def caches(facts: Facts, context: Context) -> tuple[Cache, ...] | Unknown:
    """The caches of a model's own context, its MTP blocks left out; none for what reads a text as a whole."""
    return _of(facts, layout(facts), context)


def head_caches(facts: Facts, context: Context) -> tuple[Cache, ...] | Unknown:
    """The caches of the second context that drafts with the MTP blocks of a file, with the types of the draft."""
    return _of(facts, layout(facts, head=True), context._replace(rollback=0))


def draft_caches(target: Facts, drafter: Facts, context: Context, *, mtp: bool = False) -> tuple[Cache, ...] | Unknown:
    """The caches of the context of a drafter in a file of its own, with the target's tokens and slots.

    The types of `context` are those of the draft. With `mtp` it drafts with the MTP blocks of that file, as a file
    without other blocks always does. A Gemma 4 assistant reads the target's caches and has none.
    """
    if not context.tokens:
        context = context._replace(tokens=trained(target) or 0)
    found = kind(drafter)
    if found is Kind.GEMMA4_ASSISTANT:
        return ()
    if mtp or found is Kind.MTP_HEAD:
        return head_caches(drafter, context)
    return caches(drafter, context._replace(rollback=0))


def refusal(facts: Facts, context: Context) -> str | None:
    """Why the server refuses these types of caches for this model, as a sentence without its end.

    None where it does not, or where the layout is not known (llama-context.cpp:3800, llama_init_from_model).
    """
    found = layout(facts)
    if isinstance(found, Unknown):
        return None
    if found.latent and context.type_k != context.type_v:
        return f"{facts.architecture} keeps keys and values in one row, so the types of both caches must be the same"
    flash = context.flash and facts.architecture != "grok"
    if not flash and TYPES.get(context.type_v, (1, 0))[0] > 1:
        return f"a cache of values of the type {context.type_v} needs flash attention"
    for what, which, place in (("keys", context.type_k, 0), ("values", context.type_v, 1)) if flash else ():
        block = TYPES.get(which, (1, 0))[0]
        odd = min((lengths[place] for lengths in found.lengths if lengths[place] % block), default=None)
        if odd is not None:
            return f"the {what} of a head are {odd} numbers, and {which} needs a multiple of {block}"
    return None


def _of(facts: Facts, found: Layout | Unknown, context: Context) -> tuple[Cache, ...] | Unknown:
    if isinstance(found, Unknown):
        return found
    if not context.tokens:
        context = context._replace(tokens=trained(facts) or 0)
    if context.rollback and not rolls_back(facts.architecture):
        context = context._replace(rollback=0)
    return sized(found, context)


def sized(found: Layout, context: Context) -> tuple[Cache, ...] | Unknown:
    """The caches of a layout; `context` is of known tokens, and of states that the architecture keeps."""
    if not 0 < context.slots <= SLOTS or context.tokens <= 0:
        return Unknown(f"a context of {context.tokens} tokens in {context.slots} slots is none")
    wrong = next((each for each in (context.type_k, context.type_v) if each not in TYPES), None)
    if wrong is not None:
        return Unknown(f"the memory arithmetic does not know the cache type {wrong}")
    full = cells(context)
    made = []
    for what, slides in ((FULL, False), (SLIDING, True)):
        rows = [each for each in found.rows if each.slides is slides]
        if rows:
            count = _window(found, context, full) if slides else full
            kept = _rows(rows, context, count, None if context.flash or found.latent else found.widest)
            if isinstance(kept, Unknown):
                return kept
            made.append(Cache(what, count, kept))
    if found.recurrent:
        size = found.state * _NUMBER * context.slots * (1 + context.rollback)
        made.append(Cache(STATE, context.slots, tuple([(block, size) for block in found.recurrent])))
    return tuple(made)


def _window(found: Layout, context: Context, full: int) -> int:
    """The cells of a sliding window (llama-kv-cache-iswa.cpp:73)."""
    if context.swa_full:
        return full
    batch = min(context.ubatch, context.tokens)
    wanted = (found.window or 0) * (context.slots if context.unified else 1) + batch
    return -(-min(full, wanted) // STEP) * STEP


def _rows(rows: list[Row], context: Context, count: int, widest: int | None) -> tuple[tuple[int, int], ...] | Unknown:
    """By block the bytes of its keys and values; without flash attention all values are as wide as the widest."""
    held = count * (1 if context.unified else context.slots)
    key_block, key_bytes = TYPES[context.type_k]
    value_block, value_bytes = TYPES[context.type_v]
    known: dict[tuple[int, int], int] = {}
    for _, keys, values, _ in rows:
        if (keys, values) not in known:
            wide = values if widest is None else widest
            if keys % key_block or wide % value_block:
                return Unknown(f"rows of {keys} and {wide} numbers are none of {context.type_k} and {context.type_v}")
            known[keys, values] = held * (keys // key_block * key_bytes + wide // value_block * value_bytes)
    return tuple([(block, known[keys, values]) for block, keys, values, _ in rows])
