"""The words of a Quadlet .container unit."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from quadgen import quadlet_keys
from quadgen.engines.registry import ENGINES
from quadgen.resolution import STOP_GRACE, Override, Probe, Resolution, Restart
from quadgen.unitfile import Word
from quadgen.units.common import argv, description, locks_memory, notes, wanted_by


class Health(NamedTuple):
    """HealthCmd= and its companions; times in seconds."""

    command: tuple[str, ...]
    interval: str
    startup_interval: str
    timeout: str
    retries: int
    start_period: str | None


class ContainerUnit(NamedTuple):
    """One .container file, key by key.

    A tuple and not a dataclass: it is made, and looked up among others, once for each service of a fleet.
    """

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
    masks: tuple[str, ...]
    read_only: bool
    seccomp: str | None
    mounts: tuple[str, ...]
    ports: tuple[str, ...]
    networks: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    secrets: tuple[str, ...]
    labels: tuple[tuple[str, str], ...]
    health: Health | None
    notify: str | None
    memory: str | None
    pids: int | None
    shm: str | None
    ulimits: tuple[str, ...]
    podman_args: tuple[str, ...]
    """Arguments of podman-run(1): what has no key, or none in the host's Podman, whose field is empty then."""
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
    locks_memory: bool
    """Whether its user must be allowed to lock any amount of memory."""
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
    if limits.memlock is not None:
        found.append(f"memlock={limits.memlock}:{limits.memlock}")
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


@dataclass(slots=True)
class _Said:
    """Says each thing by its key, or by the argument that stands for a key which the host's Podman lacks.

    A key that nothing stands for is written all the same, and refused by name where the unit's keys are counted.
    """

    podman: str
    lacking: frozenset[str]
    dropped: frozenset[str]
    """Keys that the fleet takes out."""
    arguments: list[str] = field(default_factory=list)

    def _argued(self, key: str, values: Iterable[str]) -> bool:
        words = [quadlet_keys.argument(key, value, self.podman) for value in values]
        if None in words:
            return False
        if key not in self.dropped:
            self.arguments += [word for word in words if word]
        return True

    def one(self, key: str, value: str | None) -> str | None:
        """The value of a key, or None."""
        return None if value is not None and key in self.lacking and self._argued(key, (value,)) else value

    def number(self, key: str, value: int | None) -> int | None:
        """The value of a key, or None."""
        return None if value is not None and key in self.lacking and self._argued(key, (str(value),)) else value

    def each(self, key: str, values: tuple[str, ...]) -> tuple[str, ...]:
        """The values of a key that repeats, or none."""
        return () if values and key in self.lacking and self._argued(key, values) else values

    def switch(self, key: str, word: str, *, on: bool) -> bool:
        """Whether to write a key with a fixed word."""
        return on and not (key in self.lacking and self._argued(key, (word,)))


def _secrets(resolution: Resolution) -> tuple[str, ...]:
    return tuple(
        f"{secret.name},type=env,target={secret.variable}"
        if secret.variable
        else f"{secret.name},type=mount,target={secret.path}"
        for secret in resolution.secrets
    )


def container(resolution: Resolution) -> ContainerUnit:
    """Decide every key. A key that the host's Podman lacks becomes the podman-run argument that says the same."""
    host, limits = resolution.host, resolution.limits
    box = ENGINES[resolution.engine.kind].box
    lacking = quadlet_keys.lacking(host.podman)
    dropped = frozenset(
        key for section, key, values in resolution.overrides if values is None and section == "Container"
    )
    say = _Said(host.podman, lacking, dropped)
    say.arguments += box.arguments
    if limits.cpus is not None:
        say.arguments.append(f"--cpus={limits.cpus:g}")
    if box.read_only and "ReadOnlyTmpfs" in lacking:
        # a Quadlet without the key writes `--read-only-tmpfs=false` for ReadOnly=, and then nothing can write to /tmp
        say.arguments.append("--read-only-tmpfs=true")
    gpu = bool(resolution.devices.passed)
    health = _health(resolution.probe)
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
        memory=say.one("Memory", None if limits.memory is None else str(limits.memory)),
        pids=say.number("PidsLimit", limits.pids),
        shm=say.one("ShmSize", None if limits.shm is None else str(limits.shm)),
        pull=say.one("Pull", resolution.pull),
        stop_timeout=say.number("StopTimeout", resolution.stop_timeout),
        auto_update=say.one("AutoUpdate", resolution.auto_update),
        entrypoint=say.one("Entrypoint", _entrypoint(resolution.entrypoint)),
        devices=resolution.devices.passed,
        keep_groups=say.switch("GroupAdd", "keep-groups", on=gpu and host.rootless is not None),
        label_disable=say.switch("SecurityLabelDisable", "true", on=gpu and host.selinux == "disable"),
        label_type=say.one("SecurityLabelType", None if host.selinux in ("disable", "relabel") else host.selinux),
        masks=say.each("Mask", box.masks),
        read_only=box.read_only,
        seccomp=box.seccomp,
        mounts=tuple(mount.text for mount in resolution.mounts),
        ports=resolution.ports,
        networks=resolution.networks,
        environment=tuple((name, value) for name, value, _ in resolution.environment),
        secrets=say.each("Secret", _secrets(resolution)),
        labels=resolution.labels,
        health=health,
        notify=say.one("Notify", None if health is None else "healthy"),
        ulimits=say.each("Ulimit", _ulimits(resolution)),
        argv=argv(resolution),
        start_timeout=resolution.start_timeout,
        kill_timeout=resolution.stop_timeout + STOP_GRACE,
        offline=_offline(resolution),
        unshared=host.rootless is not None and resolution.probe is not None,
        locks_memory=locks_memory(resolution),
        wanted_by=wanted_by(resolution),
        overrides=resolution.overrides,
        podman_args=tuple(say.arguments),  # last: each key above may add to them
    )
