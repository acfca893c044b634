"""The real programs and files that tests use, where `make parts` puts them: .cache/parts, or $QUADGEN_PARTS.

A part that is missing skips its tests with the reason, and fails them where QUADGEN_PARTS_REQUIRED=1 (CI).
QUADGEN_LLAMA_SERVER may name a llama-server that was built elsewhere, QUADGEN_GEMMA the checkpoint.
"""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

import fetch_gemma
import fetch_llama
from fetching import cache, is_program

HOME = cache(os.environ)
REQUIRED = os.environ.get("QUADGEN_PARTS_REQUIRED") == "1"
MISSING = "real part missing"
"""How the reason begins for which a test of a real part is skipped or fails."""
OLDEST = "5.4.2"
"""The Podman that quadgen renders for by default: Debian 13's."""
_HEADING = re.compile(r"^---(?:.*/)?([^/\n]+)---\n", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """What one run of a generator said: each service's text by its name, the messages, the exit status."""

    services: dict[str, str]
    messages: list[str]
    status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quadlet:
    """Podman's generator of one version; where it is missing, running it skips the test or fails it."""

    version: str
    program: Path | None

    def run(self, directory: Path, *, user: bool = False) -> DryRun:
        """Generate the services of every unit in `directory`; nothing is written."""
        program = self.program or missing(f"Quadlet {self.version}")
        done = subprocess.run(
            [program, "-dryrun", *(["-user"] if user else [])],
            env={"QUADLET_UNIT_DIRS": str(directory.absolute()), "PATH": os.environ.get("PATH", "")},
            capture_output=True,
            check=False,
            timeout=60,
        )
        _, *parts = _HEADING.split(done.stdout.decode())
        messages = [
            line.partition("]: ")[2]
            for line in done.stderr.decode().splitlines()
            if "Loading source unit file" not in line
        ]
        return DryRun(
            services=dict(zip(parts[::2], parts[1::2], strict=True)),
            messages=messages,
            status=done.returncode,
        )

    def generate(self, directory: Path, containers: dict[str, str]) -> DryRun:
        """Generate these `.container` files, text by stem, and nothing else that `directory` holds."""
        for old in directory.iterdir():
            old.unlink()
        for stem, text in containers.items():
            (directory / f"{stem}.container").write_bytes(text.encode())
        return self.run(directory)


def missing(part: str, made: str = "fetches") -> Path:
    """Skip the test that asked for `part`, or fail it where parts are required. Never returns."""
    reason = f"{MISSING}: {part} (make parts {made} it)"
    if REQUIRED:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def llama_server() -> Path:
    """The llama-server that judges arguments and compositions, or a skip."""
    named = os.environ.get("QUADGEN_LLAMA_SERVER")
    server = Path(named).absolute() if named else fetch_llama.present(HOME)
    if server is None or not is_program(server):
        return missing(f"llama-server {fetch_llama.BUILD}", "builds")
    return server


def gemma() -> Path:
    """Gemma 3 270M, a real checkpoint with a large vocabulary, or a skip."""
    named = os.environ.get("QUADGEN_GEMMA")
    path = Path(named).absolute() if named else fetch_gemma.present(HOME)
    if path is None or not path.is_file():
        return missing("Gemma 3 270M")
    return path


def quadlets() -> dict[str, Path]:
    """The generators that are there, by version, oldest first."""
    found = {path.parent.name: path for path in HOME.glob("quadlet/*/quadlet") if os.access(path, os.X_OK)}
    return {version: found[version] for version in sorted(found, key=_numbers)}


def generators() -> list[Quadlet]:
    """The two generators that judge every unit: the oldest that is supported, and the newest there is."""
    found = quadlets()
    newest = max((version for version in found if version != OLDEST), key=_numbers, default=None)
    return [
        Quadlet(version=OLDEST, program=found.get(OLDEST)),
        Quadlet(version=newest or "of Debian unstable", program=found[newest] if newest else None),
    ]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


each_quadlet = pytest.mark.parametrize("quadlet", generators(), ids=lambda quadlet: quadlet.version)
"""Run a test with its argument `quadlet` once for each of `generators()`."""
