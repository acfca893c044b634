# ruff: noqa: PTH101, PTH102, PTH104, PTH106, PTH108, PTH116, PTH120 - text is faster than path objects
"""Writing a rendered tree: one writer at a time, and each file old or new whenever the process dies."""

import errno
import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile

from quadgen import ownership
from quadgen.disk.reading import named, read_file, unavailable
from quadgen.disk.surveying import is_directory, survey
from quadgen.ownership import JOURNAL, MANIFEST
from quadgen.plan import Change, HostPlan, Kind, Plan, ancestors
from quadgen.tree import FILE_MODE, HostTree

_DIRECTORY_MODE = 0o755
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL  # which follows no link, either
_STAYS = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY, errno.ENOENT})
"""Why a directory stays: something is in it (two spellings), it is a mount, it has gone already."""


def apply(
    root: str,
    trees: Sequence[HostTree],
    *,
    only: frozenset[str] | None,
    texts: bool,
    notify: Callable[[str], None],
) -> Plan:
    """Make the tree below `root` what was rendered; return what that took. See `survey` for the arguments.

    One at a time: a second call waits for the first, after telling `notify` so in a sentence. Nothing is
    written when anything is in the way, and nothing is touched when nothing changes. What a killed run left
    is cleared first, for all hosts. The umask of the process is 0 meanwhile: modes do not depend on it.
    Raises `Rejected` as `survey` does, and `Unavailable` where something cannot be written: then, too, each
    file is old or new, and a later call finishes the work.
    """
    root = root.rstrip("/") or root
    if not os.path.lexists(root) and not any(only is None or tree.host in only for tree in trees):
        return Plan(hosts=(), interrupted=False)
    umask = os.umask(0)
    try:
        with _locked(root, notify):
            plan = survey(root, trees, only=only, texts=texts)
            if plan.interrupted:
                _clear(root, ownership.journalled(read_file(f"{root}/{JOURNAL}")))
                plan = survey(root, trees, only=only, texts=texts)
            if plan.hosts:
                _carry_out(root, plan)
    except OSError as error:
        raise unavailable("write", named(error, root), error) from error
    finally:
        os.umask(umask)
    return plan


@contextmanager
def _locked(root: str, notify: Callable[[str], None]) -> Iterator[None]:
    """Make the output directory and lock it, by its own descriptor: no lock file is left for git to see."""
    while True:
        _make(root)
        handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _lock(handle, root, notify)
            if _still_there(handle, root):
                yield
                return
        finally:
            os.close(handle)


def _lock(handle: int, root: str, notify: Callable[[str], None]) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        notify(f"another render is writing {root}: waiting until it is done")
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError as error:
        # Some network file systems cannot lock a directory, and refusing them would help nobody.
        notify(f"{root} cannot be locked ({error.strerror}): let no other render write there meanwhile")


def _still_there(handle: int, root: str) -> bool:
    """Whether the directory that was locked is still the one of that name, after a wait."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(root))
    except FileNotFoundError:
        return False


def _make(directory: str) -> None:
    """Make a directory and those above it, all with our mode: `os.makedirs` gives it to the last one only."""
    try:
        os.mkdir(directory, _DIRECTORY_MODE)
    except FileExistsError:
        return
    except FileNotFoundError:
        above = os.path.dirname(directory)
        if not above:
            raise
        _make(above)
        with suppress(FileExistsError):  # another render made it meanwhile
            os.mkdir(directory, _DIRECTORY_MODE)


def _carry_out(root: str, plan: Plan) -> None:
    """Do what a plan says; on any failure take away what is half done, and leave the rest to a later run."""
    paths = plan.paths
    journal = f"{root}/{JOURNAL}"
    _create(journal, ownership.journal(paths), FILE_MODE)
    try:
        for host in plan.hosts:
            _write_host(root, host)
        os.unlink(journal)
    except BaseException:
        with suppress(OSError):  # the first failure is the one to report
            _clear(root, paths)
        raise


def _clear(root: str, paths: Sequence[str]) -> None:
    """Remove what a run over `paths` may have left: temporary files, empty directories, its journal."""
    directories = set()
    for path in paths:
        above = ancestors(path)
        real = list(takewhile(lambda directory: is_directory(f"{root}/{directory}"), above))
        directories.update(real)
        if len(real) == len(above):
            with suppress(FileNotFoundError):
                os.unlink(f"{root}/{ownership.temporary(path)}")
    _remove_empty(root, directories)
    os.unlink(f"{root}/{JOURNAL}")


def _write_host(root: str, plan: HostPlan) -> None:
    manifest = f"{plan.host}/{MANIFEST}"
    for directory in plan.directories:
        os.mkdir(f"{root}/{directory}", _DIRECTORY_MODE)
    if plan.opening is not None:
        _put(root, manifest, plan.opening, FILE_MODE)
    for change in plan.files:
        if change.kind is not Kind.REMOVE:
            _act(root, change)
    for change in plan.files:
        if change.kind is Kind.REMOVE:
            _act(root, change)
    if plan.closing is not None:
        _put(root, manifest, plan.closing, FILE_MODE)
    elif plan.manifest is not None and plan.manifest.kind in {Kind.MODE, Kind.REMOVE}:
        _act(root, plan.manifest)
    _remove_empty(root, {directory for path in plan.gone for directory in ancestors(path)})


def _act(root: str, change: Change) -> None:
    if change.new is None or change.new_mode is None:
        os.unlink(f"{root}/{change.path}")
    elif change.kind is Kind.MODE:
        os.chmod(f"{root}/{change.path}", change.new_mode)
    else:
        _put(root, change.path, change.new, change.new_mode)


def _put(root: str, path: str, data: bytes, mode: int) -> None:
    """Make `path` hold `data`, in one step as anyone else sees it."""
    target = f"{root}/{path}"
    aside = f"{root}/{ownership.temporary(path)}"
    try:
        try:
            _create(aside, data, mode)
        except FileExistsError:  # left by a dead process whose journal somebody removed
            os.unlink(aside)
            _create(aside, data, mode)
        os.rename(aside, target)
    except OSError as error:
        raise unavailable("write", target, error) from error


def _create(path: str, data: bytes, mode: int) -> None:
    """Write a file that must not exist; where that fails, leave none."""
    handle = os.open(path, _CREATE, mode)
    try:
        written = os.write(handle, data)
        while written < len(data):
            written += os.write(handle, data[written:])
    except BaseException:
        os.unlink(path)
        raise
    finally:
        os.close(handle)


def _remove_empty(root: str, directories: Iterable[str]) -> None:
    """Remove those of `directories` that hold nothing any more, innermost first."""
    for directory in sorted(directories, reverse=True):
        try:
            os.rmdir(f"{root}/{directory}")
        except OSError as error:
            if error.errno not in _STAYS:
                raise
