"""What a row of a ledger says of the program and the machine: both are asked, and nothing is believed of the fleet."""

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from quadgen.engines import help_text
from quadgen.measuring.launch import Launch
from quadgen.measuring.machine import Machine, devices, flags_fingerprint, version
from quadgen.ownership import shown
from quadgen.problems import Unavailable
from quadgen.sampling import podman
from quadgen.server.failures import quoted
from quadgen.verify.programs import run

TIMEOUT: Final = 120.0
"""Seconds for a question to the program; one that is built for GPUs looks for them first."""
_CPUINFO: Final = Path("/proc/cpuinfo")
_BOARD: Final = Path("/sys/firmware/devicetree/base/model")
_named: Final = re.compile(r"^(?:model name|cpu model|cpu|Hardware)\s*:[ \t]*(\S.*?)[ \t]*$", re.MULTILINE).search
"""What /proc/cpuinfo says on x86, mips, power and s390x, and on some of arm."""
_listed: Final = re.compile(r"^Model name:[ \t]*(\S.*?)[ \t]*$", re.MULTILINE).search
_NAMELESS: Final = frozenset({"unknown", "-", ""})

__all__ = ["Machine", "machine", "processor"]


def machine(launch: Launch, *, environ: Mapping[str, str]) -> Machine:
    """Ask the program of a launch for its version, devices and flags, and the machine for its processor.

    An image that is missing is fetched first. Raises `Unavailable` where the program cannot be run, and `Rejected`
    where its help is none of a server.
    """
    image = podman.have_image(launch, environ=environ) if launch.container else None
    said, build, commit = version(_said(launch, "--version", environ))
    found = devices(_said(launch, "--list-devices", environ))
    options = help_text.parse(_said(launch, "--help", environ), file=f"{shown(_subject(launch))} --help")
    return Machine(
        version=said, build=build, commit=commit, fingerprint=flags_fingerprint(options),
        devices=tuple(words for _, words in found), names=tuple(name for name, _ in found), options=options,
        processor=processor(environ), image=image,
    )  # fmt: skip


def processor(environ: Mapping[str, str]) -> str:
    """The name of this machine's processor; of its board, or of its architecture where it has none."""
    asked = (_cpuinfo, lambda: _lscpu(environ), _board, lambda: os.uname().machine)
    names = (" ".join(ask().split()) for ask in asked)
    return next((name for name in names if name.lower() not in _NAMELESS), "unknown")


def _cpuinfo() -> str:
    found = _named(_text(_CPUINFO))
    return found[1] if found else ""


def _lscpu(environ: Mapping[str, str]) -> str:
    """What lscpu makes of the numbers that an arm64 says of itself."""
    program = shutil.which("lscpu", path=environ.get("PATH", os.defpath))
    found = None if program is None else _listed(run((program,), environ={"LC_ALL": "C"}, timeout=TIMEOUT).stdout)
    return found[1] if found else ""


def _board() -> str:
    return _text(_BOARD).rstrip("\0")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _subject(launch: Launch) -> str:
    return launch.container[-1] if launch.container else launch.program


def _said(launch: Launch, option: str, environ: Mapping[str, str]) -> str:
    """What the program prints for an option, its standard error first. Raises `Unavailable`."""
    if launch.container:
        status, out, err = podman.once(launch, (option,), environ=environ, timeout=TIMEOUT)
    else:
        status, out, err = _native(launch, option, environ)
    if status:
        complaint = next((line for line in map(quoted, err.splitlines()) if line), "it does not say why")
        raise Unavailable(f"{shown(_subject(launch))} {option} ends with status {status}: {complaint}")
    return f"{err}\n{out}" if option != "--help" else out


def _native(launch: Launch, option: str, environ: Mapping[str, str]) -> tuple[int, str, str]:
    variables = {name: value for name, value in environ.items() if not name.startswith("LLAMA_")}
    program = str(Path(launch.program).absolute())
    done = run((program, option), environ=variables | dict(launch.environment), timeout=TIMEOUT)
    if done.status is None:
        raise Unavailable(f"{shown(program)} {option} is not done after {TIMEOUT:g} seconds")
    return done.status, done.stdout, done.stderr
