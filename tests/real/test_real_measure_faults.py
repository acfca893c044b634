"""`quadgen measure` on the real server where something goes wrong: it ends in words, in a whole ledger, and alone."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

import parts
from command import quadgen
from measured_fleets import COUNTING, fleet, rows, servers, slow

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]

QUICK = ("--tokens", "64", "--workload", "copy=counting.txt")
WORDS = ("measure", "--fleet", "fleet.yml", "claw", "--profile", "mapped")


@pytest.fixture(autouse=True)
def _nothing_is_left(tmp_path: Path) -> Iterator[None]:
    yield
    assert not servers(tmp_path)


@pytest.fixture(name="here")
def _here(tmp_path: Path) -> Path:
    fleet(tmp_path, slow(tmp_path), context=1024)
    (tmp_path / "counting.txt").write_text(COUNTING, encoding="utf-8")
    return tmp_path


class Running:
    """A measurement in a process of its own."""

    def __init__(self, directory: Path, words: Sequence[str], *, before: str = "") -> None:
        self.directory = directory
        program = f"{before}import sys; sys.argv[0] = 'quadgen'; from quadgen.cli import main; main()"
        environ = {"PATH": os.environ["PATH"], "HOME": str(directory), "PYTHONPATH": os.pathsep.join(sys.path)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, *words],
            cwd=directory, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        self.err = ""

    def until(self, line: str) -> None:
        """Wait for a line on standard error that begins like this."""
        assert self.process.stderr is not None
        while not self.err.rpartition("\n")[0].rpartition("\n")[2].startswith(line):
            read = self.process.stderr.readline()
            assert read, self.err
            self.err += read

    def server(self, said: bytes) -> int:
        """The server that it runs at the moment, once that has said something."""

        def found() -> int | None:
            for pid in servers(self.directory):
                with suppress(OSError):
                    if said in Path("/proc", pid, "fd", "1").read_bytes():
                        return int(pid)
            return None

        return _waited(found)

    def end(self) -> tuple[int, str, str]:
        """Status, standard output and error."""
        out, err = self.process.communicate(timeout=120)
        return self.process.returncode, out, self.err + err


def samples(out: str) -> int:
    """How many of each arm the table has; how wide its columns are depends on the figures of the others."""
    found = re.search(r"(?m)^ *copy +(\d+) ", out)
    assert found, out
    return int(found[1])


def _waited(look: Callable[[], int | None]) -> int:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        found = look()
        if found is not None:
            return found
        time.sleep(0.005)
    raise TimeoutError


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_run_that_is_stopped_goes_on_with_the_samples_that_it_has(here: Path, number: signal.Signals) -> None:
    words = (*WORDS, *QUICK, "--samples", "8", "--no-confirm")
    first = Running(here, words)
    first.until("quadgen: 6 of 16 samples")
    first.process.send_signal(number)
    status, out, err = first.end()
    assert (status, out) == (128 + number, "")
    kept = int(err.rpartition("stopped; ")[2].partition(" samples are kept: ")[0])
    assert kept >= 6
    assert f"samples are kept: quadgen {' '.join(words)} --resume\n" in err
    assert not (here / "measurements").exists()

    second = Running(here, (*words, "--resume"))
    status, out, err = second.end()
    assert status in {0, 1}, err
    assert f"quadgen: {kept} of 16 samples" in err or f"quadgen: {kept + 1} of 16 samples" in err
    assert samples(out) == 8
    assert not list((here / ".local/state/quadgen/measure").iterdir())


def test_a_server_that_is_killed_in_the_middle_is_a_problem_with_its_last_words(here: Path) -> None:
    measuring = Running(here, (*WORDS, *QUICK, "--samples", "200"))
    measuring.until("quadgen: 4 of 400 samples")
    os.kill(measuring.server(b"launch_slot_"), signal.SIGKILL)
    status, out, err = measuring.end()
    assert (status, out) == (4, "")
    assert "error[server-ended]: llama-server ended by SIGKILL" in err
    assert "= note: its log: " in err
    assert "samples are kept: quadgen measure --fleet fleet.yml claw" in err


def test_a_quadgen_that_is_killed_leaves_no_server(here: Path) -> None:
    measuring = Running(here, (*WORDS, *QUICK, "--samples", "200"))
    measuring.until("quadgen: 2 of 400 samples")
    measuring.process.kill()
    measuring.end()
    _waited(lambda: None if servers(here) else 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_script_that_has_the_server_as_its_child_leaves_none_either(here: Path, number: signal.Signals) -> None:
    script = here / "script"
    script.write_text(f'#!/bin/sh\n{parts.llama_server()} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    measuring = Running(here, (*WORDS, *QUICK, "--samples", "200", "--server", str(script)))
    measuring.until("quadgen: 2 of 400 samples")
    measuring.server(b"listening")
    measuring.process.send_signal(number)
    status, _, _ = measuring.end()
    assert status == (128 + number if number == signal.SIGTERM else -number)
    _waited(lambda: None if servers(here) else 0)


def test_a_signal_that_is_ignored_stops_nothing(here: Path) -> None:
    words = (*WORDS, *QUICK, "--samples", "5", "--no-confirm")
    measuring = Running(here, words, before="import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN);")
    measuring.until("quadgen: 2 of 10 samples")
    measuring.process.send_signal(signal.SIGHUP)
    status, out, err = measuring.end()
    assert status in {0, 1}, err
    assert samples(out) == 5


def test_two_runs_of_the_same_are_told_apart_and_two_of_others_write_one_whole_ledger(here: Path) -> None:
    one = Running(here, (*WORDS, *QUICK, "--samples", "6", "--no-confirm"))
    one.until("quadgen: 2 of 12 samples")
    twin = Running(here, (*WORDS, *QUICK, "--samples", "6", "--no-confirm")).end()
    assert twin[0] == 4
    assert "quadgen: another quadgen measures exactly this at the moment" in twin[2]
    other = Running(here, (*WORDS, *QUICK, "--samples", "7", "--no-confirm"))
    ended = [one.end(), other.end()]
    assert {status for status, _, _ in ended} <= {0, 1}, ended
    recorded = sum("recorded  in measurements/claw.yml" in out for _, out, _ in ended)
    assert len({row["id"] for row in (rows(here) if recorded else ())}) == recorded


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        (lambda here: (here / "slow.gguf").unlink(), 4, "slow.gguf: No such file or directory"),
        (lambda here: (here / "measurements").touch(), 4, "cannot write measurements/claw.yml: Not a directory"),
        (lambda here: (here / "counting.txt").unlink(), 4, "cannot read counting.txt: No such file or directory"),
        (lambda here: (here / "slow.gguf").write_bytes(b"GGUF"), 1, "error[malformed-gguf]"),
    ],
)
def test_what_is_missing_is_said_before_a_server_is_started(
    change: Callable[[Path], object], status: int, said: str, here: Path
) -> None:
    change(here)
    done = quadgen(*WORDS, *QUICK, cwd=here)
    assert (done.status, done.out) == (status, "")
    assert said in done.err
