"""What a host must have before its services can run, and what of that it lacks.

Everything is looked for in one run, and whoever reads the sentences can do what they say. A host that is well must
give none: one false alarm stops the pulls of a fleet. So what cannot be seen is not missing, and what an older
manifest does not name is not asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from . import access, cdi, needed_files, needed_programs, needed_users
from .managers import Run, Trouble
from .people import Person, below, person
from .said_by_units import entries, texts


def unmet(manifest: Mapping[str, Any], root: str, run: Run, tree: str | None = None) -> list[str]:
    """Look for what a manifest says that its host must have; one sentence for each thing that is not there.

    `manifest` is manifest.json as it was read, `tree` its directory: with it also is said which files the services
    may not read. What stands below `root` is looked for there; Podman and systemd are asked where this runs.
    """
    needs = _Needs(manifest, root, run, tree)
    found: list[str] = []
    for look in (_system, _users, _devices, _held, _files):
        found += _looked(look, needs)
    return list(dict.fromkeys(found))


def _looked(look: Callable[[_Needs], Iterator[str]], needs: _Needs) -> Iterator[str]:
    """What one look finds; where it cannot go on, why."""
    try:
        yield from look(needs)
    except Trouble as trouble:
        yield str(trouble)


class _Needs:
    """`requires` of a manifest, and who runs its services."""

    def __init__(self, manifest: Mapping[str, Any], root: str, run: Run, tree: str | None) -> None:
        self.manifest = manifest
        self.root = root
        self.run = run
        self.tree = tree
        requires = manifest.get("requires")
        self._requires: Mapping[str, Any] = requires if isinstance(requires, dict) else {}
        paths = [str(each.get("path", "")) for each in entries(manifest, "files")]
        self.containers = any(path.endswith(".container") for path in paths)
        self.units = bool(paths)
        users = [each.get("user") for each in entries(manifest, "services")]
        names = [*self.names("linger"), *texts(users)]
        self.user = names[0] if names else None
        """Whose services these are; None: the system's."""
        self.who: Person | None = None if self.user is None else person(self.user, root)

    def names(self, kind: str) -> list[str]:
        """What of a kind the host must have."""
        return texts(self._requires.get(kind))

    @property
    def podman(self) -> str | None:
        """The least version of Podman."""
        found = self._requires.get("podman")
        return found if isinstance(found, str) else None

    @property
    def asked(self) -> bool:
        """Whether the Podman that holds things for the services can be asked: a user's needs its directory in /run."""
        if self.user is None:
            return True
        return self.who is not None and (self.root != "/" or os.path.isdir(f"/run/user/{self.who.uid}"))


def _system(needs: _Needs) -> Iterator[str]:
    if needs.units:
        yield from needed_programs.systemd(needs.root)
    if needs.containers:
        yield from needed_programs.podman_version(needs.podman, None, needs.run)
        yield from needed_programs.quadlet(needs.user, needs.root, os.environ.get("QUADGEN_QUADLET"))


def _users(needs: _Needs) -> Iterator[str]:
    root, run = needs.root, needs.run
    for name in needs.names("users"):
        if person(name, root) is None:
            made = "useradd --create-home" if name == needs.user else "useradd --system"
            yield f"there is no user {name}; {made} {name}"
    for name in needs.names("linger"):
        who = person(name, root)
        if who is not None:
            yield from needed_users.lingering(who, root)
            if needs.containers:
                yield from needed_users.subordinate(who, root)
    if needs.user is None or needs.who is not None:
        yield from needed_users.grouped(needs.who, needs.names("groups"), needs.names("devices"), root, run)
    for name in needs.names("memlock"):
        who = person(name, root)
        if who is not None:
            yield from needed_users.locking(who, root, run)


def _devices(needs: _Needs) -> Iterator[str]:
    for device in needs.names("devices"):
        here = below(needs.root, device)
        if access.there(here) is False:
            yield f"there is no {device}: the driver of its GPU is not loaded, or the card is gone"
        elif device == "/dev/dri" and not needed_users.render_nodes(here):
            yield f"there is no card that computes in {device}: no renderD*; the driver of its GPU is not loaded"
    yield from cdi.unmet(needs.names("cdi"), needs.root, needs.who.home if needs.who else None)


def _held(needs: _Needs) -> Iterator[str]:
    if needs.containers and needs.asked:
        yield from needed_programs.secrets(needs.names("secrets"), needs.user, needs.run)
        yield from needed_programs.networks(needs.names("networks"), needs.who, needs.root, needs.run)
    for name in needs.names("credentials"):
        if needs.user is not None and needs.who is None:
            continue
        store = "/etc/credstore" if needs.who is None else f"{needs.who.home}/.config/credstore"
        path = f"{store}/{name}"
        if access.there(below(needs.root, path)) is False:
            whose = "" if needs.who is None else f"as {needs.who.name}: "
            yield f"there is no credential {name} in {store}; {whose}install -D -m 0600 FILE {path}"
        elif needs.who is not None and access.may(below(needs.root, path), needs.who, access.READ) is False:
            yield f"{needs.who.name} may not read its credential {path}; chown {needs.who.name} {path}"


def _files(needs: _Needs) -> Iterator[str]:
    yield from needed_programs.programs(needs.names("programs"), needs.root)
    yield from needed_files.unmet(needs.manifest, needs.root, needs.names("files"), needs.tree)
