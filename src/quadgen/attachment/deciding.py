"""A service of a fleet decided with other fields than it has; nothing of it can become a unit."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from quadgen.attachment.target import Target
from quadgen.fleet.load import Fleet
from quadgen.problems import Collector, Path, Problem
from quadgen.resolution import Resolution
from quadgen.resolve import Catalog, Gate, of_host


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What deciding the host came to."""

    problems: tuple[Problem, ...]
    """Of this service and its host, where the fleet file has them."""
    services: tuple[Resolution, ...]
    """All of the host that were not refused."""
    refused: tuple[str, ...]
    """Other services of the host, which were."""
    name: str

    @property
    def resolution(self) -> Resolution | None:
        """Of the service; None where it was refused."""
        return next((each for each in self.services if each.name == self.name), None)


def advisory(to: Target, catalog: Catalog) -> Gate:
    """A gate that only notes a lack of evidence; one of its own, since a gate keeps what it decided."""
    real = to.compiled.resolved.gate
    return Gate(ledger=real.ledger, policy=real.policy, catalog=catalog, advisory=True)


def decided(to: Target, said: Mapping[str, Any], gate: Gate) -> Outcome:
    """Decide the host with these fields at the service; among them must be its profile."""
    sink = Collector()
    services = of_host(_with(to, said), to.host, gate, sink) or ()
    problems = tuple(placed(to, filter(to.concerns, sink.problems)))
    there = {each.name for each in services} | {to.name}
    refused = tuple(name for name in to.neighbours if name not in there)
    return Outcome(problems=problems, services=services, refused=refused, name=to.name)


def undecided(to: Target) -> Iterator[Problem]:
    """What is wrong with the service, its layers, its engine and its model before anything of it is decided."""
    sink = Collector()
    gate = to.compiled.resolved.gate
    of_host(to.fleet, to.host, Gate(ledger=gate.ledger, policy=gate.policy, catalog=gate.catalog), sink)
    known = set(map(key, sink.problems))
    return placed(to, (each for each in to.compiled.reported if to.concerns(each) and key(each) not in known))


def key(problem: Problem) -> tuple[object, ...]:
    """What makes two problems one, whatever they weigh."""
    return problem.code, problem.path, problem.message, problem.host, problem.service


def placed(to: Target, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Problems with paths that the fleet file has: what only the trial says is of the service itself."""
    for problem in problems:
        path = problem.path
        if path is None or _there(to.fleet.data, path):
            yield problem
        else:
            yield replace(problem, path=to.path, at="key", label="", host=to.host, service=to.name)


def _with(to: Target, said: Mapping[str, Any]) -> Fleet:
    """The fleet in which the topmost layer of the service says this, and in which there is such a profile.

    What is wrong with that profile was said already: the fleet's have been looked at before.
    """
    data: Any = to.fleet.data
    data = {**data, "profiles": {**(data.get("profiles") or {}), said["profile"]: {}}}
    own = data["hosts"][to.host] or {}
    if to.named is None:
        own = {**own, **said}
    else:
        own = {**own, "services": {**own["services"], to.named: {**(own["services"][to.named] or {}), **said}}}
    data = {**data, "hosts": {**data["hosts"], to.host: own}}
    return replace(to.fleet, data=data)


def _there(data: Any, path: Path) -> bool:  # noqa: ANN401 - any YAML value
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return False
    return True
