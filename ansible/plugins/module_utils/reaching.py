"""Whose a path of this host is, and doing things there as that user.

Root must not follow what somebody else can change: a link that a user sets in its home would lead root anywhere. So
the way to a file is walked from the root, and what lies below the first directory that is not root's is only touched
with the ids of that directory's owner. Links of root's own are followed as they are.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pwd
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from . import tree
from .managers import Trouble

OURS: Final = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_KINDS: Final = {stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a directory", stat.S_IFREG: "a file"}


@dataclass(frozen=True)
class Spot:
    """Where a path is, who writes there, and which directories above it, outermost first, are not there yet."""

    path: str
    """Relative to the root."""
    name: str
    """As the system knows it."""
    uid: int
    gid: int
    missing: tuple[str, ...]

    @property
    def absent(self) -> tuple[str, ...]:
        """Those directories, as the system knows them."""
        base = self.name[: len(self.name) - len(self.path)]
        return tuple(f"{base}{directory}" for directory in self.missing)


@dataclass(frozen=True)
class Seen:
    """A regular file as it stands."""

    data: bytes
    mode: int
    uid: int


def reach(root: str, path: str) -> Spot:
    """Walk to a path below `root`; raises Trouble where something is in the way.

    Whoever is not root does everything as itself, and may go wherever it gets.
    """
    base = root.rstrip("/")
    above = tree.ancestors(path)
    uid, count = os.geteuid(), 0
    if uid == 0:
        for directory in above:
            owner = _owner(f"{base}/{directory}")
            if owner is None:
                break
            count += 1
            if owner != 0:
                uid = owner
                break
    gid = os.getegid() if uid == os.geteuid() else group_of(uid)
    spot = Spot(path, f"{base}/{path}", uid, gid, ())
    with acting(spot):
        for number, directory in enumerate(above[count:], count):
            if not _enter(f"{base}/{directory}"):
                spot = Spot(path, spot.name, uid, gid, above[number:])
                break
    if base:
        _check_inside(base, f"{base}/{above[-1 - len(spot.missing)]}" if len(spot.missing) < len(above) else base)
    return spot


def _check_inside(base: str, directory: str) -> None:
    """Refuse links that lead out of a root that is not this machine's own: what they mean there is elsewhere here."""
    inside, real = os.path.realpath(base), os.path.realpath(directory)
    if real != inside and not real.startswith(f"{inside}/"):
        raise Trouble(f"{directory} is in the way: it leads out of {base}, to {real}")


def _owner(name: str) -> int | None:
    """The first user on the way through a directory who is not root, or else 0; None where it is none of root's."""
    try:
        status = os.lstat(name)
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR}:  # what is no directory, `_enter` names
            return None
        raise Trouble(f"cannot look at {name}: {error.strerror}") from error
    if not stat.S_ISLNK(status.st_mode) or status.st_uid != 0:
        return status.st_uid if stat.S_ISDIR(status.st_mode) or status.st_uid != 0 else None
    real = os.path.realpath(name)
    for directory in (*(f"/{each}" for each in tree.ancestors(real[1:])), real):
        try:
            owner = os.lstat(directory).st_uid
        except FileNotFoundError:
            return None
        if owner != 0:
            return owner
    return 0 if os.path.isdir(real) else None


def _enter(name: str) -> bool:
    """Whether a directory is there, as whoever acts sees it; raises Trouble for anything else of that name."""
    try:
        mode = os.stat(name).st_mode
    except FileNotFoundError:
        if os.path.islink(name):
            raise Trouble(f"{name} is in the way: it is a symbolic link to nothing") from None
        return False
    except OSError as error:
        raise Trouble(f"cannot look at {name}: {error.strerror}") from error
    if not stat.S_ISDIR(mode):
        raise Trouble(f"{name} is in the way: it is {_kind(mode)}, and no directory")
    return True


def look(spot: Spot) -> Seen | None:
    """Read the file at a spot; None where there is none. Raises Trouble for what is no regular file."""
    if spot.missing:
        return None
    with acting(spot):
        try:
            handle = os.open(spot.name, os.O_RDONLY | OURS)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno not in {errno.ELOOP, errno.ENXIO}:  # a link, for O_NOFOLLOW; a socket
                raise Trouble(f"cannot read {spot.name}: {error.strerror}") from error
            raise _blocked(spot, os.lstat(spot.name).st_mode) from None
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise _blocked(spot, status.st_mode)
            with open(handle, "rb", closefd=False) as stream:
                data = stream.read(tree.LARGEST + 1)
            if len(data) > tree.LARGEST:
                raise Trouble(f"{spot.name} is in the way: it has more than {tree.LARGEST} bytes")
            return Seen(data, stat.S_IMODE(status.st_mode), status.st_uid)
        finally:
            os.close(handle)


def check_writable(spot: Spot) -> None:
    """Refuse a spot whose user cannot change its directory, such as one that a link in its home leads to."""
    directory = os.path.dirname((*spot.absent, spot.name)[0])
    with acting(spot):
        if os.access(directory or "/", os.W_OK | os.X_OK, effective_ids=True):
            return
        real = os.path.realpath(directory)
    where = "" if real == os.path.normpath(directory) else f"it leads to {real}, and "
    raise Trouble(f"{directory} is in the way: {where}{user_name(spot.uid)} may not write there")


def names(root: str, directory: str) -> list[str]:
    """What lies in a directory below `root`, sorted; nothing where there is none, or nothing can be seen."""
    try:
        spot = reach(root, directory)
        with acting(spot):
            return sorted(os.listdir(spot.name))
    except (OSError, Trouble):
        return []


@contextlib.contextmanager
def acting(spot: Spot) -> Iterator[None]:
    """Do what is done meanwhile as the user whose a spot is; raises Trouble where this root may not."""
    if spot.uid == os.geteuid():
        yield
        return
    groups, gid = os.getgroups(), os.getegid()
    try:
        os.setgroups(_groups(spot.uid, spot.gid))
    except OSError as error:  # root of a container that may not
        raise Trouble(f"cannot act as {user_name(spot.uid)} for {spot.name}: {error.strerror}") from error
    try:
        os.setegid(spot.gid)
        os.seteuid(spot.uid)
        yield
    finally:
        os.seteuid(0)
        os.setegid(gid)
        os.setgroups(groups)


def user_name(uid: int) -> str:
    """The name of a user, or its number."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def group_of(uid: int) -> int:
    """The group of a user of this host; that of its number for one whom nobody knows by name."""
    try:
        return pwd.getpwuid(uid).pw_gid
    except KeyError:
        return uid


def _groups(uid: int, gid: int) -> list[int]:
    try:
        return os.getgrouplist(pwd.getpwuid(uid).pw_name, gid)
    except KeyError:
        return [gid]


def _blocked(spot: Spot, mode: int) -> Trouble:
    return Trouble(f"{spot.name} is in the way: it is {_kind(mode)}, which quadgen neither writes through nor replaces")


def _kind(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "no file")
