"""Whether the services of a host fit into its memory and onto its cards, as far as anybody knows what they take."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from quadgen.engines.registry import ENGINES
from quadgen.facts.amounts import amount, gib
from quadgen.fleet.load import Fleet
from quadgen.problems import Collector, Path, Problem, Severity
from quadgen.resolution import UNIFIED, Card, Host, Resolution, Share
from quadgen.resolve.clashes import apart

_STEP: Final = 256
"""Tokens to which llama-server rounds a context, and the least that is proposed."""
Shares = Mapping[str, tuple[Share, ...]]
"""What services take, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """What the services of a host share: its memory, or a card."""

    card: Card | None
    """None is the host's own memory."""
    size: int
    """Bytes, with what is kept free."""
    kept: int
    """Bytes that stay free."""
    path: tuple[str | int, ...]
    """From the host to the field that says its size."""

    @property
    def room(self) -> int:
        """Bytes for services."""
        return self.size - self.kept

    @property
    def position(self) -> int | None:
        """As shares name it."""
        return None if self.card is None else self.card.position

    def words(self, host: str) -> str:
        """What and how large it is, in a sentence."""
        if self.card is None:
            return f"{host} has {gib(self.size)} of memory"
        named = f", {self.card.name}," if self.card.name else ""
        return f"card {self.card.position} of {host}{named} has {gib(self.size)}"


def pools(host: Host) -> tuple[Pool, ...]:
    """The memory and the cards whose size the fleet says."""
    found = [] if host.memory is None else [Pool(card=None, size=host.memory, kept=0, path=("memory",))]
    for card in host.cards or ():
        if card.vram is not None and card.vram != UNIFIED:
            path = ("gpus", card.position, "vram")
            found.append(Pool(card=card, size=card.vram, kept=card.reserve or 0, path=path))
    return tuple(found)


def _most(services: Sequence[Resolution], need: Callable[[Resolution], int]) -> tuple[Resolution, ...]:
    """Of the services that may run at the same time, those that need the most together."""
    if len(services) < 2:  # noqa: PLR2004 - nothing to choose
        return tuple(services)
    needs = [need(service) for service in services]
    foes = [
        frozenset(at for at, other in enumerate(services) if other is not service and apart(service, other))
        for service in services
    ]
    known: dict[frozenset[int], frozenset[int]] = {}

    def most(left: frozenset[int]) -> frozenset[int]:
        if left in known:
            return known[left]
        taken: set[int] = set()
        rest = left
        for at in sorted(left):
            if at in rest and needs[at] >= sum(needs[foe] for foe in foes[at] & rest):
                taken.add(at)  # all that it keeps from running needs no more together
                rest = rest - foes[at] - {at}
        if rest:
            at = max(sorted(rest), key=lambda each: len(foes[each] & rest))
            with_it, without_it = most(rest - foes[at] - {at}) | {at}, most(rest - {at})
            rest = max(with_it, without_it, key=lambda found: sum(needs[each] for each in found))
        known[left] = rest | taken
        return known[left]

    return tuple(services[at] for at in sorted(most(frozenset(range(len(services))))))


