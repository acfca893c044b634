"""Ending the services that leave a host, before their files go: afterwards systemd could not tell how to end them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from . import managers, states, tree
from .managers import Run, Trouble
from .starting import PENDING
from .state import Owned, State, remembered
from .states import Seen
from .tree import Manifest, Service


def leaving(manifest: Manifest, state: State) -> dict[str, Owned]:
    """The services that quadgen owns and that must end before the files of this tree are in place.

    Those that the tree does not have, and those that another manager or another kind of unit shall run: the new
    unit's way to stop would not be that of the old one.
    """
    kept = {service.unit: service for service in manifest.services}
    moved = {unit_of(path) for path in state.owned - manifest.paths}
    return {
        unit: owned
        for unit, owned in state.services.items()
        if unit not in kept or kept[unit].user != owned.user or unit in moved
    }


def unit_of(path: str) -> str:
    """The unit that a file of a service becomes: `x.service` of x.container as of x.service."""
    return os.path.splitext(os.path.basename(path))[0] + ".service"


@dataclass
class Stopper:
    """Ends services. `save` keeps a state, and is called once they are down."""

    manifest: Manifest
    state: State
    save: Callable[[State], None]
    run: Run = managers.run

    def due(self, units: Iterable[str]) -> dict[str, Owned]:
        """Those that leave, and these `units` of the tree or the state beside them; last in `after` comes first."""
        named = set(units)
        known = {**remembered(self.manifest.services), **self.state.services}
        found = {unit: each for unit, each in known.items() if unit in named}
        found.update(leaving(self.manifest, self.state))
        levels = tree.levels([_service(unit, owned) for unit, owned in found.items()])
        return {each.unit: found[each.unit] for level in reversed(levels) for each in level}

    def reachable(self, due: Mapping[str, Owned]) -> dict[str, Owned]:
        """Those whose manager runs. A user who is gone, or whose manager does not run, runs no service either."""
        users = {owned.user for owned in due.values()}
        there = {user for user in users if managers.runs(user, run=self.run)}
        return {unit: owned for unit, owned in due.items() if owned.user in there}

    def seen(self, due: Mapping[str, Owned]) -> dict[str, Seen]:
        """What systemd says of them."""
        return states.look({unit: owned.user for unit, owned in due.items()}, run=self.run)

    def end(self, due: Mapping[str, Owned], seen: Mapping[str, Seen]) -> None:
        """Stop those of `due` that `seen` has, and start none of them with the host any more.

        They stay in the state until their manager has read that they are gone: `Starter.reload`.
        """
        states.stop({unit: due[unit].user for unit in seen}, [due[unit].stop_timeout for unit in seen], run=self.run)
        gone = leaving(self.manifest, self.state)
        for unit, found in seen.items():
            user = due[unit].user
            managers.systemctl("reset-failed", unit, user=user, run=self.run)
            word = states.switch(found, autostart=False) if unit in gone else None
            if word is not None:
                said = managers.systemctl(word, unit, user=user, run=self.run)
                if not said.done:
                    raise Trouble(f"systemctl cannot {word} {unit}: {said.why}")
        kept = {service.unit for service in self.manifest.services}
        running = {unit: digest for unit, digest in self.state.running.items() if unit not in due}
        # What moves was stopped only to be started again.
        running.update({unit: PENDING for unit, found in seen.items() if unit in gone and unit in kept and found.up})
        if running != self.state.running:
            self.state = replace(self.state, running=running)
            self.save(self.state)


def _service(unit: str, owned: Owned) -> Service:
    """A service of which only its place among others is known."""
    return Service(
        unit=unit,
        user=owned.user,
        restart=owned.restart,
        after=owned.after,
        autostart=False,
        conflicts=(),
        health=None,
        image=None,
        pull=None,
        start_timeout=0,
        stop_timeout=0,
    )
