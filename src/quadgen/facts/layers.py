"""Which layers of a checkpoint keep keys and values, or a state, and how many numbers for a token, from its keys."""

from typing import NamedTuple

from quadgen.facts.architectures import ARCHITECTURES, COMMON, INDEXED, TELLING, Architecture, Recurrent, State, Window
from quadgen.facts.keys import BLOCKS, Keys, Senseless, flags, number, row
from quadgen.facts.record import Facts


class Unknown(NamedTuple):
    """No number, and why."""

    reason: str
    """A sentence without its end."""


class Row(NamedTuple):
    """What one layer keeps of one token."""

    block: int
    keys: int
    """Numbers."""
    values: int
    """Numbers; 0 where keys and values are one row."""
    slides: bool
    """Whether it is kept in the cache of the sliding window."""


class Layout(NamedTuple):
    """What a context keeps, whatever its size is."""

    rows: tuple[Row, ...] = ()
    """In the order of blocks."""
    window: int | None = None
    """Tokens; None where there is no cache of a sliding window."""
    recurrent: tuple[int, ...] = ()
    """The blocks that keep a state."""
    state: int = 0
    """Numbers in the state of one of these, for one slot."""
    widest: int = 0
    """The largest `values` of all blocks, also of those that are not in `rows`."""
    lengths: frozenset[tuple[int, int]] = frozenset()
    """The lengths of a head's keys and of its values that there are."""
    latent: bool = False
    """Whether keys and values are one row."""


class _Blocks(NamedTuple):
    """What is known of a file's blocks before its layers are counted."""

    keys: Keys
    known: Architecture
    total: int
    """All of them."""
    trunk: int
    """Those that are no MTP head."""
    heads: list[int]
    owned: list[int]
    """Heads of keys and values, by block."""


def layout(facts: Facts, *, head: bool = False) -> Layout | Unknown:
    """What the context of a model keeps, or the one of its MTP blocks alone.

    `Unknown` where the architecture or one of its keys is not known, and where a key is missing or makes no sense.
    """
    known = ARCHITECTURES.get(facts.architecture)
    if known is None:
        if facts.architecture in INDEXED:
            return Unknown(f"the memory arithmetic does not know the indexer caches of {facts.architecture}")
        return Unknown(f"the memory arithmetic does not know the architecture {facts.architecture}")
    if not known.keeps:
        return Layout() if not head else Unknown(f"{facts.architecture} has no MTP context")
    for key in facts.keys:
        if key.startswith(TELLING) and key not in COMMON and key not in known.known:
            return Unknown(f"the memory arithmetic does not know the key {key} of {facts.architecture}")
    try:
        return _layout(facts, known, head=head)
    except Senseless as found:
        return Unknown(str(found))


def _layout(facts: Facts, known: Architecture, *, head: bool) -> Layout:
    blocks = _blocks(facts.keys, known)
    if head and blocks.total == blocks.trunk:
        raise Senseless("the file announces no MTP head")
    if head and not known.head:
        raise Senseless(f"llama.cpp has no MTP context of its own for {facts.architecture}")
    latent = _latent(blocks)
    recurrent = _recurrent(blocks)
    window, slides = _window(blocks, recurrent)
    lengths = _lengths(blocks)
    sliding = (
        number(blocks.keys, "attention.key_length_swa", lengths[0]),
        number(blocks.keys, "attention.value_length_swa", lengths[1]),
    )
    each = [sliding if slid else lengths for slid in slides]
    keeping = _keeping(blocks, recurrent, head=head)
    rows = tuple(
        Row(block, each[block][0] * owned, 0 if latent else each[block][1] * owned, slides[block])
        for block, owned in enumerate(blocks.owned)
        if keeping[block]
    )
    if rows and not any(found.keys for found in rows):
        raise Senseless("no block has heads of keys and values")
    states = () if head else tuple(block for block in range(blocks.trunk) if recurrent[block])
    return Layout(
        rows,
        window,
        states,
        _state(blocks) if states else 0,
        max(each[block][1] * owned for block, owned in enumerate(blocks.owned)),
        frozenset(each),
        latent,
    )


def _blocks(keys: Keys, known: Architecture) -> _Blocks:
    count = number(keys, "block_count")
    if not 0 < count <= BLOCKS:
        raise Senseless(f"the key block_count is {count}, and llama.cpp takes 1 to {BLOCKS}")
    nextn = number(keys, "nextn_predict_layers", 0)
    if nextn > count:
        raise Senseless(f"the key nextn_predict_layers is {nextn}, and the file has {count} blocks")
    if number(keys, "num_loops", 1) != 1:
        raise Senseless("the memory arithmetic does not know blocks that are run several times (num_loops)")
    heads = row(keys, "attention.head_count", count, [0] * count)
    owned = row(keys, "attention.head_count_kv", count, heads)
    return _Blocks(keys, known, count, count - nextn, heads, owned)


def _latent(blocks: _Blocks) -> bool:
    """Whether keys and values are one row (llama-hparams.cpp, is_mla)."""
    if blocks.known.latent is False:
        return False
    default = 0 if blocks.known.latent is None else None
    keys = number(blocks.keys, "attention.key_length_mla", default)
    values = number(blocks.keys, "attention.value_length_mla", default)
    if (keys == 0) != (values == 0):
        raise Senseless("of attention.key_length_mla and attention.value_length_mla one is missing or 0")
    return keys > 0


