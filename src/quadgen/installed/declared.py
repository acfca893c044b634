"""What was rendered for a host, as values: its files, and the units that its managers make of them."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from quadgen import ownership
from quadgen.installed.shape import misshapen
from quadgen.ownership import MANIFEST
from quadgen.problems import Collector, Place, Problem
from quadgen.tree import FILE_MODE

_AT_HOME: Final = re.compile(r"(?P<home>.+)/\.config/(?:containers/systemd|systemd/user)/[^/]+").fullmatch
"""The files of a user's own manager."""
_INSTALL: Final = re.compile(rb"^\[Install\]$", re.MULTILINE).search


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """One host's directory in a rendered tree."""

    host: str
    directory: str
    """As the user wrote it."""
    files: tuple["DeclaredFile", ...]
    """Sorted by path."""

    @property
    def units(self) -> tuple["DeclaredFile", ...]:
        """The files that a service is made of."""
        return tuple(file for file in self.files if file.unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredFile:
    """One file of a host, and what its manifest says of the service that is made of it."""

    path: str
    """Below the root of the host's file system, without a slash in front."""
    data: bytes
    mode: int
    service: str | None = None
    unit: str | None = None
    """The service as systemd calls it, with its suffix."""
    restart: str | None = None
    """Digest of the words that the service is to run with."""
    user: str | None = None
    """Whose manager runs it; None is the system's."""
    home: str | None = None
    """The directory of that user, below the root; None is the system's."""
    autostart: bool = True
    conflicts: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]

    @property
    def is_quadlet(self) -> bool:
        """Whether Podman's generator makes the unit, rather than systemd reads it."""
        return not self.name.endswith(".service")


def declared(
    host: str, directory: str, manifest: bytes, held: Callable[[str], bytes | None], problems: Collector
) -> Declared | None:
    """What a manifest lists. `held` has the bytes of a file below its host's directory, None where it is not there.

    None where quadgen did not write the manifest for this host (`not-ours`); a file that is listed and not there is
    `file-missing`.
    """
    place = f"{directory}/{MANIFEST}"
    if ownership.listed(manifest, host=host, file=place, problems=problems) is None:
        return None
    whole: dict[str, Any] = json.loads(manifest)
    why = misshapen(whole)
    if why is not None:
        message = f"{ownership.shown(place)} is no manifest that quadgen wrote for {host}: {why}"
        at = Place(file=ownership.shown(place), line=1, column=1)
        problems.add(Problem(code="not-ours", message=message, host=host, hint="restore it from git", place=at))
        return None
    services = {entry["unit"]: entry for entry in whole.get("services", ())}
    found = []
    for entry in whole["files"]:
        data = held(entry["path"])
        if data is None:
            problems.add(
                Problem(
                    code="file-missing",
                    message=f"the manifest lists {entry['path']}, which is not there",
                    host=host,
                    hint="run `quadgen render` again",
                    place=Place(file=place, line=1, column=1),
                )
            )
        else:
            found.append(_file(entry, services.get(entry.get("unit"), {}), data))
    return Declared(host=host, directory=directory, files=tuple(sorted(found, key=lambda file: file.path)))


def _file(entry: Mapping[str, Any], service: Mapping[str, Any], data: bytes) -> DeclaredFile:
    path: str = entry["path"]
    at_home = _AT_HOME(path)
    home = at_home["home"] if at_home else None
    return DeclaredFile(
        path=path,
        data=data,
        mode=int(entry["mode"], 8) if "mode" in entry else FILE_MODE,
        service=entry.get("service"),
        unit=entry.get("unit"),
        restart=entry.get("restart"),
        user=service.get("user") or (home.rpartition("/")[2] if home else None),
        home=home,
        # a manifest of an earlier quadgen has no services; a unit that does not start by itself has no [Install]
        autostart=service.get("autostart", _INSTALL(data) is not None),
        conflicts=tuple(service.get("conflicts", ())),
    )
