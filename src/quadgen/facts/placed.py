"""Where llama.cpp b11434 puts each tensor: with the input, with a block, or with the output (src/llama-arch.cpp)."""

import re
from collections.abc import Iterable
from typing import Final

from quadgen.facts.record import Weights
from quadgen.gguf.header import Tensor

MOST_BLOCKS: Final = 4096
"""llama.cpp has up to 512 (src/llama-hparams.h, LLAMA_MAX_LAYERS)."""
BLOCK: Final = re.compile(r"(?:enc\.|dec\.)?blk\.(\d{1,10})\.", re.ASCII)
EXPERTS: Final = re.compile(r"\.ffn_(?:up|down|gate|gate_up)_(?:ch|)exps")
"""What --n-cpu-moe takes (common/common.h, LLM_FFN_EXPS_REGEX)."""
_INPUT: Final = re.compile(
    r"(?:token_embd|position_embd|token_types|per_layer_token_embd|masked_embd_centroids|masked_embd_ordering)(?:\.|$)"
)
_FIRST: Final = re.compile(
    r"(?:token_embd_norm|rope_freqs|rope_factors_long|rope_factors_short|per_layer_model_proj|per_layer_proj_norm"
    r"|hrm\.z_l_init|nextn\.pre_projection)(?:\.|$)"
)
"""Of no block by its name, and loaded with the first one."""
_OUTPUT: Final = re.compile(
    r"(?:output|output_norm|enc\.output_norm|dec\.output_norm|output_res_score|output_hc_\w+|cls|decision\.\w+|dense_2"
    r"|dense_3|altup_proj|altup_unembd_proj|nextn\.post_projection|fc|d2t|markov_w1|markov_w2|conf_proj"
    r"|selector_predecessor|selector_successor|selector_hidden)(?:\.|$)"
)
_NORM_IS_OUTPUT: Final = frozenset({"lfm2", "lfm2moe"})
"""Architectures whose `token_embd_norm` is the output's (src/models/lfm2.cpp)."""


class TooManyBlocks(Exception):  # noqa: N818 - a step of the reader, which turns it into a Malformed
    """A tensor is of a block with a number that no model has; the text is a sentence without its end."""


def weights(tensors: Iterable[Tensor], architecture: str) -> Weights:
    """Add up the bytes of tensors. Raises `TooManyBlocks`."""
    within = outside = first = other = 0
    tied = True
    blocks: dict[int, int] = {}
    experts: dict[int, int] = {}
    for name, _, _, _, size in tensors:
        found = BLOCK.match(name)
        if found is not None:
            number = int(found[1])
            blocks[number] = blocks.get(number, 0) + size
            if EXPERTS.search(name):
                experts[number] = experts.get(number, 0) + size
        elif _INPUT.match(name):
            within += size
        elif _OUTPUT.match(name) or (architecture in _NORM_IS_OUTPUT and name.startswith("token_embd_norm.")):
            outside += size
            tied = tied and name != "output.weight"
        elif _FIRST.match(name):
            first += size
        else:
            other += size
    count = max(blocks, default=-1) + 1
    if count > MOST_BLOCKS:
        raise TooManyBlocks(f"a tensor is of block {count - 1}, and quadgen reads up to {MOST_BLOCKS} blocks")
    if count:
        blocks[0] = blocks.get(0, 0) + first
    else:
        other += first
    return Weights(
        input=within, output=outside, tied=tied, other=other,
        blocks=tuple([blocks.get(number, 0) for number in range(count)]),
        experts=tuple([experts.get(number, 0) for number in range(count)]) if experts else (),
    )  # fmt: skip
