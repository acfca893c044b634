# ruff: noqa: PTH103, PTH104, PTH108, PTH116, PTH120 - text is faster than path objects
"""Changing a ledger: one writer at a time, and the file is old or new, and on the disk, whenever the process dies.

What is measured costs minutes of a machine, so that here everything is synced, unlike what a render writes.
"""

import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from errno import EINVAL, EISDIR

from quadgen.disk.reading import read_file, unavailable
from quadgen.ownership import temporary

_NEW_MODE = 0o666  # less the umask
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def append(path: str, change: Callable[[bytes | None], bytes]) -> None:
    """Make a ledger what `change` makes of its bytes, which are None where there is no such file.

    Directories that are not there are made. A second process waits for the first one, and is given what that wrote: no
    row is lost. A link is followed; mode and owner stay. Raises what `change` does, and `Unavailable` where the file
    cannot be read or written: then it is what it was.
    """
    try:
        if path.endswith("/"):  # which realpath would drop
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR), path)
        target = os.path.realpath(path)
        with _locked(os.path.dirname(target)) as directory:
            there = _looked_at(target)
            before = None if there is None else read_file(target)
            after = change(before)
            if after != before:
                _replace(target, after, there)
                _sync(directory)
    except OSError as error:
        raise unavailable("write", path, error) from error


@contextmanager
def _locked(directory: str) -> Iterator[int]:
    """Lock a directory by its own descriptor, which leaves no file behind for a glob or for git to find."""
    while True:
        with suppress(FileExistsError):  # or a file of that name, which opening it tells
            os.makedirs(directory)
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with suppress(OSError):  # some network file systems lock nothing, and refusing them would help nobody
                fcntl.flock(handle, fcntl.LOCK_EX)
            if _still_there(handle, directory):
                yield handle
                return
        finally:
            os.close(handle)


def _still_there(handle: int, directory: str) -> bool:
    """Whether the directory that was locked is still the one of that name, after a wait."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(directory))
    except FileNotFoundError:
        return False


def _looked_at(target: str) -> os.stat_result | None:
    """Ask what is there; None where nothing is. Raises where it is no file, which no rename may put away."""
    try:
        there = os.stat(target)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(there.st_mode):
        number = EISDIR if stat.S_ISDIR(there.st_mode) else EINVAL
        raise OSError(number, os.strerror(number), target)
    return there


def _replace(target: str, data: bytes, old: os.stat_result | None) -> None:
    aside = temporary(target)
    with suppress(FileNotFoundError):
        os.unlink(aside)  # left by a process that was killed: the lock is ours
    handle = os.open(aside, _CREATE, _NEW_MODE)
    try:
        try:
            if old is not None:
                with suppress(PermissionError):  # only root gives files away
                    os.fchown(handle, old.st_uid, old.st_gid)
                os.fchmod(handle, stat.S_IMODE(old.st_mode))
            _write(handle, data)
            os.fsync(handle)
        finally:
            os.close(handle)
        os.rename(aside, target)
    except BaseException:
        with suppress(OSError):  # the first failure is the one to report
            os.unlink(aside)
        raise


def _write(handle: int, data: bytes) -> None:
    written = 0
    while written < len(data):
        written += os.write(handle, data[written:])


def _sync(directory: int) -> None:
    """Put the new name on the disk. Where that cannot be asked for, the file has it all the same."""
    with suppress(OSError):
        os.fsync(directory)
