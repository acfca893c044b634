"""What a service has beside its server: secrets, variables, neighbours, mounts of its own."""

from collections.abc import Iterable, Mapping

from quadgen.engines.side_doors import reaches_speculation_path
from quadgen.resolution import EngineEntry, Host, Mount, Secret, Variable
from quadgen.resolve import files, literals, neighbours, overrides, variables
from quadgen.resolve.report import Reporter, unknown
from quadgen.unitfile import Spec, Word


def secrets(
    ask: Reporter, host: Host, engine: EngineEntry, own: Mapping[str, str], program: str
) -> tuple[tuple[Secret, ...], Word | None, str | None]:
    """The secrets, the server's key file as the server sees it, and the name of the key's secret.

    `own` are the variables that quadgen decides, and `program` is what a container runs.
    """
    found: list[Secret] = []
    key = ask.get("api_key")
    key_path = f"{files.SECRETS}/{key['secret']}" if isinstance(key, dict) else None
    for target, name in (ask.get("secrets") or {}).items():
        if name is None:
            continue
        if host.runtime == "systemd":
            message = "a native service takes no `secrets`"
            hint = "use `api_key` for the server's key, or runtime: podman"
            ask.add("unsupported-key", message, "secrets", target, hint=hint, at_key=True)
        elif target.startswith("/"):
            _secret_file(ask, target, program, key_path)
            found.append(Secret(name=name, path=target))
        else:
            variables.check(ask, target, None, own, engine, field="secrets")
            found.append(Secret(name=name, variable=target))
    if not isinstance(key, dict):
        return tuple(found), None, None
    name = key["secret"]
    if host.runtime == "systemd":
        return tuple(found), Spec(f"%d/{name}"), name
    found.append(Secret(name=name, path=key_path))
    return tuple(found), key_path, name


def _secret_file(ask: Reporter, target: str, program: str, key_path: str | None) -> None:
    path = files.clean(target)
    if reaches_speculation_path(path, home=files.CACHE):
        message = f"{target} is where llama-server reads a config.ini, which reaches speculation"
        ask.add("speculation-outside-profile", message, "secrets", target, at_key=True)
    elif path == key_path:
        ask.add("unexpected-value", f"{target} is the file of `api_key`", "secrets", target, at_key=True)
    elif not files.covers(files.SECRETS, path) and files.hides(path, program):
        message = f"a file at {target} would hide the container's own"
        ask.add("unsafe-value", message, "secrets", target, hint="mount it elsewhere", at_key=True)


def environment(ask: Reporter, engine: EngineEntry, own: Iterable[Variable]) -> tuple[Variable, ...]:
    """Quadgen's own variables and the fleet's, sorted by name."""
    decided = {variable.name: variable for variable in own}
    values = {name: variable.value for name, variable in decided.items()}
    for name, value in (ask.get("env") or {}).items():
        variables.check(ask, name, value, values, engine)
        if values.get(name) != value:
            decided[name] = Variable(name, value, f"env.{name}")
    return tuple(decided[name] for name in sorted(decided))


_PODMAN_LABELS = {"io.containers.autoupdate": "auto_update", "PODMAN_SYSTEMD_UNIT": "services"}
"""Labels that mean something to Podman, with the field that decides them."""


def labels(ask: Reporter) -> tuple[tuple[str, str], ...]:
    """The container's labels, sorted by name."""
    found: dict[str, str] = ask.get("labels") or {}
    for name in found.keys() & _PODMAN_LABELS.keys():
        message = f"the label {name} is decided by `{_PODMAN_LABELS[name]}`"
        ask.add("unexpected-value", message, "labels", name, hint=f"use `{_PODMAN_LABELS[name]}`", at_key=True)
    for name, value in found.items():
        if literals.is_secret(value) or literals.names_secret(name, value):
            code, message, hint = literals.refusal(f"the label {name}")
            ask.add(code, message, "labels", name, hint=hint)
    return tuple(sorted(found.items()))


def peers(ask: Reporter, key: str, services: frozenset[str]) -> tuple[str, ...]:
    """`after` or `conflicts` as unit names. `x.service` is right on every Podman; `x.container` only from 5.5.0."""
    found = []
    for name in ask.get(key) or ():
        if name.removesuffix(".service").removesuffix(".container") == ask.service:
            ask.add("unexpected-value", f"`{key}` names the service itself", key)
        elif name in services:
            found.append(f"{name}.service")
        elif name.removesuffix(".container") in services:
            found.append(f"{name.removesuffix('.container')}.service")
        elif overrides.is_unit_name(name):
            wrong = neighbours.dependency_refusal(f"`{key}`", name)
            if wrong is not None:
                ask.add(wrong[0], wrong[1], key, hint=wrong[2])
            found.append(name)
        else:
            message, hint = unknown("service", name, sorted(services - {ask.service or ""}))
            ask.add("unexpected-value", f"{message} on this host", key, hint=f"{hint}; a unit is named with its suffix")
    return tuple(dict.fromkeys(found))


def mounts(ask: Reporter, host: Host, shelf: files.Shelf, *, cache: bool, program: str) -> tuple[Mount, ...]:
    """The model store, the fleet's `volumes`, and the cache volume of a read-only root."""
    if host.runtime == "systemd":
        if ask.get("volumes"):
            hint = "use unit: {Service: {BindReadOnlyPaths: ...}}"
            ask.add("unsupported-key", "a native service takes no `volumes`", "volumes", hint=hint, at_key=True)
        return ()
    found = list(shelf.mounts.values())
    taken = {mount.target for mount in found} | ({files.CACHE} if cache else set())
    for text in ask.get("volumes") or ():
        mount = files.volume(text, ask, host, shelf, program)
        if mount is None:
            continue
        target = files.clean(mount.target).rstrip("/")
        if target in taken:
            ask.add("unexpected-value", f"{mount.target} is mounted already", "volumes", hint="mount it elsewhere")
        taken.add(target)
        found.append(mount)
    if cache:
        found.append(Mount(source=f"{ask.service}-cache", target=files.CACHE, options=""))
    return tuple(found)
