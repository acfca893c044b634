"""The files of a host below its root, which need not be the root of this machine.

A link in a mounted image means a path of the image: `/home -> /var/home` must not lead to this machine's own.
"""

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from quadgen.installed.seen import Found, Kind
from quadgen.problems import Place, Problem, Severity

_LARGEST: Final = 2**20
"""Bytes of a unit that are read: systemd takes no longer line (LONG_LINE_MAX)."""
_HOPS: Final = 40
"""Links that are followed on one way, as many as Linux does: path_resolution(7)."""
_KINDS: Final = {stat.S_IFREG: Kind.FILE, stat.S_IFDIR: Kind.DIRECTORY, stat.S_IFLNK: Kind.LINK}
ABSENT: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})
"""Why a path cannot be looked at where nothing is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """Where a host's file system is; paths are below it, without a slash in front."""

    path: str
    host: str
    problems: list[Problem] = field(default_factory=list)
    """What could not be read."""

    def at(self, path: str) -> Found | None:
        """What stands at a path, links on the way followed and not the last one; None where nothing does."""
        try:
            real = self._real(path)
            status = os.lstat(real)
            kind = _KINDS.get(stat.S_IFMT(status.st_mode), Kind.OTHER)
            target = str(Path(real).readlink()) if kind is Kind.LINK else ""
            data = _read(real) if kind is Kind.FILE else b""
        except OSError as error:
            self._unread(path, error)
            return None
        return Found(
            path=path, kind=kind, data=data, mode=stat.S_IMODE(status.st_mode), owner=status.st_uid, target=target
        )

    def followed(self, path: str) -> Found | None:
        """As `at`, but with the bytes of what a link leads to; `/dev/null` and its kind have none."""
        found = self.at(path)
        if found is None or found.kind is not Kind.LINK:
            return found
        try:
            data = _read(self._real(f"{path}/.").removesuffix("/."))
        except OSError as error:
            self._unread(path, error)
            return found
        return Found(path=path, kind=Kind.LINK, data=data, owner=found.owner, target=found.target)

    def names(self, path: str) -> list[str]:
        """The names in a directory, sorted; none where there is none."""
        try:
            return sorted(os.listdir(self._real(f"{path}/.")))  # noqa: PTH208 - the names alone
        except OSError as error:
            self._unread(path, error)
            return []

    def below(self, path: str) -> Iterator[str]:
        """A directory and those in it at any depth, but those of drop-ins, in the order in which Podman reads them."""
        waiting, known = [path], set[str]()
        while waiting:
            here = waiting.pop()
            try:
                real = os.path.realpath(self._real(f"{here}/."))
                inner = [entry.name for entry in os.scandir(real) if not entry.name.endswith(".d") and entry.is_dir()]
            except OSError as error:
                self._unread(here, error)
                continue
            if real not in known:
                known.add(real)
                yield here
                waiting += [f"{here}/{name}" for name in sorted(inner, reverse=True)]

    def _real(self, path: str) -> str:
        """Where a path of the host lies here. Raises `OSError` where its links lead nowhere."""
        if self.path == "/":
            return f"/{path}"
        waiting, done, hops = path.split("/")[::-1], list[str](), 0
        while len(waiting) > 1:
            part = waiting.pop()
            if part == "..":
                del done[-1:]
            if part in {"", ".", ".."}:
                continue
            try:
                target = str(Path(self.path, *done, part).readlink())
            except OSError as error:
                if error.errno != errno.EINVAL:  # it is no link
                    raise
                done.append(part)
                continue
            hops += 1
            if hops > _HOPS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            if target.startswith("/"):
                done = []
            waiting += target.split("/")[::-1]
        return "/".join((self.path.rstrip("/"), *done, waiting[0]))

    def _unread(self, path: str, error: OSError) -> None:
        if error.errno in ABSENT:
            return
        place = Place(file=f"{self.path.rstrip('/')}/{path}", line=1, column=1)
        if not any(problem.place == place for problem in self.problems):
            self.problems.append(
                Problem(
                    code="not-verified",
                    message=f"cannot read {place.file}: {error.strerror or error}",
                    severity=Severity.WARNING,
                    host=self.host,
                    place=place,
                )
            )


def _read(path: str) -> bytes:
    """The bytes of a regular file, to a limit; none of what is none. A FIFO must not stop the run."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return b""
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(_LARGEST)
    finally:
        os.close(handle)
