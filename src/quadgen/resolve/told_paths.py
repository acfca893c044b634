"""Files and directories that the fleet's own arguments name: the server must see them, and find them at its start.

A control vector that is not there leaves a healthy server without it.
"""

import posixpath
from collections.abc import Iterable
from typing import Final

from quadgen.engines.base import Engine, NamedPath, Refusal
from quadgen.resolution import Host, Mount, Secret
from quadgen.resolve import files, privileges
from quadgen.resolve.report import Reporter

_PASSING: Final = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - where any service may write, for as long as it runs


def check(  # noqa: PLR0917 - what a service sees comes from everywhere
    ask: Reporter, host: Host, kind: Engine, shelf: files.Shelf, mounts: Iterable[Mount], secrets: Iterable[Secret],
    paths: Iterable[NamedPath],
) -> None:  # fmt: skip
    """Report each path that the server would not find, and note the others on `shelf`, as far as the host has them."""
    kept = [(mount.target.rstrip("/"), mount) for mount in mounts]
    kept.sort(key=lambda each: len(each[0]), reverse=True)
    given = {files.clean(secret.path) for secret in secrets if secret.path is not None}
    for named in paths:
        path = files.clean(named.path)
        if named.served and (served := privileges.served_refusal(named.path, host.home)):
            wrong: Refusal | None = served
        elif not named.path.startswith("/") or "/../" in f"{named.path}/":
            message = f"{named.name} takes an absolute path without .. here, and {named.path!r} is none"
            wrong = ("unsafe-value", message, _absolute(shelf, named.path))
        elif host.runtime == "systemd":
            wrong = _native(ask, host, shelf, named, path)
        elif path in given and not named.written:
            wrong = None
        else:
            wrong = _boxed(kind, shelf, kept, named, path)
        if wrong is not None:
            ask.add(wrong[0], wrong[1], *named.argument.keys, hint=wrong[2])


def _absolute(shelf: files.Shelf, path: str) -> str:
    """What to write for a relative path."""
    below = shelf.inside if not path.startswith("~") and ".." not in path else None
    return "write the whole path" if below is None else f"such as {below}/{path.removeprefix('./')}"


def _native(ask: Reporter, host: Host, shelf: files.Shelf, named: NamedPath, path: str) -> Refusal | None:
    """A native service sees all that its user may read, and writes to little of it."""
    if not named.written:
        _found(shelf, path)
        return None
    service = (ask.get("unit") or {}).get("Service") or {}
    lines = [*(service.get("ReadWritePaths") or ()), *(service.get("BindPaths") or ())]
    words = [word.lstrip("-+").split(":") for line in lines for word in line.split()]
    writable = [*_PASSING, *(word[1] if len(word) > 1 else word[0] for word in words)]
    writable += [f"/var/cache/{ask.service}", f"{host.home}/.cache/{ask.service}"]
    writable += [shelf.models_dir] if shelf.writable else []
    if any(files.covers(files.clean(each).rstrip("/"), path) for each in writable):
        return None
    message = f"{named.name}: this service may not write to {path}"
    return "unsafe-value", message, f"add unit: {{Service: {{ReadWritePaths: {path}}}}}"


def _boxed(
    kind: Engine, shelf: files.Shelf, kept: list[tuple[str, Mount]], named: NamedPath, path: str
) -> Refusal | None:
    """A container sees what is mounted, and what its image has."""
    for target, mount in kept:
        if not files.covers(target, path):
            continue
        if named.written and not {"ro", "O"}.isdisjoint(mount.options.split(",")):
            return "unsafe-value", f"{named.name}: {target} is mounted read-only", "mount it without ro by `volumes`"
        if mount.source.startswith("/") and path != target:  # a mount itself is looked for by Podman
            _found(shelf, f"{mount.source.rstrip('/')}{path.removeprefix(target)}")
        return None
    free = _PASSING if named.written else (posixpath.dirname(kind.program),)
    if any(files.covers(each, path) for each in free):
        return None
    message = f"{named.name}: nothing is mounted at {path} in the container"
    if files.covers(shelf.models_dir, path):
        return "unsafe-value", message, f"write {files.INSIDE}{path.removeprefix(shelf.models_dir)}"
    store = "" if named.written else f"a path below {files.INSIDE}, or "
    return "unsafe-value", message, f"{store}mount a directory there by `volumes`"


def _found(shelf: files.Shelf, path: str) -> None:
    """Let the unit assert that the host has a path."""
    if path not in shelf.files:
        shelf.files.append(path)
