"""Samples that are kept as they come: what comes back after which end."""

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadgen.measuring.sample import Arm, Sample
from quadgen.problems import Unavailable
from quadgen.sampling.journal import Journal
from sampled import sample

SAMPLES = [sample(), sample(1, Arm.COMPARATOR, cpu_seconds=0.25, truncated=True), sample(2, output=(), text="")]


def kept(directory: Path, key: str = "key", *, resume: bool = True) -> list[Sample]:
    with Journal.opened(directory, key, resume=resume) as journal:
        return list(journal.samples)


def written(directory: Path, samples: list[Sample] = SAMPLES) -> Path:
    with Journal.opened(directory, "key", resume=False) as journal:
        for each in samples:
            journal.add(each)
        return journal.path


def test_samples_are_there_again_where_it_is_resumed(tmp_path: Path) -> None:
    written(tmp_path / "new" / "state")
    assert kept(tmp_path / "new" / "state") == SAMPLES


def test_what_is_resumed_goes_on_at_its_end(tmp_path: Path) -> None:
    written(tmp_path, SAMPLES[:1])
    with Journal.opened(tmp_path, "key", resume=True) as journal:
        journal.add(SAMPLES[1])
    assert kept(tmp_path) == SAMPLES[:2]


def test_without_resume_nothing_is_there_and_the_first_new_sample_replaces_what_was(tmp_path: Path) -> None:
    written(tmp_path)
    assert kept(tmp_path, resume=False) == []
    assert kept(tmp_path) == SAMPLES
    with Journal.opened(tmp_path, "key", resume=False) as journal:
        assert journal.replaces == len(SAMPLES)
        journal.add(SAMPLES[1])
        assert journal.replaces == 0
    assert kept(tmp_path) == SAMPLES[1:2]


def test_what_is_forgotten_does_not_come_back(tmp_path: Path) -> None:
    written(tmp_path)
    with Journal.opened(tmp_path, "key", resume=True) as journal:
        journal.forget({SAMPLES[1].turn})
        assert journal.samples == [SAMPLES[0], SAMPLES[2]]
    assert kept(tmp_path) == [SAMPLES[0], SAMPLES[2]]


def test_samples_of_another_measurement_are_not_taken(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert kept(tmp_path, "other") == []
    path.write_bytes(path.read_bytes().replace(b'"quadgen": 1', b'"quadgen": 0'))
    assert kept(tmp_path) == []


@given(st.integers(0, 2**20))
def test_a_file_that_was_cut_anywhere_has_the_samples_that_are_whole(place: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = written(Path(name))
        data = path.read_bytes()
        whole = data[: place % (len(data) + 1)]
        path.write_bytes(whole)
        count = max(0, whole.count(b"\n") - 1)
        assert kept(Path(name)) == SAMPLES[:count]
        with Journal.opened(Path(name), "key", resume=True) as journal:
            journal.add(SAMPLES[2])
        assert kept(Path(name)) == [*SAMPLES[:count], SAMPLES[2]]


def test_two_measurements_of_the_same_do_not_mix(tmp_path: Path) -> None:
    with Journal.opened(tmp_path, "key", resume=False) as journal:
        journal.add(SAMPLES[0])
        with pytest.raises(Unavailable, match=r"^another quadgen measures exactly this at the moment: "):
            kept(tmp_path, resume=False)
        assert kept(tmp_path, "other") == []
    assert kept(tmp_path) == SAMPLES[:1]


def test_what_is_recorded_is_forgotten_and_can_be_measured_again(tmp_path: Path) -> None:
    with Journal.opened(tmp_path, "key", resume=False) as journal:
        journal.add(SAMPLES[0])
        journal.remove()
        assert journal.samples == []
        assert list(tmp_path.iterdir()) == []
    assert kept(tmp_path) == []


def test_samples_of_one_that_is_killed_are_there(tmp_path: Path) -> None:
    program = f"""
import os, signal, sys
sys.path[:0] = {sys.path!r}
from pathlib import Path
from quadgen.sampling.journal import Journal
from sampled import sample
with Journal.opened(Path({str(tmp_path)!r}), "key", resume=False) as journal:
    journal.add(sample())
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == -9
    assert kept(tmp_path) == SAMPLES[:1]


@contextmanager
def full(size: int) -> Iterator[None]:
    """No file gets longer than this."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_that_is_full_leaves_the_samples_before_it(tmp_path: Path) -> None:
    with Journal.opened(tmp_path, "key", resume=False) as journal:
        journal.add(SAMPLES[0])
        size = journal.path.stat().st_size
        with (
            full(size + 10),
            pytest.raises(Unavailable, match=r"^cannot write /\S+\.jsonl, which keeps the samples: File too large$"),
        ):
            journal.add(SAMPLES[1])
        assert journal.samples == SAMPLES[:1]
        assert journal.path.stat().st_size == size
    assert kept(tmp_path) == SAMPLES[:1]


def test_a_place_that_cannot_be_written_is_said_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Unavailable, match=r"^cannot open /\S+\.jsonl, which keeps the samples: "):
        kept(tmp_path / "file")


def test_nobody_else_reads_what_was_measured(tmp_path: Path) -> None:
    path = written(tmp_path / "state")
    assert [each.stat().st_mode & 0o777 for each in (path.parent, path)] == [0o700, 0o600]
