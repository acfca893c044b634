"""The words of a native .service unit."""

import re
import shlex
from typing import Final, NamedTuple

from quadgen.engines.registry import ENGINES
from quadgen.resolution import Override, Resolution, Restart
from quadgen.unitfile import Spec, Word
from quadgen.units.common import argv, description, locks_memory, notes, wanted_by

_WAIT: Final = (
    "trap 'exit 0' TERM; "
    'while kill -0 "$MAINPID" 2>/dev/null; do {probe} && kill -0 "$MAINPID" && exit 0; sleep 1; done; '
    "echo the server ended before it was ready >&2; exit 1"
)
"""Waits for the probe, and not a second longer than the server lives: `curl --retry` would sit out the whole start
timeout after the server has died. The second `kill -0` is for a foreign server that answers on the port. The trap is
for a stop while the model loads: systemd ends this command too, and by a signal that it did not expect the unit would
be `failed`."""
_account: Final = re.compile("[a-z0-9][a-z0-9_-]{0,26}").fullmatch
"""Service names that make an account's name of at most 31 characters, systemd's bound, behind `llm-`."""
_STORE: Final = "/etc/credstore"
_USER_STORE: Final = "%h/.config/credstore"


class NativeUnit(NamedTuple):
    """One .service file, key by key; a tuple as `ContainerUnit` is."""

    template: str
    file: str
    """Below the host's directory."""
    unit: str
    notes: tuple[str, ...]
    description: str
    after: tuple[str, ...]
    wants: tuple[str, ...]
    conflicts: tuple[str, ...]
    files: tuple[str, ...]
    restart: Restart
    command: tuple[Word, ...]
    """The program and its arguments."""
    ready: tuple[str, ...] | None
    """The command that ends once the server is ready."""
    environment: tuple[tuple[str, Word], ...]
    credentials: tuple[Word, ...]
    dynamic_user: bool
    user: str | None
    groups: tuple[str, ...]
    user_manager: bool
    """Whether a user's own manager runs it, which refuses what only root may set."""
    cache: str
    """Its directory below the cache directory."""
    device_allow: tuple[str, ...]
    computes_on_cpu: bool
    loopback_only: bool
    protect_home: str
    """What it sees of people's homes: the files that it needs (`read-only`), else nothing."""
    writable: tuple[str, ...]
    memory: str | None
    tasks: int | None
    cpu_quota: int | None
    """In percent of one processor."""
    memlock: str | None
    locks_memory: bool
    """Whether its user must be allowed to lock any amount of memory."""
    nofile: int | None
    start_timeout: int
    stop_timeout: int
    wanted_by: str | None
    overrides: tuple[Override, ...]

    @property
    def argv(self) -> tuple[Word, ...]:
        """The server's words after its own name."""
        return self.command[1:]


def _ready(resolution: Resolution) -> tuple[str, ...] | None:
    if resolution.probe is None:
        return None
    return ("/bin/sh", "-c", _WAIT.format(probe=shlex.join(resolution.probe.command)))


def _online(resolution: Resolution) -> tuple[str, ...]:
    """Whether it needs the network to be up: it fetches its model, or binds an address that an interface must have."""
    named = resolution.binds not in ("0.0.0.0", "::") and resolution.exposed  # noqa: S104 - compared, not bound
    user_manager = resolution.host.rootless is not None  # which has no such target
    return ("network-online.target",) if (named or resolution.fetches) and not user_manager else ()


def _user(resolution: Resolution) -> str | None:
    """The account; None: the user manager's own, or one that systemd names.

    A dynamic user is called like its unit if nothing else is said, and a service called `video` or `backup` would
    not start for the group of that name, or run as a user that has files of its own.
    """
    host = resolution.host
    if host.rootless is not None:
        return None
    if host.user is not None:
        return host.user
    return f"llm-{resolution.name}" if _account(resolution.name) else None


def _protect_home(resolution: Resolution, *, user_manager: bool) -> str:
    """`tmpfs` where the cache is in a home: `yes` would take the way to it away."""
    used = (*resolution.files, *resolution.writable, resolution.binary)
    if any(path.startswith(("/home/", "/root/", "/run/user/")) for path in used):
        return "read-only"
    return "tmpfs" if user_manager else "yes"


def native(resolution: Resolution) -> NativeUnit:
    """Decide every key."""
    host, limits = resolution.host, resolution.limits
    rules = ENGINES[resolution.engine.kind].devices(resolution.backend)
    user_manager = host.rootless is not None
    directory = f"{host.home.lstrip('/')}/.config/systemd/user" if user_manager else "etc/systemd/system"
    home: Word = Spec(f"%C/{resolution.name}")
    store = _USER_STORE if user_manager else _STORE
    key = resolution.api_key
    return NativeUnit(
        template=f"{resolution.engine.kind}.service.j2",
        file=f"{directory}/{resolution.name}.service",
        unit=f"{resolution.name}.service",
        notes=notes(resolution),
        description=description(resolution),
        after=tuple(dict.fromkeys((*_online(resolution), *resolution.after, *resolution.conflicts))),
        wants=tuple(dict.fromkeys((*_online(resolution), *resolution.after))),
        conflicts=resolution.conflicts,
        files=resolution.files,
        restart=resolution.restart,
        command=(resolution.binary, *argv(resolution)),
        ready=_ready(resolution),
        environment=(("HOME", home), *((name, value) for name, value, _ in resolution.environment if name != "HOME")),
        credentials=() if key is None else (Spec(f"{key}:{store}/{key}") if user_manager else f"{key}:{store}/{key}",),
        dynamic_user=not user_manager and host.user is None,
        user=_user(resolution),
        groups=("render", "video") if rules is not None and not user_manager else (),
        user_manager=user_manager,
        cache=resolution.name,
        device_allow=tuple(f"{node} rw" for node in rules.unit_nodes) if rules is not None else (),
        computes_on_cpu=rules is None,
        loopback_only=not resolution.exposed and not resolution.fetches,
        protect_home=_protect_home(resolution, user_manager=user_manager),
        writable=resolution.writable,
        memory=None if limits.memory is None else str(limits.memory),
        tasks=limits.pids,
        cpu_quota=None if limits.cpus is None else max(1, round(limits.cpus * 100)),
        memlock=None if limits.memlock is None else "infinity" if limits.memlock < 0 else str(limits.memlock),
        locks_memory=locks_memory(resolution),
        nofile=limits.nofile,
        start_timeout=resolution.start_timeout,
        stop_timeout=resolution.stop_timeout,
        wanted_by=wanted_by(resolution),
        overrides=resolution.overrides,
    )
