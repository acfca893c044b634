"""Drafters that read a target's hidden states: their widths and their layers.

`spec` is common/speculative.cpp of llama.cpp b11434 (https://github.com/ggml-org/llama.cpp). None of this is checked
before the server runs into it.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from quadgen.facts.kinds import trunk
from quadgen.facts.objection import Objection
from quadgen.facts.record import Facts
from quadgen.problems import Severity

NEWEST: Final = 11434
"""The newest build whose sources were read."""
_EAGLE3_LAYERS: Final = 3
_AT_LOAD: Final = "the server aborts at load"
_AT_REQUEST: Final = "the server starts healthy and aborts at the first request"
_OTHER: Final = "name the drafter that was made for this model"

GIVES_LAYERS: Final[Mapping[str, int]] = MappingProxyType({
    **dict.fromkeys(
        (
            "deepseek4", "gemma4", "gpt-oss", "llama", "llama-embed", "minimax-m2", "muse-glimmer", "nemotron_h",
            "nemotron_h_moe", "qwen3", "qwen35", "qwen35moe", "qwen3moe", "qwen3next",
        ),
        10435,
    ),
    **dict.fromkeys(("bailingmoe3", "lfm2", "lfm2moe", "minimax-01", "nanbeige"), 10705),
    **dict.fromkeys(("hunyuan-dense", "hunyuan_vl", "mimo2"), 11434),
})  # fmt: skip
"""Architectures whose graph gives the input of a layer away (`t_layer_inp` in src/models/), by the first build that
was read. qwen4exp gives all of its streams at once, and llama-context.cpp:2300 asserts that it is one."""
_GIVES_LAST: Final = frozenset({"deepseek4", "mimo2", "nemotron_h", "nemotron_h_moe"})
"""Of these, also what would be the input of the layer after the last (`t_layer_inp[n_layer]`)."""
_GIVES_HIDDEN: Final = frozenset({
    "bailingmoe3", "gemma4", "gpt-oss", "mimo2", "nemotron_h", "nemotron_h_moe", "qwen35", "qwen35moe", "qwen3next",
})  # fmt: skip
"""Of these, the hidden state after the last layer (`t_h_nextn`), which draft-eagle3 takes for it (spec:614)."""
_STREAMS: Final = frozenset({"deepseek4", "qwen4exp"})
"""Their hidden state is as many embeddings as there are streams (deepseek4.cpp:53, qwen4exp.cpp:54)."""


def out_width(facts: Facts) -> int | None:
    """Numbers in the hidden state that a model gives to its MTP head, and a head takes; None where no key says so."""
    own = facts.number("embedding_length")
    if facts.architecture in _STREAMS:
        streams = facts.number("hyper_connection.count")
        return None if own is None or streams is None else own * streams
    return facts.number("embedding_length_out") or own


def same_width(ours: int | None, theirs: int | None, called: tuple[str, str]) -> Iterator[Objection]:
    """The hidden state of a head must be as wide as its model's (spec:1437)."""
    if ours is not None and theirs is not None and ours != theirs:
        yield Objection(
            code="does-not-compose", note=_AT_LOAD, hint="name the head that was published with the model",
            sentence=f"{called[1]} is the head of a model with hidden states of {theirs}, and {called[0]} has {ours}",
        )  # fmt: skip


def eagle3(target: Facts, drafter: Facts, called: tuple[str, str]) -> Iterator[Objection]:
    """Yield what speaks against an EAGLE-3 drafter (src/models/eagle3.cpp:3-60, spec:541-660)."""
    layers = _layers(drafter)
    if len(layers) != _EAGLE3_LAYERS:
        yield Objection(
            code="does-not-compose", note="the server ends at load",
            sentence=f"{called[1]} names {len(layers)} layers of its model in `eagle3.target_layers`, and must name 3",
        )  # fmt: skip
        return
    yield from _layer_inputs(target, layers, called, eagle=True)
    if (drafter.number("block_count") or 1) != 1:  # eagle3.cpp:156
        yield Objection(
            code="does-not-compose", note=_AT_LOAD,
            sentence=f"{called[1]} has {drafter.number('block_count')} blocks, and an EAGLE-3 drafter has one",
        )  # fmt: skip
    ours, read, own = (
        target.number("embedding_length"), drafter.number("target_hidden_size"), drafter.number("embedding_length")
    )  # fmt: skip
    if read is None:
        yield Objection(
            code="does-not-compose", note="the server ends at load",
            sentence=f"{called[1]} does not say `eagle3.target_hidden_size`",
        )  # fmt: skip
    elif ours is not None and read != ours:
        yield _narrow(ours, read, called)
    borrowed = {"token_embd.weight", "output.weight"} - set(drafter.marks)
    if borrowed and None not in (ours, own) and ours != own:  # eagle3.cpp:170, :262
        yield Objection(
            code="does-not-compose", note=_AT_LOAD, hint=_OTHER,
            sentence=f"{called[1]} borrows {min(borrowed)} of {called[0]}, which is {ours} wide where it is {own}",
        )  # fmt: skip


