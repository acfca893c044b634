"""Sentences and tables of `triage`, `triage --project` and `agreement` on terminals of several widths."""

from pathlib import Path
from typing import Final

import pytest

from quadgen.cli import console
from quadgen.cli.columns import aligned, wrapped
from terminals import on_a_terminal

MAIN: Final = "import sys; from quadgen.cli import main; sys.argv[0] = 'quadgen'; main()"
WORDS: Final = (
    *(
        "triage",
        "--target-rate",
        "40",
        "--commit-per-round",
        "1",
        "--drafter",
        "ngram-cache",
        "--acceptance",
        "0.7-0.9",
    ),
    *("--verify-cost", "9:2.4", "--drafting-share", "0.2"),
)


def test_triage_keeps_within_80_columns_and_breaks_no_word(tmp_path: Path) -> None:
    narrow = on_a_terminal("-c", MAIN, *WORDS, columns=80, cwd=tmp_path)
    wide = on_a_terminal("-c", MAIN, *WORDS, columns=200, cwd=tmp_path)
    assert max(map(len, narrow.splitlines())) <= 80
    assert max(map(len, wide.splitlines())) > 100
    assert narrow.split() == wide.split()
    assert "commit / rate" in " ".join(wide.split())


@pytest.mark.parametrize(("sizes", "gap"), [((20, 20, 20), 3), ((30, 30, 40), 2), ((34, 34, 34), 1), ((60, 60, 60), 1)])
def test_columns_stand_closer_where_there_is_less_room(sizes: tuple[int, ...], gap: int) -> None:
    assert list(aligned([["x" * size for size in sizes]])) == [" " * 6 + (" " * gap).join("x" * n for n in sizes)]


def test_no_word_is_broken_however_long_it_is() -> None:
    path = "/" + "a-b" * 50
    assert list(wrapped(f"from {path}")) == ["from", f"    {path}"]
    assert len(path) > console.width()
