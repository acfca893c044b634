"""Whose port another program holds: found before anything stops, where it is sure that the program is another.

A service whose port is taken cannot be started, whatever is stopped for it. But what holds the port may be a service
of quadgen's own that gives it away in the same change, and one false alarm would stop every pull of a host. So
nothing is said while one of them runs of which it is not known that it listens elsewhere; the start finds it then.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from . import health, listeners, tree
from .managers import Trouble
from .people import below
from .state import State
from .states import Seen
from .tree import File, Manifest, Service

FREE = 3.0
"""Seconds that what served before has, once it is down, to let go of its port."""


@dataclass(frozen=True)
class Host:
    """What is known of the services of quadgen's that this host has."""

    root: str
    known: State
    good: Manifest
    """That of the last tree that was healthy."""
    manifest: Manifest
    """That of the tree that is to be installed."""
    seen: Mapping[str, Seen]


def unmet(due: Iterable[Service], host: Host) -> list[str]:
    """Say of services that are to be started, or started anew, at which addresses other programs answer.

    Connects to the addresses of `due`, and waits `FREE` seconds at most, where one answers.
    """
    up = _up(host)
    addresses = [(each.unit, each.health) for each in due if each.health is not None]
    held = [(unit, url) for unit, url in addresses if _elsewhere(url, up, host) and _foreign(url, host)]
    end = time.monotonic() + FREE
    return [
        f"another program{holder(url)} answers at {url}: {unit} could not listen there"
        for unit, url in held
        if health.taken(url, end - time.monotonic())
    ]


def holder(url: str) -> str:
    """Which program listens at an address, in brackets after a space; nothing where that cannot be seen."""
    found = _listening(url)
    return f" ({found[0]})" if found else ""


def _up(host: Host) -> list[str]:
    """Units of quadgen's that may hold a port: all that are not known to be down."""
    units = dict.fromkeys([*host.known.services, *(each.unit for each in host.manifest.services)])
    return [unit for unit in units if _moves(unit, host) or unit not in host.seen or not host.seen[unit].down]


def _moves(unit: str, host: Host) -> bool:
    """Whether a unit goes to the manager of another user: that one was asked, and not the one that may run it."""
    owned = host.known.services.get(unit)
    return owned is not None and any(each.unit == unit and each.user != owned.user for each in host.manifest.services)


def _elsewhere(url: str, units: Iterable[str], host: Host) -> bool:
    """Whether it is known that none of these units listens at an address."""
    where = health.where(url)
    return where is not None and all(_silent(unit, where[1], host) for unit in units)


def _silent(unit: str, port: int, host: Host) -> bool:
    """Whether it is known what a unit runs, and that says nothing of a port: quadgen writes each in the unit's file.

    Known is what was started from the last good tree, and whose file nobody touched since.
    """
    owned = host.known.services.get(unit)
    runs = host.known.running.get(unit)
    good = [each for each in host.good.services if each.unit == unit and each.restart == runs]
    if owned is None or not any(each.user == owned.user for each in good) or _moves(unit, host):
        return False
    if unit not in host.seen or host.seen[unit].stale:
        return False
    return all(_unnamed(file, port, host.root) for file in host.good.files if file.unit == unit)


def _unnamed(file: File, port: int, root: str) -> bool:
    """Whether a file is as it was installed, and has no such number."""
    try:
        text = tree.bytes_of(below(root, f"/{file.path}"))
    except Trouble:
        return False
    return sha256(text).hexdigest() == file.sha256 and not re.search(rb"(?<!\d)%d(?!\d)" % port, text)


def _foreign(url: str, host: Host) -> bool:
    """Whether no process of a unit of quadgen's listens at an address, as far as that can be seen."""
    return not any(program.of(unit) for program in _listening(url) for unit in host.known.services)


def _listening(url: str) -> list[listeners.Program]:
    where = health.where(url)
    return [] if where is None else listeners.listening(*where)
