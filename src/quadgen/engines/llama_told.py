"""What the arguments of a llama-server say of its memory, in one value that services can be compared by.

Options are looked up by their own names, as `extra_args` may spell them otherwise. Defaults are those of
common/common.h of llama.cpp b11434 (https://github.com/ggml-org/llama.cpp).
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from quadgen.engines.base import Served
from quadgen.engines.flags import FlagTable
from quadgen.engines.llama_placing import Laid, Split, in_turn
from quadgen.engines.llama_values import whole
from quadgen.facts.kv import Context, cells
from quadgen.resolution import Argument, Resolution

ALL: Final = 2**31
"""More blocks than there are."""
_COPIES: Final = 4
"""Of what comes from other devices, where several work at the same time (GGML_SCHED_MAX_COPIES)."""
_BATCH: Final = 2048
_UBATCH: Final = 512
_CHECKPOINTS: Final = 32
_CACHE_RAM: Final = 8192
_ASIDE: Final = frozenset({"--model", "--alias", "--host", "--port"})
"""What says nothing of memory, and tells services apart that are alike in all else."""
_ON: Final = frozenset({"on", "enabled", "true", "1"})
"""What --fit takes for on (common/arg.cpp, is_truthy)."""


class Told(NamedTuple):
    """What an engine was told; sizes in bytes, where they are none of tokens or blocks."""

    context: Context
    """Without earlier states, which a drafter asks for."""
    batch: int
    """Tokens of a logical batch."""
    split: Split
    fitted: bool
    """Whether the server itself decides at its start how many layers are on the GPU."""
    offloads_caches: bool
    offloads_work: bool
    """Whether a GPU works on large batches for weights that the host has."""
    host_experts: int
    """The first blocks whose experts stay on the host."""
    host_forward: int
    """The first blocks whose dense feed-forward stays on the host."""
    overridden: bool
    """Whether patterns decide where tensors are."""
    embeds: bool
    """Whether each token has an output."""
    projector: str | None
    """The device of the projector; empty for the first, None for the host."""
    image_tokens: int | None
    prompts: int | None
    """The prompt cache; None for one without a bound."""
    checkpoints: int
    """For each slot."""
    draft_types: tuple[str, str]
    draft_devices: tuple[str, ...] | None
    """None for those of the model."""
    draft_layers: int | None
    draft_experts: int
    draft_overridden: bool
    samples: bool
    """Whether a drafter chooses its tokens on its device."""


def told(table: FlagTable, arguments: Iterable[Argument]) -> Told:
    """What the arguments say, and what holds where they do not."""
    said: dict[str, str | bool] = {}
    for argument in arguments:
        words = argument.words
        found = None if words[0] in _ASIDE else table.match(str(words[0]))
        if found is not None:
            said[found.option.canonical] = str(words[1]) if len(words) > 1 else not found.negated
    return _told(tuple(said.items()), caches=table.find("--cache-ram") is not None)


@lru_cache(maxsize=1024)
def _told(items: tuple[tuple[str, str | bool], ...], *, caches: bool) -> Told:
    """What options say by their own names; `caches` is whether the build has a prompt cache."""
    said = dict(items)
    batch = _number(said, "--batch-size", _BATCH)
    context = Context(
        tokens=_number(said, "--ctx-size", 0), slots=max(1, _number(said, "--parallel", 1)),
        unified=said.get("--kv-unified") is True, swa_full=said.get("--swa-full") is True,
        ubatch=min(batch, _number(said, "--ubatch-size", _UBATCH)), type_k=_text(said, "--cache-type-k", "f16"),
        type_v=_text(said, "--cache-type-v", "f16"), flash=_text(said, "--flash-attn", "auto") != "off",
    )  # fmt: skip
    layers = whole(said.get("--n-gpu-layers"))
    devices = said.get("--spec-draft-device")
    limit = _number(said, "--cache-ram", _CACHE_RAM)
    return Told(
        context=context, batch=batch,
        split=Split(
            mode=_text(said, "--split-mode", "layer"), main=_number(said, "--main-gpu", 0),
            ratios=ratios(_text(said, "--tensor-split", "")), layers=_layers(layers),
        ),
        fitted=_text(said, "--fit", "on") in _ON and (layers == -1 or said.get("--n-gpu-layers", "auto") == "auto"),
        offloads_caches=said.get("--kv-offload") is not False, offloads_work=said.get("--op-offload") is not False,
        host_experts=_blocks(said, "--cpu-moe", "--n-cpu-moe"), host_forward=_blocks(said, None, "--n-cpu-ffn"),
        overridden="--override-tensor" in said, embeds=not _EMBEDS.isdisjoint(said),
        projector=None if said.get("--mmproj-offload") is False else _text(said, "--mmproj-device", ""),
        image_tokens=whole(said.get("--image-max-tokens")),
        prompts=None if limit < 0 else limit * 2**20 if caches else 0,
        checkpoints=max(0, _number(said, "--ctx-checkpoints", _CHECKPOINTS)),
        draft_types=(_text(said, "--spec-draft-type-k", "f16"), _text(said, "--spec-draft-type-v", "f16")),
        draft_devices=None if not isinstance(devices, str) else tuple(each for each in devices.split(",") if each),
        draft_layers=_layers(whole(said.get("--spec-draft-ngl"))),
        draft_experts=_blocks(said, "--spec-draft-cpu-moe", "--spec-draft-n-cpu-moe"),
        draft_overridden="--spec-draft-override-tensor" in said,
        samples=said.get("--spec-draft-backend-sampling") is not False,
    )  # fmt: skip


_EMBEDS: Final = frozenset({"--embeddings", "--reranking", "--pooling"})
"""Each makes a server whose tokens all have an output (tools/server/server-context.cpp, server_output_limits)."""


def served(service: Resolution) -> Served:
    """What a server with these arguments says of itself; of several names it gives one."""
    said = {str(each.words[0]): str(each.words[1]) for each in service.arguments if len(each.words) > 1}
    context = told(service.engine.table, service.arguments).context
    file = said.get("--hf-file", said.get("--model"))  # of a repository the server chooses a file
    return Served(
        names=frozenset(name.strip() for name in said["--alias"].split(",")), slots=context.slots,
        context=cells(context), file=None if file is None else file.rpartition("/")[2],
    )  # fmt: skip


def ratios(text: str) -> tuple[float, ...]:
    """The numbers of --tensor-split; none where it has something else."""
    try:
        return tuple(float(part) for part in text.replace("/", ",").split(",")) if text else ()
    except ValueError:
        return ()


def _number(said: Mapping[str, str | bool], name: str, otherwise: int) -> int:
    found = whole(said.get(name))
    return otherwise if found is None else found


def _text(said: Mapping[str, str | bool], name: str, otherwise: str) -> str:
    found = said.get(name)
    return found if isinstance(found, str) else otherwise


def _layers(number: int | None) -> int | None:
    """How many layers; below 0 it means all."""
    return number if number is not None and number >= 0 else None


def _blocks(said: Mapping[str, str | bool], switch: str | None, number: str) -> int:
    return ALL if said.get(switch or "") is True else _number(said, number, 0)


def outputs(said: Told, width: int) -> int:
    """Rows of logits in one batch that verifies drafts of `width` tokens (tools/server/server-context.cpp:40)."""
    return said.batch if said.embeds else max(1, min(said.batch, said.context.slots * (1 + width)))


def copies(said: Told, split: Split, found: Laid) -> int:
    """How many copies of its inputs a graph has."""
    moved = said.overridden or said.host_experts or said.host_forward
    return _COPIES if not moved and said.offloads_caches and in_turn(split, found) else 1
