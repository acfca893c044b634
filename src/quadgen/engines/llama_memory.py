"""What llama-server takes of the host's memory and of each card, from what the headers of its files say.

Weights and caches are exact; compute buffers and what a driver takes are estimates, and are called so. Where lines are
named, they are those of llama.cpp b11434 (https://github.com/ggml-org/llama.cpp).
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from quadgen.engines.base import Ask
from quadgen.engines.draft_settings import draft_setting, most
from quadgen.engines.drafters import DRAFTERS
from quadgen.engines.llama_buffers import graph
from quadgen.engines.llama_devices import DEVICES
from quadgen.engines.llama_drafter_memory import Drafting, add_drafter
from quadgen.engines.llama_host_memory import add_kept
from quadgen.engines.llama_placing import HOST, UNSEEN, Device, Laid, Placement, Unplaced, laid, proportions
from quadgen.engines.llama_projector import encoding
from quadgen.engines.llama_tally import Tally, Work, add_caches, add_graph, add_weights
from quadgen.engines.llama_told import Told, copies, outputs, told
from quadgen.evidence.setting import DEFAULT_WIDTH
from quadgen.facts import kv
from quadgen.facts.amounts import gib
from quadgen.facts.kinds import block_count, trunk
from quadgen.facts.record import Facts
from quadgen.resolution import UNIFIED, Argument, Known, Share

_MIB: Final = 2**20
_OVERHEAD: Final[Mapping[str, int]] = MappingProxyType(
    # llama.cpp's own breakdown has them as `unaccounted`: 451 to 456 MiB on an RTX 4090 (ggml-org/llama.cpp#15860),
    # 17 MiB on an RX 9060 XT by Vulkan (ggml-org/llama.cpp#20858); ROCm is compiled of CUDA's source, SYCL is unknown
    {"cuda": 456 * _MIB, "rocm": 456 * _MIB, "vulkan": 32 * _MIB}
)
"""What a process takes of each of its cards beside all that it asks for: contexts of the driver, kernels, libraries."""


class Asked(NamedTuple):
    """All that decides, so that equal services are reckoned once. Facts are compared by identity."""

    told: Told
    backend: str
    devices: tuple[Device, ...]
    drafting: Drafting
    model: Facts
    mmproj: Facts | None
    projects: bool
    """Whether there is a projector."""


def shares(ask: Ask, arguments: Sequence[Argument]) -> tuple[Share, ...]:
    """What a service takes with these arguments; empty where neither a header nor the fleet says anything."""
    known = ask.known
    if known.model is None and ask.model.size is None:
        return ()
    said = told(ask.engine.table, arguments)
    devices = _devices(ask, ask.devices.names)
    if known.model is None:
        return _declared(said, devices, ask.model.size or 0)
    asked = Asked(
        said, ask.backend, devices, _drafting(ask, known, said), known.model, known.mmproj, ask.paths.mmproj is not None
    )
    return _reckoned(asked)


def _devices(ask: Ask, names: Sequence[str]) -> tuple[Device, ...]:
    """The devices by name; one that counts none of the cards of the service has no model and no memory."""
    rules, cards = DEVICES.get(ask.backend), ask.devices.cards
    made = []
    for name in names:
        number = None if rules is None else rules.number(name)
        card = cards[number] if number is not None and number < len(cards) else None
        if card is None:
            made.append(Device(name, UNSEEN, None, None, 0))
        else:
            unified = card.vram == UNIFIED
            place, vram = (None, None) if unified else (card.position, card.vram)
            made.append(Device(name, place, card.name or ("unified" if unified else None), vram, card.reserve or 0))
    return tuple(made)


def _drafting(ask: Ask, known: Known, said: Told) -> Drafting:
    decision = ask.decision
    types = decision.types
    asked = draft_setting(types, decision.draft_n_max, dict(decision.flags))
    widths = [most(each, asked) or 0 for each in types if each in DRAFTERS]
    own = decision.draft_n_max or DEFAULT_WIDTH
    file = ask.paths.draft_model or ask.paths.head
    names = ask.devices.names if said.draft_devices is None else said.draft_devices
    declared = decision.draft_model.size if decision.draft_model is not None else None
    return Drafting(
        types=types, width=int(max(widths, default=0)), own_width=own,
        devices=_devices(ask, tuple(each for each in names if each != "none")), in_file=file is None,
        facts=known.draft if ask.paths.draft_model is not None else known.head, declared=declared,
    )  # fmt: skip


def _declared(said: Told, devices: tuple[Device, ...], size: int) -> tuple[Share, ...]:
    """The weights alone, where the fleet says their size and nobody recorded the header."""
    what = "weights; its context comes on top"
    if not devices:
        return (Share(what, size),)
    parted = said.fitted or said.overridden or said.split.layers is not None or said.host_experts or said.host_forward
    found = proportions(said.split, devices)
    if parted or isinstance(found, Unplaced):
        return (Share(what, 0, missing=f"nobody can say where {gib(size)} of weights lie without their header"),)
    tally = Tally()
    for device, share in zip(devices, found, strict=True):
        tally.add(what, device.card, round(size * share))
    return tally.shares()


@lru_cache(maxsize=4096)
def _reckoned(asked: Asked) -> tuple[Share, ...]:
    tally = Tally()
    said, facts, drafting = asked.told, asked.model, asked.drafting
    found = laid(block_count(facts), said.split, asked.devices, fitted=said.fitted)
    context = said.context._replace(rollback=drafting.rollback)
    if isinstance(found, Unplaced):
        whole = gib(facts.weights.total)
        tally.lack("weights", f"{found.reason}, so nobody can say where {whole} of weights lie")
        tally.lack("KV cache", found.reason)
        tally.lack("compute buffer", found.reason)
    else:
        _add_model(tally, asked, found, context)
    add_drafter(tally, drafting, facts, said, found)
    _add_projector(tally, asked)
    add_kept(tally, facts, context, said, drafting)
    _add_overhead(tally, asked)
    return tally.shares()


def _add_model(tally: Tally, asked: Asked, at: Laid, context: kv.Context) -> None:
    said, facts = asked.told, asked.model
    if said.overridden and asked.devices:
        total = gib(facts.weights.total)
        tally.lack("weights", f"`override-tensor` decides where {total} of weights lie")
    else:
        # a head in the model's own file is loaded with it, whichever head is used (common/common.cpp:1683, load_mtp)
        spare = asked.drafting.mtp and not asked.drafting.in_file
        blocks = range(len(facts.weights.blocks) if spare else min(trunk(facts), len(facts.weights.blocks)))
        if said.host_forward and asked.devices:
            first = min(said.host_forward, len(blocks))
            tally.lack("weights", f"`n-cpu-ffn` keeps a part of {first} blocks in the host's memory")
            blocks = range(first, len(blocks))
        add_weights(tally, "weights", facts, at, blocks, said.host_experts)
    caches = kv.caches(facts, context)
    if isinstance(caches, kv.Unknown):
        tally.lack("KV cache", caches.reason)
    else:
        tokens = kv.cells(context) * (1 if context.unified else context.slots)
        named = [each._replace(what=f"{each.what} of {tokens} tokens" if each.what == kv.FULL else each.what)
                 for each in caches]  # fmt: skip
        add_caches(tally, "", named, at, offloaded=said.offloads_caches)
    planned = graph(facts, context)
    if isinstance(planned, kv.Unknown):
        tally.lack("compute buffer", planned.reason)
        return
    read = asked.drafting.layers
    if read:
        planned = planned._replace(inputs=planned.inputs + read * planned.rows)
    last = outputs(said, asked.drafting.width)
    work = Work(
        outputs=last if said.embeds else min(said.context.slots, last), verified=last, offloaded=said.offloads_caches,
        copies=copies(said, said.split, at), streamed=_streamed(asked, at.place),
    )  # fmt: skip
    add_graph(tally, "", planned, at, work)


def _streamed(asked: Asked, place: Placement) -> int:
    """The largest weights of the host that a GPU gets a copy of for a large batch, two of the matrices of a block.

    ggml-backend.cpp, ggml_backend_sched_backend_id_from_cur: the first device works for the host.
    """
    said, weights = asked.told, asked.model.weights
    if not said.offloads_work or not place.used:
        return 0
    held = [size for at, size in enumerate(weights.blocks) if place.block(at) == HOST]
    held += weights.experts[: said.host_experts]
    return max(held, default=0) * 2 // 3


def _add_projector(tally: Tally, asked: Asked) -> None:
    """The projector, whole on one device: tools/mtmd/clip.cpp:186."""
    what = "projector"
    if not asked.projects:
        return
    if asked.mmproj is None:
        tally.lack(what, "nobody recorded what its header says")
        return
    said, card = asked.told, None
    if said.projector is not None and asked.devices:
        found = next((each for each in asked.devices if each.name == (said.projector or asked.devices[0].name)), None)
        if found is not None and found.card == UNSEEN:
            tally.lack(what, f"nobody says which card {found.name} is")
            return
        card = None if found is None else found.card
    tally.add(what, card, asked.mmproj.weights.total)
    size = encoding(asked.mmproj, said.image_tokens, flash=said.context.flash)
    if size is None:
        tally.lack("projector: an image", "its header does not say how large an image is")
    else:
        tally.add("projector: an image (estimated)", card, size, grows=True)


def _add_overhead(tally: Tally, asked: Asked) -> None:
    cards = {each.card for each in (*asked.devices, *asked.drafting.devices)} - {None, UNSEEN}
    for card in sorted(each for each in cards if each is not None):
        tally.add("driver (estimated)", card, _OVERHEAD.get(asked.backend, 0))
