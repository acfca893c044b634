"""Whether the services of a host fit into its memory, as far as anybody knows what they take."""

from collections.abc import Sequence

from quadgen.engines.registry import ENGINES
from quadgen.fleet.load import Fleet
from quadgen.problems import Collector, Problem
from quadgen.resolution import Host, Resolution, Share
from quadgen.resolve.clashes import apart

_GIB = 2**30


def gib(size: int) -> str:
    """Bytes in the unit in which machines are sold."""
    return f"{size / _GIB:.1f} GiB"


def _need(service: Resolution) -> int:
    return sum(share.size for share in service.memory)


def _most(services: Sequence[Resolution]) -> tuple[Resolution, ...]:
    """Of the services that may run at the same time, those that need the most together."""
    needs = [_need(service) for service in services]
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
    """Whether a share of a service is held against the host's memory, where `services` are on that host.

    What it can do without counts where another service, of known need, may run beside it.
    """
    return not share.spare or any(
        other.name != service.name and other.memory and not apart(service, other) for other in services
    )


def _hint(known: Sequence[Resolution], needed: int, memory: int) -> str:
    """What makes the services fit, or else that nothing does."""
    levers = {each.name: ENGINES[each.engine.kind].levers(each) for each in known}
    for each in known:
        alone = sum(share.size for share in each.memory if not share.spare)
        if alone - sum(lever.saves for lever in levers[each.name]) > memory:
            return f"the machine is too small for {each.name} as the fleet sets it"
    ways = ["move a service to another host"] if len(known) > 1 else []
    over, said = needed - memory, []
    for name, offers in levers.items():
        chosen = []
        for lever in offers:
            if over > 0:
                over -= lever.saves
                chosen.append(f'{lever.name}: "{lever.value}"')
        if chosen:
            said.append(f"{name}: env: {{{', '.join(chosen)}}}")
    return ", or ".join([*ways, f"set for {'; '.join(said)}"] if over <= 0 else ways)


def check(fleet: Fleet, host: Host, services: Sequence[Resolution], sink: Collector) -> None:
    """Refuse services that need more than the host has; what is not known is not counted."""
    if host.memory is None:
        return
    known = _most([service for service in services if service.memory])
    shares = [(service, share) for service in known for share in service.memory if counted(service, share, known)]
    needed = sum(share.size for _, share in shares)
    if needed <= host.memory:
        return
    sink.add(
        Problem(
            code="does-not-fit",
            message=f"{host.name} has {gib(host.memory)} of memory, and its services need at least {gib(needed)}",
            path=fleet.chain(host.name, None).origin("memory"),
            host=host.name,
            notes=tuple(f"{service.name}: {gib(share.size)} {share.what}" for service, share in shares),
            hint=_hint(known, needed, host.memory),
        )
    )
