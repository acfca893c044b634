"""The words of `quadgen gguf show`."""

import json
from collections.abc import Iterator
from itertools import chain
from math import prod
from typing import Any, Final

from quadgen.cli import console
from quadgen.cli import gguf_records as records
from quadgen.cli.gguf_files import Found
from quadgen.cli.gguf_records import Record
from quadgen.facts.amounts import amount, short
from quadgen.facts.kinds import trait
from quadgen.facts.kv import trained
from quadgen.facts.record import Facts, Vocabulary
from quadgen.gguf.header import Header

_COLUMN: Final = 14
Line = tuple[str, str]
"""What is told, and the words; the first is empty where a line goes on with what the one above began."""


def as_json(found: Found) -> str:
    """One object with all that is known."""
    facts = found.facts
    told = {
        **records.identity(found.name, facts),
        "type": facts.type,
        "size": facts.size,
        "shards": facts.shards,
        "header": facts.header,
        "version": found.headers[0].version,
        "big_endian": found.headers[0].big_endian,
        "quantization": facts.quantization,
        "parameters": _parameters(found),
        "context": trained(facts),
        "mtp": records.mtp(facts),
        "drafter": records.drafter(facts),
        "tokenizer": records.tokenizer(facts.vocabulary),
        "kv": records.kv(facts),
        "weights": records.weights(facts),
        "tensors": _tensors(found),
        "keys": records.keys(facts),
    }
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def _parameters(found: Found) -> int:
    return sum(prod(tensor.shape) for header in found.headers for tensor in header.tensors)


def _tensors(found: Found) -> Record:
    """By type, those that take the most bytes first: how many tensors, and their bytes."""
    kinds: dict[str, list[int]] = {}
    for tensor in chain.from_iterable(header.tensors for header in found.headers):
        kinds.setdefault(tensor.kind, []).append(tensor.size)
    order = sorted(kinds, key=lambda kind: (-sum(kinds[kind]), kind))
    return {kind: {"count": len(kinds[kind]), "bytes": sum(kinds[kind])} for kind in order}


def as_text(found: Found) -> str:
    """For people: what it is, then a table."""
    what = f"{found.name}: {trait(found.facts).what}"
    return console.lines([what, *(f"  {label:<{_COLUMN}} {words}".rstrip() for label, words in _lines(found))])


def _lines(found: Found) -> Iterator[Line]:
    facts = found.facts
    if not trait(facts).serves:
        yield "", "llama-server does not serve it as a model"
    yield "architecture", facts.architecture or "none: llama.cpp does not load it"
    if facts.name is not None:
        yield "name", facts.name
    shards = f", in {facts.shards} shards" if facts.shards > 1 else ""
    yield "size", f"{amount(facts.size)} ({facts.size} bytes){shards}"
    yield "header", f"{facts.header}{_strange(found.headers[0])}"
    yield "quantization", facts.quantization or "unknown"
    yield "parameters", short(_parameters(found))
    if (tokens := trained(facts)) is not None:
        yield "context", f"{tokens} tokens, as trained"
    yield "mtp", _head(facts)
    yield from _drafter(facts)
    yield from _tokenizer(facts.vocabulary)
    yield from _kv(facts)
    yield from _weights(facts)
    for number, (kind, told) in enumerate(_tensors(found).items()):
        yield (
            "tensors" if not number else "",
            f"{kind:<8} {console.count(told['count'], 'tensor')}, {amount(told['bytes'])}",
        )


def _strange(header: Header) -> str:
    """What llama.cpp does not load of the formats that quadgen reads (ggml/src/gguf.cpp)."""
    order = ", big-endian, which llama.cpp loads on machines that are so too" if header.big_endian else ""
    old = ", of version 1, which llama.cpp does not load" if header.version == 1 else ""
    return order + old


def _head(facts: Facts) -> str:
    told = records.mtp(facts)
    if told["wrong"] is not None:
        return f"the file {told['wrong']}"
    if not told["announced"]:
        return "no head"
    since = f"from {told['since']} on" if told["since"] is not None else f"in no build known for {facts.architecture}"
    heads = f"{console.count(told['announced'], 'head')} in block {', '.join(map(str, told['blocks']))}"
    where = heads if told["blocks"] else console.count(told["announced"], "head")
    most = f", at most {told['widest']} tokens at once" if told["widest"] is not None else ""
    return f"{where}: draft-mtp works with it {since}{most}"


