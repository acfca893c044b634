"""Ledgers on the disk: whole whatever happens, and no row lost where several write at once."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from quadgen.disk import ledgers
from quadgen.problems import Problem, Rejected, Unavailable

HERE = Path(__file__).parent

WRITER = """
import sys
from dataclasses import replace
from measured import ROW
from quadgen.disk import ledgers
from quadgen.evidence.text import appended
path, name, times = sys.argv[1:]
for _ in range(int(times)):
    ledgers.append(path, lambda data: appended(path, data, [replace(ROW, id=name)]))
"""
BOUNDED = """
import resource, sys
from quadgen.disk import ledgers
from quadgen.problems import Unavailable
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
try:
    ledgers.append(sys.argv[1], lambda data: (data or b"") + b"x" * 100)
except Unavailable as error:
    print(error)
"""


def python(program: str, *words: str) -> "subprocess.Popen[str]":
    environ = os.environ | {"PYTHONPATH": str(HERE)}
    command = [sys.executable, "-c", program, *words]
    return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def add(path: Path | str, more: bytes = b"new\n") -> None:
    ledgers.append(str(path), lambda data: (data or b"") + more)


def names(directory: Path) -> list[str]:
    return sorted(each.name for each in directory.iterdir())


def test_a_ledger_is_made_with_its_directories_and_then_added_to(tmp_path: Path) -> None:
    path = tmp_path / "a" / "measurements" / "claw.yml"
    add(path, b"one\n")
    add(path, b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"
    assert names(path.parent) == ["claw.yml"]


def test_a_name_without_a_directory_is_in_the_one_where_we_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    add("claw.yml")
    assert names(tmp_path) == ["claw.yml"]


def test_mode_and_link_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real.yml", tmp_path / "there" / "claw.yml"
    real.write_bytes(b"old\n")
    real.chmod(0o640)
    link.parent.mkdir()
    link.symlink_to("../real.yml")
    add(link)
    assert link.is_symlink()
    assert (real.read_bytes(), stat.S_IMODE(real.stat().st_mode)) == (b"old\nnew\n", 0o640)
    assert names(link.parent) == ["claw.yml"]


def test_a_new_ledger_has_the_mode_that_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        add(tmp_path / "claw.yml")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "claw.yml").stat().st_mode) == 0o640


def test_what_is_as_it_shall_be_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "claw.yml"
    path.write_bytes(b"old\n")
    before = path.stat()
    ledgers.append(str(path), lambda data: data or b"")
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_refusal_of_the_change_leaves_the_ledger_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "claw.yml"
    path.write_bytes(b"old\n")

    def refuse(_data: bytes | None) -> bytes:
        raise Rejected([Problem(code="yaml-syntax", message="no ledger")])

    with pytest.raises(Rejected):
        ledgers.append(str(path), refuse)
    assert (path.read_bytes(), names(tmp_path)) == (b"old\n", ["claw.yml"])


def test_what_is_no_file_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    os.mkfifo(tmp_path / "pipe")
    for name, told in (
        ("", "Is a directory"), ("new/", "Is a directory"), ("file/claw.yml", "Not a directory"),
        ("pipe", "Invalid argument"),
    ):  # fmt: skip
        with pytest.raises(Unavailable) as failed:
            add(f"{tmp_path}/{name}".removesuffix("/") if not name else f"{tmp_path}/{name}")
        assert str(failed.value).startswith(f"cannot write {tmp_path}")
        assert str(failed.value).endswith(f": {told}")
    assert names(tmp_path) == ["file", "pipe"]


def test_a_directory_that_may_not_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    (closed / "claw.yml").write_bytes(b"old\n")
    closed.chmod(0o555)
    monkeypatch.chdir(closed)  # the directories above it let nobody else in
    uid = os.geteuid()
    if uid == 0:
        os.seteuid(65534)  # root writes everywhere
    try:
        with pytest.raises(Unavailable) as failed:
            add("claw.yml")
    finally:
        os.seteuid(uid)
    assert str(failed.value) == "cannot write claw.yml: Permission denied"
    assert (closed / "claw.yml").read_bytes() == b"old\n"


def test_where_no_more_bytes_fit_the_old_ledger_stays_whole_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "claw.yml"
    path.write_bytes(b"old\n")
    out, errors = python(BOUNDED, str(path)).communicate()
    assert (out, errors) == (f"cannot write {path}: File too large\n", "")
    assert (path.read_bytes(), names(tmp_path)) == (b"old\n", ["claw.yml"])


def test_what_a_killed_process_left_is_cleared_and_never_read(tmp_path: Path) -> None:
    path = tmp_path / "claw.yml"
    aside = tmp_path / ".claw.yml.quadgen-new"
    aside.write_bytes(b"half a ro")
    add(path)
    assert (path.read_bytes(), names(tmp_path)) == (b"new\n", ["claw.yml"])


def test_of_several_processes_at_once_no_row_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "measurements" / "claw.yml"
    writers = [python(WRITER, str(path), name, "4") for name in ("a", "b", "c")]
    assert [writer.communicate() for writer in writers] == [("", "")] * len(writers)
    text = path.read_text(encoding="utf-8")
    ids = [line.split()[-1] for line in text.splitlines() if line.lstrip().startswith("- id:")]
    expected = {f"{name}{number}" for name in "abc" for number in ("", *(f"-{each}" for each in range(2, 5)))}
    assert sorted(ids) == sorted(expected)
    assert names(path.parent) == ["claw.yml"]


def test_a_process_that_is_killed_at_any_moment_leaves_the_old_ledger_or_the_new_one(tmp_path: Path) -> None:
    environ = os.environ | {"PYTHONPATH": str(HERE)}
    command = [sys.executable, str(HERE / "killing_ledgers.py"), str(tmp_path)]
    found = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    told = json.loads(found.stdout)
    assert told["wrong"] == []
    assert told["moments"] >= 10, "too few effects to be all of them"
