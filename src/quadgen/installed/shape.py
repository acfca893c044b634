"""Whether what a manifest says of files and services has the shape in which quadgen writes it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

_UNIT: Final = re.compile(r"(?!-)[A-Za-z0-9:_.\\@-]+\.[a-z]+")
_USER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\$?")
"""Names that useradd(8) takes."""
_MODE: Final = re.compile(r"0[0-7]{3}")


def misshapen(manifest: Mapping[str, Any]) -> str | None:
    """What is wrong, e.g. `the mode of etc/x is not four octal digits`; None where nothing is.

    `files` is a list of objects with a `path` each (`ownership.listed`); earlier manifests have no `services`.
    """
    services = manifest.get("services", [])
    if not isinstance(services, list) or not all(isinstance(each, dict) for each in services):
        return "`services` is not a list of objects"
    return next(chain(_of_files(manifest["files"]), _of_services(services)), None)


def _of_files(files: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for entry in files:
        path = entry["path"]
        if "mode" in entry and not _is(_MODE, entry["mode"]):
            yield f"the mode of {path} is not four octal digits"
        if entry.get("unit") is not None and not _is(_UNIT, entry["unit"]):
            yield f"the unit of {path} is not the name of one"
        if not all(isinstance(entry.get(key), str | None) for key in ("service", "restart")):
            yield f"the service or the digest of {path} is not text"


def _of_services(services: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for number, entry in enumerate(services, 1):
        unit, user, conflicts = entry.get("unit"), entry.get("user"), entry.get("conflicts", [])
        if not _is(_UNIT, unit):
            yield f"the unit of service {number} is not the name of one"
        if user is not None and not _is(_USER, user):
            yield f"the user of service {number} is not the name of one"
        if not isinstance(entry.get("autostart", True), bool):
            yield f"`autostart` of service {number} is neither true nor false"
        if not isinstance(conflicts, list) or not all(_is(_UNIT, each) for each in conflicts):
            yield f"`conflicts` of service {number} is not a list of units"


def _is(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None
