"""Checkpoints on this machine as sources of bytes: windows, and what is no file."""

import os
from pathlib import Path

import pytest

from quadgen.disk import windows
from quadgen.disk.windows import WINDOW
from quadgen.problems import Unavailable

DATA = os.urandom(3 * WINDOW + 5)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "a.gguf"
    path.write_bytes(DATA)
    return str(path)


def refused(path: str) -> str:
    with pytest.raises(Unavailable) as error, windows.opened(path):
        pass
    return str(error.value)


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_a_read_has_what_was_asked_for_or_a_window_and_less_only_at_the_end(file: str) -> None:
    with windows.opened(file) as (source,):
        assert (source.name, source.size) == (file, len(DATA))
        assert source.read(0, 1) == DATA[:WINDOW]
        assert source.read(7, WINDOW + 1) == DATA[7 : WINDOW + 8]
        assert source.read(len(DATA) - 3, 2) == DATA[-3:]
        assert source.read(len(DATA) - 3, 9) == DATA[-3:]
        assert source.read(len(DATA), 1) == b""


def test_a_read_that_comes_in_pieces_is_put_together(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.pread
    monkeypatch.setattr(os, "pread", lambda descriptor, _, offset: whole(descriptor, 1000, offset))
    with windows.opened(file) as (source,):
        assert source.read(5, 2500) == DATA[5:3005]


def test_nothing_stays_open(file: str) -> None:
    before = descriptors()
    with windows.opened(file):
        assert descriptors() == before + 1
    assert descriptors() == before
    refused(str(Path(file).parent))
    assert descriptors() == before


def test_what_is_no_file_is_told_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert refused(str(pipe)) == f"cannot read {pipe}: it is not a file"
    assert refused(str(tmp_path)) == f"cannot read {tmp_path}: it is a directory"
    assert refused("/dev/zero") == "cannot read /dev/zero: it is not a file"
    assert refused(str(tmp_path / "none")) == f"cannot read {tmp_path}/none: No such file or directory"
    assert refused("a\0b").startswith("cannot read ")


def test_an_error_while_reading_says_which_file_it_was(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: int) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "pread", broken)
    with windows.opened(file) as (source,), pytest.raises(Unavailable) as error:
        source.read(0, 1)
    assert str(error.value) == f"cannot read {file}: Input/output error"
