"""The files that a host must have: there, of the size that was recorded, and open to who reads them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from . import access, needed_programs
from .people import below
from .said_by_units import Reader, entries, readers, texts

_escape: Final = re.compile(r"\\x([0-9a-f]{2})")
_MOST_LINKS: Final = 40
"""As many as the kernel follows (MAXSYMLINKS)."""


def unmet(manifest: Mapping[str, Any], root: str, files: list[str], tree: str | None) -> Iterator[str]:
    """What is wrong with the files, in sentences. `tree` is the directory of the manifest, if its units can be read."""
    later = _mounted_later(manifest, root)
    missing = []
    for path in files:
        if access.there(below(root, path)) is False and not any(path.startswith(f"{where}/") for where in later):
            missing.append(path)
            yield _missing(path, root)
    requires = manifest.get("requires")
    for checkpoint in entries(requires if isinstance(requires, dict) else {}, "checkpoints"):
        size = checkpoint.get("size")
        if isinstance(size, int):
            yield from _sized(texts(checkpoint.get("files")), size, root)
    if tree is not None:
        said: set[object] = set()
        for reader in readers(manifest, tree, root):
            for path in reader.files:
                if path not in missing:
                    yield from _seen(path, reader, root)
                    yield from _open(path, reader, root, said, access.READ)
            if reader.program is not None and needed_programs.runs(below(root, reader.program)):
                yield from _open(reader.program, reader, root, said, access.EXECUTE)
            if reader.unified:
                yield from _unified(root)


def _missing(path: str, root: str) -> str:
    here = below(root, path)
    if os.path.islink(here):
        return f"{path} is a link to {os.readlink(here)}, which is not there; put the file itself there"
    gone = os.path.dirname(path)
    if access.there(below(root, gone)) is not False:
        return f"{path} is not there; put it there"
    while (above := os.path.dirname(gone)) != gone and access.there(below(root, above)) is False:
        gone = above
    return f"{path} is not there, nor is {gone}; put it there, or mount what holds it"


def _sized(files: list[str], size: int, root: str) -> Iterator[str]:
    found = [access.size(below(root, path)) for path in files]
    known = [each for each in found if each is not None]
    if not files or len(known) < len(files) or sum(known) == size:
        return
    what = files[0] if len(files) == 1 else f"{files[0]} and its shards"
    verb = "has" if len(files) == 1 else "have"
    yield (
        f"{what} {verb} {sum(known)} bytes, and {size} were recorded: a broken copy, or another checkpoint; "
        "copy it again, or record it with quadgen lock"
    )


def _mounted_later(manifest: Mapping[str, Any], root: str) -> list[str]:
    """Where something is mounted only when a service asks for it: by `after`, or by fstab(5), which units follow.

    systemd mounts what a unit's files lie on (RequiresMountsFor=), so that these are not missing yet.
    """
    found = []
    for service in entries(manifest, "services"):
        after = service.get("after")
        names = [name for name in texts(after) if name.endswith((".mount", ".automount"))]
        found += [_path_of(name.rpartition(".")[0]) for name in names]
    try:
        with open(below(root, "/etc/fstab"), encoding="utf-8", errors="replace") as file:
            fields = [line.split() for line in file if not line.lstrip().startswith("#")]
    except OSError:
        fields = []
    found += [each[1].rstrip("/") for each in fields if len(each) > 1 and each[1].startswith("/")]
    return [path for path in found if path and not os.path.ismount(below(root, path))]


def _path_of(name: str) -> str:
    """The path that a mount unit is named after (systemd-escape(1), `--path`)."""
    return "/" + _escape.sub(lambda found: chr(int(found[1], 16)), name.replace("-", "/"))


def _seen(path: str, reader: Reader, root: str) -> Iterator[str]:
    """Whether a container that is given a link has what it points to."""
    if reader.mounts is None:
        return
    where = path
    for _ in range(_MOST_LINKS):
        mount = _mount(reader.mounts, where, 0)
        if mount is None or not os.path.islink(below(root, where)):
            return
        target = os.readlink(below(root, where))
        inside = os.path.join(mount[1], os.path.relpath(os.path.dirname(where), mount[0]))
        aim = os.path.normpath(os.path.join(inside, target))
        other = _mount(reader.mounts, aim, 1)
        if other is None or access.there(below(root, _outside(aim, other))) is False:
            yield (
                f"{reader.unit} is given {path}, and in its container nothing is where that link points, "
                f"{target}; put the file itself there, or a hard link"
            )
            return
        where = _outside(aim, other)


def _outside(path: str, mount: tuple[str, str]) -> str:
    return os.path.normpath(os.path.join(mount[0], os.path.relpath(path, mount[1])))


def _mount(mounts: tuple[tuple[str, str], ...], path: str, side: int) -> tuple[str, str] | None:
    """The innermost mount that holds a path of the host (0) or of the container (1)."""
    holding = [each for each in mounts if path.startswith(f"{each[side].rstrip('/')}/")]
    return max(holding, key=lambda each: len(each[side]), default=None)


def _open(path: str, reader: Reader, root: str, said: set[object], wanted: int) -> Iterator[str]:
    """Whether who runs the service may read a file of it, or run it."""
    who = reader.who
    if who is None or (who.uid == 0 and reader.passing):
        return
    mount = None if reader.mounts is None else _mount(reader.mounts, path, 0)
    inside = "/" if reader.passing or mount is None else mount[0]
    found = access.obstacle(path, who, root, wanted, inside)
    if found is None or (who.uid, found) in said:
        return
    said.add((who.uid, found))
    what, directory = found
    if directory:
        may = f"enter {what}, which holds {path}; chmod a+x {what}"
    elif wanted == access.EXECUTE:
        may = f"run {what}; chmod a+x {what}"
    else:
        may = f"read {what}; chmod a+r {what}"
    yield f"{reader.unit} runs as {who.name}, who may not {may}"


def _unified(root: str) -> Iterator[str]:
    """Whether the driver's class of devices for CUDA is known, which a sandboxed service cannot load."""
    try:
        with open(below(root, "/proc/devices"), encoding="ascii", errors="replace") as file:
            classes = file.read().split()
    except OSError:
        return
    if "nvidia" in " ".join(classes) and "nvidia-uvm" not in classes:
        yield (
            "the kernel module nvidia-uvm is not loaded, and units here cannot load it; modprobe nvidia-uvm, "
            "and write that name into /etc/modules-load.d/nvidia-uvm.conf"
        )
