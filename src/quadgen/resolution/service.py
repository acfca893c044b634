"""How a service is started, watched and bounded, and the whole of what was decided for it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from quadgen.resolution.parts import (
    Argument,
    Decision,
    Devices,
    EngineEntry,
    Host,
    Model,
    Mount,
    Override,
    Share,
    Variable,
)


class Restart(NamedTuple):
    """systemd's restart and start-limit settings, in seconds."""

    policy: str
    delay: int
    tries: int
    within: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Readiness: a command that succeeds once the model is loaded, run where the server runs. Times in seconds."""

    command: tuple[str, ...]
    interval: int
    startup_interval: int
    """Between two probes while the model loads."""
    timeout: int
    retries: int
    start_period: int | None
    path: str
    """What answers 200 on the server's port once it is ready, from the host as well."""
    secure: bool = False
    """Whether it speaks TLS there."""


class Checkpoint(NamedTuple):
    """A file of the host, or all shards of one, whose size is recorded."""

    files: tuple[str, ...]
    size: int
    """Bytes, of all together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A secret of the host: an environment variable (`variable`) or a file (`path`) of the service."""

    name: str
    variable: str | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds; None is the system's own. Sizes in bytes; `memlock` may be `UNLIMITED`."""

    memory: int | None = None
    cpus: float | None = None
    pids: int | None = None
    shm: int | None = None
    memlock: int | None = None
    nofile: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """One service, decided."""

    host: Host
    name: str
    engine: EngineEntry
    backend: str
    model: Model
    decision: Decision
    arguments: tuple[Argument, ...]
    environment: tuple[Variable, ...]
    """Sorted by name."""
    memory: tuple[Share, ...]
    """What it takes of the host's memory and of its cards, as far as that is known."""
    context: int
    """Tokens of one conversation."""
    elastic: bool
    """Whether nobody says its context, so that it is what fits."""
    reckon: Callable[[int], tuple[Share, ...]] = field(compare=False, repr=False)
    """Gives `memory` for another context."""
    devices: Devices
    image: str
    binary: str
    entrypoint: tuple[str, ...]
    mounts: tuple[Mount, ...]
    files: tuple[str, ...]
    """Host paths that must exist before the service starts."""
    checkpoints: tuple[Checkpoint, ...]
    """Those of them whose size is recorded."""
    writable: tuple[str, ...]
    ports: tuple[str, ...]
    """As Podman's --publish writes them."""
    networks: tuple[str, ...]
    port: int
    binds: str | None
    """The host address whose port it takes; None where it takes none."""
    secrets: tuple[Secret, ...]
    api_key: str | None
    """The name of the secret that holds it."""
    exposed: bool
    fetches: bool
    """Whether the server itself fetches its model from the network."""
    probe: Probe | None
    restart: Restart
    start_timeout: int
    stop_timeout: int
    limits: Limits
    pull: str
    auto_update: str | None
    autostart: bool
    after: tuple[str, ...]
    conflicts: tuple[str, ...]
    labels: tuple[tuple[str, str], ...]
    overrides: tuple[Override, ...]
    notes: tuple[str, ...]
