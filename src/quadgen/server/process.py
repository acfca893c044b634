"""A server that is started here, for as long as it is measured, and of which nothing is left behind.

It listens on a port of loopback that the kernel picks: `--port 0`, which its log resolves
(tools/server/server-http.cpp, start, and server.cpp, "listening on", of b10434 to b11434:
https://github.com/ggml-org/llama.cpp).
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import IO, Final

from quadgen.ownership import shown
from quadgen.problems import Unavailable
from quadgen.server.client import connected
from quadgen.server.failures import NoAnswer, quoted
from quadgen.server.outliving import ended
from quadgen.server_log import cause

TAIL: Final = 2**16
"""Bytes of a log that are looked at when something went wrong; the reason stands near the end."""
WINDOW: Final = 2**16
"""Bytes of a log that are read at once."""
_LISTENING: Final = re.compile(rb"listening on http://127\.0\.0\.1:(\d{1,5})\b")
_BEAT: Final = 0.02
"""Seconds between two looks at a server that starts."""
_PATIENCE: Final = 5.0
"""Seconds for an answer of /health, and for a server that broke off an answer to be gone: an abort takes a while."""
_LAST: Final = 5
"""Lines of a log that go along with a failure."""
_LAUNCHER: Final = """
import ctypes, os, sys
parent, report, program, *words = sys.argv[1:]
try:
    ctypes.CDLL(None).prctl(1, 9)
except (AttributeError, OSError):
    pass
if os.getppid() != int(parent):
    os._exit(1)
os.set_inheritable(int(report), False)
try:
    os.execv(program, [program, *words])
except OSError as error:
    os.write(int(report), str(error.errno).encode())
    os._exit(127)
