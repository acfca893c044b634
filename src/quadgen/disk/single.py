"""Writing one file that the user names, old or new whenever the process dies."""

import os
import stat
from contextlib import suppress
from errno import EISDIR

from quadgen.disk.reading import unavailable
from quadgen.ownership import temporary


def write_file(path: str, data: bytes) -> None:
    """Make `path` hold `data`. Raises `Unavailable` where it cannot be written; it is what it was then.

    A link is followed. A file keeps its mode, and a new one has that of the umask. What is no file, such as
    /dev/stdout, is written to.
    """
    try:
        if path.endswith("/"):  # which realpath would drop
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR), path)
        mode = _mode(path)
        if mode is None or stat.S_ISREG(mode):
            _replace(os.path.realpath(path), data, mode)
        else:
            with open(path, "wb") as file:  # noqa: PTH123 - as the user wrote it
                file.write(data)
    except OSError as error:
        raise unavailable("write", path, error) from error


def _mode(path: str) -> int | None:
    try:
        return os.stat(path).st_mode  # noqa: PTH116 - text, as everywhere here
    except FileNotFoundError:
        return None


def _replace(target: str, data: bytes, mode: int | None) -> None:
    aside = temporary(target)
    with suppress(FileNotFoundError):
        os.unlink(aside)  # noqa: PTH108 - left by a process that was killed
    try:
        with open(aside, "xb") as file:  # noqa: PTH123 - text, as everywhere here
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            file.write(data)
        os.rename(aside, target)  # noqa: PTH104 - as above
    except BaseException:
        with suppress(OSError):  # the first failure is the one to report
            os.unlink(aside)  # noqa: PTH108 - as above
        raise
