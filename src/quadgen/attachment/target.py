"""The service that a drafter is for, found in its fleet."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quadgen import locking
from quadgen.fleet.load import Fleet
from quadgen.locating import owner
from quadgen.pipeline import Compiled
from quadgen.problems import Path, Problem, Rejected
from quadgen.resolve import choice
from quadgen.resolve.report import unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A service of the fleet."""

    compiled: Compiled
    host: str
    named: str | None
    """Its key below `services`; None where the host is its own service."""
    name: str

    @property
    def fleet(self) -> Fleet:
        """The fleet as it is."""
        return self.compiled.fleet

    @property
    def neighbours(self) -> tuple[str, ...]:
        """All services of the host that has several."""
        return tuple((self.fleet.data["hosts"][self.host] or {}).get("services") or {})

    @property
    def path(self) -> Path:
        """Of its topmost layer."""
        return ("hosts", self.host) if self.named is None else ("hosts", self.host, "services", self.named)

    def concerns(self, problem: Problem) -> bool:
        """Whether a problem is of this service, of its host, or of a layer, an engine or a model that it uses."""
        file = problem.file or (problem.place.file if problem.place is not None else None)
        if file not in (None, self.fleet.name):
            return file == (self.fleet.data.get("lock") or locking.DEFAULT)
        host, service = owner(problem)
        if host is not None:
            return host == self.host and service in (None, self.name)
        chain = self.fleet.chain(self.host, self.named)
        engines = self.compiled.resolved.catalog.engines
        backend = chain.fields.get("backend")
        engine = chain.fields.get("engine") or next((each for each in engines if backend in engines[each].backends), "")
        used: tuple[Path, ...] = (
            *(layer.path for layer in chain.layers),
            ("engines", engine),
            ("models", chain.fields.get("model", "")),
        )  # fmt: skip
        path = problem.path or ()
        return not path or any(path[: len(each)] == each for each in used)


def target(compiled: Compiled, host: str, service: str | None) -> Target:
    """Find a service; None is the only one of its host. Raises `Rejected` where there is no such host or service."""
    hosts: Mapping[str, Any] = compiled.fleet.data["hosts"]
    if host not in hosts:
        message, hint = unknown("host", host, hosts)
        raise Rejected([Problem(code="unexpected-value", message=message, hint=hint)])
    named = list((hosts[host] or {}).get("services") or {})
    alone = choice.standard_name(compiled.fleet.chain(host, None).fields, compiled.resolved.catalog)
    names = named or [alone]
    if service is None and len(names) > 1:
        message = f"the host {host} has several services"
        hint = f"say which: {', '.join(f'{host}/{name}' for name in names)}"
        raise Rejected([Problem(code="unexpected-value", message=message, host=host, hint=hint)])
    wanted = names[0] if service is None else service
    if wanted not in names:
        message, hint = unknown("service", wanted, names)
        problem = Problem(code="unexpected-value", message=f"{message} on the host {host}", host=host, hint=hint)
        raise Rejected([problem])
    return Target(compiled=compiled, host=host, named=wanted if named else None, name=wanted)
