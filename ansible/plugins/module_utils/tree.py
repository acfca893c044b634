"""The tree that quadgen rendered for a host: its manifest, and the files that it lists.

It is input, and nobody's promise: a path that leaves the directory, or a file that is not what its manifest says,
disqualifies the whole tree before anything is done with it.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from .managers import Trouble

MANIFEST: Final = "manifest.json"
MODES: Final = {"0644": 0o644, "0755": 0o755}

_PART: Final = r"(?!\.\.?(?:/|\Z))[^/\\\x00-\x1f\x7f\ud800-\udfff]+"
_PATH: Final = re.compile(f"{_PART}(?:/{_PART})*")
_UNIT: Final = re.compile(r"[A-Za-z0-9:_.\\@-]+\.[a-z]+")
"""The characters of unit names (systemd.unit(5)); none of them leads an option or a path."""
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_USER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\$?")

LARGEST: Final = 1 << 26
"""Bytes of a file that is read: thousands of times what a unit or a manifest has. A file of holes that somebody puts
there would else take all of the host's memory."""


@dataclass(frozen=True)
class File:
    """A file that the manifest lists; its path mirrors the root file system and has no leading slash."""

    path: str
    sha256: str
    mode: int
    unit: str | None
    """The unit that it becomes, with its suffix; None in what is not a unit."""
    restart: str | None
    """A digest of the unit's words without its comments."""


@dataclass(frozen=True)
class Service:
    """A service of the host, as systemd knows it: `unit` and the names in `after` and `conflicts` have suffixes."""

    unit: str
    user: str | None
    """None is the system's own systemd."""
    restart: str
    """That of its file."""
    after: tuple[str, ...]
    autostart: bool
    conflicts: tuple[str, ...]
    health: str | None
    """What answers 200 to a GET when it serves; None where nothing is to be asked."""
    image: str | None
    pull: str | None
    """Podman's pull policy; `image` and `pull` are None for native units."""
    start_timeout: int
    """Seconds, as `stop_timeout`."""
    stop_timeout: int


@dataclass(frozen=True)
class Manifest:
    """What a manifest says; older ones have no `services`: they say what to install and remove only."""

    host: str
    files: tuple[File, ...]
    services: tuple[Service, ...]
    raw: Mapping[str, Any]
    """All of it, as it was read: `requires` says what the host must have."""
    sha256: str
    """Of the manifest's bytes: it stands for the whole tree, each of whose files it names by digest."""

    @property
    def paths(self) -> frozenset[str]:
        """Of its files."""
        return frozenset(file.path for file in self.files)

    @property
    def images(self) -> frozenset[tuple[str, str | None]]:
        """Each image with the user in whose storage it must be."""
        return frozenset((each.image, each.user) for each in self.services if each.image is not None)

    def user_of(self, file: File) -> str | None:
        """Whose manager reads a file; None is the system's, or that nobody says."""
        return next((each.user for each in self.services if each.unit == file.unit), None)


NOTHING: Final = Manifest(host="", files=(), services=(), raw={}, sha256="")
"""The manifest of a host that is to have nothing: a tree of `None`."""


def read(directory: str | None, digest: str | None = None) -> Manifest:
    """Read the manifest of a tree; that of None is `NOTHING`. Raises Trouble where it is none of quadgen's.

    With the `digest` of the manifest that a pull began with also where there is another one by now.
    """
    if directory is None:
        return NOTHING
    path = os.path.join(directory, MANIFEST)
    manifest = parsed(bytes_of(path), path)
    if digest is not None and manifest.sha256 != digest:
        raise Trouble(f"{directory} is not the tree any more that this run began with: the next run takes the new one")
    return manifest