"""
"""Becomes the server, which the kernel then kills when quadgen is gone, whatever ended that: PR_SET_PDEATHSIG is 1,
SIGKILL 9 (prctl(2)). subprocess could only do that between fork and exec, where threads make Python unsafe."""


class Died(Unavailable):
    """A server ended on its own; `last` are the last lines of its log."""

    def __init__(self, message: str, last: tuple[str, ...]) -> None:
        super().__init__(message)
        self.last = last


class NotReady(Unavailable):
    """A server neither answered nor ended in time; `last` are the last lines of its log."""

    def __init__(self, message: str, last: tuple[str, ...]) -> None:
        super().__init__(message)
        self.last = last


@dataclass(slots=True, kw_only=True)
class Process:
    """A server that runs, or did."""

    program: Path
    pid: int
    """Of the server, and of its process group."""
    url: str = ""
    """Where it answers: `http://127.0.0.1:PORT`; empty until it said so."""
    _file: IO[bytes]
    _read: int = field(default=0, init=False)
    """Bytes of its log that hold no word of where it listens."""
    _members: set[int] = field(default_factory=set, init=False)
    """Processes of its group that were there when CPU seconds were counted before."""

    @property
    def status(self) -> int | None:
        """How it ended: its exit status, or the negative number of a signal; None while it runs."""
        with suppress(ChildProcessError):
            # left unreaped, so that its number is nobody else's until the group is killed
            ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                return None
            return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
        return -signal.SIGKILL

    def log(self) -> str:
        """The end of what it has written so far, `TAIL` bytes at most, from the start of a line."""
        size = os.fstat(self._file.fileno()).st_size
        start = max(0, size - TAIL)
        text = os.pread(self._file.fileno(), TAIL, start)
        if start:
            text = text.partition(b"\n")[2]
        return text.decode(errors="replace")

    def chunks(self) -> Iterator[bytes]:
        """All that it has written so far, in pieces."""
        place = 0
        while piece := os.pread(self._file.fileno(), WINDOW, place):
            place += len(piece)
            yield piece

    def cpu_seconds(self) -> float:
        """Seconds that processors have worked for it and for all of its group.

        Raises `Unavailable` where the system does not tell, which is everywhere but on Linux.
        """
        try:
            # known ones first: to look for others takes a while, in which the server works on
            worked = {pid: _worked(pid, self.pid) for pid in self._members}
            others = {int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()} - worked.keys()
            worked |= {pid: _worked(pid, self.pid) for pid in others}
        except OSError as error:
            raise Unavailable(f"cannot count CPU seconds: {error.strerror} in /proc") from error
        self._members = {pid for pid, seconds in worked.items() if seconds is not None}
        return sum(seconds for seconds in worked.values() if seconds is not None)

    def ended_within(self, seconds: float) -> bool:
        """Whether it has ended, or does so in this time."""
        until = time.monotonic() + seconds
        while self.status is None and time.monotonic() < until:
            time.sleep(_BEAT)
        return self.status is not None

    def last(self) -> tuple[str, ...]:
        """Its last lines, as they may be shown."""
        lines = [line for line in map(quoted, self.log().splitlines()) if line]
        return tuple(lines[-_LAST:])

    def died(self, when: str) -> Died:
        """The exception for its end; `when` continues the sentence."""
        status = self.status or 0
        how = f"with status {status}" if status >= 0 else f"by {_signal(-status)}"
        if status == -signal.SIGKILL:
            how += ", as the kernel ends what takes the last memory (`journalctl -k` says so),"
        return Died(f"{self.program.name} ended {how} {when}{self._why()}", self.last())

    def not_ready(self, seconds: float) -> NotReady:
        """The exception for one that took too long."""
        where = "does not answer" if self.url else "has not said where it listens"
        return NotReady(f"{self.program.name} {where} after {seconds:g} seconds{self._why()}", self.last())

    def find(self) -> None:
        """Learn from the log where it listens, if that is said by now."""
        piece = os.pread(self._file.fileno(), WINDOW, self._read)
        if found := _LISTENING.search(piece, 0, piece.rfind(b"\n") + 1):
            self.url = f"http://127.0.0.1:{int(found[1])}"
        whole = piece.rfind(b"\n") + 1
        self._read += whole or (len(piece) if len(piece) == WINDOW else 0)

    def _why(self) -> str:
        event = cause(self.log().splitlines())
        if event is not None:
            return f": {event.message}" + (f"; {event.hint}" if event.hint else "")
        lines = self.last()
        return f"; the last it said: {lines[-1]}" if lines else " and said nothing"


@contextmanager
def running(
    program: Path,
    arguments: Sequence[str],
    *,
    environ: Mapping[str, str],
    own: Mapping[str, str] = MappingProxyType({}),
    ready_within: float = 600.0,
) -> Iterator[Process]:
    """Start a llama-server, and yield it once /health says 200; in the end it is killed, and all that it started.

    It gets `arguments` and after them `--host 127.0.0.1 --port 0`, so those must not take its log away or put a
    prefix before its paths; the variables of `environ` but for those that set options of a server (LLAMA_*), and all
    of `own`; nothing to read; and a log in a file without a name. It dies with quadgen, and so does all of its process
    group, even where quadgen is killed: on Linux, and itself with the thread that started it. Raises `Died` where it
    ends first, also in the middle of what it was asked; `NotReady` after `ready_within` seconds; `Unavailable` where it
    cannot be run.
    """
    with tempfile.TemporaryFile(prefix="quadgen-log-") as file:
        variables = {name: value for name, value in environ.items() if not name.startswith("LLAMA_")} | dict(own)
        started = _started(program.absolute(), [*arguments, "--host", "127.0.0.1", "--port", "0"], variables, file)
        process = Process(program=program, pid=started.pid, _file=file)
        try:
            with ended(process.pid):
                yield from _asked(process, ready_within)
        finally:
            started.wait()


def _asked(process: Process, ready_within: float) -> Iterator[Process]:
    try:
        _wait(process, ready_within)
        yield process
    except NoAnswer as error:
        if error.status is None and process.ended_within(_PATIENCE):
            raise process.died("while it was asked") from error
        raise


def _started(program: Path, words: Sequence[str], variables: dict[str, str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    receive, report = os.pipe()
    try:
        started = subprocess.Popen(  # noqa: S603 - a list, no shell; the user names the program
            [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid()), str(report), str(program), *words],
            env=variables | {"GGML_NO_BACKTRACE": "1"},  # with one, a server that aborts starts a debugger
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=[report],
            start_new_session=True,
        )
    except OSError as error:
        os.close(receive)
        raise Unavailable(f"cannot run {shown(str(program))}: {error.strerror}") from error
    finally:
        os.close(report)
    try:
        with os.fdopen(receive, "rb") as told:
            failed = told.read()  # ends when the launcher has become the server
    except BaseException:
        started.kill()
        started.wait()
        raise
    if failed:
        started.wait()
        raise Unavailable(f"cannot run {shown(str(program))}: {os.strerror(int(failed))}")
    return started


def _wait(process: Process, seconds: float) -> None:
    """Return once it answers. Raises `Died` or `NotReady`."""
    until = time.monotonic() + seconds
    while not _answers(process):
        if process.status is not None:
            raise process.died("before it answered")
        if time.monotonic() > until:
            raise process.not_ready(seconds)
        time.sleep(_BEAT)


def _answers(process: Process) -> bool:
    if not process.url:
        process.find()
    if not process.url:
        return False
    with connected(process.url, environ={}, timeout=_PATIENCE) as server, suppress(NoAnswer):
        return server.ask("/health")[0] == 200  # noqa: PLR2004 - OK
    return False


def clocked(pid: int) -> float:
    """CPU seconds of a process by its own clock, to the nanosecond.

    How a process is the name of a clock: clock_getcpuclockid(3), and MAKE_PROCESS_CPUCLOCK of Linux,
    include/linux/posix-timers_types.h. Raises `OSError` where it is gone.
    """
    return time.clock_gettime(~pid << 3 | 2)


def _worked(pid: int, group: int) -> float | None:
    """CPU seconds of a process and of the children that it has reaped; None unless it belongs to the group.

    Of its children proc_pid_stat(5) has nothing better than ticks of 10 ms.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        if int(fields[2]) != group:
            return None
        return clocked(pid) + sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")
    except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile
        return None


def _signal(number: int) -> str:
    return next((known.name for known in signal.Signals if known == number), f"signal {number}")
