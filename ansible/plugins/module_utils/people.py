"""The users and groups of a host, also of one whose root file system is mounted elsewhere."""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Person:
    """Who reads a file: a user of the host, or one that systemd makes up."""

    name: str
    uid: int
    gid: int
    groups: frozenset[int]
    """All of its groups, the own one included."""
    home: str

    def joined(self, gids: frozenset[int]) -> Person:
        """The same with more groups."""
        return replace(self, groups=self.groups | gids)


NOBODY_KNOWN = -1
"""The id of a user that exists only while its service runs: no file is its own."""

BARE_ROOT = Person("root without capabilities", 0, 0, frozenset({0}), "/root")
"""What root is in a container that drops them: another user's 0600 file is closed to it."""


def below(root: str, path: str) -> str:
    """A path of the host as it is found from here."""
    return path if root == "/" else os.path.join(root, path.lstrip("/"))


def person(name: str, root: str) -> Person | None:
    """Look a user up: among all that the host knows, or in `etc/passwd` below another root; None: there is none."""
    lines = _table(root, "passwd", 6)
    if lines is None:
        try:
            entry = pwd.getpwnam(name)
        except (KeyError, ValueError):  # ValueError: no name at all
            return None
        groups = frozenset(os.getgrouplist(name, entry.pw_gid))
        return Person(name, entry.pw_uid, entry.pw_gid, groups, entry.pw_dir)
    for user, _, uid, gid, _, home, *_ in lines:
        if user == name and uid.isdigit() and gid.isdigit():
            members = (group[2] for group in _table(root, "group", 4) or [] if name in group[3].split(","))
            own = frozenset(int(member) for member in (gid, *members) if member.isdigit())
            return Person(name, int(uid), int(gid), own, home)
    return None


def group(name: str, root: str) -> int | None:
    """The id of a group; None: there is none."""
    lines = _table(root, "group", 3)
    if lines is None:
        try:
            return grp.getgrnam(name).gr_gid
        except KeyError:
            return None
    return next((int(line[2]) for line in lines if line[0] == name and line[2].isdigit()), None)


def group_name(gid: int, root: str) -> str:
    """The name of a group, or its number."""
    lines = _table(root, "group", 3)
    if lines is None:
        try:
            return grp.getgrgid(gid).gr_name
        except KeyError:
            return str(gid)
    return next((line[0] for line in lines if line[2] == str(gid)), str(gid))


def _table(root: str, name: str, fields: int) -> list[list[str]] | None:
    """The lines of a table below another root, with at least so many fields; None: this machine knows by itself."""
    return None if root == "/" else _lines(below(root, f"/etc/{name}"), fields)


def _lines(path: str, fields: int) -> list[list[str]] | None:
    def split(text: str) -> Iterator[list[str]]:
        for line in text.splitlines():
            found = line.split(":")
            if len(found) >= fields:
                yield found

    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return list(split(file.read()))
    except OSError:
        return None
