"""The words of a Quadlet .container unit."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from quadgen import quadlet_keys
from quadgen.engines.registry import ENGINES
from quadgen.resolution import STOP_GRACE, Override, Probe, Resolution, Restart
from quadgen.unitfile import Word
from quadgen.units.common import argv, description, notes, wanted_by

_ARGS: Final[dict[str, Callable[[Any], str]]] = {
    "Memory": lambda value: f"--memory={value}",
    "PidsLimit": lambda value: f"--pids-limit={value}",
    "ShmSize": lambda value: f"--shm-size={value}",
    "Pull": lambda value: f"--pull={value}",
    "StopTimeout": lambda value: f"--stop-timeout={value}",
}
"""Keys with the argument of podman-run(1) that says the same, for a Podman that does not have the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """HealthCmd= and its companions; times in seconds."""

    command: tuple[str, ...]
    interval: str
    startup_interval: str
    timeout: str
    retries: int
    start_period: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerUnit:
    """One .container file, key by key."""

    template: str
    file: str
    """Below the host's directory."""
    unit: str
    """What systemd calls it."""
    notes: tuple[str, ...]
    description: str
    after: tuple[str, ...]
    wants: tuple[str, ...]
    conflicts: tuple[str, ...]
    files: tuple[str, ...]
    restart: Restart
    image: str
    name: str
    pull: str | None
    auto_update: str | None
    entrypoint: str | None
    devices: tuple[str, ...]
    keep_groups: bool
    label_disable: bool
    label_type: str | None
    read_only: bool
    seccomp: str | None
    mounts: tuple[str, ...]
    ports: tuple[str, ...]
    networks: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    secrets: tuple[str, ...]
    labels: tuple[tuple[str, str], ...]
    health: Health | None
    memory: str | None
    pids: int | None
    shm: str | None
    ulimits: tuple[str, ...]
    podman_args: tuple[str, ...]
    stop_timeout: int | None
    argv: tuple[Word, ...]
    start_timeout: int
    kill_timeout: int
    offline: bool
    """Whether it starts without waiting for the network."""
    unshared: bool
    """Whether the user's namespace is made before the container.

    The first podman of a session makes it in a process of its own, which says READY=1 and ends. systemd drops what a
    process said that it neither started itself nor finds alive (sd_notify(3)), and the unit would wait for ever.
    """
    wanted_by: str | None
    overrides: tuple[Override, ...]


def _directory(resolution: Resolution) -> str:
    host = resolution.host
    if host.rootless:
        return f"{host.home.lstrip('/')}/.config/containers/systemd"
    return "etc/containers/systemd"


def _entrypoint(words: tuple[str, ...]) -> str | None:
    """One word as it is; several as the JSON array that podman-run(1) takes."""
    if len(words) < 2:  # noqa: PLR2004 - an array takes two
        return words[0] if words else None
    return json.dumps(list(words), separators=(",", ":"))


def _health(probe: Probe | None) -> Health | None:
    if probe is None:
        return None
    return Health(
        command=probe.command,
        interval=f"{probe.interval}s",
        startup_interval=f"{probe.startup_interval}s",
        timeout=f"{probe.timeout}s",
        retries=probe.retries,
        start_period=None if probe.start_period is None else f"{probe.start_period}s",
    )


def _ulimits(resolution: Resolution) -> tuple[str, ...]:
    limits = resolution.limits
    found = []
    memlock = ENGINES[resolution.engine.kind].box.memlock if limits.memlock is None else limits.memlock
    if memlock is not None:
        found.append(f"memlock={memlock}:{memlock}")
    if limits.nofile is not None:
        found.append(f"nofile={limits.nofile}:{limits.nofile}")
    return tuple(found)


def _offline(resolution: Resolution) -> bool:
    """Whether the network need not be up, and waiting for it costs.

    A user's manager cannot see the system's network-online.target. Podman's stand-in for it polls for 90 s wherever
    nothing else on the host asks for that target, and does so at every start. An image that cannot be pulled yet is
    pulled by a later try.
    """
    host = resolution.host
    if host.rootless is None or resolution.exposed or resolution.fetches:
        return False
    return bool(quadlet_keys.at_least(host.podman, quadlet_keys.floor("Quadlet", "DefaultDependencies") or "99"))


def container(resolution: Resolution) -> ContainerUnit:
    """Decide every key. A key that the host's Podman lacks becomes the podman-run argument that says the same."""
    host, limits = resolution.host, resolution.limits
    box = ENGINES[resolution.engine.kind].box
    args = [*box.arguments, *([] if limits.cpus is None else [f"--cpus={limits.cpus:g}"])]

    def keyed(key: str, value: Any) -> Any:  # noqa: ANN401 - the value goes through as it is
        if value is None or quadlet_keys.at_least(host.podman, quadlet_keys.floor("Container", key) or "99"):
            return value
        args.append(_ARGS[key](value))
        return None

    gpu = bool(resolution.devices.passed)
    memory = keyed("Memory", None if limits.memory is None else str(limits.memory))
    pids = keyed("PidsLimit", limits.pids)
    shm = keyed("ShmSize", None if limits.shm is None else str(limits.shm))
    pull = keyed("Pull", resolution.pull)
    stop = keyed("StopTimeout", resolution.stop_timeout)
    disable = host.selinux == "disable"
    return ContainerUnit(
        template=f"{resolution.engine.kind}.container.j2",
        file=f"{_directory(resolution)}/{resolution.name}.container",
        unit=f"{resolution.name}.service",
        notes=notes(resolution),
        description=description(resolution),
        after=tuple(dict.fromkeys((*resolution.after, *resolution.conflicts))),
        wants=resolution.after,
        conflicts=resolution.conflicts,
        files=resolution.files,
        restart=resolution.restart,
        image=resolution.image,
        name=resolution.name,
        pull=pull,
        auto_update=resolution.auto_update,
        entrypoint=_entrypoint(resolution.entrypoint),
        devices=resolution.devices.passed,
        keep_groups=gpu and host.rootless is not None,
        label_disable=gpu and disable,
        label_type=None if host.selinux in ("disable", "relabel") else host.selinux,
        read_only=box.read_only,
        seccomp=box.seccomp,
        mounts=tuple(mount.text for mount in resolution.mounts),
        ports=resolution.ports,
        networks=resolution.networks,
        environment=tuple((name, value) for name, value, _ in resolution.environment),
        secrets=tuple(
            f"{secret.name},type=env,target={secret.variable}"
            if secret.variable
            else f"{secret.name},type=mount,target={secret.path}"
            for secret in resolution.secrets
        ),
        labels=resolution.labels,
        health=_health(resolution.probe),
        memory=memory,
        pids=pids,
        shm=shm,
        ulimits=_ulimits(resolution),
        podman_args=tuple(args),
        stop_timeout=stop,
        argv=argv(resolution),
        start_timeout=resolution.start_timeout,
        kill_timeout=resolution.stop_timeout + STOP_GRACE,
        offline=_offline(resolution),
        unshared=host.rootless is not None and resolution.probe is not None,
        wanted_by=wanted_by(resolution),
        overrides=resolution.overrides,
    )