def parsed(data: bytes, path: str) -> Manifest:
    """Read the bytes of a manifest; `path` is for the sentence of the Trouble that it may raise."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise Trouble(f"{path} is not JSON") from None
    if not isinstance(found, dict) or found.get("version") != 1 or not isinstance(found.get("files"), list):
        raise Trouble(f"{path} is no manifest of quadgen: it is not `version: 1` with a list of `files`")
    try:
        files = tuple(_file(each) for each in found["files"])
        restarts = {file.unit: file.restart for file in files if file.unit is not None}
        services = tuple(_service(each, restarts) for each in found.get("services", ()))
        host = _text(found["host"])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise Trouble(f"{path} is no manifest of quadgen: {_said(error)}") from None
    for what, names in (("path", [each.path for each in files]), ("unit", [each.unit for each in services])):
        if len(set(names)) < len(names):
            raise Trouble(f"{path} is no manifest of quadgen: it lists a {what} twice")
    return Manifest(host=host, files=files, services=services, raw=found, sha256=sha256(data).hexdigest())


def content(directory: str, file: File) -> bytes:
    """Read a file of a tree; raises Trouble where it is not the one of the manifest."""
    path = os.path.join(directory, file.path)
    data = bytes_of(path)
    if sha256(data).hexdigest() != file.sha256:
        raise Trouble(f"{path} is not what the manifest beside it says: render the fleet again and commit both")
    return data


def bytes_of(path: str) -> bytes:
    """Read a regular file; raises Trouble where there is none."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would wait for a writer
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise Trouble(f"cannot read {path}: it is not a file")
            with open(handle, "rb", closefd=False) as stream:
                data = stream.read(LARGEST + 1)
            if len(data) > LARGEST:
                raise Trouble(f"cannot read {path}: it has more than {LARGEST} bytes")
            return data
        finally:
            os.close(handle)
    except OSError as error:
        raise Trouble(f"cannot read {path}: {error.strerror}") from error


def levels(services: Iterable[Service]) -> list[list[Service]]:
    """Order services by `after`: each level after all before it, sorted by name within.

    Names of units that are not among `services` do not count. Units in a ring, which systemd breaks somewhere, come
    together in one level, as late as what they wait for.
    """
    left = {each.unit: each for each in services}
    found: list[list[Service]] = []
    while left:
        ready = [each for each in left.values() if not any(name in left and name != each.unit for name in each.after)]
        level = sorted(ready or left.values(), key=lambda each: each.unit)
        found.append(level)
        for each in level:
            del left[each.unit]
    return found


def units(services: Sequence[Sequence[Service]]) -> list[list[str]]:
    """The names of levels."""
    return [[each.unit for each in level] for level in services]


def ancestors(path: str) -> tuple[str, ...]:
    """The directories above a path, outermost first."""
    parts = path.split("/")[:-1]
    return tuple("/".join(parts[:count]) for count in range(1, len(parts) + 1))


def is_path(value: object) -> bool:
    """Whether a value is a plain relative path that stays below where it starts."""
    return isinstance(value, str) and _PATH.fullmatch(value) is not None


def _file(entry: dict[str, Any]) -> File:
    path = entry["path"]
    if not is_path(path) or path == MANIFEST:
        raise ValueError(f"a path is not plain and relative: {path!r}")
    if entry["mode"] not in MODES:
        raise ValueError(f"a mode is neither 0644 nor 0755: {entry['mode']!r}")
    return File(
        path=path,
        sha256=_matching(_DIGEST, entry["sha256"]),
        mode=MODES[entry["mode"]],
        unit=None if entry.get("unit") is None else _matching(_UNIT, entry["unit"]),
        restart=None if entry.get("restart") is None else _text(entry["restart"]),
    )


def _service(entry: dict[str, Any], restarts: Mapping[str, str | None]) -> Service:
    health, image, pull, user = (entry[key] for key in ("health", "image", "pull", "user"))
    if image is not None and _text(image).startswith("-"):
        raise ValueError(f"an image is an option: {image!r}")
    unit = _matching(_UNIT, entry["unit"])
    if not restarts.get(unit):
        raise ValueError(f"no file becomes {unit}")
    return Service(
        unit=unit,
        user=None if user is None else _matching(_USER, user),
        restart=_text(restarts[unit]),
        after=tuple(_matching(_UNIT, each) for each in entry["after"]),
        autostart=entry["autostart"] is True,
        conflicts=tuple(_matching(_UNIT, each) for each in entry["conflicts"]),
        health=None if health is None else _text(health),
        image=image,
        pull=None if pull is None else _text(pull),
        start_timeout=int(entry["start_timeout"]),
        stop_timeout=int(entry["stop_timeout"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _matching(pattern: re.Pattern[str], value: object) -> str:
    if not isinstance(value, str) or value.startswith("-") or not pattern.fullmatch(value):
        raise ValueError(f"{value!r} is not what it should be")
    return value


def _said(error: Exception) -> str:
    return f"there is no {error}" if isinstance(error, KeyError) else str(error)
