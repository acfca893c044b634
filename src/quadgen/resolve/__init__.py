"""Fleet x ledger x facts -> one resolution for each service, or every reason why not."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quadgen import quadlet_keys
from quadgen.engines.flags import FlagTable
from quadgen.evidence import Ledger
from quadgen.evidence import Policy as EvidencePolicy
from quadgen.facts.record import Facts
from quadgen.fleet.load import Fleet
from quadgen.problems import Collector, Problem
from quadgen.resolution import Host, Resolution
from quadgen.resolve import cards, catalog, choice, clashes, files, memory
from quadgen.resolve.catalog import Catalog, Tables
from quadgen.resolve.gate import EVIDENCE, Gate
from quadgen.resolve.report import Reporter, unknown
from quadgen.resolve.service import resolve as resolve_service

__all__ = ["EVIDENCE", "Catalog", "Gate", "Resolved", "evidence_policy", "of_host", "resolve"]

_OLDEST_QUADLET = "4.4"
"""The first Podman with a Quadlet generator; Debian 12's 4.3.1 has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """Everything decided: the services of each host, in the order of the fleet file."""

    hosts: Mapping[str, tuple[Resolution, ...]]
    catalog: Catalog
    gate: Gate


def evidence_policy(fleet: Fleet) -> EvidencePolicy:
    """The fleet's policy as evidence is judged by it."""
    said = fleet.data.get("policy") or {}
    return EvidencePolicy(
        evidence=said.get("evidence", "model"),
        min_gain=float(said.get("min_gain", 1.0)),
        build=said.get("build", "warn"),
        device=said.get("device", "warn"),
    )


def _host(ask: Reporter) -> Host | None:
    get = ask.get
    runtime = get("runtime", "podman")
    podman = get("podman", "5.4.2")
    rootless, user = get("rootless"), get("user")
    good = True
    if runtime == "podman":
        newer = quadlet_keys.at_least(podman, _OLDEST_QUADLET)
        if newer is None:
            ask.add(
                "unexpected-value", f"{podman!r} is no Podman version", "podman", hint='write it in quotes: "5.4.2"'
            )
            good = False
        elif not newer:
            ask.add(
                "unsupported-key",
                f"Podman {podman} has no Quadlet, which came with {_OLDEST_QUADLET}",
                "podman",
                hint="use runtime: systemd",
            )
            good = False
    if user is not None and (runtime == "podman" or rootless is not None):
        ask.add(
            "unexpected-value",
            "`user` is for native system units",
            "user",
            hint="use `rootless:` for a user's own units",
        )
        good = False
    if rootless == "root":
        ask.add("unexpected-value", "`rootless: root` is rootful", "rootless", hint="leave `rootless` out")
        good = False
    if not good:
        return None
    home = files.clean(get("home") or (f"/home/{rootless}" if rootless else "/root")).rstrip("/")
    if not home.startswith("/"):
        ask.add("unexpected-value", "`home` takes an absolute path to a directory of the user's own", "home")
        return None
    selinux = get("selinux", "disable")
    if not re.fullmatch(r"[A-Za-z0-9_]+", selinux):
        ask.add("unexpected-value", f"{selinux!r} is no SELinux type", "selinux", hint="disable, relabel, or a type")
        return None
    return Host(
        name=ask.host, runtime=runtime, podman=podman, rootless=rootless, home=home, user=user,
        selinux=selinux, cards=cards.cards(get("gpus"), get("gpu_reserve")), memory=get("memory"),
    )  # fmt: skip


def _services(fleet: Fleet, name: str, fields_of_all: Mapping[str, Any], sink: Collector) -> tuple[str | None, ...]:
    """The names of a host's services; one None for the host that is its own service.

    `fields_of_all` is what the host says for all of them.
    """
    fields = fleet.data["hosts"].get(name) or {}
    named = fields.get("services")
    if named:
        return tuple(named)
    if fields_of_all.get("model") is not None:
        return (None,)
    path = ("hosts", name)
    if not fleet.is_broken((*path, "services")) and not fleet.is_broken((*path, "model")):
        message = f"the host {name} has neither `model` nor `services`"
        sink.add(
            Problem(
                code="missing-key",
                message=message,
                path=path,
                at="key",
                host=name,
                hint="add `model:`, or `services:` with one or more",
            )
        )
    return ()


def _groups(fleet: Fleet, name: str, sink: Collector) -> None:
    known = fleet.data.get("groups") or {}
    named = (fleet.data["hosts"].get(name) or {}).get("groups") or ()
    for group in sorted({group for group in named if named.count(group) > 1}):
        message = f"`groups` names {group} twice"
        sink.add(Problem(code="unexpected-value", message=message, path=("hosts", name, "groups"), host=name))
    for position, group in enumerate((fleet.data["hosts"].get(name) or {}).get("groups") or ()):
        if group not in known and not fleet.is_broken(("groups", group)):
            message, hint = unknown("group", group, known)
            sink.add(
                Problem(
                    code="unexpected-value",
                    message=message,
                    path=("hosts", name, "groups", position),
                    host=name,
                    hint=hint,
                )
            )


def _decided(
    shared: Reporter, host: Host, named: tuple[str | None, ...], gate: Gate, cap: int | None
) -> tuple[Resolution, ...]:
    """The services of a host; `cap` is what a context has at most where nobody says one."""
    fleet, sink = shared.fleet, shared.collector
    own = frozenset(service for service in named if service is not None)
    found = []
    for service in named:
        chain = shared.chain if service is None else fleet.chain(host.name, service)
        ask = Reporter(fleet, sink, chain, host.name, service or choice.standard_name(chain.fields, gate.catalog))
        found.append(resolve_service(ask, host, gate, own, cap))
    return tuple(resolution for resolution in found if resolution is not None)


def resolve(
    fleet: Fleet,
    ledger: Ledger,
    *,
    learned: Mapping[str, FlagTable],
    tables: Tables,
    files: Mapping[str, Facts],
    sink: Collector,
    advisory: bool = False,
) -> Resolved:
    """Decide every service of every host; problems go to `sink`. `files` is what is recorded of checkpoints.

    `advisory` is what it is of a `Gate`.
    """
    entries = catalog.build(fleet, learned, tables, files, sink)
    gate = Gate(ledger=ledger, policy=evidence_policy(fleet), catalog=entries, advisory=advisory)
    clashes.host_names(fleet, sink)
    found = {name: of_host(fleet, name, gate, sink) for name in fleet.data["hosts"]}
    hosts = {name: services for name, services in found.items() if services is not None}
    return Resolved(hosts=hosts, catalog=entries, gate=gate)


def of_host(fleet: Fleet, name: str, gate: Gate, sink: Collector) -> tuple[Resolution, ...] | None:
    """Decide the services of one host; None where it has none, or is refused itself."""
    _groups(fleet, name, sink)
    shared = Reporter(fleet, sink, fleet.chain(name, None), name, None)
    named = _services(fleet, name, shared.chain.fields, sink)
    host = _host(shared)
    if host is None or not named:
        return None
    clashes.service_names(name, (service for service in named if service is not None), sink)
    before = len(sink.problems)
    services = _decided(shared, host, named, gate, None)
    cap = memory.cap(host, services)
    if cap is not None:  # anew, with a context that fits
        del sink.problems[before:]
        services = _decided(shared, host, named, gate, cap)
    clashes.ports(fleet, name, services, sink)
    memory.check(fleet, host, services, sink)
    return services
