"""A server in a container: what it is started with, and that nothing of it is left behind, whatever ends quadgen.

Podman is stood in for; that the real one takes these words is seen beside its generator
(tests/real/test_real_measuring_containers.py).
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import podman_stand_in
from fleets import CPU, accepted, one
from quadgen.measuring.launch import Launch
from quadgen.problems import Unavailable
from quadgen.resolution import Host
from quadgen.sampling import podman
from quadgen.server.process import Died
from test_server_process import SERVER, eventually, gone, script

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]

LAUNCH = Launch(
    program="podman", arguments=("--alias", "x"), container=("--init", "--pull=missing", "reg/image:x"), ready_within=30
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A machine with a Podman."""

    here: Path
    environ: dict[str, str]

    @property
    def containers(self) -> list[int]:
        """The processes of what runs."""
        numbers = [each for each in self.here.iterdir() if each.is_file() and "." not in each.name]
        return [int(each.read_text(encoding="ascii")) for each in numbers]


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Place:
    here = tmp_path / "containers"
    (here / "images").mkdir(parents=True)
    (here / "images" / "reg_image:x").touch()
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "podman"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {podman_stand_in.__file__} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    server = script(tmp_path, SERVER)
    path = f"{program.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    environ = {"PATH": path, "PODMAN_HERE": str(here), "PODMAN_SERVER": str(server), "LLAMA_ARG_PORT": "1"}
    return Place(here=here, environ=environ)


def test_a_container_gets_its_words_a_name_and_a_place_to_listen_and_is_gone_in_the_end(place: Place) -> None:
    with podman.running(LAUNCH, environ=place.environ) as contained:
        assert contained.url.startswith("http://127.0.0.1:")
        assert contained.status is None
        (number,) = place.containers
        first = "".join(chunk.decode() for chunk in contained.chunks()).partition("\n")[0]
    assert first.startswith("['--alias', 'x', '--host', '127.0.0.1', '--port', '0']")
    assert "LLAMA_" not in first
    options = (place.here / f"{contained.name}.options").read_text(encoding="utf-8")
    assert options.splitlines() == ["--init", "--pull=missing"]
    assert place.containers == []
    assert gone(number)


def interrupted(place: Place, numbers: list[int]) -> None:
    """Have a container, and be stopped."""
    with podman.running(LAUNCH, environ=place.environ):
        numbers += place.containers
        raise KeyboardInterrupt


def test_it_is_gone_where_somebody_stops_quadgen(place: Place) -> None:
    numbers: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(place, numbers)
    assert place.containers == []
    assert [gone(number) for number in numbers] == [True]


def test_it_is_gone_where_quadgen_is_killed(place: Place) -> None:
    program = f"""
import os, time
from quadgen.measuring.launch import Launch
from quadgen.sampling import podman
launch = Launch(program="podman", arguments=(), container={LAUNCH.container!r}, ready_within=30)
with podman.running(launch, environ=os.environ):
    print("ready", flush=True)
    time.sleep(600)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], env={**place.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE, text=True,
    ) as quadgen:  # fmt: skip
        assert quadgen.stdout is not None
        assert quadgen.stdout.readline() == "ready\n"
        (number,) = place.containers
        quadgen.send_signal(signal.SIGKILL)
    assert eventually(lambda: gone(number) and not place.containers)


def test_a_server_that_ends_by_itself_says_why(place: Place, tmp_path: Path) -> None:
    text = "#!/bin/sh\necho 'E srv  llama_server: failed to open the port' >&2\nexit 3\n"
    place.environ["PODMAN_SERVER"] = str(script(tmp_path, text))
    with pytest.raises(Died, match="podman ended with status 3 before it answered"):
        podman.running(LAUNCH, environ=place.environ).__enter__()
    assert place.containers == []


def test_an_image_that_is_missing_is_fetched_unless_the_service_says_never(place: Place) -> None:
    assert podman.have_image(LAUNCH, environ=place.environ) == podman_stand_in.IMAGE_ID
    other = replace(LAUNCH, container=("--pull=missing", "reg/other:y"))
    assert podman.have_image(other, environ=place.environ) == podman_stand_in.IMAGE_ID
    with pytest.raises(Unavailable) as failed:
        podman.have_image(replace(LAUNCH, container=("--pull=never", "reg/third:z")), environ=place.environ)
    why = "the image reg/third:z is not here, and `pull: never` fetches none: podman pull reg/third:z"
    assert str(failed.value) == why
    with pytest.raises(Unavailable) as failed:
        podman.have_image(replace(LAUNCH, container=("--pull=missing", "reg/missing:1")), environ=place.environ)
    why = "Error: initializing source docker://reg/missing:1: manifest unknown"
    assert str(failed.value) == f"podman pull --quiet reg/missing:1 ends with status 125: {why}"


def test_a_program_of_an_image_is_asked_by_itself(place: Place, tmp_path: Path) -> None:
    place.environ["PODMAN_SERVER"] = str(script(tmp_path, '#!/bin/sh\necho "told $*"; echo aside >&2; exit 4\n'))
    assert podman.once(LAUNCH, ("--version",), environ=place.environ, timeout=20) == (4, "told --version\n", "aside\n")
    absent = replace(LAUNCH, container=("reg/none:1",))
    with pytest.raises(Unavailable, match="podman cannot run reg/none:1: Error: reg/none:1: image not known"):
        podman.once(absent, ("--version",), environ=place.environ, timeout=20)


def test_a_program_that_does_not_end_is_removed(place: Place, tmp_path: Path) -> None:
    place.environ["PODMAN_SERVER"] = str(script(tmp_path, "#!/bin/sh\nexec sleep 600\n"))
    with pytest.raises(Unavailable, match="reg/image:x --version is not done after 1 seconds"):
        podman.once(LAUNCH, ("--version",), environ=place.environ, timeout=1)
    assert eventually(lambda: not place.containers)


def test_without_podman_it_is_said_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as failed:
        podman.running(LAUNCH, environ={"PATH": str(tmp_path)}).__enter__()
    assert str(failed.value).startswith("cannot find podman on PATH: this service runs in a container")


def test_the_work_of_a_container_is_that_of_its_first_process_and_of_all_that_descend_from_it(place: Place) -> None:
    with podman.running(LAUNCH, environ=place.environ) as contained, busy() as child:
        plain = contained.cpu_seconds()
        assert plain > 0
        assert contained.first == place.containers[0]
        ours = replace(contained, first=os.getpid())
        before = time.process_time() + time.clock_gettime(~child << 3 | 2)
        assert ours.cpu_seconds() >= before
    assert contained.cpu_seconds() == 0
    with pytest.raises(Unavailable, match="the processes of the container are not on this machine"):
        replace(contained, first=None).cpu_seconds()


@contextmanager
def busy() -> Iterator[int]:
    """A child of this process that has worked for a while."""
    program = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        yield child.pid
        child.kill()


def host(more: str) -> Host:
    """The host of a fleet."""
    ((service,),) = accepted(one(f"{CPU}{more}}}")).resolved.hosts.values()
    return service.host


def test_a_service_is_measured_by_the_user_whose_podman_has_its_image() -> None:
    root = os.geteuid() == 0
    with pytest.raises(Unavailable) as failed:
        podman.check_user(host(", rootless: ada" if root else ""))
    who = "ada" if root else "root"
    assert str(failed.value) == f"claw runs its containers as {who}, with the images that {who} has: measure as {who}"
    if root:
        podman.check_user(host(""))
