"""The shell commands of native units, run: what waits for the server, and what guards against a foreign config.ini."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from fleets import CPU, one, refusal, unit, values
from systemd_words import command

CONFIG = "/etc/llama.cpp/config.ini"
LONG = 60
"""Seconds that nothing here may take, and that the stand-in server lives."""


def words(key: str, owner: str = "") -> list[str]:
    """The command after a key of a native unit, as systemd takes it apart."""
    (line,) = values(unit(one(f"{CPU}, runtime: systemd{owner}}}")), "Service", key)
    return command(line)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A stand-in server, and a stand-in for curl that says whether it answers."""

    server: subprocess.Popen[bytes]
    answer: Path

    def answers(self, *, status: int, first: str = ":") -> None:
        """What the probe will end with, and what happens before."""
        self.answer.write_text(f"#!/bin/sh\n{first}\nexit {status}\n")
        self.answer.chmod(0o755)

    def start(self) -> subprocess.Popen[str]:
        """The waiting command, with the variable that systemd gives it."""
        path = f"{self.answer.parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.Popen(
            words("ExecStartPost"),
            env={"PATH": path, "MAINPID": str(self.server.pid)},
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[Waiting]:
    with subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({LONG})"]) as server:
        try:
            found = Waiting(server, tmp_path / "curl")
            found.answers(status=22)
            yield found
        finally:
            server.kill()


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """How a command ended, and its complaint."""
    with process:
        _, complaint = process.communicate(timeout=LONG)
    return process.returncode, complaint


def test_the_unit_is_ready_when_the_server_answers(waiting: Waiting) -> None:
    process = waiting.start()
    time.sleep(0.2)
    assert process.poll() is None
    waiting.answers(status=0)
    assert ended(process) == (0, "")


def test_waiting_ends_with_the_server(waiting: Waiting) -> None:
    process = waiting.start()
    time.sleep(0.2)
    waiting.server.kill()
    waiting.server.wait()
    assert ended(process) == (1, "the server ended before it was ready\n")


def test_a_server_that_ends_is_not_ready_though_another_answers_on_its_port(waiting: Waiting) -> None:
    waiting.answers(status=0, first='kill -9 "$MAINPID"; while kill -0 "$MAINPID" 2>/dev/null; do sleep 0.1; done')
    with ThreadPoolExecutor(1) as reaper:
        reaper.submit(waiting.server.wait)
        status, complaint = ended(waiting.start())
    assert (status, complaint.endswith("the server ended before it was ready\n")) == (1, True)


def test_a_stop_while_it_waits_is_no_failure(waiting: Waiting) -> None:
    process = waiting.start()
    time.sleep(0.3)
    process.terminate()
    assert ended(process)[0] == 0


def guard(config: Path) -> tuple[int, str]:
    """How the guard of a user's unit ends, with another file in the place of the one that it looks at."""
    asked = words("ExecStartPre", ", rootless: ada")
    assert CONFIG in asked[-1]
    done = subprocess.run(
        [*asked[:-1], asked[-1].replace(f"test -r {CONFIG}", f"test -r {config}")],
        capture_output=True, text=True, check=False, timeout=LONG,
    )  # fmt: skip
    return done.returncode, done.stderr


def test_a_config_that_can_be_read_ends_the_start_of_a_user_s_unit(tmp_path: Path) -> None:
    (tmp_path / "config.ini").write_text("spec-type = ngram-mod\n")
    status, complaint = guard(tmp_path / "config.ini")
    assert (status, complaint.startswith(f"{CONFIG} is not hidden here")) == (1, True)


def test_a_config_that_is_not_there_ends_nothing(tmp_path: Path) -> None:
    assert guard(tmp_path / "config.ini") == (0, "")


def test_a_system_unit_hides_the_config_and_need_not_look() -> None:
    text = unit(one(f"{CPU}, runtime: systemd}}"))
    assert values(text, "Service", "ExecStartPre") == []
    assert values(text, "Service", "InaccessiblePaths") == ["-/etc/llama.cpp"]


@pytest.mark.parametrize("key", ["ExecStartPre", "ExecStartPost", "InaccessiblePaths"])
def test_no_fleet_takes_a_guard_out(key: str) -> None:
    problem = refusal(one(f"{CPU}, runtime: systemd, rootless: ada, unit: {{Service: {{{key}: null}}}}}}"))
    assert (problem.code, problem.path) == ("unexpected-value", ("hosts", "claw", "unit", "Service", key))
