"""What a change does to a fleet, as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from quadgen.problems import Problem


class Kind(StrEnum):
    """What becomes of a host or a service."""

    CREATED = "created"
    CHANGED = "changed"
    REMOVED = "removed"


class Difference(NamedTuple):
    """One thing that is said otherwise: the values before and after; none where it is not said at all."""

    name: str
    old: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """What differs between two units. Of one that comes or goes, all that it says."""

    about: Difference | None = None
    """What runs where, in the units' own words; where both sides say so."""
    program: Difference | None = None
    """The image of a container, the program of a native service."""
    arguments: tuple[Difference, ...] = ()
    environment: tuple[Difference, ...] = ()
    mounts: Difference | None = None
    """Those that went and those that came."""
    keys: tuple[Difference, ...] = ()
    evidence: Difference | None = None
    """Rows, quoted with their ratios: those that went and those that came."""
    notes: Difference | None = None
    """Other comments that went and came."""
    unread: bool = False
    """Whether one of the texts cannot be read as a unit, so that nothing was compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceChange:
    """What becomes of one service; hosts with the same are told together, so the host is not in it."""

    kind: Kind
    service: str
    unit: str
    restart: bool
    """Whether a service that runs is started anew: comments replace a file and restart nothing."""
    autostart: bool
    path: str
    """Its file below the host's directory; of a removed one, where that was."""
    moved: str | None
    """Where its file was, if that was elsewhere: another user's, or another kind of unit."""
    about: str
    """What runs where, in the unit's own words."""
    detail: Detail


@dataclass(frozen=True, slots=True, kw_only=True)
class HostChange:
    """What becomes of one host."""

    host: str
    kind: Kind
    services: tuple[ServiceChange, ...]
    needs: tuple[tuple[str, str], ...]
    """What it must have from now on and did not need before: kind and value, as its manifest has them."""
    spares: tuple[tuple[str, str], ...]
    """What it no longer needs."""


class Target(NamedTuple):
    """A service that something is said of; None is the host itself."""

    host: str
    service: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One thing for which the new state is refused."""

    problem: Problem
    targets: tuple[Target, ...]
    """Whom it concerns; nobody in particular where it is a mistake of the whole file."""
    fresh: tuple[Target, ...]
    """Those of them that were not refused under this code before."""
    new: bool
    """Whether it was not said of everybody before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two states."""

    revision: str | None
    """As it was asked for; None is the working copy."""
    commit: str | None
    source: str
    """What was looked at: `rendered`, the committed tree; `fleet`, the compiled fleet file; `nothing`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """Everything that a change does."""

    old: Side
    new: Side
    hosts: tuple[HostChange, ...]
    """Only those that change, by name."""
    refusals: tuple[Refusal, ...]
    total: int
    """Hosts of both sides."""
    notes: tuple[str, ...]
    """What a reader must know about how this was found."""

    @property
    def summary(self) -> Mapping[str, int]:
        """How many services are created, changed, restarted (of those changed), removed and newly refused, and where.

        `touched` is the hosts on which anything changes or is newly refused. A refusal of the whole file counts once.
        """
        services = [service for host in self.hosts for service in host.services]
        fresh = {target for refusal in self.refusals for target in refusal.fresh}
        general = sum(refusal.new and not refusal.targets for refusal in self.refusals)
        touched = {host.host for host in self.hosts} | {target.host for target in fresh}
        return {
            "created": sum(each.kind is Kind.CREATED for each in services),
            "changed": sum(each.kind is Kind.CHANGED for each in services),
            "restarted": sum(each.kind is Kind.CHANGED and each.restart for each in services),
            "removed": sum(each.kind is Kind.REMOVED for each in services),
            "refused": len(fresh) + general,
            "touched": len(touched),
            "hosts": self.total,
        }

    @property
    def refused(self) -> bool:
        """Whether the new state is refused."""
        return bool(self.refusals)