def counted(service: Resolution, share: Share, services: Sequence[Resolution]) -> bool:
    """Whether a share of a service is held against what the host has, where `services` are on that host.

    What it can do without counts where another service, of known need, may run beside it.
    """
    return not share.grows and (
        not share.spare
        or any(other.name != service.name and other.memory and not apart(service, other) for other in services)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What of a pool is needed at the same time at most."""

    pool: Pool
    parts: tuple[tuple[Resolution, Share], ...]
    """What counts from the start."""
    growing: tuple[tuple[Resolution, Share], ...]
    """What comes with use."""

    @property
    def size(self) -> int:
        """Bytes from the start."""
        return sum(share.size for _, share in self.parts)

    @property
    def grown(self) -> int:
        """Bytes after a while."""
        return self.size + sum(share.size for _, share in self.growing)


def need(pool: Pool, services: Sequence[Resolution], taken: Shares) -> Need:
    """Of a pool, what services need together; `taken` is what each takes."""
    at = pool.position

    def alone(service: Resolution) -> int:
        return sum(share.size for share in taken[service.name] if share.card == at and not share.grows)

    together = _most([service for service in services if any(share.card == at for share in taken[service.name])], alone)
    every = [(service, share) for service in together for share in taken[service.name] if share.card == at]
    return Need(
        pool=pool,
        parts=tuple((service, share) for service, share in every if counted(service, share, together)),
        growing=tuple((service, share) for service, share in every if share.grows),
    )


def _fits(all_pools: Sequence[Pool], services: Sequence[Resolution], taken: Shares) -> bool:
    return all(need(pool, services, taken).size <= pool.room for pool in all_pools)


def _largest(most: int, fits: Callable[[int], bool]) -> int | None:
    """The largest multiple of `_STEP` up to `most` that fits; None where none does."""
    low, high = 0, most // _STEP
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle * _STEP) else (low, middle - 1)
    return low * _STEP or None


def cap(host: Host, services: Sequence[Resolution]) -> int | None:
    """The longest context, in tokens, for all services where nobody says one; None where nothing has to give way.

    None too where no context helps: then what is refused is what was asked for.
    """
    elastic = [service for service in services if service.elastic]
    limits = pools(host) if elastic else ()
    taken = {service.name: service.memory for service in services}
    if not limits or _fits(limits, services, taken):
        return None

    def fits(context: int) -> bool:
        shorter = {service.name: service.reckon(context) for service in elastic if context < service.context}
        return _fits(limits, services, {**taken, **shorter})

    return _largest(max(service.context for service in elastic), fits)


def _contexts(limits: Sequence[Pool], services: Sequence[Resolution], taken: Shares) -> Iterator[str]:
    """For each service, the longest context with which all of them fit, where there is one."""
    for service in services:

        def fits(context: int, service: Resolution = service) -> bool:
            return _fits(limits, services, {**taken, service.name: service.reckon(context)})

        found = _largest(service.context - 1, fits) if service.engine.kind == "llama.cpp" else None
        if found is not None:
            yield f"`context: {found}`" + (f" for {service.name}" if len(services) > 1 else "")


def _ways(host: Host, found: Need, services: Sequence[Resolution], taken: Shares) -> str:
    """What makes the services fit, or else that nothing does."""
    known = tuple(dict.fromkeys(service.name for service, _ in found.parts))
    there = [service for service in services if service.name in known]
    pool = found.pool
    levers = {each.name: ENGINES[each.engine.kind].levers(each) for each in there}
    contexts = list(_contexts(pools(host), services, taken))
    for each in there:
        own = sum(share.size for share in taken[each.name] if share.card == pool.position and not share.spare
                  and not share.grows)  # fmt: skip
        if own - sum(lever.saves for lever in levers[each.name]) > pool.room and not contexts:
            what = "machine" if pool.card is None else "card"
            return f"the {what} is too small for {each.name} as the fleet sets it"
    ways = ["move a service to another host"] if len(there) > 1 else []
    over, said = found.size - pool.room, []
    for name, offers in levers.items():
        chosen = []
        for lever in offers:
            if over > 0:
                over -= lever.saves
                chosen.append(f'{lever.name}: "{lever.value}"')
        if chosen:
            said.append(f"{name}: env: {{{', '.join(chosen)}}}")
    if contexts:
        ways.insert(0, f"the longest context that fits is {' or '.join(contexts)}")
    return ", or ".join([*ways, f"set for {'; '.join(said)}"] if over <= 0 else ways) or "use a smaller quantization"


def _lines(found: Need) -> Iterator[str]:
    for service, share in found.parts:
        yield f"{service.name}: {amount(share.size)} {share.what}"
    if found.pool.kept:
        yield f"kept free: {amount(found.pool.kept)}, by `gpu_reserve` or the card's `reserve`"


def _missing(pool: Pool, services: Sequence[Resolution], taken: Shares) -> Iterator[str]:
    for service in services:
        for share in taken[service.name]:
            if share.missing is not None and (pool.card is not None or not service.devices.cards):
                yield f"{service.name}: {share.what} not counted: {share.missing}"


def check(fleet: Fleet, host: Host, services: Sequence[Resolution], sink: Collector) -> None:
    """Refuse services that need more than the host has; what is not known is not counted."""
    taken = {service.name: service.memory for service in services}
    for pool in pools(host):
        found = need(pool, services, taken)
        if max(found.size, found.grown) <= pool.room:
            continue
        path: Path = fleet.chain(host.name, None).origin(*pool.path)
        if found.size > pool.room:
            free = f" beside the {gib(pool.kept)} that stay free" if pool.kept else ""
            message = f"{pool.words(host.name)}, and its services need at least {gib(found.size)}{free}"
            notes = (*_lines(found), *_missing(pool, services, taken))
            sink.add(
                Problem(
                    code="does-not-fit", message=message, path=path, host=host.name, notes=notes,
                    hint=_ways(host, found, services, taken),
                )
            )  # fmt: skip
        else:
            message = f"{pool.words(host.name)}, and what its services take may grow to {gib(found.grown)}"
            parts = (*found.parts, *found.growing)
            sink.add(
                Problem(
                    code="does-not-fit", severity=Severity.WARNING, message=message, path=path, host=host.name,
                    notes=tuple(f"{service.name}: {amount(share.size)} {share.what}" for service, share in parts),
                    hint=_less(found),
                )
            )  # fmt: skip


def _less(found: Need) -> str | None:
    """What keeps services from growing beyond the pool."""
    cached = sorted({service.name for service, share in found.growing if share.what == "prompt cache"})
    if not cached:
        return None
    prompts = sum(share.size for _, share in found.growing if share.what == "prompt cache")
    room = max(0, found.pool.room - (found.grown - prompts)) // len(cached) // 2**20
    return f"set `flags: {{cache-ram: {room}}}`, in MiB, for {' and '.join(cached)}"
