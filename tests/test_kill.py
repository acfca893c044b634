"""A render that dies at any moment, one that fails at any moment, and two at the same time."""

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import killing
from hosts import snapshot
from killing import NEW, OLD, clean, crowd, faults, interrupt, prepared, recovery, write
from quadgen import disk
from quadgen.problems import Unavailable
from quadgen.tree import HostTree


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory in memory where there is one: on a disk each rename waits, and thousands follow."""
    memory = Path("/dev/shm")  # noqa: S108 - only a directory of our own below it is used
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory, prefix="quadgen-test-") as name:
        yield Path(name)


def start(task: str, place: Path) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(Path(disk.__file__).parents[2]), str(Path(killing.__file__).parent)])
    return subprocess.Popen(
        [sys.executable, killing.__file__, task, str(place)],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(("task", "least"), [("first", 30), ("change", 60), ("twice", 150)])
def test_a_killed_render_leaves_each_file_old_or_new_and_the_next_one_leaves_no_trace_of_it(
    place: Path, task: str, least: int
) -> None:
    with start(task, place) as run:
        number, wrong = json.loads(run.communicate()[0])
    assert wrong[:5] == []
    assert number >= least


def test_the_kills_find_what_a_render_without_its_journal_would_leave(place: Path) -> None:
    with start("without-journal", place) as run:
        _, wrong = json.loads(run.communicate()[0])
    assert any("quadgen-new" in fault for fault in wrong)
    assert any("fresh" in fault for fault in wrong)


class Full:
    """Stands before each effect and fails one of them."""

    def __init__(self, moment: int) -> None:
        self.left = moment

    def __call__(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("before", [(), OLD], ids=["first render", "change"])
def test_a_failure_at_any_effect_leaves_each_file_old_or_new_and_nothing_half_done(
    place: Path, monkeypatch: pytest.MonkeyPatch, before: tuple[HostTree, ...]
) -> None:
    root = place / "tree"
    wanted = clean(place / "clean", NEW, foreign=bool(before))
    for moment in count(1):
        if before:
            prepared(root)
        full = Full(moment)
        with monkeypatch.context() as patch:

            def replace(name: str, function: Any, patch: pytest.MonkeyPatch = patch) -> None:
                patch.setattr(os, name, function)

            interrupt(full, replace)
            failure = failed(root)
        if failure is None:
            assert full.left > 0
            assert moment > 30
            return
        assert failure.startswith(f"cannot write {root}")
        assert failure.endswith(": No space left on device")
        assert list(faults(root, before, NEW)) == []
        assert not list(root.rglob("*quadgen*"))
        assert list(recovery(root, NEW, wanted)) == []
        shutil.rmtree(root)


def failed(root: Path) -> str | None:
    try:
        write(root, NEW)
    except Unavailable as failure:
        return str(failure)
    return None


def test_two_renders_at_once_do_not_mix(place: Path) -> None:
    wholes = [clean(place / "clean", crowd(note), foreign=False) for note in ("one", "two")]
    root = place / "tree"
    for _ in range(4):
        with start("one", root) as one, start("two", root) as two:
            for run in (one, two):
                assert run.stdout is not None
                assert run.stdout.readline() == "ready\n"
            for run in (one, two):
                assert run.stdin is not None
                run.stdin.write("go\n")
                run.stdin.flush()
            said = [run.communicate()[0] for run in (one, two)]
        assert (one.returncode, two.returncode) == (0, 0)
        assert {text for text in said if text} <= {f"another render is writing {root}: waiting until it is done\n"}
        assert snapshot(root) in wholes


def test_a_second_render_waits_for_the_first_and_looks_again(place: Path) -> None:
    root = place / "tree"
    write(root, crowd("one"))
    before = snapshot(root, times=True)
    handle = os.open(root, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with start("two", root) as two:
        assert two.stdin is not None
        assert two.stdout is not None
        two.stdin.write("go\n")
        two.stdin.flush()
        assert two.stdout.readline() == "ready\n"
        assert two.stdout.readline() == f"another render is writing {root}: waiting until it is done\n"
        assert snapshot(root, times=True) == before
        (root / "h1/etc/one.service").unlink()
        os.close(handle)
    assert two.returncode == 0
    assert snapshot(root) == clean(place / "clean", crowd("two"), foreign=False)
