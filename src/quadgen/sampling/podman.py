"""A server in a container, for as long as it is measured, and of which nothing is left behind.

The container is not a child of quadgen but of Podman's monitor, and goes on when `podman run` is killed. So a process
of its own waits for the end of quadgen, or for its word, and removes the container then.
"""

import os
import pwd
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from quadgen.measuring.launch import Launch
from quadgen.problems import Unavailable
from quadgen.resolution import Host
from quadgen.server import process
from quadgen.server.failures import quoted
from quadgen.server.process import Died, Process
from quadgen.verify.programs import run

_HERE: Final = 60.0
"""Seconds for a question to Podman, which answers in tenths of one where it has nothing else to do."""
_PULL: Final = 3600.0
"""Seconds for an image to come: those for ROCm have more than 20 GB."""
_GONE: Final = 60.0
"""Seconds for a container to be removed."""
_WATCHER: Final = """
import os, subprocess, sys, time
told, podman, name = sys.argv[1:]
os.environ["PATH"] = os.environ.get("PATH", os.defpath)
def ask(*words):
    quiet = subprocess.DEVNULL
    return subprocess.run([podman, *words], stdin=quiet, stdout=quiet, stderr=quiet, check=False).returncode
asked = os.read(int(told), 1)
absent = 0
for _ in range(30):
    ask("rm", "--force", "--time=0", "--ignore", name)
    absent = absent + 1 if ask("container", "exists", name) == 1 else 0
    if absent > (0 if asked else 1):
        sys.exit(0)
    time.sleep(1)
sys.exit(1)
"""
"""Removes the container once it is told to, or once quadgen is gone. Where it was not told, Podman may have been about
to make the container, so that it looks a second time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contained:
    """A server in a container, which runs or did; see `sampling.opening.Watched`."""

    name: str
    """Of the container."""
    process: Process
    """`podman run`, which ends as the server does and writes what it writes."""
    first: int | None
    """The process that the others of the container descend from, by its number here; None where it is not here."""

    @property
    def url(self) -> str:
        """Where it answers."""
        return self.process.url

    @property
    def status(self) -> int | None:
        """How it ended; None while it runs."""
        return self.process.status

    def cpu_seconds(self) -> float:
        """Seconds that processors have worked for all that runs in the container.

        Raises `Unavailable` where the system does not tell.
        """
        if self.first is None:
            raise Unavailable("cannot count CPU seconds: the processes of the container are not on this machine")
        try:
            return _worked(self.first)
        except OSError as error:
            raise Unavailable(f"cannot count CPU seconds: {error.strerror} in /proc") from error

    def log(self) -> str:
        """The end of its log."""
        return self.process.log()

    def chunks(self) -> Iterator[bytes]:
        """All of its log so far."""
        return self.process.chunks()

    def last(self) -> tuple[str, ...]:
        """Its last lines, as they may be shown."""
        return self.process.last()

    def ended_within(self, seconds: float) -> bool:
        """Whether it has ended, or does so in this time."""
        return self.process.ended_within(seconds)

    def died(self, when: str) -> Died:
        """The exception for its end; `when` continues the sentence."""
        return self.process.died(when)


def found(environ: Mapping[str, str]) -> Path:
    """Where Podman is on `PATH`. Raises `Unavailable`."""
    program = shutil.which("podman", path=environ.get("PATH", os.defpath))
    if program is None:
        raise Unavailable("cannot find podman on PATH: this service runs in a container; or measure with --server")
    return Path(program).absolute()


def check_user(host: Host) -> None:
    """Refuse to measure a service with the containers and images of another user than its own.

    Raises `Unavailable`, with what to do.
    """
    user = os.geteuid()
    try:
        name = pwd.getpwuid(user).pw_name
    except KeyError:
        name = str(user)
    if host.rootless is None and user != 0:
        raise Unavailable(f"{host.name} runs its containers as root, with the images that root has: measure as root")
    if host.rootless is not None and name != host.rootless:
        who = host.rootless
        raise Unavailable(f"{host.name} runs its containers as {who}, with the images that {who} has: measure as {who}")


def have_image(launch: Launch, *, environ: Mapping[str, str]) -> str:
    """Fetch the image where it is missing and may be, and give its id: sha256 in hex.

    Raises `Unavailable` where it cannot be had.
    """
    program, image = found(environ), launch.container[-1]
    if (known := _id(program, image, environ)) is not None:
        return known
    if "--pull=never" in launch.container:
        raise Unavailable(f"the image {image} is not here, and `pull: never` fetches none: podman pull {image}")
    _ask(program, ("pull", "--quiet", image), environ, _PULL)
    known = _id(program, image, environ)
    if known is None:
        raise Unavailable(f"the image {image} is not here although it was pulled")
    return known


def once(launch: Launch, words: Sequence[str], *, environ: Mapping[str, str], timeout: float) -> tuple[int, str, str]:
    """Run the server of a container with other arguments, to its end: status, standard output and error.

    Raises `Unavailable` where it does not end in time, or Podman cannot run it.
    """
    program, name = found(environ), _name()
    with _removed(program, name, environ):
        said = run(
            (str(program), "run", f"--name={name}", "--rm", *launch.container, *words),
            environ=_variables(environ), timeout=timeout,
        )  # fmt: skip
    if said.status is None:
        raise Unavailable(f"{launch.container[-1]} {' '.join(words)} is not done after {timeout:g} seconds")
    if said.status in {125, 126, 127}:  # podman-run(1): Podman's own failure, no program, none found
        raise Unavailable(f"podman cannot run {launch.container[-1]}: {_complaint(said.stderr)}")
    return said.status, said.stdout, said.stderr


@contextmanager
def running(launch: Launch, *, environ: Mapping[str, str]) -> Iterator[Contained]:
    """Start the server of a container, and yield it once /health says 200; in the end the container is gone.

    It is gone as well where quadgen is killed. Raises as `server.process.running` does.
    """
    program, name = found(environ), _name()
    words = ("run", f"--name={name}", "--rm", *launch.container, *launch.arguments)
    with (
        _removed(program, name, environ),
        process.running(program, words, environ=environ, ready_within=launch.ready_within) as started,
    ):
        yield Contained(name=name, process=started, first=_first(program, name, environ))


def _name() -> str:
    return f"quadgen-{os.getpid()}-{secrets.token_hex(4)}"


def _variables(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if not name.startswith("LLAMA_")}


@contextmanager
def _removed(program: Path, name: str, environ: Mapping[str, str]) -> Iterator[None]:
    """In the end no container of this name is there. Raises `Unavailable` where Podman does not remove it."""
    told, tell = os.pipe()
    try:
        watcher = subprocess.Popen(  # noqa: S603 - a list, no shell
            [sys.executable, "-I", "-S", "-c", _WATCHER, str(told), str(program), name],
            env=_variables(environ), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=[told], start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        os.close(tell)
        raise Unavailable(f"cannot run {sys.executable}: {error.strerror}") from error
    finally:
        os.close(told)
    try:
        yield
    finally:
        with suppress(OSError):
            os.write(tell, b".")
        os.close(tell)
        try:
            left = watcher.wait(_GONE) != 0
        except subprocess.TimeoutExpired:
            left = True
    if left:
        raise Unavailable(f"a container is left behind: podman rm --force {name}")


def _first(program: Path, name: str, environ: Mapping[str, str]) -> int | None:
    """The first process of a container; None where Podman runs it on another machine, or knows none."""
    asked = ("container", "inspect", "--format={{.State.Pid}}", name)
    said = run((str(program), *asked), environ=_variables(environ), timeout=_HERE)
    number = int(said.stdout) if said.stdout.strip().isdecimal() else 0
    return number if number > 0 and Path(f"/proc/{number}/stat").is_file() else None


def _worked(number: int) -> float:
    """CPU seconds of a process and of all that descend from it.

    Descendants and not a control group are counted: a
    rootless Podman without a systemd of the user's makes none. /proc/PID/task/TID/children: proc(5), Linux 4.2.
    """
    try:
        seconds = process.clocked(number)
        tasks = [*Path(f"/proc/{number}/task").iterdir()]
        children = [int(child) for task in tasks for child in (task / "children").read_text(encoding="ascii").split()]
    except OSError:
        if Path(f"/proc/{number}").is_dir():
            raise
        return 0.0  # it ended meanwhile
    return seconds + sum(map(_worked, children))


def _id(program: Path, image: str, environ: Mapping[str, str]) -> str | None:
    asked = ("image", "inspect", "--format={{.Id}}", image)
    said = run((str(program), *asked), environ=_variables(environ), timeout=_HERE)
    return said.stdout.strip() or None if said.status == 0 else None


def _ask(program: Path, words: Sequence[str], environ: Mapping[str, str], timeout: float) -> str:
    said = run((str(program), *words), environ=_variables(environ), timeout=timeout)
    if said.status is None:
        raise Unavailable(f"podman {' '.join(words)} is not done after {timeout:g} seconds")
    if said.status:
        raise Unavailable(f"podman {' '.join(words)} ends with status {said.status}: {_complaint(said.stderr)}")
    return said.stdout


def _complaint(text: str) -> str:
    """The last line that a program wrote, as it may be shown."""
    lines = [line for line in map(quoted, text.splitlines()) if line]
    return lines[-1] if lines else "it does not say why"
