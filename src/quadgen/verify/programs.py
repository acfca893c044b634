"""The two outside programs: where they are, and how one is run so that it cannot hang or read the machine."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from quadgen import quadlet_keys
from quadgen.problems import Unavailable

GENERATORS: Final = ("/usr/libexec/podman/quadlet", "/usr/lib/podman/quadlet")
"""Where distributions put Podman's generator (podman-systemd.unit(5) names the first)."""

VARIABLE: Final = "QUADGEN_QUADLET"
"""The environment variable that names other generators, separated as PATH is."""

TIMEOUT: Final = 30.0
"""Seconds that one program may take over one host; both need some 20 ms."""

_VERSION = re.compile(r"v?(\d+\.\d+\S*)\n?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Generator:
    """A Quadlet generator that said its version, e.g. `5.4.2`, and its absolute path."""

    version: str
    path: str

    def speaks_for(self, podman: str | None) -> bool:
        """Whether a host that needs at least this Podman could have this generator; yes where nobody can tell."""
        return podman is None or quadlet_keys.at_least(self.version, podman) is not False


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What a program left: its exit status (None when it was ended for taking too long) and its words."""

    status: int | None
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """As whom a program is run: numbers of a user, of its group and of the others that it is in."""

    uid: int
    gid: int
    groups: tuple[int, ...]


def find_generators(environ: Mapping[str, str]) -> tuple[Generator, ...]:
    """Every Quadlet generator to ask; none where Podman is not installed.

    The list in `QUADGEN_QUADLET` wins over the usual places, and each entry of it must be a generator.
    Raises Unavailable for one that is not there or does not say its version.
    """
    named = [Path(path).absolute() for path in environ.get(VARIABLE, "").split(os.pathsep) if path]
    for path in named:
        if not _executable(path):
            raise Unavailable(f"{VARIABLE} names {path}, which is not a program")
    usual = [Path(path) for path in GENERATORS]
    # One package may ship the program under both names.
    found = named or {path.resolve(): path for path in usual if _executable(path)}.values()
    return tuple(Generator(version=_version(str(path)), path=str(path)) for path in found)


def find_systemd_analyze(environ: Mapping[str, str]) -> str | None:
    """Look for `systemd-analyze` on `PATH`: its absolute path, or None."""
    found = shutil.which("systemd-analyze", path=environ.get("PATH", os.defpath))
    return str(Path(found).absolute()) if found else None


def run(
    argv: Sequence[str], *, environ: Mapping[str, str], timeout: float, identity: Identity | None = None
) -> Finished:
    """Run a program with nothing but `environ` and two settings that keep its words the same everywhere.

    As another user where `identity` says so, which takes root.
    After `timeout` seconds it is killed together with whatever it started. Bytes that are not UTF-8 come
    back as backslash escapes. Raises Unavailable when it cannot be started.
    """
    try:
        process = subprocess.Popen(  # noqa: S603 - a list, no shell; running these programs is the point
            argv,
            env={"PATH": os.defpath, "LC_ALL": "C.UTF-8", **environ},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="backslashreplace",
            process_group=0,
            user=identity.uid if identity else None,
            group=identity.gid if identity else None,
            extra_groups=identity.groups if identity else None,
        )
    except OSError as error:
        raise Unavailable(f"cannot run {argv[0]}: {error.strerror}") from error
    with process:
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            _kill_group(process)
            # What it started may have left the group and hold the pipes: nobody waits for that.
            return Finished(status=None, stdout="", stderr="")
        except BaseException:
            _kill_group(process)
            raise
    return Finished(status=process.returncode, stdout=stdout, stderr=stderr)


def _kill_group(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _version(path: str) -> str:
    said = run([path, "-version"], environ={}, timeout=TIMEOUT)
    match = _VERSION.fullmatch(said.stdout)
    if said.status != 0 or match is None:
        raise Unavailable(f"{path} does not say its version: it is not a Quadlet generator")
    return match[1]
