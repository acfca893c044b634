"""Looking at a rendered tree. Nothing here writes, and nothing follows a link below the output directory.

Paths are text joined with `/`: a path object costs more than the system call, and 10,000 hosts make 100,000.
"""

import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field

from quadgen import ownership
from quadgen.disk.reading import named, unavailable
from quadgen.ownership import JOURNAL, MANIFEST
from quadgen.plan import HostPlan, Plan, Seen, Standing, ancestors, decide, departed, fresh
from quadgen.problems import Collector
from quadgen.tree import FILE_MODE, File, HostTree

_DIRECTORY = "a directory"
_FILE = "a file"
_OTHER = "neither a file nor a directory"
_KINDS = {stat.S_IFDIR: _DIRECTORY, stat.S_IFREG: _FILE, stat.S_IFLNK: "a symbolic link"}
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # a FIFO in the way must not stop the run


def survey(root: str, trees: Iterable[HostTree], *, only: frozenset[str] | None, texts: bool) -> Plan:
    """Compare a rendered fleet with the tree below `root`, which need not exist; writes and locks nothing.

    `only` names the hosts to look at; None looks at all, those that left the fleet included. `texts` keeps
    the old bytes, for a diff. `trees` is read once. Raises `Rejected` with everything that is in the way
    (`not-ours`), `Unavailable` where something cannot be read.
    """
    root = root.rstrip("/") or root  # as a shell completes it; messages name paths below
    look = _Look(root=root, texts=texts)
    plans: list[HostPlan | None] = []
    hosts = set()
    try:
        kinds = _entries(root)
        for tree in trees:
            hosts.add(tree.host)
            if only is None or tree.host in only:
                plans.append(look.at_rendered(tree, kinds.get(tree.host)))
        others = sorted(name for name in kinds.keys() - hosts if only is None or name in only)
        plans += [look.at_departed(name) for name in others if kinds[name] == _DIRECTORY and name[0] != "."]
    except OSError as error:
        raise unavailable("read", named(error, root), error) from error
    look.problems.check()
    changed = tuple(plan for plan in plans if plan is not None)
    return Plan(hosts=changed, interrupted=kinds.get(JOURNAL) == _FILE)