def _lengths(blocks: _Blocks) -> tuple[int, int]:
    """How long a head's keys and values are where no window slides (llama-model.cpp:1447)."""
    first = blocks.heads[0]
    if first == 0 and not blocks.known.lengths:
        return 0, 0
    default = number(blocks.keys, "embedding_length") // first if first else 0
    return number(blocks.keys, "attention.key_length", default), number(blocks.keys, "attention.value_length", default)


def _recurrent(blocks: _Blocks) -> list[bool]:
    """Which blocks keep a state; no MTP head does, since the recurrent memory counts the others alone."""
    known, heads = blocks.known, blocks.total - blocks.trunk
    if known.recurrent is Recurrent.NONE:
        return [False] * blocks.total
    if known.recurrent is Recurrent.ALL or known.recurrent is Recurrent.BESIDE:
        return [True] * blocks.trunk + [False] * heads
    if known.recurrent is Recurrent.INTERVAL:
        if "attention.recurrent_layers" in blocks.keys:
            listed = flags(blocks.keys, "attention.recurrent_layers", blocks.total, blocks.total)
            if listed is None:
                raise Senseless("the key attention.recurrent_layers is no list")
            return listed
        interval = number(blocks.keys, "full_attention_interval", known.interval)
        if interval == 0:
            raise Senseless("the key full_attention_interval is 0")
        return [(block + 1) % interval != 0 for block in range(blocks.trunk)] + [False] * heads
    if known.recurrent is Recurrent.NARROW:
        forward = row(blocks.keys, "feed_forward_length", blocks.total, [0] * blocks.total)
        return [not blocks.owned[block] and not forward[block] for block in range(blocks.trunk)] + [False] * heads
    return [not blocks.owned[block] for block in range(blocks.trunk)] + [False] * heads


def _window(blocks: _Blocks, recurrent: list[bool]) -> tuple[int | None, list[bool]]:
    """The sliding window, and by block whether it slides."""
    known, none = blocks.known.window, [False] * blocks.total
    if known is None or (known.blocks and known.blocks != blocks.trunk):
        return None, none
    size = number(blocks.keys, "attention.sliding_window", known.absent)
    if size == 0 and (known.absent == 0 or known.fixed):
        return None, none
    size = known.fixed or size
    slides = _pattern(blocks, known, recurrent)
    if blocks.known.recurrent is Recurrent.NONE and True not in slides:
        raise Senseless("the file has a sliding window, and no block in which it slides")
    return size, slides


def _pattern(blocks: _Blocks, known: Window, recurrent: list[bool]) -> list[bool]:
    rest = [False] * (blocks.total - blocks.trunk)
    if known.attending:
        return [not each for each in recurrent[: blocks.trunk]] + rest
    key = "attention.sliding_window_pattern"
    listed = flags(blocks.keys, key, blocks.trunk, blocks.total)
    if listed is not None:
        return listed
    if known.period is None:
        raise Senseless(f"the key {key} is missing or no list")
    period = number(blocks.keys, key, known.period)
    dense = 0 if known.dense_first else period - 1
    return [period == 0 or block % period != dense for block in range(blocks.trunk)] + rest


def _keeping(blocks: _Blocks, recurrent: list[bool], *, head: bool) -> list[bool]:
    """By block, whether it has keys and values in this context (llama-model.cpp:2676-2864)."""
    known, count, trunk = blocks.known, blocks.total, blocks.trunk
    if known.recurrent is Recurrent.ALL:
        return [False] * count
    if head:
        return [block >= trunk for block in range(count)]
    if known.recurrent is Recurrent.NONE:
        owners = _owners(blocks)
        # a file that has nothing but heads is read as a whole
        return [block < owners and (block < trunk or not trunk) for block in range(count)]
    if known.recurrent is Recurrent.BESIDE:
        return [True] * count
    if known.recurrent is Recurrent.INTERVAL:
        return [block < trunk and not recurrent[block] for block in range(count)]
    if known.recurrent is Recurrent.NARROW:
        forward = row(blocks.keys, "feed_forward_length", count, [0] * count)
        return [not recurrent[block] and not forward[block] for block in range(count)]
    return [not each for each in recurrent]  # with the heads: here llama.cpp leaves them in


def _owners(blocks: _Blocks) -> int:
    """How many of the first blocks have keys and values of their own."""
    if blocks.known.owners < 0:
        return blocks.total
    if blocks.known.owners:
        return blocks.known.owners
    shared = number(blocks.keys, "attention.shared_kv_layers", 0)
    if shared > blocks.total - 2:
        raise Senseless(f"the key attention.shared_kv_layers is {shared}, and the file has {blocks.total} blocks")
    return blocks.total - shared


def _state(blocks: _Blocks) -> int:
    """How many numbers the state of a block and a slot has (llama-hparams.cpp:185-251)."""
    keys, kind = blocks.keys, blocks.known.state
    if kind is State.WKV:
        width = number(keys, "embedding_length")
        return width * (number(keys, "token_shift_count", 2) + number(keys, "wkv.head_size"))
    if kind is State.SHORTCONV:
        return number(keys, "embedding_length") * max(0, number(keys, "shortconv.l_cache") - 1)
    if kind is State.LINEAR:
        return _lengths(blocks)[0] ** 2 * blocks.heads[0]
    convolved = number(keys, "ssm.conv_kernel")
    if kind is State.KDA:
        length = number(keys, "kda.head_dim")
        before = convolved - 1 if convolved else 3
        return length * blocks.heads[0] * (3 * before + length)
    inner, state = number(keys, "ssm.inner_size"), number(keys, "ssm.state_size")
    grouped = 2 * number(keys, "ssm.group_count", 0) * state
    return max(0, convolved - 1) * (inner + grouped) + state * inner
