"""What a manifest says of its host, as far as a review tells it: the services with their files, and what they need."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from quadgen.ownership import MANIFEST, listed
from quadgen.problems import Collector


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One service, as a manifest lists it."""

    name: str
    unit: str
    path: str
    """Its unit's file, below the host's directory."""
    restart: str
    """The digest of what a running service was started with."""
    autostart: bool
    """Whether it is started by itself; yes in a manifest that does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A host by its manifest."""

    services: Mapping[str, Service]
    requires: frozenset[tuple[str, str]]
    """What the host must have: a kind, as the manifest names it, and a value."""


NOTHING = Listed(services={}, requires=frozenset())


def read(data: bytes, host: str) -> Listed | None:
    """Read a manifest; None where quadgen did not write it for this host."""
    if listed(data, host=host, file=MANIFEST, problems=Collector()) is None:
        return None
    manifest = json.loads(data)
    running = manifest.get("services")
    manual = {
        entry.get("unit")
        for entry in (running if isinstance(running, list) else ())
        if isinstance(entry, dict) and entry.get("autostart") is False
    }
    services = {}
    for entry in manifest["files"]:
        path, name = entry["path"], entry.get("service")
        name = name if isinstance(name, str) else path
        unit = entry.get("unit")
        unit = unit if isinstance(unit, str) else path.rpartition("/")[2]
        services[name] = Service(
            name=name, unit=unit, path=path, restart=str(entry.get("restart")), autostart=unit not in manual
        )
    needs = manifest.get("requires")
    return Listed(services=services, requires=frozenset(_needs(needs if isinstance(needs, dict) else {})))


def _needs(requires: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for kind, values in requires.items():
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, str):
                yield kind, value
            elif isinstance(value, dict):  # a checkpoint: its files and their size
                files = value.get("files")
                names = ", ".join(map(str, files)) if isinstance(files, list) else ""
                yield kind, f"{names} ({value.get('size')} bytes)"
