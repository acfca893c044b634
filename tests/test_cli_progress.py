"""How far work of hours is, where there is a terminal and where there is none."""

import sys

import pytest

from quadgen.cli import progress


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.2, "1 s"), (40.4, "40 s"), (89.4, "89 s"), (90, "2 min"), (1234, "21 min"), (5400, "1 h 30 min")],
)
def test_a_duration_is_as_long_as_people_say_it(seconds: float, said: str) -> None:
    assert progress.duration(seconds) == said


def test_without_a_terminal_a_round_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    progress.left(0, 42, "copy, candidate", None, line=True)
    progress.left(1, 42, "prose, candidate", 100.0, line=False)
    progress.left(6, 42, "copy, candidate", 600.0, line=True)
    assert capsys.readouterr().err == (
        "quadgen: 0 of 42 samples, now copy, candidate\n"
        "quadgen: 6 of 42 samples, now copy, candidate, 10 min left\n"
    )  # fmt: skip


def test_on_a_terminal_it_is_a_bar_that_stays_on_its_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    progress.left(21, 42, "copy, candidate", 600.0, line=False)
    progress.leave()
    bar, rest = capsys.readouterr().err.split("\n")
    assert rest == ""
    assert bar.startswith("\r[###############...............] 21/42 copy, candidate, 10 min left")
