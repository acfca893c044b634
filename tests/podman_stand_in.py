"""A stand-in for Podman where there is none: a program that runs a server as Podman does, and keeps what it runs.

Like the real one, `run` starts the server behind a monitor in a session of its own, so that it outlives whoever is
killed in front of it; `rm --force` ends it. `$PODMAN_HERE` is the directory of its state, where `images` are files of
these names, and `$PODMAN_SERVER` is the program of every image.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

IMAGE_ID = "ab" * 32


def main(words: list[str]) -> int:
    """Do what the words say; the status is Podman's."""
    here = Path(os.environ["PODMAN_HERE"])
    match words:
        case ["run", name, "--rm", *rest]:
            return run(here, name.removeprefix("--name="), rest)
        case ["monitor", name, *command]:
            return monitor(here, name, command)
        case ["rm", "--force", "--time=0", "--ignore", name]:
            remove(here / name)
            return 0
        case ["container", "exists", name]:
            return 0 if (here / name).exists() else 1
        case ["container", "inspect", "--format={{.State.Pid}}", name]:
            return say((here / name).read_text(encoding="ascii"))
        case ["image", "inspect", "--format={{.Id}}", name]:
            return say(IMAGE_ID) if has(here, name) else complain(f"Error: {name}: image not known", 125)
        case ["pull", "--quiet", name]:
            if "missing" in name:
                return complain(f"Error: initializing source docker://{name}: manifest unknown", 125)
            (here / "images" / name.replace("/", "_")).touch()
            return 0
    return complain(f"Error: unknown words: {words}", 125)


def has(here: Path, image: str) -> bool:
    """Whether an image is there."""
    return (here / "images" / image.replace("/", "_")).exists()


def run(here: Path, name: str, rest: list[str]) -> int:
    """Run a container in front of a monitor, to its end."""
    at = next(number for number, word in enumerate(rest) if not word.startswith("--"))
    (here / f"{name}.options").write_text("\n".join(rest[:at]), encoding="utf-8")
    if not has(here, rest[at]):
        return complain(f"Error: {rest[at]}: image not known", 125)
    command = [sys.executable, __file__, "monitor", name, os.environ["PODMAN_SERVER"], *rest[at + 1 :]]
    subprocess.Popen(command, start_new_session=True).wait()
    return int((here / f"{name}.status").read_text(encoding="ascii"))


def monitor(here: Path, name: str, command: list[str]) -> int:
    """Keep the number of a container's process as long as it runs, and its status then."""
    process = subprocess.Popen(command, start_new_session=True)
    (here / name).write_text(str(process.pid), encoding="ascii")
    status = process.wait()
    (here / f"{name}.status").write_text(str(status if status >= 0 else 128 - status), encoding="ascii")
    (here / name).unlink(missing_ok=True)
    return 0


def remove(kept: Path) -> None:
    """End a container and wait until it is gone."""
    with suppress(OSError, ValueError):
        os.killpg(int(kept.read_text(encoding="ascii")), signal.SIGKILL)
    while kept.exists():
        time.sleep(0.01)


def say(text: str) -> int:
    """Print an answer."""
    sys.stdout.write(f"{text}\n")
    return 0


def complain(text: str, status: int) -> int:
    """Print an error, and give the status."""
    sys.stderr.write(f"{text}\n")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
