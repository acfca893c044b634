"""What is told of a checkpoint, as plain values for the JSON forms of `quadgen gguf`."""

from collections.abc import Iterable
from math import isfinite
from typing import Any, Final

from quadgen.facts.agreement import beginning, end, vocabulary_kind
from quadgen.facts.heads import head
from quadgen.facts.hidden import out_width
from quadgen.facts.kinds import Kind, kind, trait
from quadgen.facts.kv import Context, Unknown, caches, head_caches, trained
from quadgen.facts.layers import Layout, Row, layout
from quadgen.facts.record import Facts, Scalar, Vocabulary

_HALF: Final = 2
"""Bytes of a number in a cache of the type f16, which is the default."""
_NUMBER: Final = 4
"""Bytes of a number in a recurrent state."""
_WITHOUT: Final = frozenset({Kind.PROJECTOR, Kind.ADAPTER, Kind.STATISTICS, Kind.VOCABULARY})
"""Kinds of files that no context is made of."""
Record = dict[str, Any]


def identity(name: str, facts: Facts) -> Record:
    """What a file is."""
    found = trait(facts)
    return {
        "file": name,
        "architecture": facts.architecture,
        "name": facts.name,
        "kind": kind(facts).value,
        "drafts_with": found.drafts_with,
        "serves": found.serves,
    }


def tokenizer(vocabulary: Vocabulary | None) -> Record | None:
    """The identity of a tokenizer; None where there is none."""
    if vocabulary is None:
        return None
    return {
        "model": vocabulary.model,
        "type": vocabulary_kind(vocabulary),
        "pre": vocabulary.pre,
        "size": vocabulary.size,
        "merges": vocabulary.merges,
        "padding": vocabulary.padding,
        "begins_with": beginning(vocabulary),
        "ends_with": end(vocabulary),
        "special": {name: _plain(value) for name, value in vocabulary.special.items()},
        "sha256_2000": vocabulary.sha256_2000,
        "sha256": vocabulary.sha256,
    }


def mtp(facts: Facts) -> Record:
    """The state of the MTP heads, and what llama.cpp does with them."""
    found = head(facts)
    return {
        "state": found.state.value,
        "announced": found.announced,
        "blocks": list(facts.heads),
        "loads": found.loads,
        "drafts": found.drafts,
        "since": f"b{found.since}" if found.since is not None else None,
        "widest": found.widest,
        "wrong": found.wrong,
    }


def kv(facts: Facts) -> Record | None:
    """What a context keeps of each token in one slot, of the cache type f16; or why that is not known.

    None of a file that has no context. Of a head without its model it is the context that the head drafts with.
    """
    what = kind(facts)
    if what in _WITHOUT:
        return None
    alone = what is Kind.MTP_HEAD
    found = layout(facts, head=alone)
    if isinstance(found, Unknown):
        return {"unknown": found.reason}
    own = layout(facts, head=True) if facts.heads and not alone else None
    return {
        "full": _rows(row for row in found.rows if not row.slides),
        "window": {"tokens": found.window, **_rows(row for row in found.rows if row.slides)}
        if found.window is not None
        else None,
        "recurrent": {"layers": len(found.recurrent), "bytes": found.state * _NUMBER * len(found.recurrent)}
        if found.recurrent
        else None,
        "one_row": found.latent,
        "head": _rows(own.rows) if isinstance(own, Layout) and own.rows else None,
        "trained": _trained(facts, head=alone),
    }


def _rows(rows: Iterable[Row]) -> Record:
    each = [row.keys + row.values for row in rows]
    return {"layers": len(each), "bytes_per_token": _HALF * sum(each)}


def _trained(facts: Facts, *, head: bool) -> Record | None:
    """The caches of one slot with all the tokens that the model was trained for."""
    tokens = trained(facts)
    found = (head_caches if head else caches)(facts, Context(tokens or 0, 1))
    if tokens is None or isinstance(found, Unknown):
        return None
    return {"tokens": tokens, "bytes": sum(cache.size for cache in found)}


def drafter(facts: Facts) -> Record | None:
    """What a drafter of hidden states was made for; None for what is none."""
    found = kind(facts)
    if found in (Kind.MTP_HEAD, Kind.GEMMA4_ASSISTANT):
        return {"width": out_width(facts), "layers": None, "block": None}
    if found not in (Kind.EAGLE3, Kind.DFLASH, Kind.DSPARK):
        return None
    layers = facts.keys.get("target_layers")
    width = facts.number("target_hidden_size") if found is Kind.EAGLE3 else facts.number("embedding_length")
    return {
        "width": width,
        "layers": list(layers) if isinstance(layers, tuple) else None,
        "block": facts.number("block_size"),
    }


def weights(facts: Facts) -> Record:
    """Bytes of tensor data by where llama.cpp puts them."""
    found = facts.weights
    return {
        "bytes": found.total,
        "input": found.input,
        "output": found.output,
        "tied": found.tied,
        "blocks": list(found.blocks),
        "experts": sum(found.experts),
        "other": found.other,
    }


def keys(facts: Facts) -> Record:
    """The keys below the name of the architecture."""
    return {
        name: [_plain(each) for each in value] if isinstance(value, tuple) else _plain(value)
        for name, value in facts.keys.items()
    }


def _plain(value: Scalar) -> Scalar:
    """JSON has no word for what is no finite number."""
    return str(value) if isinstance(value, float) and not isfinite(value) else value
