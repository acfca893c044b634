"""manifest.json of a host: its files with their digests, and what the host must have for them to work."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from hashlib import sha256
from json.encoder import encode_basestring
from typing import Final, NamedTuple

from quadgen import quadlet_keys
from quadgen.resolution import Checkpoint, Resolution
from quadgen.tree import File, HostTree
from quadgen.units import ContainerUnit, Unit, locks_memory

_HEALTHY: Final = "\nNotify=healthy\n"
_json: Final = json.JSONEncoder(ensure_ascii=False).encode
_keys: Final = re.compile(r"\n([A-Za-z\[][^=\n]*)").findall
"""Every section in its brackets and every key of a unit, in order; a line break must stand in front of each."""
_arguments: Final = re.compile(r'\nPodmanArgs="?(-[^\n"]*)').findall
"""Every line of PodmanArgs=, from its first word on."""
Needs = tuple[tuple[str, tuple[str, ...] | tuple[Checkpoint, ...]], ...]
"""What a host must have, by kind, in the order of the manifest."""


class Running(NamedTuple):
    """How a service is started, and known to be ready; the fields of its entry in the manifest, sorted."""

    after: tuple[str, ...]
    """Units that are started before it."""
    autostart: bool
    conflicts: tuple[str, ...]
    """Units that do not run beside it."""
    health: str | None
    """An address on the host that answers 200 once it is ready; None where nothing of the kind can be asked."""
    image: str | None
    """None for a native unit."""
    pull: str | None
    """When Podman pulls; None for a native unit."""
    start_timeout: int
    """Seconds."""
    stop_timeout: int
    """Seconds."""
    unit: str
    user: str | None
    """Whose manager runs it; None is the system's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """One unit with its text, and what its host must have for it."""

    unit: Unit
    data: bytes
    entry: str
    """Its file's entry in the manifest, as JSON."""
    running: str
    """The service's entry, as JSON."""
    needs: Needs
    podman: str | None
    """The least Podman version."""


@dataclass(slots=True)
class Manifests:
    """Makes manifests; hosts with the same units differ in their name alone."""

    _made: Callable[[Unit, str, Running, Needs], Rendered] = field(init=False)
    _bodies: dict[tuple[int, ...], tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._made = cache(_rendered)

    def unit(self, unit: Unit, text: str, resolution: Resolution) -> Rendered:
        """What the manifest says of one unit."""
        return self._made(unit, text, _running(unit.unit, resolution), _needs(resolution))

    def tree(self, host: str, rendered: Iterable[Rendered]) -> HostTree:
        """The files of one host with their manifest."""
        units = sorted(rendered, key=lambda each: each.unit.file)
        key = tuple(map(id, units))
        body = self._bodies.get(key)
        if body is None:
            body = self._bodies[key] = _body(units)
        manifest = f"{body[0]}{encode_basestring(host)}{body[1]}".encode()
        return HostTree(
            host=host, files=tuple(File(path=each.unit.file, data=each.data) for each in units), manifest=manifest
        )


def _running(unit: str, resolution: Resolution) -> Running:
    boxed = resolution.host.runtime == "podman"
    return Running(
        after=resolution.after,
        autostart=resolution.autostart,
        conflicts=resolution.conflicts,
        health=_health(resolution),
        image=resolution.image if boxed else None,
        pull=resolution.pull if boxed else None,
        start_timeout=resolution.start_timeout,
        stop_timeout=resolution.stop_timeout,
        unit=unit,
        user=resolution.host.rootless,
    )


def _health(resolution: Resolution) -> str | None:
    """Where the host itself asks; a server that listens everywhere is reached on loopback."""
    probe, address = resolution.probe, resolution.binds
    if probe is None or address is None:
        return None
    dialled = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)  # noqa: S104 - nothing listens here
    host = f"[{dialled}]" if ":" in dialled else dialled
    return f"{'https' if probe.secure else 'http'}://{host}:{resolution.port}{probe.path}"


