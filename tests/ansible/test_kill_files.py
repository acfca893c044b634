"""A pull that dies at any moment leaves each file old or new, and the next one leaves no trace of it."""

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import killing_hosts
import quadgen
from plugins.module_utils import placing
from plugins.module_utils.managers import Trouble


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory in memory where there is one: on a disk each rename waits, and thousands follow."""
    memory = Path("/dev/shm")  # noqa: S108 - only a directory of our own below it is used
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory, prefix="quadgen-test-") as name:
        yield Path(name)


def kills(task: str, place: Path) -> tuple[int, list[str]]:
    parts = [Path(quadgen.__file__).parents[1], Path(killing_hosts.__file__).parent, Path(placing.__file__).parents[2]]
    done = subprocess.run(
        [sys.executable, killing_hosts.__file__, task, str(place)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, parts))},
        stdout=subprocess.PIPE,
        check=True,
    )
    number, wrong = json.loads(done.stdout)
    return number, wrong


@pytest.mark.parametrize(("task", "least"), [("first", 30), ("change", 40), ("twice", 90)])
def test_a_killed_pull_leaves_each_file_old_or_new_and_the_next_one_leaves_no_trace_of_it(
    place: Path, task: str, least: int
) -> None:
    number, wrong = kills(task, place)
    assert wrong[:5] == []
    assert number >= least


def test_the_kills_find_what_a_pull_that_does_not_say_what_it_is_about_to_do_would_leave(place: Path) -> None:
    _, wrong = kills("without-pending", place)
    assert any("late.service" in fault for fault in wrong)


def test_a_file_system_that_takes_no_more_is_named_by_the_file(tmp_path: Path) -> None:
    (tmp_path / "chat").write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, limits[1]))
    try:
        with pytest.raises(Trouble, match=f"^cannot write {tmp_path}/chat: File too large$"):
            placing._put(f"{tmp_path}/chat", b"new", 0o644)  # noqa: SLF001 - the state would meet the limit first
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"chat": b"old"}
