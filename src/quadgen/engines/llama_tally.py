"""Adding up what llama-server takes, by what it is and where it lies."""

from collections.abc import Iterable
from typing import NamedTuple

from quadgen.engines.llama_buffers import Graph
from quadgen.engines.llama_placing import HOST, Laid
from quadgen.facts.kv import Cache
from quadgen.facts.record import Facts
from quadgen.resolution import Share


class Tally:
    """Shares in the making: what is of one kind and in one place is one share."""

    def __init__(self) -> None:
        self._sizes: dict[tuple[str, int | None, bool], int] = {}
        self._missing: dict[tuple[str, str], None] = {}

    def add(self, what: str, card: int | None, size: int, *, grows: bool = False) -> None:
        """Add bytes; a `card` of None is the host's memory."""
        if size > 0:
            key = (what, card, grows)
            self._sizes[key] = self._sizes.get(key, 0) + size

    def lack(self, what: str, reason: str) -> None:
        """Say that something is not, or not all, counted."""
        self._missing[what, reason] = None

    def shares(self) -> tuple[Share, ...]:
        """All of it, the growing last, and then what is not known."""
        ordered = sorted(self._sizes.items(), key=lambda item: item[0][2])
        counted = [Share(what, size, card=card, grows=grows) for (what, card, grows), size in ordered]
        return (*counted, *(Share(what, 0, missing=reason) for what, reason in self._missing))


def add_weights(tally: Tally, what: str, facts: Facts, at: Laid, blocks: Iterable[int], experts: int) -> None:
    """Add the weights of some blocks and of the layers around them; experts of the first blocks stay on the host."""
    weights, place = facts.weights, at.place
    tally.add(what, None, weights.input)
    add_blocks(tally, what, facts, at, blocks, experts)
    # a device has no use of the embeddings that the host has: where they are the output too, it gets its own
    again = _embeddings(facts) if weights.tied and place.output != HOST else 0
    for device, size in place.spread(place.output, weights.output + weights.other + again):
        tally.add(what, at.card(device), size)


def add_blocks(tally: Tally, what: str, facts: Facts, at: Laid, blocks: Iterable[int], experts: int) -> None:
    """Add the weights of some blocks; experts of the first ones stay on the host."""
    weights, place = facts.weights, at.place
    for number in blocks:
        kept = weights.experts[number] if number < min(experts, len(weights.experts)) else 0
        tally.add(what, None, kept)
        for device, size in place.spread(place.block(number), weights.blocks[number] - kept):
            tally.add(what, at.card(device), size)


def _embeddings(facts: Facts) -> int:
    """Bytes of the tokens' embeddings alone, where each layer has some of its own in the input layer as well."""
    layers, width = facts.number("embedding_length_per_layer_input"), facts.number("embedding_length")
    blocks = facts.number("block_count")
    if not layers or not width or not blocks:
        return facts.weights.input
    return facts.weights.input * width // (width + layers * blocks)  # as if of one type


def add_caches(tally: Tally, before: str, caches: Iterable[Cache], at: Laid, *, offloaded: bool) -> None:
    """Add each cache where its blocks are, or all of it on the host."""
    for cache in caches:
        for number, size in cache.layers:
            place = at.place.block(number) if offloaded else HOST
            for device, part in at.place.spread(place, size, cache=True):
                tally.add(f"{before}{cache.what}", at.card(device), part)


class Work(NamedTuple):
    """How a graph is worked on."""

    outputs: int
    """Rows of logits in a batch."""
    verified: int
    """The same where drafts are verified."""
    offloaded: bool = True
    """Whether the caches are on the devices."""
    copies: int = 1
    """Of what comes from other devices."""
    streamed: int = 0
    """Bytes of the host's weights that the first device works with."""


def add_graph(tally: Tally, before: str, planned: Graph, at: Laid, work: Work) -> None:
    """Add the compute buffers of each device that has a part and of the host, and what verifying drafts adds."""
    place, what = at.place, f"{before}compute buffer (estimated)"
    verifying = planned.size(work.verified) - planned.size(work.outputs)
    for device in place.used:
        has_output = device == place.output or bool(place.fractions)
        size = planned.size(work.outputs if has_output else 0, copies=work.copies)
        tally.add(what, at.card(device), size + (work.streamed if device == place.used[0] else 0))
        tally.add("logits for verifying", at.card(device), verifying if has_output else 0)
    on_host = place.output == HOST
    works = HOST in (*place.blocks, place.output) or not work.offloaded
    tally.add(what, None, planned.size(work.outputs if on_host else 0) if works else planned.host)
    tally.add("logits for verifying", None, verifying if on_host else 0)