def _needs(resolution: Resolution) -> Needs:
    host = resolution.host
    native = host.runtime == "systemd"
    # a system unit names the groups whatever its backend; CUDA's nodes are usually open to everybody
    joined = native if host.rootless is None else resolution.backend != "cuda"
    key = resolution.api_key
    secrets = dict.fromkeys(secret.name for secret in resolution.secrets)
    return (
        ("checkpoints", resolution.checkpoints),
        ("cdi", tuple(name for name in resolution.devices.passed if "=" in name)),
        ("credentials", (key,) if native and key else ()),
        ("devices", tuple(name for name in resolution.devices.passed if "=" not in name)),
        ("files", resolution.files),
        ("groups", ("render", "video") if resolution.devices.names and joined else ()),
        ("linger", (host.rootless,) if host.rootless else ()),
        ("memlock", (host.rootless,) if host.rootless and locks_memory(resolution) else ()),
        ("networks", tuple(name for name in resolution.networks if name != "host")),
        ("programs", (resolution.binary, "curl") if native else ()),
        ("secrets", tuple(secrets)),
        ("users", tuple(user for user in (host.rootless, host.user) if user)),
    )


def _floors(keys: tuple[str, ...], *, healthy: bool) -> Iterator[tuple[str, str]]:
    """Each key of a unit with the first Podman that takes it; `Notify=healthy` by that name."""
    section = ""
    for key in keys:
        if key[0] == "[":
            section = key[1:-1]
        elif section in ("Container", "Quadlet"):
            if healthy and key == "Notify":
                yield "Notify=healthy", quadlet_keys.HEALTHY
            elif (floor := quadlet_keys.floor(section, key)) is not None:
                yield f"{key}=", floor


@lru_cache(maxsize=256)
def _floor(keys: tuple[str, ...], arguments: tuple[str, ...], *, healthy: bool) -> str:
    """The least Podman that takes these sections, keys and arguments; few units differ in that."""
    least = "4.4.0"
    for floor in (
        *(since for _, since in _floors(keys, healthy=healthy)),
        *map(quadlet_keys.argument_floor, arguments),
    ):
        if floor is not None and not quadlet_keys.at_least(least, floor):
            least = floor
    return least


def too_new(text: str, podman: str) -> tuple[tuple[str, str], ...]:
    """The keys of a container's unit that this Podman does not know, each with the first that does."""
    lines = f"\n{text}"
    found = _floors(tuple(_keys(lines)), healthy=_HEALTHY in lines)
    return tuple(dict.fromkeys(each for each in found if not quadlet_keys.at_least(podman, each[1])))


def _rendered(unit: Unit, text: str, running: Running, needs: Needs) -> Rendered:
    data = text.encode()
    words = "\n".join([line for line in text.split("\n") if line and line[0] != "#"])
    lines = f"\n{text}"
    name = unit.unit.removesuffix(".service")
    entry = (
        f'{{"mode": "0644", "path": {encode_basestring(unit.file)}, "restart": "{sha256(words.encode()).hexdigest()}", '
        f'"service": {encode_basestring(name)}, "sha256": "{sha256(data).hexdigest()}", '
        f'"unit": {encode_basestring(unit.unit)}}}'
    )
    podman = (
        _floor(tuple(_keys(lines)), tuple(_arguments(lines)), healthy=_HEALTHY in lines)
        if isinstance(unit, ContainerUnit)
        else None
    )
    service = _json(running._asdict())
    return Rendered(unit=unit, data=data, entry=entry, running=service, needs=needs, podman=podman)


def _listed(values: Iterable[str | Checkpoint]) -> str:
    plain = [value._asdict() if isinstance(value, Checkpoint) else value for value in sorted(values)]
    return _json(plain)


@lru_cache(maxsize=256)
def _requires(needs: tuple[Needs, ...], podman: str | None) -> str:
    """The lines of `requires`, one a kind; many hosts need the same."""
    found: dict[str, set[str | Checkpoint]] = {}
    for each in needs:
        for name, values in each:
            found.setdefault(name, set()).update(values)
    lines = {name: _listed(values) for name, values in found.items()}
    lines["podman"] = json.dumps(podman)
    return ",\n".join(f'  "{name}": {lines[name]}' for name in sorted(lines))


def _body(units: list[Rendered]) -> tuple[str, str]:
    """The manifest's text before and after the host's name; one file a line, so that diffs read well."""
    podman: str | None = None
    for each in units:
        if each.podman is not None and (podman is None or not quadlet_keys.at_least(podman, each.podman)):
            podman = each.podman
    lines = _requires(tuple([each.needs for each in units]), podman)
    files = ",\n".join([f"  {each.entry}" for each in units])
    services = ",\n".join([f"  {each.running}" for each in units])
    return (
        f'{{\n "files": [\n{files}\n ],\n "host": ',
        f',\n "requires": {{\n{lines}\n }},\n "services": [\n{services}\n ],\n "version": 1\n}}\n',
    )
