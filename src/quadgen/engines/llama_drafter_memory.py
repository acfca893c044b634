"""What a drafter takes: its weights, the caches of its context, and what it computes with.

The context is made by `common_speculative_init_result` in common/speculative.cpp of llama.cpp b11434
(https://github.com/ggml-org/llama.cpp): as many tokens and slots as the model's, types of its own.
"""

from typing import Final, NamedTuple

from quadgen.engines.drafters import drafts
from quadgen.engines.llama_buffers import Graph, draft_graph, graph, tokens
from quadgen.engines.llama_placing import Device, Laid, Unplaced, laid
from quadgen.engines.llama_tally import Tally, Work, add_blocks, add_caches, add_graph, add_weights
from quadgen.engines.llama_told import Told, copies
from quadgen.facts import kv
from quadgen.facts.amounts import gib
from quadgen.facts.kinds import Kind, block_count, kind, trunk
from quadgen.facts.record import Facts

HIDDEN: Final = frozenset({"draft-mtp", "draft-eagle3", "draft-dflash", "draft-dspark"})
"""Types that draft from the model's hidden states: the state of a hybrid is kept for each token of a draft."""
_READERS: Final = frozenset({Kind.EAGLE3, Kind.DFLASH, Kind.DSPARK})
"""What has an encoder of hidden states, for which all tokens of a batch are outputs (llama-context.cpp:252)."""


class Drafting(NamedTuple):
    """The speculation of a service."""

    types: tuple[str, ...]
    width: int
    """Tokens of the longest draft of all types."""
    own_width: int
    """Tokens of a draft of the types that have a drafter."""
    devices: tuple[Device, ...]
    """Of a drafter in a file of its own."""
    in_file: bool
    """Whether there is no such file."""
    facts: Facts | None
    """Of that file."""
    declared: int | None
    """Bytes of it, where the fleet says so."""

    @property
    def mtp(self) -> bool:
        """Whether it drafts with an MTP head."""
        return "draft-mtp" in self.types

    @property
    def before(self) -> str:
        """What comes before the name of a share."""
        return "MTP head: " if self.mtp else "draft model: "

    @property
    def layers(self) -> int:
        """Layers of the model whose inputs the drafter reads."""
        read = () if self.facts is None else self.facts.keys.get("target_layers")
        return len(read) if isinstance(read, tuple) else 0

    @property
    def rollback(self) -> int:
        """The earlier states that are kept for a slot, where the architecture can."""
        return 0 if HIDDEN.isdisjoint(self.types) else self.own_width


def draft_context(said: Told) -> kv.Context:
    """The context of the drafter."""
    return said.context._replace(type_k=said.draft_types[0], type_v=said.draft_types[1])


def drafter_caches(drafting: Drafting, target: Facts, said: Told) -> tuple[kv.Cache, ...] | kv.Unknown:
    """The caches of the drafter's context; none where there is no drafter, or nothing is known of it."""
    if not drafts(drafting.types):
        return ()
    if drafting.in_file:
        return kv.head_caches(target, draft_context(said)) if drafting.mtp else ()
    if drafting.facts is None:
        return ()
    return kv.draft_caches(target, drafting.facts, draft_context(said), mtp=drafting.mtp)


def add_drafter(tally: Tally, drafting: Drafting, target: Facts, said: Told, found: Laid | Unplaced) -> None:
    """Add the drafter of a model that is placed as `found` says."""
    if not drafts(drafting.types) or (drafting.in_file and not drafting.mtp):
        return
    before = drafting.before
    if drafting.in_file:
        planned = graph(target, draft_context(said), head=True)
        facts, experts, moved = target, said.host_experts, said.overridden
    elif drafting.facts is None:
        _add_declared(tally, drafting, said)
        return
    else:
        facts, experts, moved = drafting.facts, said.draft_experts, said.draft_overridden
        planned = draft_graph(target, facts, draft_context(said), mtp=drafting.mtp)
        found = _placed(drafting, facts, said)
    if isinstance(found, Unplaced):
        tally.lack(f"{before}all", found.reason)
        return
    blocks = range(trunk(facts) if drafting.in_file else 0, _last(drafting, facts))
    if moved and found.devices:
        tally.lack(f"{before}weights", "patterns decide where its tensors lie")
    elif drafting.in_file:
        add_blocks(tally, f"{before}weights", facts, found, blocks, experts)
    else:
        add_weights(tally, f"{before}weights", facts, found, blocks, experts)
    caches = drafter_caches(drafting, target, said)
    if isinstance(caches, kv.Unknown):
        tally.lack(f"{before}KV cache", caches.reason)
    else:
        add_caches(tally, before, caches, found, offloaded=said.offloads_caches)
    if drafting.in_file:  # its graph has no other blocks
        found = found._replace(place=found.place._replace(blocks=found.place.blocks[trunk(facts) :]))
    _add_graph(tally, drafting, said, found, planned)


def _add_graph(tally: Tally, drafting: Drafting, said: Told, found: Laid, planned: Graph | kv.Unknown) -> None:
    if isinstance(planned, kv.Unknown):
        tally.lack(f"{drafting.before}compute buffer", planned.reason)
        return
    rows = draft_outputs(drafting, said)
    work = Work(rows, rows, offloaded=said.offloads_caches, copies=copies(said, said.split, found))
    add_graph(tally, drafting.before, planned, found, work)


def draft_outputs(drafting: Drafting, said: Told) -> int:
    """Rows of logits in a batch of the drafter."""
    if drafting.facts is not None and kind(drafting.facts) in _READERS:
        return min(said.batch, tokens(said.context))
    return said.context.slots


def _placed(drafting: Drafting, facts: Facts, said: Told) -> Laid | Unplaced:
    """As the model is split, but for how many of its layers; one device of its own is no split at all."""
    split = said.split._replace(layers=said.draft_layers)
    if said.draft_devices is not None and len(drafting.devices) == 1:
        split = split._replace(mode="layer")
    return laid(block_count(facts), split, drafting.devices, fitted=said.fitted and said.draft_layers is None)


def _last(drafting: Drafting, facts: Facts) -> int:
    """The end of the blocks that are loaded: those of MTP heads only where they are asked for."""
    every = len(facts.weights.blocks)
    return every if drafting.mtp else min(trunk(facts), every)


def _add_declared(tally: Tally, drafting: Drafting, said: Told) -> None:
    """The weights alone, of a file whose header nobody recorded."""
    before, size = drafting.before, drafting.declared
    cards = {each.card for each in drafting.devices}
    if size is not None and not drafting.devices:
        tally.add(f"{before}weights", None, size)
    elif size is not None and len(cards) == 1 and said.draft_layers is None and not said.fitted:
        found = laid(0, said.split._replace(mode="layer"), drafting.devices, fitted=False)
        if isinstance(found, Laid):
            tally.add(f"{before}weights", drafting.devices[0].card, size)
    elif size is not None:
        tally.lack(f"{before}weights", f"nobody can say where {gib(size)} lie without their header")
    tally.lack(f"{before}all" if size is None else f"{before}context", "nobody recorded what its header says")
