"""manifest.json of a host: its files with their digests, and what the host must have for them to work."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from quadgen import quadlet_keys
from quadgen.resolution import Resolution
from quadgen.tree import File, HostTree
from quadgen.units import ContainerUnit, Unit

_HEALTHY: Final = "5.0.0"
"""The first Podman whose Quadlet knows Notify=healthy (its release notes)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """One unit with its text, and what its host must have for it."""

    unit: Unit
    data: bytes
    entry: str
    """Its entry in the manifest, as JSON."""
    needs: tuple[tuple[str, tuple[str, ...]], ...]
    podman: str | None
    """The least Podman version."""


@dataclass(slots=True)
class Manifests:
    """Makes manifests; hosts with the same units differ in their name alone."""

    _units: dict[tuple[Unit, Any], Rendered] = field(default_factory=dict)
    _bodies: dict[tuple[int, ...], tuple[str, str]] = field(default_factory=dict)

    def unit(self, unit: Unit, text: str, resolution: Resolution) -> Rendered:
        """What the manifest says of one unit."""
        key = (unit, _needs(resolution))
        found = self._units.get(key)
        if found is None:
            found = self._units[key] = _rendered(unit, text, key[1])
        return found

    def tree(self, host: str, rendered: Iterable[Rendered]) -> HostTree:
        """The files of one host with their manifest."""
        units = sorted(rendered, key=lambda each: each.unit.file)
        key = tuple(map(id, units))
        body = self._bodies.get(key)
        if body is None:
            body = self._bodies[key] = _body(units)
        manifest = f"{body[0]}{json.dumps(host)}{body[1]}".encode()
        return HostTree(
            host=host, files=tuple(File(path=each.unit.file, data=each.data) for each in units), manifest=manifest
        )


def _needs(resolution: Resolution) -> tuple[tuple[str, tuple[str, ...]], ...]:
    host = resolution.host
    native = host.runtime == "systemd"
    gpu = bool(resolution.devices.names)
    key = resolution.api_key
    secrets = dict.fromkeys(secret.name for secret in resolution.secrets)
    return (
        ("cdi", tuple(name for name in resolution.devices.passed if "=" in name)),
        ("credentials", (key,) if native and key else ()),
        ("devices", tuple(name for name in resolution.devices.passed if "=" not in name)),
        ("files", resolution.files),
        ("groups", ("render", "video") if gpu and (native or host.rootless) and resolution.backend != "cuda" else ()),
        ("linger", (host.rootless,) if host.rootless else ()),
        ("networks", tuple(name for name in resolution.networks if name != "host")),
        ("programs", (resolution.binary, "curl") if native else ()),
        ("secrets", tuple(secrets)),
        ("users", tuple(user for user in (host.rootless, host.user) if user)),
    )


def _floor(text: str, unit: Unit) -> str | None:
    if not isinstance(unit, ContainerUnit):
        return None
    least = "4.4.0"
    section = ""
    for line in text.split("\n"):
        if line.startswith("["):
            section = line[1:-1]
        elif section in ("Container", "Quadlet") and (key := line.partition("=")[0]):
            floor = _HEALTHY if line == "Notify=healthy" else quadlet_keys.floor(section, key)
            if floor is not None and not quadlet_keys.at_least(least, floor):
                least = floor
    return least


def _rendered(unit: Unit, text: str, needs: tuple[tuple[str, tuple[str, ...]], ...]) -> Rendered:
    data = text.encode()
    words = "\n".join(line for line in text.split("\n") if line and not line.startswith("#"))
    name = unit.unit.removesuffix(".service")
    entry = {
        "mode": "0644", "path": unit.file, "restart": sha256(words.encode()).hexdigest(), "service": name,
        "sha256": sha256(data).hexdigest(), "unit": unit.unit,
    }  # fmt: skip
    return Rendered(
        unit=unit,
        data=data,
        entry=json.dumps(entry, sort_keys=True, ensure_ascii=False),
        needs=needs,
        podman=_floor(text, unit),
    )


def _body(units: list[Rendered]) -> tuple[str, str]:
    """The manifest's text before and after the host's name; one file a line, so that diffs read well."""
    requires: dict[str, Any] = {}
    for each in units:
        for name, values in each.needs:
            requires[name] = sorted({*requires.get(name, ()), *values})
    podman: str | None = None
    for each in units:
        if each.podman is not None and (podman is None or not quadlet_keys.at_least(podman, each.podman)):
            podman = each.podman
    requires["podman"] = podman
    lines = ",\n".join(f'  "{name}": {json.dumps(requires[name], ensure_ascii=False)}' for name in sorted(requires))
    files = ",\n".join(f"  {each.entry}" for each in units)
    return f'{{\n "files": [\n{files}\n ],\n "host": ', f',\n "requires": {{\n{lines}\n }},\n "version": 1\n}}\n'