def is_directory(path: str) -> bool:
    """Whether a directory stands at `path`, and not a link to one."""
    return _kind(path) == _DIRECTORY


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """One survey: where it looks, whether it keeps what it reads, and what it found in the way."""

    root: str
    texts: bool
    problems: Collector = field(default_factory=Collector)

    def at_rendered(self, tree: HostTree, kind: str | None) -> HostPlan | None:
        """Compare a rendered host with what has its name, and is of this kind; None where nothing changes."""
        if kind is None:
            return fresh(tree)
        host = tree.host
        if kind != _DIRECTORY:
            self.problems.add(ownership.blocked(f"{self.root}/{host}", kind, host=host))
            return None
        manifest = self._read(host, MANIFEST)
        wanted = frozenset([file.path for file in tree.files])
        listed: frozenset[str] | None = frozenset()
        if manifest is not None and manifest.data == tree.manifest:
            if manifest.mode == FILE_MODE and _unchanged(f"{self.root}/{host}", tree.files):
                return None
            listed = wanted
        elif manifest is not None:
            listed = self._listed(host, manifest)
        if listed is None:
            return None
        standing = self._standing(host, manifest, listed, wanted)
        return decide(tree, standing, texts=self.texts, problems=self.problems)

    def at_departed(self, host: str) -> HostPlan | None:
        """Plan the end of a directory that no host of the fleet has; None where quadgen did not make it."""
        manifest = self._read(host, MANIFEST)
        listed = None if manifest is None else self._listed(host, manifest)
        if listed is None:
            return None
        return departed(self._standing(host, manifest, listed, frozenset()), texts=self.texts)

    def _listed(self, host: str, manifest: Seen) -> frozenset[str] | None:
        file = f"{self.root}/{host}/{MANIFEST}"
        return ownership.listed(manifest.data, host=host, file=file, problems=self.problems)

    def _standing(self, host: str, manifest: Seen | None, listed: frozenset[str], wanted: frozenset[str]) -> Standing:
        """Read every path that is listed or wanted, in order, and learn which directories do not exist."""
        kinds: dict[str, str | None] = {}
        files: dict[str, Seen | None] = {}
        for path in sorted(listed | wanted):
            kind: str | None = _DIRECTORY
            for directory in ancestors(path):
                if directory not in kinds:
                    kinds[directory] = self._enter(host, directory) if kind == _DIRECTORY else None
                kind = kinds[directory]
            files[path] = self._read(host, path) if kind == _DIRECTORY else None
        return Standing(
            host=host,
            place=f"{self.root}/{host}",
            manifest=manifest,
            listed=listed,
            files=files,
            absent=frozenset([f"{host}/{directory}" for directory, kind in kinds.items() if kind is None]),
        )

    def _enter(self, host: str, directory: str) -> str | None:
        """Tell what stands where a directory should; None where nothing does. Refuses what is in the way."""
        path = f"{self.root}/{host}/{directory}"
        kind = _kind(path)
        if kind is not None and kind != _DIRECTORY:
            self.problems.add(ownership.blocked(path, kind, host=host))
        return kind

    def _read(self, host: str, path: str) -> Seen | None:
        """Read a regular file; None where there is none. Refuses what stands there instead of one."""
        name = f"{self.root}/{host}/{path}"
        try:
            handle = os.open(name, _READ)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno not in {errno.ELOOP, errno.ENXIO}:  # a link, for O_NOFOLLOW; a socket
                raise
            self.problems.add(ownership.blocked(name, _kind(name) or _OTHER, host=host))
            return None
        try:
            status = os.fstat(handle)
            if stat.S_ISREG(status.st_mode):
                return Seen(data=os.read(handle, status.st_size + 1), mode=stat.S_IMODE(status.st_mode))
        finally:
            os.close(handle)
        self.problems.add(ownership.blocked(name, _kind_of(status.st_mode), host=host))
        return None


def _entries(root: str) -> dict[str, str]:
    """List what stands in the output directory, by name; nothing where there is none yet."""
    try:
        with os.scandir(root) as entries:
            return {entry.name: _kind_of_entry(entry) for entry in entries}
    except FileNotFoundError:
        return {}


def _kind_of_entry(entry: os.DirEntry[str]) -> str:
    if entry.is_dir(follow_symlinks=False):  # costs no system call
        return _DIRECTORY
    return _kind_of(entry.stat(follow_symlinks=False).st_mode)


def _unchanged(base: str, files: Iterable[File]) -> bool:
    """Whether files stand below a host's directory as rendered: the way of a run that changes nothing.

    False may also mean that something is in the way, or cannot be read; a closer look then says what.
    """
    directories: tuple[str, ...] = ()
    try:
        for file in files:
            above = ancestors(file.path)
            if above is not directories:
                for directory in above:
                    if not stat.S_ISDIR(os.lstat(f"{base}/{directory}").st_mode):
                        return False
                directories = above
            if not _holds(f"{base}/{file.path}", file.data, file.mode):
                return False
    except OSError:
        return False
    return True


def _holds(path: str, data: bytes, mode: int) -> bool:
    """Whether `path` is a regular file with these bytes and this mode."""
    handle = os.open(path, _READ)
    try:
        status = os.fstat(handle)
        return (
            status.st_size == len(data)
            and status.st_mode == stat.S_IFREG | mode
            and os.read(handle, len(data) + 1) == data
        )
    finally:
        os.close(handle)


def _kind(path: str) -> str | None:
    try:
        return _kind_of(os.lstat(path).st_mode)
    except FileNotFoundError:
        return None


def _kind_of(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), _OTHER)
