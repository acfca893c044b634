"""What a pull has to do on this host: the one look that most pulls end with, because it finds nothing."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from . import placing, ports, reaching, recording, requirements, shadows, starting, state, states, tree
from .managers import Run, Trouble
from .state import State
from .stopping import Stopper
from .tree import Manifest

_CONTAINER = ".container"


@dataclass(frozen=True)
class Asked:
    """Which host this is, and where its things are."""

    host: str
    tree: str | None
    """The directory that was rendered for the host; None where it is to have nothing."""
    digest: str | None
    """That of its manifest, which stands for the whole tree."""
    root: str
    state_dir: str
    good: str | None
    """The last tree that was healthy."""


@dataclass(frozen=True)
class Survey(Asked):
    """What is to be done. Paths begin at the root of the host; units are in the order in which they come."""

    fallback: str | None
    """What to go back to where this tree does not become healthy: `good`, but not where that is the same, or where
    nothing is to be left."""
    changed: bool
    interrupted: bool
    """An earlier run was ended while it changed something."""
    create: list[str]
    update: list[str]
    remove: list[str]
    stop: list[str]
    restart: list[list[str]]
    start: list[str]
    enable: list[str]
    """Native units that start with the host and should not, or the other way round."""
    reload: bool
    """systemd has not read what is installed."""
    pull: list[dict[str, str | None]]
    """Images that this host has not had before; Podman was not asked."""
    drop: list[dict[str, str | None]]
    unmet: list[str]
    """Why nothing can be changed; looked for only where something is to be."""
    warnings: list[str]

    def result(self) -> dict[str, Any]:
        """What a module returns."""
        return asdict(self)


@dataclass(frozen=True)
class _Units:
    """What systemd says of the units of a host, and why managers that are needed do not answer."""

    seen: Mapping[str, states.Seen]
    silent: Mapping[str | None, str]


def survey(tree_root: str, host: str | None, root: str, place: str, *, retired: bool, retry: bool, run: Run) -> Survey:
    """Compare this host with the tree that was rendered for it.

    Reads only, and asks each systemd once. Raises Trouble for a host that the tree does not have and that is not
    retired, for a tree that was rolled back before (but for `retry`), and for another machine's state.
    """
    with state.locked(place, reading=True):
        known = state.read(place)
        name, directory = chosen(tree_root, host, known, retired=retired)
        planned = placing.plan(directory, root, known)
        if directory is not None and planned.manifest.host != name:
            raise Trouble(f"{directory} has the manifest of {planned.manifest.host}: render the fleet again")
        if known.refused is not None and known.refused == planned.manifest.sha256 and not retry:
            again = "commit another, or try it again with retry (quadgen_retry=true of the role)"
            raise Trouble(f"this tree was rolled back before: {known.reason}; {again}")
        digest = None if directory is None else planned.manifest.sha256
        return _compared(Asked(name, directory, digest, root, place, state.good(place)), planned, known, run)


def _compared(asked: Asked, planned: placing.Plan, known: State, run: Run) -> Survey:
    manifest = planned.manifest
    units = _look(manifest, known, run)
    after = placing.expected(planned, known)
    leaving = Stopper(manifest, known, lambda _: None).due(())
    answering = [each for each in manifest.services if each.user not in units.silent]
    services = starting.planned(replace(manifest, services=tuple(answering)), after, units.seen)
    levels = [[unit for unit in level if unit in services.restart] for level in tree.units(tree.levels(answering))]
    stop = [unit for unit in leaving if unit in units.seen and not units.seen[unit].down]
    enable = [each.unit for each in answering if states.switch(units.seen[each.unit], autostart=each.autostart)]
    interrupted = bool(known.pending) or bool(known.stale) or starting.PENDING in known.running.values()
    reload = any(units.seen[each.unit].stale for each in answering)
    to_do = (planned.changes, planned.problems, units.silent, stop, services.changes, enable, interrupted, reload)
    good, broken = recording.last(asked.state_dir)
    asked = replace(asked, good=None if broken else asked.good)
    settled = known == state.NEW if asked.tree is None else good.sha256 == manifest.sha256
    changed = any(map(bool, to_do)) or not settled
    due = [each for each in answering if each.unit in (*services.restart, *services.start)]
    host = ports.Host(asked.root, known, good, manifest, units.seen)
    return Survey(
        **asdict(asked),
        fallback=None if asked.tree is None or good.sha256 == manifest.sha256 else asked.good,
        changed=changed,
        interrupted=interrupted,
        create=planned.paths("create"),
        update=planned.paths("update"),
        remove=planned.paths("remove"),
        stop=stop,
        restart=[level for level in levels if level],
        start=list(services.start),
        enable=enable,
        reload=reload,
        pull=[
            {"image": image, "user": user} for image, user in _sorted(manifest.images - good.images - set(known.images))
        ],
        drop=[{"image": image, "user": user} for image, user in _sorted(set(known.images) - manifest.images)],
        unmet=[*_unmet(planned, units, asked, run), *ports.unmet(due, host)] if changed else [],
        warnings=[*([f"there is nothing to go back to: {broken}"] if broken else []), *_foreign(manifest, asked.root)],
    )


def chosen(tree_root: str, host: str | None, known: State, *, retired: bool) -> tuple[str, str | None]:
    """Which host this is, and the directory that was rendered for it; None for one that is retired."""
    node = os.uname().nodename
    names = [host] if host else list(dict.fromkeys([node, node.partition(".")[0]]))
    try:
        there = sorted(each.name for each in os.scandir(tree_root) if os.path.isfile(f"{each.path}/{tree.MANIFEST}"))
    except OSError as error:
        if not retired:
            raise Trouble(f"cannot read {tree_root}: {error.strerror}") from error
        there = []
    found = next((name for name in names if name in there), None)
    if found is None and not retired:
        near = list(dict.fromkeys(close for name in names for close in difflib.get_close_matches(name, there)))
        like = f", but for {' and '.join(near)}" if near else ""
        said = f"; what it has was rendered for {known.host}" if known.host else ""
        raise Trouble(f"{tree_root} has nothing for {' or '.join(names)}{like}, and this host is not retired{said}")
    name = found or known.host or names[0]
    if known.host not in (None, name):
        raise Trouble(f"this machine has what was rendered for {known.host}, and is now called {name}: say which it is")
    return name, None if retired or found is None else os.path.join(tree_root, found)


def _look(manifest: Manifest, known: State, run: Run) -> _Units:
    """Ask each systemd once for every unit that is, was, or is in the way."""
    users = {unit: owned.user for unit, owned in known.services.items()}
    users.update({each.unit: each.user for each in manifest.services})
    for service in manifest.services:
        for other in service.conflicts:
            users.setdefault(other, service.user)
    seen: dict[str, states.Seen] = {}
    silent: dict[str | None, str] = {}
    for user in sorted(set(users.values()), key=lambda user: user or ""):
        try:
            seen.update(states.look({unit: each for unit, each in users.items() if each == user}, run=run))
        except Trouble as trouble:
            if any(each.user == user for each in manifest.services):  # a user who is gone runs nothing that could stay
                silent[user] = str(trouble)
    return _Units(seen, silent)


def _unmet(planned: placing.Plan, units: _Units, asked: Asked, run: Run) -> list[str]:
    found = [*planned.problems, *requirements.unmet(planned.manifest.raw, asked.root, run, asked.tree)]
    found += shadows.unmet(planned.manifest.raw, asked.root, planned.paths("remove"))
    for user, sentence in units.silent.items():
        if user is None or not any(user in each for each in found):  # who is not there, or does not linger, has said it
            found.append(sentence)
    return list(dict.fromkeys(found))


def _foreign(manifest: Manifest, root: str) -> Iterator[str]:
    """Name the drop-ins beside the files of a tree: they change its services, and nobody rendered them."""
    places = {}
    for file in manifest.files:
        above, _, name = file.path.rpartition("/")
        places[f"{above}/{name}.d"] = name
        if name.endswith(_CONTAINER):
            places[f"{above}/container.d"] = "every container there"
            if above.startswith("etc/") and file.unit:
                places[f"etc/systemd/system/{file.unit}.d"] = name
    for directory, what in places.items():
        for name in reaching.names(root, directory):
            path = f"{directory}/{name}"
            if name.endswith(".conf") and path not in manifest.paths:
                yield f"/{path} changes {what}, and is not quadgen's"


def _sorted(images: Iterable[tuple[str, str | None]]) -> list[tuple[str, str | None]]:
    return sorted(images, key=lambda each: (each[0], each[1] or ""))
