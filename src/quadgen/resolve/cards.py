"""Which GPUs a service gets, and what the engine calls them inside."""

from collections.abc import Sequence
from typing import Any, Final

from quadgen.engines.base import BackendDevices
from quadgen.resolution import UNIFIED, Card, Devices, Host
from quadgen.resolve import reach
from quadgen.resolve.report import Reporter

RESERVE: Final = 2**30
"""Bytes kept free on a card where nobody says: for a desktop, and for what only a running server takes."""


def cards(gpus: list[dict[str, Any]] | None, gpu_reserve: int | None) -> tuple[Card, ...] | None:
    """The cards of a host, in the order of `gpus`; None where the fleet does not say."""
    if gpus is None:
        return None
    otherwise = RESERVE if gpu_reserve is None else gpu_reserve
    return tuple(
        Card(
            position=position,
            name=card.get("name"),
            id=card.get("id"),
            vram=UNIFIED if card.get("vram") == "unified" else card.get("vram"),
            reserve=card.get("reserve", otherwise),
        )
        for position, card in enumerate(gpus)
    )


def _chosen(ask: Reporter, host: Host) -> tuple[Card, ...] | None:
    """The cards that `devices` names; None after a refusal."""
    every = host.cards if host.cards is not None else (Card(position=0, name=None, id=None, vram=None, reserve=None),)
    positions = ask.get("devices")
    if not every:
        ask.add("unknown-device", f"`gpus` is empty, and the backend {ask.get('backend')} computes on a GPU", "gpus")
        return None
    if positions is None or not all(isinstance(item, int) for item in positions):
        return every
    lacking = [item for item in positions if item >= len(every)]
    if lacking:
        count = "no `gpus`, so only position 0 exists" if host.cards is None else f"{len(every)} in `gpus`"
        ask.add(
            "unknown-device", f"there is no card {lacking[0]}: this host has {count}", "devices", hint="count from 0"
        )
        return None
    return tuple(every[item] for item in positions)


def _distinct(ask: Reporter, named: Sequence[int | str], chosen: tuple[Card, ...]) -> bool:
    """Whether no card and no device is meant twice, which the engine would find missing; reports what is."""
    if len(set(named)) < len(named):
        ask.add("unknown-device", "`devices` names a device twice", "devices", hint="keep one")
        return False
    ids = [_cdi(card) or card.id for card in chosen if card.id is not None]
    if len(set(ids)) < len(ids):
        ask.add("unknown-device", "two cards of `gpus` have one `id`", "gpus", hint="give each card its own `id`")
        return False
    return True


def _cdi(card: Card) -> str | None:
    """The card's CDI name; None where its `id` is a render node."""
    if card.id is None:
        return f"nvidia.com/gpu={card.position}"
    if card.id.startswith(("GPU-", "MIG-")):
        return f"nvidia.com/gpu={card.id}"
    return card.id if "/" in card.id and "=" in card.id else None


def _visible(card: Card, ask: Reporter, rules: BackendDevices) -> str | None:
    """The card as the backend's visibility variable names it; None after a refusal."""
    name = _cdi(card)
    if card.id is None or name is None or not name.startswith("nvidia.com/gpu="):
        return str(card.position)
    device = name.removeprefix("nvidia.com/gpu=")
    if ":" in device or device == "all":
        hint = "name the GPU or MIG instance by its UUID: nvidia.com/gpu=GPU-... or MIG-..."
        ask.add("unknown-device", f"{rules.variable} cannot name the card {card.id}", "gpus", hint=hint)
        return None
    return device


def _passed(card: Card, ask: Reporter, rules: BackendDevices) -> str | None:
    """The card as AddDevice= names it; None after a refusal."""
    name = _cdi(card)
    if name is not None:
        return name
    if rules.render_nodes and card.id is not None:
        node = card.id if card.id.startswith("/dev/") else f"/dev/dri/{card.id}"
        wrong = reach.device_refusal(node)
        if wrong is not None:
            ask.add(wrong[0], wrong[1], "gpus", hint=wrong[2])
            return None
        return node
    hint = "write a CDI device, such as nvidia.com/gpu=0 or nvidia.com/gpu=GPU-..."
    ask.add(
        "unknown-device",
        f"{card.id} is no CDI device, and this backend is passed to containers by CDI",
        "gpus",
        hint=hint,
    )
    return None


def _listed(ask: Reporter, named: Sequence[int | str] | None) -> bool:
    """Whether `devices` of a GPU service is left out, or names devices of one kind; reports why not."""
    if named is None or ask.broken("devices"):
        return named is None
    if not named:
        hint = "use `backend: cpu` for a service without a GPU"
        ask.add("unknown-device", "`devices` is empty", "devices", hint=hint)
    elif len({isinstance(item, int) for item in named}) > 1:
        message = "`devices` mixes positions and engine device names"
        ask.add("unknown-device", message, "devices", hint="use one kind")
    else:
        return True
    return False


def _measured_as(chosen: tuple[Card, ...], named: Sequence[str], rules: BackendDevices) -> tuple[str, ...]:
    """The names of the cards that a service computes on: those that its device names count, else all it sees."""
    used = {rules.number(device) for device in named}
    return tuple(card.name for at, card in enumerate(chosen) if card.name and (not named or at in used))


def devices(ask: Reporter, host: Host, backend: str, rules: BackendDevices | None) -> Devices | None:
    """The devices of a service on `backend`, or None after a refusal. `rules` is None on cpu."""
    named: list[int | str] | None = ask.get("devices")
    if rules is None:
        if named:
            ask.add(
                "unknown-device", f"the backend {backend} computes on no device", "devices", hint="leave `devices` out"
            )
            return None
        return Devices()
    if not _listed(ask, named):
        return None
    chosen = _chosen(ask, host)
    if chosen is None or not _distinct(ask, named or (), chosen):
        return None
    whole = len(chosen) == len(host.cards or chosen)
    texts = tuple(item for item in named or () if isinstance(item, str))
    names = texts or tuple(f"{rules.prefix}{index}" for index in range(len(chosen)))
    measured_as = _measured_as(chosen, texts, rules)
    if host.runtime == "podman" and (rules.cdi or all(card.id for card in chosen)):
        passed = [_passed(card, ask, rules) for card in chosen]
        if None in passed:
            return None
        nodes = tuple(dict.fromkeys((*rules.always, *(node for node in passed if node is not None))))
        return Devices(
            cards=chosen, names=names, count=len(chosen), passed=nodes, env=rules.order if texts else (),
            measured_as=measured_as,
        )  # fmt: skip
    # A visibility variable makes ggml's Vulkan backend offer software devices too (GGML_VK_VISIBLE_DEVICES=0 shows
    # llvmpipe where the driver is missing), so it is set only where it hides something.
    env: tuple[tuple[str, str], ...] = rules.order if texts else ()
    count = None if host.cards is None else len(host.cards)
    if not texts and not (whole and (host.runtime == "podman" or rules.prefix == "Vulkan")):
        visible = [_visible(card, ask, rules) for card in chosen]
        if None in visible:
            return None
        count = len(chosen)
        env = (*rules.order, (rules.variable, rules.joined([name for name in visible if name is not None])))
    passed_all = (*rules.always, *rules.nodes) if host.runtime == "podman" else ()
    return Devices(cards=chosen, names=names, count=count, passed=passed_all, env=env, measured_as=measured_as)
