"""How wide what is printed may be: as the terminal that shows it, and the same everywhere else."""

import contextlib
import io
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import pytest

import quadgen
from quadgen.cli import console

ASKED = "from quadgen.cli import console; print(console.width())"


def on_a_terminal(*words: str, columns: int, cwd: Path) -> str:
    """What Python prints for these words on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    try:
        termios.tcsetwinsize(theirs, (24, columns))
        environ = {"PATH": os.defpath, "PYTHONPATH": str(Path(quadgen.__file__).parents[1]), "LC_ALL": "C.UTF-8"}
        with subprocess.Popen([sys.executable, *words], cwd=cwd, stdout=theirs, env=environ) as process:
            os.close(theirs)
            theirs = -1
            shown = b""
            while piece := _piece(ours):
                shown += piece
            assert process.wait(timeout=60) == 0
        return shown.decode().replace("\r\n", "\n")
    finally:
        for each in {ours, theirs} - {-1}:
            os.close(each)


def _piece(terminal: int) -> bytes:
    try:
        return os.read(terminal, 2**16)
    except OSError:  # how Linux says that nobody is left to write
        return b""


@pytest.mark.parametrize(("columns", "width"), [(80, 80), (300, 110), (10, 40), (0, 110)])
def test_a_terminal_says_how_wide_a_line_may_be_within_reason(columns: int, width: int, tmp_path: Path) -> None:
    assert on_a_terminal("-c", ASKED, columns=columns, cwd=tmp_path) == f"{width}\n"


def test_elsewhere_a_line_is_as_wide_whatever_terminal_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    with contextlib.redirect_stdout(io.StringIO()):
        assert (console.width(), console.width(90)) == (110, 90)
