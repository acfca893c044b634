"""Hosts with the same change are told together, or nobody reads what a group's change does to 500 of them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from quadgen.review.change import Detail, HostChange, Kind, Review, ServiceChange, Target

_NAMED: Final = 3
"""Hosts of a group that are named; of the others the number is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """One change, and every service to which it happens."""

    change: ServiceChange
    """As it happens to the first of them."""
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What hosts must newly have, and no longer need: kind and value, as manifests have them."""

    needs: tuple[tuple[str, str], ...]
    spares: tuple[tuple[str, str], ...]
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A review in the order in which it is told: what stops first, then what restarts, what is new, the rest."""

    gone: tuple[HostChange, ...]
    """Hosts that left the fleet, with their services."""
    come: tuple[str, ...]
    """Hosts that are new in it."""
    services: tuple[Together, ...]
    needs: tuple[Needs, ...]
    plain: tuple[str, ...]
    """Hosts of which only the manifest is written anew."""


def told(review: Review) -> Told:
    """Put together what is the same."""
    changed = [host for host in review.hosts if host.kind is Kind.CHANGED]
    return Told(
        gone=tuple(host for host in review.hosts if host.kind is Kind.REMOVED),
        come=tuple(host.host for host in review.hosts if host.kind is Kind.CREATED),
        services=tuple(_services(host for host in review.hosts if host.kind is not Kind.REMOVED)),
        needs=tuple(_needs(host for host in review.hosts if host.kind is not Kind.REMOVED)),
        plain=tuple(host.host for host in changed if not (host.services or host.needs or host.spares)),
    )


def _services(hosts: Iterable[HostChange]) -> Iterator[Together]:
    groups: defaultdict[ServiceChange, list[Target]] = defaultdict(list)
    for host in hosts:
        for change in host.services:
            groups[_alike(change)].append(Target(host.host, change.service))
    for change, targets in sorted(groups.items(), key=_rank):
        yield Together(change=change, targets=tuple(targets))


def _alike(change: ServiceChange) -> ServiceChange:
    """What is told of a service: of one that comes, what it runs and why it may, and of one that goes, that it does."""
    if change.kind is Kind.CHANGED:
        return change
    if change.kind is Kind.REMOVED:
        return replace(change, detail=Detail(), about="")
    return replace(
        change, detail=replace(change.detail, arguments=(), environment=(), mounts=None, keys=(), notes=None)
    )


def _rank(entry: tuple[ServiceChange, list[Target]]) -> tuple[object, ...]:
    change, targets = entry
    order = (Kind.REMOVED, Kind.CHANGED, Kind.CREATED).index(change.kind)
    return order, not change.restart, -len(targets), targets[0].host, change.service


def _needs(hosts: Iterable[HostChange]) -> Iterator[Needs]:
    groups: defaultdict[tuple[tuple[tuple[str, str], ...], ...], list[str]] = defaultdict(list)
    for host in hosts:
        if host.needs or host.spares:
            groups[host.needs, host.spares].append(host.host)
    for (needs, spares), names in groups.items():
        yield Needs(needs=needs, spares=spares, hosts=tuple(names))


def some(names: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """The names that are told, and how many more there are."""
    distinct = tuple(dict.fromkeys(names))
    most = _NAMED if len(distinct) > _NAMED + 1 else len(distinct)
    return distinct[:most], len(distinct) - most
