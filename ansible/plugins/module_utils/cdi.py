"""The devices that CDI specifications of a host declare, and what of them went stale.

Podman reads `*.json` and `*.yaml` of its directories, not of those below (tags.cncf.io/container-device-interface,
pkg/cdi/spec-dirs.go). JSON is read as such; of YAML only what stands in a line of its own is, as nvidia-ctk writes it:
a host's Python need not have a library for it.
"""

from __future__ import annotations

import glob
import json
import os
import re
from dataclasses import dataclass
from typing import Any, Final

from .people import below

_DIRECTORIES: Final = ("/etc/cdi", "/run/cdi", "/var/run/cdi")
"""Podman's own, depending on its version."""

_SETTINGS: Final = ("/usr/share/containers/containers.conf", "/etc/containers/containers.conf")
_setting: Final = re.compile(r"^\s*cdi_spec_dirs\s*=\s*\[([^\]]*)\]", re.MULTILINE)
_path: Final = re.compile(r'"(/[^"]*)"')

_kind: Final = re.compile(r"^kind:\s*[\"']?([^\s\"'#]+)", re.MULTILINE)
_block: Final = "^{}:[^\n]*\n((?:[ \t-][^\n]*\n|#[^\n]*\n|\n)*)"
_item: Final = re.compile(r"^( *)- *")
_name: Final = re.compile(r"name:\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s#]+))\s*(?:#.*)?")
_mounted: Final = re.compile(r"hostPath:\s*[\"']?(/[^\s\"'#]+)")


@dataclass(frozen=True)
class Spec:
    """One specification: its devices by full name, and the files that every one of them mounts."""

    path: str
    kind: str
    devices: tuple[str, ...]
    mounts: tuple[str, ...]


def unmet(wanted: list[str], root: str, home: str | None) -> list[str]:
    """What is wrong with the devices that a host must have, in sentences. `home` is that of a rootless user."""
    if not wanted:
        return []
    specs = [each for each in map(read, _files(root, home)) if each is not None]
    sentences = []
    for name in wanted:
        kind, _, _ = name.partition("=")
        holding = [each for each in specs if name in each.devices]
        if not holding and any(each.kind in (kind, "") and not each.devices for each in specs):
            continue  # a specification that only Podman can read
        if not holding:
            known = ", ".join(sorted({device for each in specs for device in each.devices}))
            others = f" (there are {known})" if known else ""
            sentences.append(f"no CDI specification declares {name}{others}; {_mend(kind)}")
            continue
        gone = [_gone(each, root) for each in holding]
        if all(gone):  # which of several counts is a matter of Podman's version
            sentences.append(f"{holding[-1].path} is stale: {name} mounts {gone[-1]}, which is gone; {_mend(kind)}")
    return list(dict.fromkeys(sentences))


def _gone(spec: Spec, root: str) -> str | None:
    """The first file that every device of a specification mounts, and that is not there."""
    return next((path for path in spec.mounts if not os.path.lexists(below(root, path))), None)


def _mend(kind: str) -> str:
    if kind.startswith("nvidia.com/"):
        return "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml, after each update of the driver"
    if kind.startswith("amd.com/"):
        return "amd-ctk cdi generate --output=/etc/cdi/amd.json"
    return "put its specification into /etc/cdi"


def _files(root: str, home: str | None) -> list[str]:
    settings = [*_SETTINGS, *([f"{home}/.config/containers/containers.conf"] if home else [])]
    found = list(_DIRECTORIES)
    for setting in settings:
        path = below(root, setting)
        for text in map(_text, [path, *sorted(glob.glob(f"{glob.escape(path)}.d/*.conf"))]):
            for match in _setting.finditer(text or ""):
                found += _path.findall(match[1])
    files: dict[str, str] = {}
    for directory in found:
        for suffix in ("json", "yaml"):
            for path in sorted(glob.glob(f"{glob.escape(below(root, directory))}/*.{suffix}")):
                files.setdefault(os.path.realpath(path), path)
    return list(files.values())


def _text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None


def read(path: str) -> Spec | None:
    """Read one specification. Without devices: it is not understood here. None: it cannot be read, or is none."""
    text = _text(path)
    if text is None:
        return Spec(path, "", (), ())
    if path.endswith(".json"):
        try:
            return _json(path, json.loads(text))
        except ValueError:
            return None  # Podman passes over it too
    kind = _kind.search(text)
    if kind is None:
        return Spec(path, "", (), ())
    devices = re.search(_block.format("devices"), f"{text}\n", re.MULTILINE)
    edits = re.search(_block.format("containerEdits"), f"{text}\n", re.MULTILINE)
    names = _names(devices[1]) if devices else []
    mounts = _mounted.findall(edits[1]) if edits else []
    return Spec(path, kind[1], tuple(f"{kind[1]}={name}" for name in names), tuple(mounts))


def _names(block: str) -> list[str]:
    """`name` of each entry of a list: a key of the entry itself, not of what is in it."""
    names: list[str] = []
    dash = column = -1
    for line in block.splitlines():
        item = _item.match(line)
        if item is not None and (dash < 0 or len(item[1]) <= dash):
            dash, column = len(item[1]), item.end()
        elif item is not None or len(line) - len(line.lstrip()) != column:
            continue
        found = _name.fullmatch(line[column:].strip())
        if found is not None:
            names.append(next(group for group in found.groups() if group is not None))
    return names


def _json(path: str, data: object) -> Spec | None:
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        return None
    devices = [each.get("name") for each in _dicts(data.get("devices"))]
    edits = data.get("containerEdits")
    mounts = [each.get("hostPath") for each in _dicts(edits.get("mounts") if isinstance(edits, dict) else None)]
    return Spec(
        path,
        data["kind"],
        tuple(f"{data['kind']}={name}" for name in devices if isinstance(name, str)),
        tuple(mount for mount in mounts if isinstance(mount, str)),
    )


def _dicts(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
