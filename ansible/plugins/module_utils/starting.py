"""Bringing a host's services to what its files say: what is stopped, started and waited for, and when it is enough.

A unit is stopped and started, never restarted: `systemctl restart` of a unit that is ready when it is healthy
returns only then, or after its whole start timeout. What changed is stopped before any of it starts, in the
reverse order: the memory of the cards was planned for what shall run, not for a half of each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from . import health, managers, ports, state, states, tree
from .managers import Run, Trouble
from .state import State
from .states import Seen
from .tree import Manifest, Service

PENDING: Final = ""
"""In `running` of the state: it ran, was stopped to be replaced, and is to run again, whoever finishes the work."""

GRACE: Final = 10.0
"""Seconds beyond the start timeout, within which systemd itself ends a start."""

STEADY = 5.0
"""Seconds that a service without `health` must run to be held for one that serves: nothing else tells it from one
that ends on its first wrong option."""

_OF_THE_HOST: Final = ("no space left on device", "disk quota exceeded", "address already in use")
"""Words of strerror(3) for ENOSPC, EDQUOT and EADDRINUSE, which Podman and servers quote."""


class Failed(Exception):  # noqa: N818 - what happened to services, no fault of the code
    """Services that did not become healthy: each with the reason and its last words."""

    def __init__(self, failures: Sequence[Failure]) -> None:
        super().__init__("; ".join(each.sentence for each in failures))
        self.failures = tuple(failures)


@dataclass(frozen=True)
class Failure:
    """A service that does not serve."""

    unit: str
    user: str | None
    why: str
    journal: tuple[str, ...]
    host: bool = False
    """It is not what was rendered that is wrong: this host may take it another time."""

    @property
    def sentence(self) -> str:
        """It, with what the journal says last."""
        words = f" [{' | '.join(self.journal)}]" if self.journal else ""
        return f"{self.unit} {self.why}{words}"


@dataclass(frozen=True)
class Plan:
    """What is to be done about each service of a tree, by unit; a unit is in one of them."""

    restart: tuple[str, ...]
    """It runs what is no longer installed."""
    start: tuple[str, ...]
    wait: tuple[str, ...]
    """It is on its way already."""
    note: tuple[str, ...]
    """It does not run, and its next start will be of what is installed now."""

    @property
    def changes(self) -> bool:
        """Whether a service is touched."""
        return bool(self.restart or self.start)


def planned(manifest: Manifest, state: State, seen: Mapping[str, Seen]) -> Plan:
    """Decide what each service needs; `seen` has every unit of the tree and every one that these conflict with.

    Of services that conflict with one another one runs: whichever does already, else the first that may.
    """
    restart, start, wait, note = [], [], [], []
    up = {unit for unit, each in seen.items() if each.up}
    rivals = _rivals(manifest.services)
    for service in (service for level in tree.levels(manifest.services) for service in level):
        unit = service.unit
        known = state.running.get(unit)
        if unit in up:
            if known != service.restart:
                restart.append(unit)
            elif seen[unit].activating and service.autostart:
                wait.append(unit)
        elif (service.autostart or known == PENDING) and not up & rivals[unit]:
            start.append(unit)
            up.add(unit)
        elif known != service.restart:
            note.append(unit)
    return Plan(tuple(restart), tuple(start), tuple(wait), tuple(note))


def _rivals(services: Iterable[Service]) -> dict[str, set[str]]:
    """By unit, those that it conflicts with, whichever of the two says so."""
    rivals: dict[str, set[str]] = {service.unit: set() for service in services}
    for service in services:
        for other in service.conflicts:
            rivals[service.unit].add(other)
            rivals.setdefault(other, set()).add(service.unit)
    return rivals


@dataclass
class Starter:
    """Brings the services of a tree up. `save` keeps a state, and is called after each step that a kill could undo."""

    manifest: Manifest
    state: State
    save: Callable[[State], None]
    tries: int
    """How often a unit may be started anew by systemd before it is given up."""
    run: Run = managers.run
    begun: float = field(default_factory=time.time)
    """Since when the journal speaks of what was started here, in seconds since the epoch."""

    def seen(self) -> dict[str, Seen]:
        """What systemd says of every unit of the tree, and of those that they conflict with."""
        users = {service.unit: service.user for service in self.manifest.services}
        for service in self.manifest.services:
            for other in service.conflicts:
                users.setdefault(other, service.user)
        return states.look(users, run=self.run)

    def reload(self) -> bool:
        """Let every systemd read its units anew where files changed; whether one had to.

        That of a user who has no service any more as well: what it still has loaded would run again with it.
        """
        users = {service.user for service in self.manifest.services}
        for user in users:
            managers.answers(user, run=self.run)
        stale = {user for user in self.state.stale if user in users or managers.runs(user, run=self.run)}
        if not self.state.stale:  # else it is everybody, and nobody has to be asked
            stale = {self._user(unit) for unit, each in self.seen().items() if each.stale}
        for user in state.several(stale):
            said = managers.systemctl("daemon-reload", user=user, run=self.run, timeout=300)
            if not said.done:
                raise Trouble(f"{managers.whose(user)} does not read its units anew: {said.why}")
        kept = {service.unit for service in self.manifest.services}
        services = {unit: owned for unit, owned in self.state.services.items() if unit in kept}
        after = replace(self.state, stale=(), services=services)
        if after != self.state:
            self._keep(after)
        return bool(stale)

    def enable(self, seen: Mapping[str, Seen]) -> list[str]:
        """Let native units start with the host where they shall: only those of a generator do by themselves.

        Gives the units that were enabled or disabled.
        """
        changed = []
        for service in self.manifest.services:
            found = seen[service.unit]
            word = states.switch(found, autostart=service.autostart)
            if word is not None:
                said = managers.systemctl(word, service.unit, user=service.user, run=self.run)
                if not said.done:
                    raise Trouble(f"systemctl cannot {word} {service.unit}: {said.why}")
                changed.append(service.unit)
        return changed

    def bring(self, plan: Plan, seen: Mapping[str, Seen]) -> None:
        """Do what was planned; raises Failed as soon as a service is known not to become healthy."""
        due = [each for each in self.manifest.services if each.unit in (*plan.restart, *plan.start)]
        unloadable = [(each, why) for each in due if (why := seen[each.unit].unloadable) is not None]
        if unloadable:  # nothing was stopped yet
            raise Failed([self._failure(each, why) for each, why in unloadable])
        ups = [each for level in reversed(tree.levels(self.manifest.services)) for each in level]
        stops = [service for service in ups if service.unit in plan.restart]
        self._note(dict.fromkeys((*plan.restart, *plan.start), PENDING))
        ends = [service for service in ups if service.unit in plan.start and not seen[service.unit].down]
        down = [*stops, *ends]
        users = {service.unit: service.user for service in down}
        states.stop(users, [service.stop_timeout for service in down], run=self.run)
        self._note({service.unit: service.restart for service in ups if service.unit in plan.note})
        self.begun = time.time()  # what ran before may have ended with words of its own
        for level in tree.levels(self.manifest.services):
            asked = [service for service in level if service.unit in (*plan.restart, *plan.start)]
            failures = [failure for failure in map(self._start, asked) if failure is not None]
            if failures:
                raise Failed(failures)
            self._wait([*asked, *(service for service in level if service.unit in plan.wait)])

    def _start(self, service: Service) -> Failure | None:
        """Queue one start, with its limit of starts forgotten: on systemd 262 one bad unit keeps all from starting.

        Not where its address answers already: whoever does would answer for it, and it could not listen there. Where
        that was sure before anything stopped, `ports.unmet` has said it.
        """
        if service.health is not None and health.taken(service.health, ports.FREE):
            return Failure(
                service.unit,
                service.user,
                f"was not started: another program{ports.holder(service.health)} answers at {service.health}",
                (),
                host=True,
            )
        managers.systemctl("reset-failed", service.unit, user=service.user, run=self.run)
        said = managers.systemctl("start", "--no-block", service.unit, user=service.user, run=self.run)
        return None if said.done else self._failure(service, f"cannot be started: {said.first}")

    def _wait(self, services: Sequence[Service]) -> None:
        """Wait until all of them serve."""
        left = {service.unit: service for service in services}
        begun = time.monotonic()
        pause = 0.05
        last: dict[str, str] = {}
        since: dict[tuple[str, str], float] = {}
        while left:
            seen = states.look({unit: service.user for unit, service in left.items()}, run=self.run)
            failures = []
            for service in list(left.values()):
                found = seen[service.unit]
                why = found.dead(self.tries)
                if why is not None:
                    failures.append(self._failure(service, why))
                elif found.ready and (sick := self._unwell(service, found, since)) is None:
                    del left[service.unit]
                    self._note({service.unit: service.restart})
                else:
                    last[service.unit] = sick if found.ready and sick else f"is {found.words}"
                    if time.monotonic() - begun > service.start_timeout + GRACE:
                        waited = f"does not serve after {service.start_timeout} seconds: {last[service.unit]}"
                        failures.append(self._failure(service, waited))
            if failures:
                raise Failed(failures)
            if left:
                time.sleep(pause)
                pause = min(pause * 1.5, 0.5)

    @staticmethod
    def _unwell(service: Service, found: Seen, since: dict[tuple[str, str], float]) -> str | None:
        if service.health is not None:
            return health.unwell(service.health)
        now = time.monotonic()
        first = since.setdefault((service.unit, found["NRestarts"]), now)
        return None if now - first >= STEADY else f"is {found.words}"

    def _failure(self, service: Service, why: str) -> Failure:
        lines = managers.journal(service.unit, self.begun, user=service.user, run=self.run)
        host = any(words in line.lower() for line in lines for words in _OF_THE_HOST)
        return Failure(service.unit, service.user, why, tuple(lines), host=host)

    def _user(self, unit: str) -> str | None:
        for service in self.manifest.services:
            if unit == service.unit or unit in service.conflicts:
                return service.user
        return None

    def _note(self, running: Mapping[str, str]) -> None:
        if running:
            self._keep(replace(self.state, running={**self.state.running, **running}))

    def _keep(self, state: State) -> None:
        self.save(state)
        self.state = state
