"""The hosts of a fleet and the groups that they are in, as Ansible reads an inventory.

It is what the fleet says, not what was decided: a service that is refused for want of evidence still has a host that
can be reached.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Any, Final, NamedTuple

from quadgen.document import load
from quadgen.engines.registry import ENGINES
from quadgen.engines.tables import choose_for
from quadgen.fleet.load import Fleet
from quadgen.fleet.load import load as load_fleet
from quadgen.locating import located
from quadgen.problems import Collector, Path, Problem, Rejected
from quadgen.resolve import catalog, choice
from quadgen.resolve.catalog import Catalog
from quadgen.resolve.report import Reporter, unknown

EVERY: Final = "quadgen"
"""The group of all hosts of the fleet, wherever others are in the inventory too."""
_BUILT_IN: Final = frozenset({"all", "ungrouped"})
"""Ansible's own groups: ansible/inventory/data.py."""
_TOPS: Final = {"engine": "engines", "group": "groups", "model": "models", "profile": "profiles"}
"""Where the names of each kind of group are declared; Ansible's prefix for them comes first."""
_SSH: Final = re.compile(
    r"(?:(?P<user>[A-Za-z0-9_][A-Za-z0-9_.-]*)@)?"
    r"(?:\[(?P<six>[^\]]+)\]|(?P<name>[A-Za-z0-9_][A-Za-z0-9_.-]*))(?::(?P<port>[1-9][0-9]{0,4}))?"
)