def _drafter(facts: Facts) -> Iterator[Line]:
    told = records.drafter(facts)
    if told is None:
        return
    parts = [
        *([] if told["width"] is None else [f"hidden states of {told['width']}"]),
        *([] if told["layers"] is None else [f"layers {', '.join(map(str, told['layers']))}"]),
        *([] if told["block"] is None else [f"blocks of {told['block']} tokens"]),
    ]
    yield "made for", f"a model with {', '.join(parts)}" if parts else "a model that it does not describe"


def _tokenizer(vocabulary: Vocabulary | None) -> Iterator[Line]:
    told = records.tokenizer(vocabulary)
    if told is None:
        yield "tokenizer", "no tokens"
        return
    pre = f", pre {told['pre']}" if told["pre"] is not None else ""
    padding = f", {told['padding']} of them padding" if told["padding"] else ""
    yield "tokenizer", f"{told['model']} ({told['type']}){pre}: {told['size']} tokens{padding}, {told['merges']} merges"
    for flags in (False, True):
        special = [(name, said(value)) for name, value in told["special"].items() if name.startswith("add_") is flags]
        if special:
            yield "", ", ".join(f"{name.removesuffix('_token_id')} {value}" for name, value in special)
    yield "", f"llama.cpp puts {token(told['begins_with'])} before a text and {token(told['ends_with'])} after it"
    yield "sha256", f"{told['sha256']} of all tokens"
    yield "sha256_2000", f"{told['sha256_2000']} of the first 2000"


def token(number: int | None) -> str:
    """What llama.cpp adds to a text, in words; it tries to where the number is below 0."""
    return "nothing" if number is None else "a token that is not there" if number < 0 else f"token {number}"


def said(value: Any) -> str:  # noqa: ANN401 - a value of JSON
    """A value in the words of a header's reader."""
    return "-" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _kv(facts: Facts) -> Iterator[Line]:
    told = records.kv(facts)
    if told is None:
        return
    if "unknown" in told:
        yield "kv", f"unknown: {told['unknown']}"
        return
    window, recurrent, head, whole = (told[each] for each in ("window", "recurrent", "head", "trained"))
    parts = []
    if told["full"]["layers"]:
        row = ", keys and values in one row" if told["one_row"] else ""
        parts.append(f"{_rows(told['full'])}{row}")
    if window is not None:
        parts.append(f"{_rows(window)}, of the last {window['tokens']} tokens")
    if recurrent is not None:
        parts.append(
            f"{amount(recurrent['bytes'])} of recurrent state in {console.count(recurrent['layers'], 'layer')}"
        )
    if head is not None:
        parts.append(f"{_rows(head)}, for the MTP head")
    for number, part in enumerate(parts or ["nothing is kept of a token"]):
        yield "" if number else "kv", part
    if whole is not None and parts:
        own = "" if head is None else ", without the head"
        yield "", f"{amount(whole['bytes'])} for {whole['tokens']} tokens in one slot{own}"


def _rows(told: Record) -> str:
    return f"{amount(told['bytes_per_token'])} a token in {console.count(told['layers'], 'layer')}"


def _weights(facts: Facts) -> Iterator[Line]:
    found = facts.weights
    blocks = [size for size in found.blocks if size]
    tied = ", which is the output too" if found.tied else ""
    parts = [
        *([f"{amount(found.input)} input{tied}"] if found.input else []),
        *([f"{amount(found.output)} output"] if found.output else []),
        *([f"{amount(sum(blocks))} in {console.count(len(blocks), 'block')}"] if blocks else []),
        *([f"of these {amount(sum(found.experts))} experts"] if any(found.experts) else []),
        *([f"{amount(found.other)} other"] if found.other else []),
    ]
    yield "weights", f"{amount(found.total)}: {', '.join(parts)}" if found.total else "none"