def block_drafter(
    target: Facts, drafter: Facts, called: tuple[str, str], spec_type: str, p_min: float
) -> Iterator[Objection]:
    """Yield what speaks against a DFlash or a DSpark drafter (src/models/dflash.cpp, spec:1020-1170)."""
    layers = _layers(drafter)
    if not layers:
        yield Objection(
            code="does-not-compose", note="the server ends at load",
            sentence=f"{called[1]} does not say which layers of its model it reads (`dflash.target_layers`)",
        )  # fmt: skip
        return
    yield from _layer_inputs(target, layers, called, eagle=False)
    ours, own = target.number("embedding_length"), drafter.number("embedding_length")
    if ours is not None and own is not None and ours != own:  # its own width is its model's: dflash.cpp:42
        yield _narrow(ours, own, called)
    words = drafter.vocabulary
    if words is not None and words.model != "bert" and "mask_token_id" not in words.special:  # spec:1081
        yield Objection(
            code="does-not-compose", note=_AT_REQUEST,
            sentence=f"{called[1]} does not say `tokenizer.ggml.mask_token_id`, the token of what it shall guess",
        )  # fmt: skip
    if spec_type != "draft-dspark":
        return
    if drafter.number("block_size") is None:  # dflash.cpp:312
        yield Objection(
            code="does-not-compose", note=_AT_LOAD, sentence=f"{called[1]} does not say `dflash.block_size`"
        )
    if p_min > 0 and drafter.keys.get("has_confidence_head") is False:  # spec:1050
        yield Objection(
            code="does-not-compose", hint="leave `spec-draft-p-min` out",
            sentence=f"{called[1]} cannot say how sure it is of a token, which `spec-draft-p-min` asks of it",
            note="the server starts healthy without speculating, and other types of the same profile are lost with it",
        )  # fmt: skip


def _layers(drafter: Facts) -> tuple[int, ...]:
    found = drafter.keys.get("target_layers")
    return tuple(layer for layer in found if isinstance(layer, int)) if isinstance(found, tuple) else ()


def _narrow(ours: int, read: int, called: tuple[str, str]) -> Objection:
    return Objection(
        code="does-not-compose", note=_AT_REQUEST, hint=_OTHER,
        sentence=f"{called[1]} reads hidden states of {read}, and {called[0]} has {ours}",
    )  # fmt: skip


def _layer_inputs(
    target: Facts, layers: tuple[int, ...], called: tuple[str, str], *, eagle: bool
) -> Iterator[Objection]:
    """Yield what speaks against the layers that a drafter reads (spec:610-620, spec:1142, llama-graph.cpp:1413)."""
    what, count = target.architecture, trunk(target)
    if what not in GIVES_LAYERS:
        yield Objection(
            code="does-not-compose", note=_AT_REQUEST, build=NEWEST,
            sentence=f"{called[1]} reads layers of {called[0]}, and llama.cpp gives none of {what} away",
        )  # fmt: skip
        return
    beyond = [layer for layer in layers if not 0 <= layer <= count]
    if beyond:
        yield Objection(
            code="does-not-compose", note=_AT_LOAD, hint=_OTHER,
            sentence=f"{called[1]} reads layer {beyond[0]} of its model, and {called[0]} has {count}",
        )  # fmt: skip
    elif count in layers and eagle and what not in _GIVES_HIDDEN:
        yield Objection(
            code="does-not-compose", severity=Severity.WARNING, build=NEWEST,
            sentence=f"{called[1]} reads what comes out of the last layer, which llama.cpp does not give it of {what}",
            note="it drafts from numbers that nobody wrote",
        )  # fmt: skip
    elif count in layers and not eagle and what not in _GIVES_LAST:
        yield Objection(
            code="does-not-compose", note=_AT_REQUEST, build=NEWEST,
            sentence=f"{called[1]} reads what comes out of the last layer, which llama.cpp does not give it of {what}",
        )  # fmt: skip