class Reached(NamedTuple):
    """Where SSH reaches a host: a name or an IP address, and what stands before and after it."""

    host: str
    port: int | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One service as the fleet has it; None where it does not say, or says what cannot be."""

    name: str
    engine: str | None
    build: str | None
    backend: str | None
    model: str | None
    profile: str
    port: int
    bind: str | None
    """The address of the host whose port it takes; None where it takes none."""

    @property
    def unit(self) -> str:
        """What systemd calls it."""
        return f"{self.name}.service"


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One machine of the fleet."""

    name: str
    address: Reached | None
    runtime: str
    rootless: str | None
    """The user that its services run as."""
    groups: tuple[str, ...]
    services: tuple[Service, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """The hosts in the order of the fleet file, and the groups of Ansible's, sorted, with the names of their hosts."""

    hosts: tuple[Host, ...]
    groups: Mapping[str, tuple[str, ...]]

    def host(self, name: str) -> Host:
        """The host of that name; raises `Rejected`."""
        for host in self.hosts:
            if host.name == name:
                return host
        _, hint = unknown("host", name, [host.name for host in self.hosts])
        message = f"there is no host {name} in the fleet"
        raise Rejected([Problem(code="unexpected-value", message=message, hint=hint)])


def read(name: str, data: bytes) -> Inventory:
    """The inventory of the fleet file `name`; raises `Rejected` where its shape is wrong, or Ansible would misread it.

    No ledger and no lock is read: what evidence says of a service is the business of `check`.
    """
    sink = Collector()
    document = load(name, data)
    fleet = load_fleet(document, sink)
    # what an engine is refused for, its hosts can be reached all the same
    entries = catalog.build(fleet, {}, choose_for, {}, Collector())
    hosts = tuple([_host(fleet, host, entries, sink) for host in fleet.data["hosts"]])
    groups = _groups(hosts, sink)
    if sink.refused:
        raise Rejected(located(sink.problems, {name: document}, name, fleet))
    return Inventory(hosts=hosts, groups=groups)


def _host(fleet: Fleet, name: str, entries: Catalog, sink: Collector) -> Host:
    shared = fleet.chain(name, None).fields
    own = fleet.data["hosts"][name] or {}
    groups = tuple(dict.fromkeys(own.get("groups") or ()))
    known: Collection[str] = fleet.data.get("groups") or {}
    for position, group in enumerate(own.get("groups") or ()):
        if group not in known and not fleet.is_broken(("groups", group)):
            message, hint = unknown("group", group, known)
            path = ("hosts", name, "groups", position)
            sink.add(Problem(code="unexpected-value", message=message, path=path, host=name, hint=hint))
    address = own.get("address")
    reached = _reached(address) if address is not None else None
    if address is not None and reached is None:
        sink.add(_unreachable(name, address))
    named: tuple[str | None, ...] = tuple(own.get("services") or ()) or ((None,) if shared.get("model") else ())
    return Host(
        name=name, address=reached, runtime=shared.get("runtime", "podman"), rootless=shared.get("rootless"),
        groups=groups, services=tuple([_service(fleet, name, service, entries) for service in named]),
    )  # fmt: skip


def _reached(address: str) -> Reached | None:
    """What SSH makes of an address; None where it is none."""
    found = _SSH.fullmatch(address)
    if found is None:
        return Reached(address) if _is_ipv6(address) else None
    six, port = found["six"], int(found["port"] or 0)
    if (six is not None and not _is_ipv6(six)) or port >= 2**16:
        return None
    return Reached(six or found["name"], port or None, found["user"])


def _is_ipv6(address: str) -> bool:
    try:
        IPv6Address(address)
    except ValueError:
        return False
    return re.fullmatch(r"[\w.:%-]+", address, re.ASCII) is not None


def _unreachable(host: str, address: str) -> Problem:
    message = f"`address` takes a name or an IP address, and {address!r} is none that Ansible can reach"
    hint = "write NAME, USER@NAME or NAME:PORT; an IPv6 address before a port stands in brackets"
    path = ("hosts", host, "address")
    return Problem(code="unexpected-value", message=message, path=path, host=host, hint=hint)


def _service(fleet: Fleet, host: str, name: str | None, entries: Catalog) -> Service:
    chain = fleet.chain(host, name)
    get = chain.fields.get
    called = name or choice.standard_name(chain.fields, entries)
    ask = Reporter(fleet, Collector(), chain, host, called)
    backend = choice.backend(ask, entries)
    engine = choice.engine(ask, entries, backend) if backend is not None else None
    hosted = get("runtime") == "systemd" or "host" in (get("network") or ())
    return Service(
        name=called,
        engine=engine.name if engine is not None else None,
        build=engine.build if engine is not None else None,
        backend=backend,
        model=get("model"),
        profile=get("profile", "default"),
        port=get("port", ENGINES[engine.kind if engine is not None else "llama.cpp"].port),
        bind=get("bind", "127.0.0.1") if hosted or get("publish", True) else None,
    )


def _memberships(host: Host) -> Iterator[tuple[str, str]]:
    """The kinds and names of what a host is grouped by."""
    yield "runtime", host.runtime
    for group in host.groups:
        yield "group", group
    for service in host.services:
        for kind, name in (
            ("backend", service.backend),
            ("engine", service.engine),
            ("model", service.model),
            ("profile", service.profile),
        ):
            if name is not None:
                yield kind, name


def group_name(kind: str, name: str) -> str:
    """What Ansible calls a group: a kind and a name of the fleet, of which only ASCII letters and digits stay."""
    return f"{kind}_{re.sub(r'[^A-Za-z0-9]', '_', name)}"


def _groups(hosts: tuple[Host, ...], sink: Collector) -> dict[str, tuple[str, ...]]:
    """The groups, sorted; reports two names that would become one group, and hosts that are called like a group."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for host in hosts:
        for membership in _memberships(host):
            found.setdefault(membership, {})[host.name] = None
    groups: dict[str, tuple[str, ...]] = {EVERY: tuple([host.name for host in hosts])}
    meant: dict[str, str] = {}
    for (kind, name), members in found.items():
        called = group_name(kind, name)
        other = meant.setdefault(called, name)
        if other != name:
            sink.add(_merged(kind, other, name, called))
        groups[called] = tuple(members)
    for host in hosts:
        if host.name in groups or host.name in _BUILT_IN:
            sink.add(_misread(host.name))
    return dict(sorted(groups.items()))


def _merged(kind: str, one: str, other: str, called: str) -> Problem:
    path: Path | None = (_TOPS[kind], other) if kind in _TOPS else None
    message = f"the {kind}s {one} and {other} would be one group of Ansible's, {called}"
    hint = "name one differently: of a name, a group has only letters and digits"
    return Problem(code="name-clash", message=message, path=path, at="key", hint=hint)


def _misread(host: str) -> Problem:
    """Refuse a host that Ansible takes for a group: InventoryData.set_variable looks among those first."""
    message = f"the host {host} is called like a group of Ansible's, whose every host would get its variables"
    hint = "name the host differently; `address:` says where it is reached"
    return Problem(code="name-clash", message=message, path=("hosts", host), at="key", host=host, hint=hint)


_PLAIN: Final = re.compile(r"[A-Za-z0-9_.:/@%+ -]*")


def _text(value: str | None) -> Any:  # noqa: ANN401 - text, or what Ansible's JSON has for text that is no template
    """Text that Ansible must not take for a template, and so run: it trusts what an inventory script prints."""
    return value if value is None or _PLAIN.fullmatch(value) else {"__ansible_unsafe": value}


def variables(host: Host) -> dict[str, Any]:
    """The variables of a host, as JSON values."""
    reached = host.address or Reached("")
    told = {"ansible_host": reached.host, "ansible_port": reached.port, "ansible_user": reached.user}
    return {
        **{name: value for name, value in told.items() if value},
        "quadgen_groups": [_text(group) for group in host.groups],
        "quadgen_host": host.name,
        "quadgen_rootless": host.rootless,
        "quadgen_runtime": host.runtime,
        "quadgen_services": [
            {
                "backend": service.backend,
                "bind": _text(service.bind),
                "build": _text(service.build),
                "engine": _text(service.engine),
                "model": _text(service.model),
                "name": service.name,
                "port": service.port,
                "profile": _text(service.profile),
                "unit": service.unit,
            }
            for service in host.services
        ],
    }


def listing(inventory: Inventory) -> dict[str, Any]:
    """The whole inventory in the JSON form of Ansible's inventory scripts, with the variables of all hosts."""
    return {
        "_meta": {"hostvars": {host.name: variables(host) for host in inventory.hosts}},
        "all": {"children": [*inventory.groups, "ungrouped"]},
        **{name: {"hosts": list(members)} for name, members in inventory.groups.items()},
    }
