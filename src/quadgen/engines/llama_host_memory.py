"""What llama-server keeps in the host's memory wherever it computes: outputs, prompts, and copies of states.

Read in tools/server/server-context.cpp and src/llama-context.cpp of llama.cpp b11434
(https://github.com/ggml-org/llama.cpp).
"""

from typing import Final

from quadgen.engines.llama_buffers import row
from quadgen.engines.llama_drafter_memory import Drafting, draft_outputs, drafter_caches
from quadgen.engines.llama_tally import Tally
from quadgen.engines.llama_told import Told, outputs
from quadgen.facts import kv
from quadgen.facts.record import Facts

_NGRAM_TABLE: Final = 4 * 2**20 * 4
"""Of ngram-mod, for all slots together (common/ngram-mod.cpp)."""
_SAMPLED: Final = 4
"""Rows of a drafter that chooses on its device: logits, probabilities, candidates, and what was chosen."""


def add_kept(tally: Tally, facts: Facts, context: kv.Context, said: Told, drafting: Drafting) -> None:
    """Add the buffers of outputs, and what grows with use up to its bound."""
    _add_outputs(tally, facts, said, drafting)
    if "ngram-mod" in drafting.types:
        tally.add("n-gram table", None, _NGRAM_TABLE)
    if said.embeds:  # prompts and states are kept of completions only
        return
    copies = _state(facts, context, said, drafting) * said.checkpoints * context.slots
    tally.add(f"copies of the state, {said.checkpoints} for a slot", None, copies, grows=True)
    if said.prompts is None:
        tally.lack("prompt cache", "`cache-ram` sets no bound for it")
    else:
        tally.add("prompt cache", None, said.prompts, grows=True)


def _add_outputs(tally: Tally, facts: Facts, said: Told, drafting: Drafting) -> None:
    """The logits as the host gets them, and the hidden states for a drafter: llama-context.cpp:2118."""
    size = row(facts) * outputs(said, drafting.width)
    width = 4 * (facts.number("embedding_length") or 0) * said.batch
    if drafting.mtp or "draft-eagle3" in drafting.types:
        size += width
    size += width * drafting.layers
    drafter = facts if drafting.in_file and drafting.mtp else drafting.facts
    if drafter is not None:
        size += row(drafter) * draft_outputs(drafting, said) * (_SAMPLED if said.samples else 1)
    tally.add("output buffer", None, size)


def _state(facts: Facts, context: kv.Context, said: Told, drafting: Drafting) -> int:
    """Bytes of one copy: what of a slot cannot be taken back token by token, in both contexts."""
    if not said.checkpoints:
        return 0
    alone = context.tokens if context.unified else kv.cells(context)
    one = context._replace(tokens=alone, slots=1, unified=False, rollback=0)
    own = kv.caches(facts, one)
    if isinstance(own, kv.Unknown):
        return 0
    copied = _partial(own, said)
    drafter = drafter_caches(drafting, facts, said._replace(context=one)) if copied else ()
    return copied + (0 if isinstance(drafter, kv.Unknown) else _partial(drafter, said))


def _partial(caches: tuple[kv.Cache, ...], said: Told) -> int:
    slides = not said.context.swa_full
    return sum(each.size for each in caches if each.what == kv.STATE or (each.what == kv.SLIDING and slides))
