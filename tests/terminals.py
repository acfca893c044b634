"""What a program prints on a terminal, of whatever width."""

import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import quadgen


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
