"""A large log, which several processes read: it says the same as to one."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quadgen.disk import logs
from quadgen.disk.pieces import pieces
from quadgen.observed.log import read_log
from quadgen.observed.log_digest import Digest
from quadgen.observed.log_pieces import Piece
from quadgen.problems import Rejected, Unavailable

DATA = Path(__file__).parent / "data"
LINES = [
    *(DATA / "between.log").read_bytes().splitlines(keepends=True),
    *(DATA / "captures" / "contam2-b11434.log").read_bytes().splitlines(keepends=True),
]


@pytest.fixture(autouse=True)
def _two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})


def read(path: Path, span: int) -> object:
    try:
        return logs.read(str(path), pieces(path), span=span)
    except Rejected as rejected:
        return [(each.place, each.notes) for each in rejected.problems]


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(LINES), min_size=40, max_size=200), st.integers(40, 900), st.integers(0, 60))
def test_a_log_says_the_same_to_several_processes(tmp_path: Path, lines: list[bytes], span: int, cut: int) -> None:
    path = tmp_path / "server.log"
    data = b"".join(lines)
    path.write_bytes(data[: len(data) - cut])
    assert read(path, span) == read(path, 10**9)


def test_a_line_that_is_longer_than_a_span_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(LINES[-5] + b"x" * 5000 + b"\n" + b"".join(LINES) * 3)
    assert read(path, 700) == read(path, 10**9)


def test_the_line_of_a_mistake_is_counted_over_all_processes(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(b"a\n" * 3000 + b"draft acceptance = lost\n" + b"b\n" * 3000)
    with pytest.raises(Rejected) as raised:
        logs.read(str(path), pieces(path), span=1000)
    (problem,) = raised.value.problems
    assert problem.place is not None
    assert problem.place.line == 3001


def test_a_file_that_went_away_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "server.log"
    monkeypatch.setattr(logs, "_size", lambda _: 4000)
    with pytest.raises(Unavailable, match=r"cannot read .*server\.log: No such file"):
        logs.read(str(path), [], span=1000)


@pytest.mark.parametrize("fault", ["renamed", "cut off"])
def test_a_log_that_is_rotated_meanwhile_is_read_to_its_end_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(b"".join(LINES) * 200)
    expected = read(path, 10**9)
    portions = logs._Readers.portions  # noqa: SLF001 - the moment at which a log is rotated

    def rotated(self: logs._Readers, name: str) -> Iterator[Digest | Piece]:
        if fault == "renamed":
            path.rename(tmp_path / "server.log.1")
            path.write_bytes(b"another\n")
        else:
            os.truncate(path, 1000)
        return portions(self, name)

    monkeypatch.setattr(logs._Readers, "portions", rotated)  # noqa: SLF001 - as above
    if fault == "renamed":
        assert read(path, 20_000) == expected
    else:
        with pytest.raises(Unavailable, match=r"server\.log: it was cut off while it was read"):
            read(path, 20_000)


def test_where_no_process_can_be_started_one_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    path = tmp_path / "server.log"
    path.write_bytes(b"".join(LINES) * 20)
    expected = read(path, 10**9)
    monkeypatch.setattr(os, "fork", none)
    assert read(path, 700) == expected


@pytest.mark.parametrize(
    "line", ["draft acceptance = lost", "statistics ngram-mod: #gen drafts = x", LINES[-8].decode()]
)
def test_no_process_holds_more_than_a_part_of_what_it_found(tmp_path: Path, line: str) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(f"{line.strip()}\n".encode() * (16 * 2**20 // (len(line) + 1)))
    program = f"""
import os, resource
os.sched_getaffinity = lambda _: {{0, 1}}
from quadgen.disk import logs
from quadgen.problems import Rejected
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    logs.read({str(path)!r}, [], span=2**22)
except Rejected:
    pass
print(before, *(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    before, own, others = (int(each) // 1024 for each in done.stdout.split())
    assert max(own, others) - before < 40


def test_what_is_no_large_file_is_read_from_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-").write_bytes(b"another log\n" * 1000)
    found = logs.read("-", LINES, span=1)
    assert found == read_log("-", LINES)
    small = tmp_path / "small.log"
    small.write_bytes(b"")
    assert logs.read(str(small), LINES).observation.total == found.observation.total


def test_a_process_that_is_killed_ends_the_reading_and_an_interrupt_leaves_none_behind(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(b"".join(LINES) * 3000)
    program = f"""
import os
os.sched_getaffinity = lambda _: {{0, 1}}
from quadgen.disk import logs
logs.read({str(path)!r}, [], span=2**18)
"""
    ends = ((signal.SIGTERM, ""), (signal.SIGKILL, "a process that read it was killed"), (signal.SIGINT, "Interrupt"))
    for which, said in ends:
        running = subprocess.Popen(
            [sys.executable, "-c", program], stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        child = first_child(running.pid)
        os.kill(child if which is signal.SIGKILL else running.pid, which)
        _, err = running.communicate(timeout=60)
        assert running.returncode
        assert said in err
        assert gone(running.pid)


def gone(group: int) -> bool:
    """Whether all processes of a group end within half a minute."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def first_child(pid: int) -> int:
    """The first process that this one has forked."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        if found:
            return int(found[0])
        time.sleep(0.01)
    raise AssertionError("it has no child")
