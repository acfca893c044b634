"""What two services of a host, or two hosts, cannot share."""

from collections.abc import Iterable, Sequence
from itertools import combinations

from quadgen.fleet.load import Fleet
from quadgen.problems import Collector, Path, Problem
from quadgen.resolution import Resolution
from quadgen.resolve import neighbours

_EVERY_IPV4 = "0.0.0.0"  # noqa: S104 - compared, not bound
_EVERY = "::"
"""Of IPv6 and, unless the host is told otherwise, of IPv4 too."""


def host_names(fleet: Fleet, sink: Collector) -> None:
    """Refuse hosts whose directories are one where letter case does not count."""
    seen: dict[str, str] = {}
    for name in fleet.data["hosts"]:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            message = f"the hosts {other} and {name} have one directory where letter case does not count"
            sink.add(
                Problem(
                    code="name-clash",
                    message=message,
                    path=("hosts", name),
                    at="key",
                    host=name,
                    hint="name one differently",
                )
            )


def _taken(service: Resolution) -> tuple[str, int] | None:
    """The host address and port that a service takes."""
    if service.binds is None:
        return None
    return service.binds, service.port


def apart(one: Resolution, other: Resolution) -> bool:
    """Whether the two never run at the same time."""
    return f"{other.name}.service" in one.conflicts or f"{one.name}.service" in other.conflicts


def _overlap(one: str, other: str) -> bool:
    """Whether a port of one address is a port of the other, both in their canonical form."""
    if one == other or _EVERY in (one, other):
        return True
    return _EVERY_IPV4 in (one, other) and ":" not in one + other


def _unsaid(fleet: Fleet, host: str, *services: Resolution) -> bool:
    """Whether the `port` or `bind` of one of them was wrong, which is reported already."""
    if not fleet.broken:
        return False
    layers = (layer.path for each in services for layer in fleet.chain(host, each.name).layers)
    return any(fleet.is_broken((*path, key)) for path in layers for key in ("port", "bind"))


def service_names(host: str, names: Iterable[str], sink: Collector) -> None:
    """Refuse services whose files are one where letter case does not count."""
    seen: dict[str, str] = {}
    for name in names:
        if neighbours.taken_by_system(name):
            message = f"{name}.service is a unit of the system's own, which this one would take the place of"
            path: Path = ("hosts", host, "services", name)
            hint = "name the service differently"
            sink.add(Problem(code="name-clash", message=message, path=path, at="key", host=host, hint=hint))
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            message = f"the services {other} and {name} have one file where letter case does not count"
            path = ("hosts", host, "services", name)
            hint = "name one differently"
            sink.add(Problem(code="name-clash", message=message, path=path, at="key", host=host, hint=hint))


def ports(fleet: Fleet, host: str, services: Sequence[Resolution], sink: Collector) -> None:
    """Refuse two services of a host that take one port, unless they conflict."""
    if len(services) < 2:  # noqa: PLR2004 - a clash takes two
        return
    for one, other in combinations(services, 2):
        here, there = _taken(one), _taken(other)
        if here is None or there is None or here[1] != there[1] or apart(one, other):
            continue
        if _overlap(here[0], there[0]) and not _unsaid(fleet, host, one, other):
            path = fleet.chain(host, other.name).origin("port")
            sink.add(
                Problem(
                    code="port-clash",
                    message=f"{one.name} and {other.name} take one port, {there[1]}",
                    path=path,
                    host=host,
                    service=other.name,
                    hint="give one another `port`, or say `conflicts:` if they never run together",
                )
            )
