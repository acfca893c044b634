"""How large the compute buffer of a llama.cpp context is: an estimate that the server's own number does not exceed.

The graph of one batch is planned in advance (`llama_context::sched_reserve` in src/llama-context.cpp of b11434,
https://github.com/ggml-org/llama.cpp), and its buffer holds what is there at the same time: the masks, a few rows of
the embedding length for each token, and the largest of the steps of a block, or the logits. Which these are was
found with a real server of b11434 on its CPU (tests/real/test_real_buffers.py): what it prints at `--log-verbosity 4`
is never above the estimate, and mostly within a few percent of it. Sizes are in bytes.
"""

from typing import Final, NamedTuple

from quadgen.facts.architectures import ARCHITECTURES, Recurrent, State
from quadgen.facts.kv import Cache, Context, Unknown, caches, cells, draft_caches, head_caches
from quadgen.facts.layers import Layout, layout
from quadgen.facts.record import Facts

_NUMBER: Final = 4
"""Bytes of a number in the graph."""
_ROWS: Final = 5
"""Rows of the embedding length that are there beside the step of a block."""
_SLACK: Final = 2 * 2**20
"""For positions, indices, the rotations of quantised caches, and the gaps between them."""
_PER_LAYER: Final = 256
"""Length of gemma3n's embeddings for each layer, where no key says it (src/models/gemma3n.cpp)."""


class Graph(NamedTuple):
    """What one batch needs."""

    inputs: int
    """Masks, which the host has too."""
    rows: int
    """One row of the embedding length for each token of the batch."""
    widest: int
    """The largest step of a block."""
    output: int
    """One row of logits."""

    def size(self, outputs: int, *, copies: int = 1) -> int:
        """The buffer of a device, for so many rows of logits and so many copies of what comes from elsewhere."""
        inputs = copies * self.inputs + (copies - 1) * self.rows
        return inputs + _ROWS * self.rows + max(self.widest, outputs * self.output) + _SLACK

    @property
    def host(self) -> int:
        """What the host needs of it where no block is there: the inputs and the embeddings."""
        return self.inputs + 2 * self.rows + _SLACK


def tokens(context: Context) -> int:
    """Tokens of the largest batch that is planned for: a multiple of the slots."""
    every = cells(context) * (1 if context.unified else context.slots)
    return -(-min(every, context.ubatch) // context.slots) * context.slots


def graph(facts: Facts, context: Context, *, head: bool = False) -> Graph | Unknown:
    """The graph of a model's own context, or of the one that drafts with its MTP blocks."""
    found = layout(facts, head=head)
    kept = head_caches(facts, context) if head else caches(facts, context)
    return _graph(facts, found, kept, context)


def draft_graph(target: Facts, drafter: Facts, context: Context, *, mtp: bool) -> Graph | Unknown:
    """The graph of the context of a drafter in a file of its own."""
    kept = draft_caches(target, drafter, context, mtp=mtp)
    found = layout(drafter, head=mtp)
    if not kept and not isinstance(kept, Unknown):  # it reads the caches of its target, whose masks it needs
        kept, found = caches(target, context), Layout() if isinstance(found, Unknown) else found
    return _graph(drafter, found, kept, context)


def _graph(
    facts: Facts, found: Layout | Unknown, kept: tuple[Cache, ...] | Unknown, context: Context
) -> Graph | Unknown:
    if isinstance(found, Unknown) or isinstance(kept, Unknown):
        return found if isinstance(found, Unknown) else kept if isinstance(kept, Unknown) else Unknown("")
    batch, width = tokens(context), _most(facts, "embedding_length")
    if not width:
        return Unknown("the key embedding_length is missing")
    seen = [each.cells for each in kept if each.what != "recurrent state"]
    states = (2 + context.rollback) * found.state * context.slots
    attention = _attention(facts, found)
    per_token = max(_forward(facts, width), _recurrent(facts), _by_layer(facts, width))
    widest = _NUMBER * max(per_token * batch + states + _decay(facts, batch), attention * batch)
    if not context.flash:  # all of the scores at once, and a place for each number of a value
        heads, values = _most(facts, "attention.head_count"), max((each.values for each in found.rows), default=0)
        scores = max(seen, default=0) * heads * _NUMBER + 2 * _NUMBER * values
        widest = max(widest, batch * (_NUMBER * attention + scores))
    layers = facts.keys.get("target_layers")
    read = len(layers) * _most(facts, "target_hidden_size", width) if isinstance(layers, tuple) else 0
    inputs = batch * (sum(seen) * (2 if context.flash else _NUMBER) + _NUMBER * read)
    return Graph(inputs, batch * width * _NUMBER, widest, row(facts))


def row(facts: Facts) -> int:
    """Bytes of the logits of one token."""
    return _NUMBER * (facts.vocabulary.size if facts.vocabulary is not None else _most(facts, "vocab_size"))


def _most(facts: Facts, key: str, default: int = 0) -> int:
    """The number that a key has, the largest where it has one for each block."""
    value = facts.keys.get(key)
    numbers = value if isinstance(value, tuple) else (value,)
    return max((each for each in numbers if type(each) is int and each > 0), default=default)


def _attention(facts: Facts, found: Layout) -> int:
    """Numbers for each token of a block that attends."""
    heads = _most(facts, "attention.head_count")
    longest = max((keys for keys, _ in found.lengths), default=0)
    values = max((values for _, values in found.lengths), default=0)
    if found.latent:  # queries, their rotated part, those that are made latent, and both again
        own = _most(facts, "attention.key_length_mla") + _most(facts, "rope.dimension_count")
        return heads * (own + longest + values)
    return 4 * heads * longest + 2 * max((each.keys + each.values for each in found.rows), default=0)


def _forward(facts: Facts, width: int) -> int:
    """Numbers for each token of a feed-forward, dense or of experts."""
    used, inner = _most(facts, "expert_used_count"), _most(facts, "expert_feed_forward_length")
    routed = used * max(3 * inner, inner + 2 * width)
    return max(3 * _most(facts, "feed_forward_length"), routed)


def _recurrent(facts: Facts) -> int:
    """Numbers for each token of a block that keeps a state, the state itself left out."""
    known = ARCHITECTURES.get(facts.architecture)
    kind = State.NONE if known is None else known.state
    if kind is State.WKV:
        return 16 * _most(facts, "embedding_length")
    if kind is State.KDA:
        return 12 * _most(facts, "attention.head_count") * _most(facts, "kda.head_dim")
    if kind is not State.SSM:
        return 0
    inner = _most(facts, "ssm.inner_size")
    convolved = inner + 2 * _most(facts, "ssm.group_count") * _most(facts, "ssm.state_size")
    beside = 0 if known is None or known.recurrent is not Recurrent.BESIDE else _most(facts, "embedding_length")
    return 3 * (inner + convolved) + beside


def _by_layer(facts: Facts, width: int) -> int:
    """Numbers for each token where all layers have embeddings of their own (gemma3n, gemma4)."""
    plain = _PER_LAYER if facts.architecture == "gemma3n" else 0
    every = _most(facts, "embedding_length_per_layer_input", plain) * _most(facts, "block_count")
    alternating = 20 * width if facts.architecture == "gemma3n" else 0
    return max(4 * every, every + alternating) if every else 0


def _decay(facts: Facts, batch: int) -> int:
    """Numbers of linear attention that each pair of tokens has (src/models/minimax-01.cpp)."""
    known = ARCHITECTURES.get(facts.architecture)
    linear = known is not None and known.state is State.LINEAR
    return 4 * _most(facts, "attention.head_count") * batch**2 if linear else 0
