"""Files that an editor spoiled, and files that are meant to do harm, through the whole chain."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import quadgen
from fleets import (
    CPU,
    ENGINES,
    accepted,
    one,
    problems,
    refusal,
    refusals,
    run,
    units,
)

# A byte order mark, CRLF, tabs and bytes that are no UTF-8, as editors leave them
HOST = one("model: plain\nbackend: cpu\nengine: cpu\ncontext: 4096\nenv:\n  NAME: ä\n").encode()


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + HOST,
        HOST.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + HOST.replace(b"\n", b"\r\n"),
        HOST.rstrip(b"\n"),
        HOST.replace(b"context: ", b"context:\t"),
        HOST.replace(b"\n", b"  \n"),
        b"---\n" + HOST + b"...\n",
    ],
    ids=["mark", "crlf", "mark and crlf", "no last line end", "tab after the colon", "blanks", "document marks"],
)
def test_what_an_editor_adds_changes_no_byte_of_the_output(data: bytes) -> None:
    plain, other = accepted(HOST), accepted(data)
    assert units(other) == units(plain)
    assert [tree.manifest for tree in other.trees] == [tree.manifest for tree in plain.trees]
    assert "NAME=ä" in next(iter(units(other).values()))


BROKEN = {
    "tab": (HOST.replace(b"    engine", b"\tengine"), "a tab cannot indent YAML", 22, 1),
    "latin-1": (HOST.replace("ä".encode(), b"\xe9"), "byte 0xE9 is not UTF-8", 25, 13),
    "nul": (HOST.replace(b"4096", b"40\x0096"), "a NUL character cannot stand in a text file", 23, 16),
    "utf-16": (HOST.decode().encode("utf-16"), "the file is UTF-16, and only UTF-8 is read", 1, 1),
    "mark inside": (
        HOST.replace(b"4096", b"\xef\xbb\xbf4096"),
        "a byte order mark (U+FEFF) stands inside the file",
        23,
        14,
    ),
    "open quote": (HOST.replace(b"plain\n", b'"plain\n'), "this quote is never closed", 20, 12),
    "two documents": (HOST + b"---\na: b\n", "a second document begins here", 26, 1),
    "no space": (
        HOST.replace(b"context: 4096", b"context:4096"),
        "`context:4096` is no key: no `: ` follows it",
        23,
        5,
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_file_that_cannot_be_read_is_refused_in_one_sentence_with_line_and_column(kind: str) -> None:
    data, message, line, column = BROKEN[kind]
    (problem,) = problems(data)
    assert problem.place is not None
    assert (problem.code, problem.message) == ("yaml-syntax", message)
    assert (problem.place.file, problem.place.line, problem.place.column) == ("fleet.yml", line, column)


@pytest.mark.parametrize("kind", ["latin-1", "nul"])
def test_the_command_line_ends_with_1_and_no_traceback_on_such_a_file(kind: str, tmp_path: Path) -> None:
    data, message, line, column = BROKEN[kind]
    (tmp_path / "fleet.yml").write_bytes(data)
    done = run("render", "fleet.yml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error[yaml-syntax]: {message}\n  --> fleet.yml:{line}:{column}\n")
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["fleet.yml"]


def test_a_ledger_that_cannot_be_read_is_named_with_its_own_line() -> None:
    text = one(f"{CPU}}}", above="measurements: [mine.yml]\n")
    problem = refusal(text, {"mine.yml": b"version: 1\nmeasurements:\n- {id: caf\xe9}\n"})
    assert problem.place is not None
    assert (problem.code, problem.place.file, problem.place.line) == ("yaml-syntax", "mine.yml", 3)


# https://github.com/yaml/pyyaml/issues/235
def bomb(levels: int, width: int) -> str:
    """Aliases of aliases: a few hundred bytes that stand for `width` to the power of `levels`."""
    lines = ["x-0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"x-{at}: &a{at} [{', '.join([f'*a{at - 1}'] * width)}]" for at in range(1, levels)]
    return "\n".join(lines) + "\n"


CHECK = """
import atexit, pathlib, re, sys
from quadgen.cli import main

def peak():
    # VmHWM begins anew with each program, unlike the maximum that wait4 tells, which a fork inherits
    print(re.search(r"VmHWM:\\s+(\\d+) kB", pathlib.Path("/proc/self/status").read_text())[1])

atexit.register(peak)
sys.argv = ["quadgen", "check", "fleet.yml"]
main()
"""


def test_aliases_of_aliases_are_refused_before_they_are_written_out(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text(bomb(9, 9) + one(f"{CPU}}}"))
    environment = {**os.environ, "PYTHONPATH": str(Path(quadgen.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", CHECK], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error[yaml-syntax]: alias expansion makes more than 2,000,000 values of this file\n")
    assert int(done.stdout) < 200 * 1024, "kilobytes"


def test_a_bomb_costs_seconds_at_most_wherever_it_is_used() -> None:
    begun = time.process_time()
    for text in (bomb(9, 9), bomb(9, 9) + one(f"{CPU}, env: *a8}}"), bomb(40, 2) + one("{<<: *a30}")):
        assert [problem.code for problem in refusals(text)] == ["yaml-syntax"]
    assert time.process_time() - begun < 5


def test_ordinary_anchors_work_however_often_they_are_used() -> None:
    above = "x-a: &a {backend: cpu, engine: cpu, context: 4096}\nx-m: &m plain\nx-e: &e {A: *m}\n"
    hosts = "".join(f"  h{at}: {{<<: *a, model: *m, env: *e}}\n" for at in range(20))
    compiled = accepted(f"{ENGINES}{above}hosts:\n{hosts}")
    assert len(units(compiled)) == 20
    assert not compiled.problems
