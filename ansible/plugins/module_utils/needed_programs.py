"""The programs of a host: systemd, Podman with its Quadlet generator, and what Podman must hold."""

from __future__ import annotations

import glob
import os
import re
import shutil
import stat
from collections.abc import Iterator
from typing import Final

from . import access
from .managers import Run, Trouble, podman
from .people import Person, below

_QUADLET: Final = ("/usr/libexec/podman/quadlet", "/usr/lib/podman/quadlet")
_GENERATORS: Final = tuple(
    f"{place}/systemd/{{whose}}-generators/podman-{{whose}}-generator"
    for place in ("/run", "/etc", "/usr/local/lib", "/usr/lib", "/lib")
)
"""Where systemd looks for them (systemd.generator(7)); Podman's is a link to its quadlet."""

_PATH: Final = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
"""Where units look for a program without a path (systemd.exec(5))."""

_OWN_NETWORKS: Final = frozenset(("bridge", "default", "host", "none", "pasta", "private", "slirp4netns"))
"""Words of podman-run(1)'s --network that name no network which somebody must have made."""

_version: Final = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


def at_least(found: str, floor: str) -> bool | None:
    """Whether a version is another or later; a pre-release counts as its release. None: one of them is no version."""
    numbers = [_version.search(text) for text in (found, floor)]
    if numbers[0] is None or numbers[1] is None:
        return None
    have, need = (tuple(int(part or 0) for part in number.groups()) for number in numbers if number is not None)
    return have >= need


def systemd(root: str) -> Iterator[str]:
    """Whether systemd is there, and has booted this host."""
    if shutil.which("systemctl") is None:
        yield "systemd is not there: no systemctl; quadgen's units need it"
    elif root == "/" and not os.path.isdir("/run/systemd/system"):
        yield "this host was not booted with systemd, which runs quadgen's units"


def quadlet(user: str | None, root: str, quadlet: str | None) -> Iterator[str]:
    """Whether something makes services of Quadlet files. `quadlet` is a generator that stands elsewhere."""
    whose = "system" if user is None else "user"
    places = [*_QUADLET, *(each.format(whose=whose) for each in _GENERATORS)]
    if quadlet is None and not any(os.path.exists(below(root, each)) for each in places):
        yield f"Podman's Quadlet generator is neither {_QUADLET[0]} nor {_QUADLET[1]}; install Podman whole"


def podman_version(floor: str | None, user: str | None, run: Run) -> Iterator[str]:
    """Whether Podman is there, and as new as the units need it."""
    said = podman("--version", user=user, run=run)
    if said.missing:
        yield f"Podman is not there; install it{'' if floor is None else f', {floor} or later'}"
    elif floor is not None and at_least(said.stdout, floor) is False:
        words = said.stdout.split()
        yield (
            f"Podman is {words[-1]}, and the units were rendered for {floor} or later: an older one drops a unit for "
            f'a key that it does not know; update it, or say `podman: "{words[-1]}"` for this host and render again'
        )


def secrets(names: list[str], user: str | None, run: Run) -> Iterator[str]:
    """Whether Podman has the secrets: each user's Podman has its own."""
    held = _held("secret", user, run) if names else []
    if isinstance(held, str):
        yield held
        return
    for name in names:
        if name not in held:
            yield f"{_whose(user)} has no secret {name}; {_as(user)}podman secret create {name} FILE"


def networks(names: list[str], who: Person | None, root: str, run: Run) -> Iterator[str]:
    """Whether the networks are there: those of Podman, and Quadlet files of networks."""
    user = None if who is None else who.name
    files = [name for name in names if name.endswith(".network")]
    made = [name for name in names if name not in files and name not in _OWN_NETWORKS]
    for name in files:
        places = _quadlet_directories(who)
        if not any(glob.glob(f"{glob.escape(below(root, place))}/**/{name}", recursive=True) for place in places):
            yield f"there is no {name}, which units here join; put that Quadlet file into {places[0]}"
    held = _held("network", user, run) if made else []
    if isinstance(held, str):
        yield held
        return
    for name in made:
        if name not in held:
            yield f"{_whose(user)} has no network {name}; {_as(user)}podman network create {name}"


def programs(names: list[str], root: str) -> Iterator[str]:
    """Whether the programs of native units are there, and are programs."""
    for name in names:
        if name.startswith("/"):
            here = below(root, name)
            if access.there(here) is False:
                yield f"{name} is not there; install it"
            elif not runs(here):
                yield f"{name} is no program; chmod 0755 {name}"
        elif not any(os.path.exists(below(root, f"{place}/{name}")) for place in _PATH) and shutil.which(name) is None:
            yield f"{name} is not there; install it"


def runs(path: str) -> bool:
    """Whether a path may be a program: somebody may run it, or nobody can say."""
    try:
        found = os.stat(path)
    except OSError:
        return True
    return stat.S_ISREG(found.st_mode) and found.st_mode & 0o111 != 0


def _held(what: str, user: str | None, run: Run) -> list[str] | str:
    """The names of Podman's secrets or networks; or a sentence about why nobody knows."""
    try:
        said = podman(what, "ls", "--format={{.Name}}", user=user, run=run)
    except Trouble as trouble:
        return f"{_whose(user)} cannot be asked for its {what}s: {trouble}"
    if said.missing:
        return []
    return said.stdout.split() if said.done else f"{_whose(user)} cannot be asked for its {what}s: {said.why}"


def _whose(user: str | None) -> str:
    return "Podman" if user is None else f"the Podman of {user}"


def _as(user: str | None) -> str:
    return "" if user is None else f"as {user}: "


def _quadlet_directories(who: Person | None) -> list[str]:
    """Where Quadlet looks for files (podman-systemd.unit(5))."""
    if who is None:
        return ["/etc/containers/systemd", "/run/containers/systemd", "/usr/share/containers/systemd"]
    return [
        f"{who.home}/.config/containers/systemd",
        f"/run/user/{who.uid}/containers/systemd",
        f"/etc/containers/systemd/users/{who.uid}",
        "/etc/containers/systemd/users",
        "/usr/share/containers/systemd/users",
    ]
