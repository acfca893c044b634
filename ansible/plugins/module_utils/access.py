"""Whether somebody may use a file: its mode and access list, without the capabilities that let root pass by.

A service drops them, so that to be root opens no file of another user's. The kernel's own answer (access(2)) is that
for whoever asks, and a user that systemd makes up cannot ask before its service runs.
"""

from __future__ import annotations

import os
import stat
import struct
from typing import Final

from .people import Person, below

READ: Final = 4
WRITE: Final = 2
EXECUTE: Final = 1

_USER, _OWNING, _GROUP, _MASK = 0x02, 0x04, 0x08, 0x10
"""Tags of an access list's entries (linux/posix_acl.h): u16, u16, u32 each, behind four bytes (posix_acl_xattr.h)."""


def may(path: str, who: Person, wanted: int) -> bool | None:
    """Whether `who` may do what is wanted with this very file; None where that cannot be seen."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    mode = found.st_mode
    if found.st_uid == who.uid:
        return (mode >> 6) & wanted == wanted
    entries = _entries(path)
    mask = next((bits for tag, bits, _ in entries if tag == _MASK), 7)
    named = [bits for tag, bits, number in entries if tag == _USER and number == who.uid]
    if named:
        return named[0] & mask & wanted == wanted
    owning = next((bits for tag, bits, _ in entries if tag == _OWNING), (mode >> 3) & 7)
    groups = [owning] if found.st_gid in who.groups else []
    groups += [bits for tag, bits, number in entries if tag == _GROUP and number in who.groups]
    if groups:
        return any(bits & mask & wanted == wanted for bits in groups)
    return mode & wanted == wanted


def _entries(path: str) -> list[tuple[int, int, int]]:
    try:
        raw = os.getxattr(path, "system.posix_acl_access")
    except OSError:
        return []
    usable = len(raw) - (len(raw) - 4) % 8
    return [(entry[0], entry[1], entry[2]) for entry in struct.iter_unpack("<HHI", raw[4:usable])]


def obstacle(path: str, who: Person, root: str, wanted: int = READ, inside: str = "/") -> tuple[str, bool] | None:
    """What keeps `who` from a file: a directory on the way that it may not enter (True), or the file (False).

    Only directories from `inside` on count: a container sees none of those above what is mounted. None: nothing
    does, or nobody can say.
    """
    real = os.path.realpath(path) if root == "/" else path
    start = inside if _covers(inside, real) else os.path.dirname(real)
    here = os.path.normpath(start)
    steps = [here]
    for part in os.path.relpath(os.path.dirname(real), here).split(os.sep):
        if part != ".":
            steps.append(os.path.join(steps[-1], part))
    for step in steps:
        # the outermost directory of another root is that of whoever keeps it
        if may(below(root, step), who, EXECUTE) is False and (root == "/" or step != "/"):
            return step, True
    return (real, False) if may(below(root, real), who, wanted) is False else None


def _covers(directory: str, path: str) -> bool:
    return directory in ("/", path) or path.startswith(f"{directory}/")


def there(path: str) -> bool | None:
    """Whether a path leads to something; None where that cannot be seen."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        return False if error.errno == _LOOP else None
    return True


_LOOP: Final = 40
"""ELOOP: links that lead to one another."""


def size(path: str) -> int | None:
    """The bytes of a regular file; None for anything else."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None
