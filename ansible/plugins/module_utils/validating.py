"""The judges of a tree that a host has: Podman's own generator, and `systemd-analyze verify` for native units.

They see copies in a directory of their own, before any file is replaced: a unit that a generator refuses is a
service that is gone after the next daemon-reload, often with all of its neighbours.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from . import managers, tree
from .managers import Run
from .tree import File, Manifest

GENERATORS: Final = ("/usr/libexec/podman/quadlet", "/usr/lib/podman/quadlet")
"""Where distributions put Podman's generator (podman-systemd.unit(5) names the first)."""

VARIABLE: Final = "QUADGEN_QUADLET"
"""The environment variable that names another one."""

_QUADLETS: Final = ("build", "container", "image", "kube", "network", "pod", "volume")
_SUFFIXES: Final = tuple(f".{kind}" for kind in _QUADLETS)
_HEADING: Final = re.compile(r"^---(.+)---$", re.MULTILINE)
_PREFIX: Final = re.compile(r"quadlet-generator\[\d+\]: ")
_EXPECTED: Final = "Loading source unit file "
_NETWORK: Final = re.compile(r"^[ \t]*Network[ \t]*=[ \t]*([^\s/:]+\.network)[ \t\r]*(?::.*)?$", re.MULTILINE)
_ABSENT: Final = re.compile(r"Command .+ is not executable: No such file or directory$")
"""What systemd says of a program that is not there: whether it is, is one of the requirements."""


@dataclass(frozen=True)
class Verdict:
    """What is wrong with a tree, and which checks could not be made; a sentence each."""

    faults: tuple[str, ...]
    unchecked: tuple[str, ...]


def judged(directory: str, manifest: Manifest, *, environ: Mapping[str, str], run: Run = managers.run) -> Verdict:
    """Let the programs of this host judge the units of a tree. Raises Trouble where a file is not the manifest's."""
    faults: list[str] = []
    unchecked: list[str] = []
    # A link in the path would not be the path that the generator prints.
    with tempfile.TemporaryDirectory(prefix="quadgen-") as made:
        stage = os.path.realpath(made)
        os.chmod(stage, 0o755)  # noqa: S103 - programs of other users read it
        for whose, files in _by_manager(manifest).items():
            place = os.path.join(stage, "user" if whose else "system")
            quadlets = [file for file in files if "/containers/systemd/" in f"/{file.path}"]
            natives = [file for file in files if file not in quadlets]
            for found, missing in (
                _generated(directory, quadlets, place, user=whose, environ=environ, run=run),
                _analyzed(directory, natives, place, user=whose, run=run),
            ):
                faults += found
                unchecked += missing
    return Verdict(tuple(faults), tuple(dict.fromkeys(unchecked)))


def _by_manager(manifest: Manifest) -> dict[bool, list[File]]:
    """The files of the system's manager, and those of users': one user is judged as any other."""
    found: dict[bool, list[File]] = {}
    for file in manifest.files:
        found.setdefault("/.config/" in f"/{file.path}", []).append(file)
    return found


def _generated(
    directory: str, files: Sequence[File], place: str, *, user: bool, environ: Mapping[str, str], run: Run
) -> tuple[list[str], list[str]]:
    if not files:
        return [], []
    stage = os.path.join(place, "quadlets")
    texts = {_copy(directory, file, stage): file for file in files}
    named = [path for path in environ.get(VARIABLE, "").split(os.pathsep) if path]
    program = next((path for path in (*named[:1], *GENERATORS) if os.access(path, os.X_OK)), None)
    if program is None:
        return [], [f"there is no Quadlet generator ({' or '.join(GENERATORS)}), so no container's unit was judged"]
    units = [path for path in texts if path.endswith(_SUFFIXES)]
    for network in _foreign_networks(directory, files):
        _write(os.path.join(place, "networks", network), b"[Network]\n")
    said = run(
        [
            *_with({"QUADLET_UNIT_DIRS": f"{stage}:{place}/networks", "HOME": place}),
            program,
            "-dryrun",
            *["-user"][:user],
        ]
    )
    words = [_PREFIX.sub("", line, count=1).replace(f"{stage}/", "") for line in said.stderr.splitlines()]
    faults = [f"Quadlet: {word}" for word in words if word and not word.startswith(_EXPECTED)]
    sources = set(re.findall(r"^SourcePath=(.*)$", said.stdout, re.MULTILINE))
    lost = [texts[path].path for path in units if path not in sources]
    faults += [f"Quadlet makes no service of {path}" for path in lost]
    if not said.done and not faults:
        faults.append(f"Quadlet: {said.why}")
    return faults, []


def _analyzed(
    directory: str, files: Sequence[File], place: str, *, user: bool, run: Run
) -> tuple[list[str], list[str]]:
    if not files:
        return [], []
    stage = os.path.join(place, "units")
    paths = [_copy(directory, file, stage) for file in files]
    variables = {"XDG_RUNTIME_DIR": place, "HOME": place, "SYSTEMD_COLORS": "0"}
    scope = ["--user"] if user else []
    said = run([*_with(variables), "systemd-analyze", "verify", "--man=no", *scope, *paths], timeout=120)
    if said.missing:
        return [], ["there is no systemd-analyze, so no native unit was judged"]
    lines = [line for line in (said.stdout + said.stderr).splitlines() if line.strip()]
    words = [line.replace(f"{stage}/", "") for line in lines if not _ABSENT.search(line)]
    faults = [f"systemd: {word}" for word in words]
    if not said.done and not lines:
        faults.append(f"systemd: {said.why}")
    return faults, []


def _with(variables: Mapping[str, str]) -> list[str]:
    return ["env", *(f"{key}={value}" for key, value in variables.items())]


def _foreign_networks(directory: str, files: Sequence[File]) -> list[str]:
    """The networks that units name and the tree does not have: whether the host has them is one of the requirements."""
    held = {os.path.basename(file.path) for file in files}
    texts = [tree.content(directory, file).decode("utf-8", "replace") for file in files]
    return sorted({name for text in texts for name in _NETWORK.findall(text)} - held)


def _copy(directory: str, file: File, stage: str) -> str:
    path = os.path.join(stage, os.path.basename(file.path))
    _write(path, tree.content(directory, file))
    return path


def _write(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as stream:
        stream.write(data)
