"""The help text of a server: what a file holds, or what a program says that can neither hang nor flood.

llama-server prints it on its standard output and ends with status 0
(https://github.com/ggml-org/llama.cpp/blob/master/common/arg.cpp, common_params_parse).
"""

import contextlib
import os
import selectors
import signal
import stat
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from quadgen.disk.reading import unavailable
from quadgen.ownership import shown
from quadgen.problems import Problem, Rejected, Unavailable

LARGEST: Final = 2**20
"""Bytes of a help text; that of b11434 has less than a tenth of it."""

TIMEOUT: Final = 60.0
"""Seconds that a program may take; one that is built for GPUs looks for them first."""

_PROGRAMS: Final = (b"\x7fELF", b"#!", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
"""How programs begin: those of Linux, scripts, those of macOS for one processor and for several."""

_HINT: Final = "save what `llama-server --help` prints on its standard output"


@dataclass(slots=True)
class _Said:
    """What a program has printed so far, and whether that is all."""

    out: bytearray = field(default_factory=bytearray)
    err: bytearray = field(default_factory=bytearray)
    done: bool = False

    @property
    def complaint(self) -> str:
        """The first line on standard error, as the end of a sentence."""
        lines = (line.strip() for line in self.err.decode(errors="backslashreplace").splitlines())
        first = next((line for line in lines if line), None)
        return f": {first}" if first else ""


def read_help(path: str, *, environ: Mapping[str, str], timeout: float = TIMEOUT) -> tuple[str, str]:
    """The help text at `path`, and the name that problems give it.

    A regular file that begins as programs do is run with `--help`, without a shell, with the variables of `environ`
    except those that set options of a server (LLAMA_*); any other file is read. Raises `Unavailable` where it cannot
    be read or run, where the program fails, prints nothing or is not done after `timeout` seconds; `Rejected` with
    `unreadable-help` where a file is larger than any help text.
    """
    try:
        if _is_program(path):
            return _asked(path, environ, timeout), f"{shown(path)} --help"
        with Path(path).open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise unavailable("read", path, error) from error
    if len(data) > LARGEST:
        message = f"{shown(path)} has more than {LARGEST // 2**20} MiB, which no help text has"
        raise Rejected([Problem(code="unreadable-help", message=message, hint=_HINT)])
    return data.decode(errors="replace"), shown(path)


def _is_program(path: str) -> bool:
    file = Path(path)
    if not stat.S_ISREG(file.stat().st_mode):
        return False
    with file.open("rb") as opened:
        start = opened.read(4)
    return start.startswith(_PROGRAMS) and (not start.startswith(b"#!") or os.access(path, os.X_OK))


def _asked(path: str, environ: Mapping[str, str], timeout: float) -> str:
    name = f"{shown(path)} --help"
    said, status = _run(path, environ, time.monotonic() + timeout)
    if len(said.out) > LARGEST:
        raise Unavailable(f"{name} prints more than {LARGEST // 2**20} MiB, which no help text has")
    if status is None:
        raise Unavailable(f"{name} is not done after {timeout:g} seconds{said.complaint}")
    if status:
        raise Unavailable(f"{name} ends with {_ending(status)}{said.complaint}")
    if not said.out.strip():
        raise Unavailable(f"{name} prints nothing on its standard output{said.complaint}")
    return said.out.decode(errors="replace")


def _ending(status: int) -> str:
    """An exit status, or the signal that a negative one stands for; most real-time signals have no name."""
    if status > 0:
        return f"status {status}"
    return next((known.name for known in signal.Signals if known == -status), f"signal {-status}")


def _run(path: str, environ: Mapping[str, str], deadline: float) -> tuple[_Said, int | None]:
    """Run a program with `--help`: what it said, and its status; None where it was ended for it did not end."""
    variables = {name: value for name, value in environ.items() if not name.startswith("LLAMA_")}
    try:
        process = subprocess.Popen(  # noqa: S603 - a list, no shell; the user names the program to ask it
            [str(Path(path).absolute()), "--help"],
            env=variables | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
        )
    except OSError as error:
        raise unavailable("run", path, error) from error
    said = _Said()
    with process:
        try:
            _listen(process, said, deadline)
            status = process.wait(max(0.0, deadline - time.monotonic())) if said.done else None
        except subprocess.TimeoutExpired:
            status = None
        finally:
            if process.returncode is None or not said.done:
                # together with what it started, which may hold the pipes while it itself has ended
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
    return said, status


def _listen(process: subprocess.Popen[bytes], said: _Said, deadline: float) -> None:
    """Take in what a program prints, until it closes both streams, says too much or the time is up."""
    with selectors.DefaultSelector() as selector:
        for stream, heard in ((process.stdout, said.out), (process.stderr, said.err)):
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ, heard)
        while selector.get_map():
            left = deadline - time.monotonic()
            ready = selector.select(left) if left > 0 else []
            if not ready:
                return
            for key, _ in ready:
                data = os.read(key.fd, 2**16)
                if not data:
                    selector.unregister(key.fileobj)
                elif len(key.data) <= LARGEST:
                    key.data.extend(data)
            if len(said.out) > LARGEST:
                return
    said.done = True
