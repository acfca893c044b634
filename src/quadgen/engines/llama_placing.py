"""Which block of a model llama-server puts on which of its devices.

The rules are those of `llama_model_base::load_tensors` in src/llama-model.cpp and of `llama_prepare_model_devices` in
src/llama.cpp, of llama.cpp b11434 (https://github.com/ggml-org/llama.cpp). The embeddings always stay on the host.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

HOST: Final = -1
"""In place of a device: the host's own memory."""
UNSEEN: Final = -1
"""In place of a card's position: nobody says which card it is."""


class Device(NamedTuple):
    """One device of a service, in the order of `--device`."""

    name: str
    """As the engine names it: CUDA0."""
    card: int | None
    """The position of the card; None where it computes in the host's memory."""
    model: str | None
    """What the card is called."""
    vram: int | None
    """Bytes; None where nobody says."""
    reserve: int
    """Bytes that others take of it."""


class Split(NamedTuple):
    """How a model is to be split."""

    mode: str = "layer"
    """`--split-mode`: layer, row, tensor, none."""
    main: int = 0
    """`--main-gpu`, for the mode none."""
    ratios: tuple[float, ...] = ()
    """`--tensor-split`; empty where nobody says."""
    layers: int | None = None
    """`--n-gpu-layers`; None for all."""


class Placement(NamedTuple):
    """Where the parts of a model are, each by its number among the devices, or `HOST`."""

    blocks: tuple[int, ...]
    """By block."""
    output: int
    """The output layer."""
    fractions: tuple[float, ...] = ()
    """What each device has of a matrix that is spread over all; empty where none is."""
    spreads_caches: bool = False
    """Whether caches are spread like that too."""

    @property
    def used(self) -> tuple[int, ...]:
        """The devices that have any part of it, `HOST` left out."""
        if self.fractions:
            return tuple(at for at, share in enumerate(self.fractions) if share) if self.output != HOST else ()
        return tuple(sorted({*self.blocks, self.output} - {HOST}))

    @property
    def whole(self) -> bool:
        """Whether the devices have all of it."""
        return self.output != HOST and HOST not in self.blocks

    def block(self, number: int) -> int:
        """Where a block is; one that is beyond the model's own goes with the output."""
        return self.blocks[number] if number < len(self.blocks) else self.output

    def spread(self, device: int, size: int, *, cache: bool = False) -> Iterator[tuple[int, int]]:
        """Where bytes go that belong to a block on `device`."""
        if device == HOST or not self.fractions or (cache and not self.spreads_caches):
            yield device, size
        else:
            yield from ((at, round(size * share)) for at, share in enumerate(self.fractions) if share)


class Unplaced(NamedTuple):
    """No placement, and why."""

    reason: str
    """A sentence without its end."""


class Laid(NamedTuple):
    """A placement, with the devices that it counts."""

    place: Placement
    devices: Sequence[Device]

    def card(self, at: int) -> int | None:
        """The position of a device's card; None for the host's memory."""
        return None if at == HOST else self.devices[at].card


def laid(blocks: int, split: Split, devices: Sequence[Device], *, fitted: bool) -> Laid | Unplaced:
    """Place a model on cards; `fitted` where the server itself decides how many layers are on them."""
    if devices and fitted:
        return Unplaced("the server decides at its start how many layers are on the GPU (`fit`)")
    unseen = next((each for each in devices if each.card == UNSEEN), None)
    if unseen is not None:
        return Unplaced(f"nobody says which card {unseen.name} is")
    place = placement(blocks, split, devices)
    return place if isinstance(place, Unplaced) else Laid(place, devices)


def in_turn(split: Split, found: Laid) -> bool:
    """Whether several devices work at the same time on parts of a batch (llama-context.cpp:425-433).

    It needs the caches and all tensors where they are by themselves, which the caller knows.
    """
    return len(found.devices) > 1 and split.mode == "layer" and found.place.whole


def placement(blocks: int, split: Split, devices: Sequence[Device]) -> Placement | Unplaced:
    """Place a model of so many blocks, its MTP blocks included."""
    first = 0
    if split.mode == "none" and devices:
        first = max(0, min(split.main, len(devices) - 1))
        devices = devices[first : first + 1] if split.main >= 0 else ()
    if not devices:
        return Placement((HOST,) * blocks, HOST)
    wanted = blocks + 1 if split.layers is None else max(0, split.layers)
    start, count = max(0, blocks + 1 - wanted), min(wanted, blocks + 1)
    if len(devices) == 1:
        return _ranged(blocks, start, [first] * count)
    shares = _shares(split, devices)
    if isinstance(shares, Unplaced):
        return shares
    if split.mode in ("row", "tensor"):
        whole = sum(shares)
        places = [0] * count if split.mode == "tensor" else _by(shares, count)
        fractions = tuple(share / whole for share in shares)
        place = _ranged(blocks, start, places)
        return place._replace(fractions=fractions, spreads_caches=split.mode == "tensor")
    return _ranged(blocks, start, _by(shares, count))


def proportions(split: Split, devices: Sequence[Device]) -> tuple[float, ...] | Unplaced:
    """What each device gets of a model of very many small layers."""
    unseen = next((each for each in devices if each.card == UNSEEN), None)
    if unseen is not None:
        return Unplaced(f"nobody says which card {unseen.name} is")
    if split.mode == "none" or len(devices) == 1:
        main = max(0, min(split.main, len(devices) - 1)) if split.mode == "none" else 0
        return tuple(float(at == main) for at in range(len(devices)))
    found = _shares(split, devices)
    return found if isinstance(found, Unplaced) else tuple(share / sum(found) for share in found)


def _ranged(blocks: int, start: int, places: list[int]) -> Placement:
    """What is on the devices are the last blocks, and after them the output."""
    every = [HOST] * start + places
    return Placement(tuple(every[:blocks]), every[blocks] if len(every) > blocks else HOST)


def _single(values: Iterable[float]) -> list[float]:
    """Numbers as a float of 32 bits has them, which the server computes with."""
    return array("f", values).tolist()


def _by(shares: Sequence[float], count: int) -> list[int]:
    """The device of each layer: a layer is never cut, so that one device gets more than its share."""
    ends: list[float] = []
    total = 0.0
    for share in _single(shares):
        total = _single([total + share])[0]
        ends.append(total)
    ends = _single(end / total for end in ends)
    return [min(bisect_right(ends, place), len(ends) - 1) for place in _single(at / count for at in range(count))]


def _shares(split: Split, devices: Sequence[Device]) -> tuple[float, ...] | Unplaced:
    """In what proportion the devices get a model; the server ignores ratios that are all 0."""
    ratios = (*split.ratios, *(0.0 for _ in devices))[: len(devices)]
    if any(ratios):
        return ratios
    if split.mode == "tensor":
        return (1.0,) * len(devices)
    unknown = next((each for each in devices if each.vram is None), None)
    if unknown is None:
        # the server asks each device how much of it is free; what the fleet leaves to others stands for the rest
        rooms = tuple(max(0, (each.vram or 0) - (each.reserve if split.mode == "layer" else 0)) for each in devices)
        return rooms if any(rooms) else (1.0,) * len(devices)
    if len({(each.model, each.vram) for each in devices}) == 1 and unknown.model is not None:
        return (1.0,) * len(devices)
    return Unplaced(f"it is split by what is free on each card, and nobody says how much memory {unknown.name} has")
