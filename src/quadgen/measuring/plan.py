"""The fewest runs of `quadgen measure` after which every service of a fleet is decided."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from quadgen.evidence import Ledger, Request
from quadgen.measuring.amount import Amount, amount
from quadgen.measuring.covering import fewest
from quadgen.measuring.needs import Left, Need, base, decides, kind_of, needs
from quadgen.pipeline import Compiled
from quadgen.resolution import Resolution
from quadgen.resolve import bringing

_PLACES: Final = frozenset({"--host", "--port", "--alias", "--model", "--api-key-file", "--no-slots", "--slots"})
"""Options that services of one request may have differently without being measured differently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlike:
    """Services that a run serves though some of their options are not those that it is measured with."""

    options: tuple[str, ...]
    """As the engine names them, in the order of the command line."""
    services: tuple[Need, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One command on one host."""

    own: Need
    """The service whose arguments it is measured with."""
    workloads: tuple[str, ...]
    """Those that services need, the profile's own first."""
    serves: tuple[Need, ...]
    """Every service that its rows decide, in the order of the fleet."""
    unlike: tuple[Unlike, ...]
    words: tuple[str, ...]
    """Of the command; FILE stands for the texts of a workload in `files`."""
    files: tuple[str, ...]
    """Workloads whose texts do not come with quadgen."""
    amount: Amount

    @property
    def command(self) -> str:
        """The command as a shell takes it."""
        return shlex.join(self.words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a fleet needs measured."""

    fleet: str
    """The fleet file, as the user wrote its name."""
    every: tuple[str, ...]
    """All hosts of the fleet, in its order, or those that were asked for."""
    hosts: Mapping[str, tuple[Run, ...]]
    """Runs by host, in the order of the fleet; a host without any is left out."""
    left: tuple[Left, ...]
    """Services that no run helps."""
    elsewhere: tuple[Need, ...]
    """Services that no run on the hosts that were asked for helps."""

    @property
    def runs(self) -> tuple[Run, ...]:
        """Those of all hosts."""
        return tuple(run for runs in self.hosts.values() for run in runs)


@dataclass(frozen=True, slots=True)
class _Choice:
    """One run before it has a host: requests that are equal to it, and everything that it decides."""

    able: tuple[Need, ...]
    """Services that it can be measured with."""
    elements: frozenset[int]


def plan(compiled: Compiled, hosts: Iterable[str] | None = None) -> Plan:
    """Find the fewest runs; with `hosts` those that can be done there, for whichever services they help.

    `compiled` may be refused, and should be compiled with `advisory`: else what is wrong with a service beside its
    evidence is known only in part, and services are not compared by their arguments.
    """
    found = list(needs(compiled))
    wanted = [each for each in found if isinstance(each, Need)]
    chosen = None if hosts is None else frozenset(hosts)
    requests = list(dict.fromkeys(each.request for each in wanted))
    choices = _choices(wanted, requests, chosen, compiled.resolved.gate.ledger)
    taken = [choices[at] for at in fewest([choice.elements for choice in choices])]
    placed = _placed(taken, compiled)
    decided = _shared(placed, wanted, requests)
    services = {(each.host.name, each.name): each for both in compiled.resolved.hosts.values() for each in both}
    by_host: dict[str, list[Run]] = {}
    for own, served in decided:
        by_host.setdefault(own.asked.host, []).append(_run(compiled.fleet.name, own, served, services))
    order = [host for host in compiled.fleet.data["hosts"] if chosen is None or host in chosen]
    reached = frozenset().union(*(choice.elements for choice in choices))
    at = {request: position for position, request in enumerate(requests)}
    return Plan(
        fleet=compiled.fleet.name, every=tuple(order), hosts={host: tuple(runs) for host, runs in by_host.items()},
        left=tuple(each for each in found if isinstance(each, Left)),
        elsewhere=tuple(each for each in wanted if at[each.request] not in reached),
    )  # fmt: skip


def _choices(
    wanted: Sequence[Need], requests: Sequence[Request], hosts: frozenset[str] | None, ledger: Ledger
) -> list[_Choice]:
    """Everything that could be run, with what it would decide; what decides the same is one choice."""
    able: dict[Request, list[Need]] = {}
    for need in wanted:
        if hosts is None or need.asked.host in hosts:
            able.setdefault(base(need.request), []).append(need)
    near = _Near(able)
    found: dict[Request, set[int]] = {run: set() for run in able}
    needed = {need.request: need for need in wanted}
    for at, request in enumerate(requests):
        own = base(request)
        for run in near.of(request):
            if run == own or decides(run, needed[request], ledger):
                found[run].add(at)
    same: dict[frozenset[int], list[Need]] = {}
    for run, elements in found.items():
        same.setdefault(frozenset(elements), []).extend(able[run])
    return [_Choice(tuple(each), elements) for elements, each in same.items()]


class _Near:
    """Runs by what their rows must share with a request, so that not every one is weighed for each."""

    def __init__(self, runs: Iterable[Request]) -> None:
        self._found: dict[tuple[object, ...], dict[Request, None]] = {}
        for run in runs:
            cards = [_card(each) for each in run.devices[:1]]
            for key in product(_models(run), (*cards, None), dict.fromkeys((run.build, None))):
                self._found.setdefault(key, {})[run] = None

    def of(self, request: Request) -> list[Request]:
        """Those that may decide a request as well as its own, each once."""
        cards = {_card(each) for each in request.devices}
        keys = product(_models(request), cards if len(cards) == 1 else (None,), (request.build,))
        return list(dict.fromkeys(run for key in keys for run in self._found.get(key, ())))


def _card(device: str) -> str:
    """A card's name as rows are compared by it."""
    return " ".join(device.split()).casefold()


def _models(request: Request) -> list[tuple[object, ...]]:
    what = kind_of(request)
    if request.policy.evidence == "backend":
        return [what]
    return [(*what, "id", request.model), *([] if request.header is None else [(*what, "header", request.header)])]


def _placed(taken: Sequence[_Choice], compiled: Compiled) -> list[tuple[Need, _Choice]]:
    """Give each run a host, so that none has many where others can do it; in the order of the fleet."""
    order = {host: at for at, host in enumerate(compiled.fleet.data["hosts"])}
    load = dict.fromkeys(order, 0)
    placed = []
    for choice in sorted(taken, key=lambda each: len({need.asked.host for need in each.able})):
        own = min(choice.able, key=lambda need: (load[need.asked.host], order[need.asked.host]))
        load[own.asked.host] += 1
        placed.append((own, choice))
    first = {need.place: at for at, need in enumerate(need for choice in taken for need in choice.able)}
    return sorted(placed, key=lambda each: (order[each[0].asked.host], first[each[0].place]))


def _shared(
    placed: Sequence[tuple[Need, _Choice]], wanted: Sequence[Need], requests: Sequence[Request]
) -> list[tuple[Need, tuple[Need, ...]]]:
    """Give each need to one run: to that of its own request where there is one, else to the first that decides it."""
    at = {request: position for position, request in enumerate(requests)}
    run_of: dict[int, int] = {}
    for number, (_, choice) in enumerate(placed):
        for need in choice.able:
            run_of[at[need.request]] = number
    for number, (_, choice) in enumerate(placed):
        for element in sorted(choice.elements):
            run_of.setdefault(element, number)
    served: list[list[Need]] = [[] for _ in placed]
    for need in wanted:
        element = at[need.request]
        if element in run_of:
            served[run_of[element]].append(need)
    return [(own, tuple(each)) for (own, _), each in zip(placed, served, strict=True)]


def _run(fleet: str, own: Need, serves: tuple[Need, ...], services: Mapping[tuple[str, str], Resolution]) -> Run:
    asked = own.asked
    needed = dict.fromkeys([asked.request.workload, *(each.asked.request.workload for each in serves)])
    files = tuple(name for name in needed if name not in bringing.OWN_WORKLOADS)
    measured = len(needed) if files else len(bringing.OWN_WORKLOADS)
    return Run(
        own=own, workloads=tuple(needed), serves=serves, unlike=_unlike(own, serves, services),
        words=bringing.words(fleet, asked.host, own.named, asked.spec.name, needed), files=files,
        amount=amount(asked.request.setting, asked.request.against, workloads=measured),
    )  # fmt: skip


def _unlike(own: Need, serves: Iterable[Need], services: Mapping[tuple[str, str], Resolution]) -> tuple[Unlike, ...]:
    """Group the other services by the options that they have differently; what was refused has none to compare."""
    measured = services.get((own.asked.host, own.asked.service))
    groups: dict[tuple[str, ...], list[Need]] = {}
    if measured is not None:
        mine = _options(measured)
        for each in serves:
            other = services.get((each.asked.host, each.asked.service))
            if other is not None and (differing := _differing(mine, _options(other))):
                groups.setdefault(differing, []).append(each)
    return tuple(Unlike(options=options, services=tuple(each)) for options, each in groups.items())


def _options(service: Resolution) -> dict[str, list[tuple[str, ...]]]:
    """Options with their values, paths without their directories: a container has other ones."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for argument in service.arguments:
        name, *values = map(str, argument.words)
        if name not in _PLACES:
            bare = tuple(value.rpartition("/")[2] if value.startswith("/") else value for value in values)
            found.setdefault(name, []).append(bare)
    return found


def _differing(mine: Mapping[str, object], other: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys([*mine, *other]) if mine.get(name) != other.get(name))
