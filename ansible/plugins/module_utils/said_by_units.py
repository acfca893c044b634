"""What rendered units say of the files that they read, and as whom: of each, as much as is certain."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .people import BARE_ROOT, NOBODY_KNOWN, Person, group, person

_ROOTED: Final = "ghcr.io/ggml-org/llama.cpp:"
"""Images whose process is known to be root (llama.cpp's .devops/*.Dockerfile have no USER); of others nobody says."""

_OWN_IDS: Final = ("AddCapability=", "GroupAdd=", "GIDMap=", "SubUIDMap=", "UIDMap=", "User=", "UserNS=")
_OWN_ARGUMENTS: Final = ("--cap-add", "--user", "--uidmap", "--gidmap", "--subuidname")
_KEPT: Final = "GroupAdd=keep-groups"
"""What makes a container's process another than whoever starts it, or lets it read more or less."""

_OWN_GROUPS: Final = ("AmbientCapabilities=", "CapabilityBoundingSet=", "SupplementaryGroups=")
_HARMLESS: Final = ("SupplementaryGroups=render", "SupplementaryGroups=video")


_nameless: Final = re.compile("[\0\ud800-\udfff]")
"""What no call of the system takes in a name."""

_program: Final = re.compile(r"ExecStart=(/[A-Za-z0-9_./+-]+)(?: .*)?").fullmatch
"""A program without quotes and specifiers; of others nothing is said."""


@dataclass(frozen=True)
class Reader:
    """A unit, the files that it asserts, and who reads them."""

    unit: str
    files: tuple[str, ...]
    mounts: tuple[tuple[str, str], ...] | None
    """Of a container: what it sees of the host, and where; None where it sees everything."""
    who: Person | None
    """None: that cannot be said."""
    passing: bool
    """Whether who starts it must get through every directory above what is mounted, too."""
    program: str | None = None
    """What a native service runs."""
    unified: bool = False
    """Whether it computes with CUDA, natively and behind a list of devices."""


def readers(manifest: Mapping[str, Any], directory: str, root: str) -> Iterator[Reader]:
    """Read the units of a tree. `directory` is that of the manifest; a file that cannot be read says nothing."""
    services = {each["unit"]: each for each in entries(manifest, "services") if isinstance(each.get("unit"), str)}
    for path, unit in files_of(manifest):
        try:
            with open(os.path.join(directory, path), encoding="utf-8", errors="replace") as file:
                lines = [line for line in file.read().splitlines() if not line.startswith("#")]
        except OSError:
            continue
        files = tuple(
            line.partition("=")[2].replace("%%", "%") for line in lines if line.startswith("AssertPathExists=")
        )
        service = services.get(unit, {})
        user = service.get("user")
        if path.endswith(".container"):
            who = _boxed(lines, user, service.get("image"), root)
            yield Reader(unit, files, tuple(_mounts(lines)), who, passing=isinstance(user, str))
        elif service:
            who = person(user, root) if isinstance(user, str) else _native(lines, root)
            program = next((found[1] for found in map(_program, lines) if found), None)
            yield Reader(unit, files, None, who, passing=True, program=program, unified=_unified(lines))


def files_of(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each file of a manifest that becomes a unit: its path, and the unit's name."""
    for entry in entries(manifest, "files"):
        both = texts([entry.get("path"), entry.get("unit")])
        if len(both) == 2:  # noqa: PLR2004 - neither is missing
            yield both[0], both[1]


def texts(value: object) -> list[str]:
    """The texts in a list that can name something; none where it is something else."""
    found = [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
    return [each for each in found if each and not _nameless.search(each)]


def entries(manifest: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """The objects of a list of the manifest; none where it is something else."""
    found = manifest.get(key)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _mounts(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        parts = line.removeprefix("Volume=").replace("%%", "%").split(":")
        if line.startswith("Volume=/") and len(parts) > 1:
            yield os.path.normpath(parts[0]), os.path.normpath(parts[1])


def _unified(lines: list[str]) -> bool:
    cuda = any(line.startswith("Environment=CUDA_VISIBLE_DEVICES=") for line in lines)
    return cuda and "DevicePolicy=closed" in lines


def _boxed(lines: list[str], user: object, image: object, root: str) -> Person | None:
    """Who the server is in a container: its rootless user, or root."""
    own = any(line.startswith(_OWN_IDS) and line != _KEPT for line in lines)
    own |= any(word in line for line in lines if line.startswith("PodmanArgs=") for word in _OWN_ARGUMENTS)
    if own or "DropCapability=all" not in lines:
        return None
    if isinstance(user, str):
        return person(user, root)
    return BARE_ROOT if str(image).startswith(_ROOTED) else None


def _native(lines: list[str], root: str) -> Person | None:
    """Who a native service of the system is: its user, or one that systemd makes up, with its groups."""
    own = [line for line in lines if line.startswith(_OWN_GROUPS) and line not in _HARMLESS and line[-1] != "="]
    if own:
        return None
    named = [group(name, root) for name in ("render", "video") if f"SupplementaryGroups={name}" in lines]
    joined = frozenset(gid for gid in named if gid is not None)
    user = next((line.partition("=")[2] for line in lines if line.startswith("User=")), "a user of its own")
    if "DynamicUser=yes" in lines:
        return Person(user, NOBODY_KNOWN, NOBODY_KNOWN, joined, "/")
    who = person(user, root)
    return None if who is None else who.joined(joined)
