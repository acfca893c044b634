"""What every fetcher of real parts shares: where they lie, programs that are run, files that appear whole.

Only the standard library is used: it runs before anything is installed.
"""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

PATIENCE = 900
"""Seconds for one call of a program that answers; what needs longer is as good as missing."""


class CannotFetch(Exception):  # noqa: N818 - it says what happened, not that the program is at fault
    """One part cannot be had; the text is one line for the user."""


def cache(environment: Mapping[str, str]) -> Path:
    """Where the parts lie: $QUADGEN_PARTS, else `.cache/parts` of this checkout."""
    given = environment.get("QUADGEN_PARTS")
    return Path(given).absolute() if given else Path(__file__).resolve().parents[1] / ".cache" / "parts"


def stamped(stamp: Path) -> str | None:
    """What an earlier run noted in a stamp; None where it is missing or empty."""
    try:
        return stamp.read_text(encoding="ascii").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def is_program(path: Path) -> bool:
    """Whether a file is there that may be run."""
    return path.is_file() and os.access(path, os.X_OK)


def place(program: Path, target: Path, stamp: Path, note: str) -> Path:
    """Put a program where it belongs, then note in its stamp what it is. Raises `CannotFetch`."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        install(target, program.read_bytes(), mode=0o755)
        install(stamp, f"{note}\n".encode(), mode=0o644)
    except OSError as error:
        raise CannotFetch(f"cannot write {error.filename}: {error.strerror}") from None
    return target


def install(path: Path, data: bytes, *, mode: int) -> None:
    """Write a file whole or not at all, so that a run which is stopped leaves no half of a program."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_bytes(data)
        fresh.chmod(mode)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def run(command: list[str], directory: Path, *, why: str) -> str:
    """Run a program for its standard output; a failure becomes one line: its first error, or its status.

    `why` says what a program that is not installed is for.
    """
    plain = {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            env=plain,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            check=False,
        )
    except FileNotFoundError:
        raise CannotFetch(f"{command[0]} is not installed, and {why}") from None
    except OSError as error:
        raise CannotFetch(f"{command[0]} cannot run here: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise CannotFetch(f"{command[0]} did not end within {PATIENCE} seconds") from None
    if done.returncode:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        errors = [line.removeprefix("E: ") for line in said if line.startswith("E: ")] or said
        raise CannotFetch(errors[0] if errors else f"{command[0]} ended with status {done.returncode}")
    return done.stdout
