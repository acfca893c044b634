"""How wide what is printed may be: as the terminal that shows it, and the same everywhere else."""

import contextlib
import io
from pathlib import Path

import pytest

from quadgen.cli import console
from terminals import on_a_terminal

ASKED = "from quadgen.cli import console; print(console.width())"


@pytest.mark.parametrize(("columns", "width"), [(80, 80), (300, 110), (10, 40), (0, 110)])
def test_a_terminal_says_how_wide_a_line_may_be_within_reason(columns: int, width: int, tmp_path: Path) -> None:
    assert on_a_terminal("-c", ASKED, columns=columns, cwd=tmp_path) == f"{width}\n"


def test_elsewhere_a_line_is_as_wide_whatever_terminal_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    with contextlib.redirect_stdout(io.StringIO()):
        assert (console.width(), console.width(90)) == (110, 90)
