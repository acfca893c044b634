"""Nothing of a server outlives quadgen, whatever ended that.

The kernel ends the server itself with quadgen, see `process`, but not what it started: a program can be a script that
has the server as its child. So a shell beside each waits for the end of quadgen, or for its word.
"""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from quadgen.problems import Unavailable

_SHELL: Final = "/bin/sh"
_WATCHER: Final = """trap '' HUP INT TERM; read -r told || kill -s KILL -- "-$1" """
"""Waits for a line, or for the end of what it reads, which comes with the end of quadgen."""


@contextmanager
def ended(group: int) -> Iterator[None]:
    """Kill all of a process group in the end, and also once quadgen is gone.

    Nobody may have waited for the group's first process until then, so that its number is nobody else's. Raises
    `Unavailable` where there is no shell.
    """
    try:
        watcher = _watcher(group)
        try:
            yield
        finally:
            _kill(group)
            with suppress(OSError):
                watcher.communicate(b"\n")
    finally:
        _kill(group)


def _kill(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _watcher(group: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 - a list, and the only word from outside is a number
            [_SHELL, "-c", _WATCHER, _SHELL, str(group)],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise Unavailable(f"cannot run {_SHELL}: {error.strerror}") from error
