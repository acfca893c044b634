"""What becomes of samples that somebody may have meant to go on with, and what is said of it."""

import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import typer

from quadgen.cli.measuring_taking import Taking
from quadgen.cli.stopping import Stopped
from quadgen.measuring.sample import Arm, Turn
from quadgen.sampling.journal import Journal
from quadgen.sampling.opening import Opened
from quadgen.sampling.run import Setup
from sampled import sample

WORDS = ["measure", "--fleet", "fleet.yml", "claw", "--profile", "mapped"]
HOW = "quadgen measure --fleet fleet.yml claw --profile mapped --resume"
TURNS = (Turn(arm=Arm.CANDIDATE, workload="prose", round=0),)


class Interrupted:
    """A source that a signal meets before it has a server."""

    def opened(self) -> AbstractContextManager[Opened]:
        raise Stopped(15)


def taking(journal: Journal) -> Taking:
    source = Interrupted()
    setup = Setup(candidate=source, comparator=source, prompt=lambda *_: "", tokens=20, count_cpu=False)
    return Taking(setup=setup, journal=journal)


@pytest.fixture(autouse=True)
def _typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["quadgen", *WORDS])


def stopped(directory: Path, *, resume: bool = False) -> int:
    with Journal.opened(directory, "key", resume=resume) as journal:
        run = taking(journal)
        run.begin()
        with pytest.raises(typer.Exit) as ended:
            run.taken(TURNS, "")
    return ended.value.exit_code


def test_samples_of_before_are_still_there_until_the_first_new_one_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Journal.opened(tmp_path, "key", resume=False) as journal:
        journal.add(sample(7))
        journal.add(sample(8))
    assert stopped(tmp_path) == 128 + 15
    first, *_, last = capsys.readouterr().err.splitlines()
    assert first == (
        "quadgen: 2 samples of an earlier run of the same are replaced by the first new one; to go on with them"
        f" instead, stop this before that: {HOW}"
    )
    assert last == f"quadgen: stopped; no sample was taken yet, and 2 are still kept: {HOW}"
    with Journal.opened(tmp_path, "key", resume=True) as journal:
        assert journal.samples == [sample(7), sample(8)]


@pytest.mark.parametrize("resume", [False, True])
def test_where_there_are_none_nothing_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, resume: bool
) -> None:
    stopped(tmp_path, resume=resume)
    said = capsys.readouterr().err
    assert "earlier" not in said
    assert said.endswith("quadgen: stopped; no sample was taken yet\n")


@pytest.mark.parametrize(("kept", "told"), [(1, "1 sample is kept"), (3, "3 samples are kept")])
def test_the_samples_of_all_passes_are_told_also_where_a_confirmation_has_none_yet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kept: int, told: str
) -> None:
    with Journal.opened(tmp_path, "key", resume=False) as journal:
        for number in range(7, 7 + kept):
            journal.add(sample(number))
    stopped(tmp_path, resume=True)
    assert capsys.readouterr().err.endswith(f"quadgen: stopped; {told}: {HOW}\n")
