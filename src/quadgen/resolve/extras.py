"""What a service has beside its server: secrets, variables, neighbours, mounts of its own."""

from quadgen.engines.side_doors import reaches_speculation_path
from quadgen.resolution import Host, Mount, Secret
from quadgen.resolve import files, overrides, variables
from quadgen.resolve.report import Reporter, unknown
from quadgen.unitfile import Spec, Word

CACHE = "/cache"
"""HOME of a container whose root is read-only: shader and JIT caches."""
NOWHERE = "/nonexistent"
"""XDG_CONFIG_HOME of every server: llama-server reads a config.ini there before its arguments."""
_SECRETS = "/run/secrets"
"""Where Podman mounts a secret."""


def secrets(ask: Reporter, host: Host) -> tuple[tuple[Secret, ...], Word | None, str | None]:
    """The secrets, the server's key file as the server sees it, and the name of the key's secret."""
    found: list[Secret] = []
    for target, name in (ask.get("secrets") or {}).items():
        if name is None:
            continue
        if host.runtime == "systemd":
            message = "a native service takes no `secrets`"
            hint = "use `api_key` for the server's key, or runtime: podman"
            ask.add("unsupported-key", message, "secrets", target, hint=hint, at_key=True)
        elif reaches_speculation_path(target, home=CACHE):
            message = f"{target} is where llama-server reads a config.ini, which reaches speculation"
            ask.add("speculation-outside-profile", message, "secrets", target, at_key=True)
        elif target.startswith("/"):
            found.append(Secret(name=name, path=target))
        else:
            variables.check(ask, target, "", {}, field="secrets")
            found.append(Secret(name=name, variable=target))
    key = ask.get("api_key")
    if not isinstance(key, dict):
        return tuple(found), None, None
    name = key["secret"]
    if host.runtime == "systemd":
        return tuple(found), Spec(f"%d/{name}"), name
    found.append(Secret(name=name, path=f"{_SECRETS}/{name}"))
    return tuple(found), f"{_SECRETS}/{name}", name


def environment(ask: Reporter, own: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Quadgen's own variables and the fleet's, sorted by name."""
    decided = dict(own)
    for name, value in (ask.get("env") or {}).items():
        variables.check(ask, name, value, decided)
        decided[name] = value
    return tuple(sorted(decided.items()))


def peers(ask: Reporter, key: str, services: frozenset[str]) -> tuple[str, ...]:
    """`after` or `conflicts` as unit names. `x.service` is right on every Podman; `x.container` only from 5.5.0."""
    found = []
    for name in ask.get(key) or ():
        if name == ask.service:
            ask.add("unexpected-value", f"`{key}` names the service itself", key)
        elif name in services:
            found.append(f"{name}.service")
        elif name.removesuffix(".container") in services:
            found.append(f"{name.removesuffix('.container')}.service")
        elif overrides.is_unit_name(name):
            found.append(name)
        else:
            message, hint = unknown("service", name, sorted(services - {ask.service or ""}))
            ask.add("unexpected-value", f"{message} on this host", key, hint=f"{hint}; a unit is named with its suffix")
    return tuple(dict.fromkeys(found))


def mounts(ask: Reporter, host: Host, shelf: files.Shelf, *, cache: bool) -> tuple[Mount, ...]:
    """The model store, the fleet's `volumes`, and the cache volume of a read-only root."""
    if host.runtime == "systemd":
        if ask.get("volumes"):
            hint = "use unit: {Service: {BindReadOnlyPaths: ...}}"
            ask.add("unsupported-key", "a native service takes no `volumes`", "volumes", hint=hint, at_key=True)
        return ()
    found = list(shelf.mounts.values())
    taken = {mount.target for mount in found} | ({CACHE} if cache else set())
    for text in ask.get("volumes") or ():
        mount = files.volume(text, ask, host, CACHE)
        if mount is None:
            continue
        if mount.target.rstrip("/") in taken:
            ask.add("unexpected-value", f"{mount.target} is mounted already", "volumes", hint="mount it elsewhere")
        taken.add(mount.target.rstrip("/"))
        found.append(mount)
    if cache:
        found.append(Mount(source=f"{ask.service}-cache", target=CACHE, options=""))
    return tuple(found)
