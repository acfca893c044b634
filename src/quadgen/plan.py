"""Rendered files against the tree on disk: what changes and in which order, or what is in the way.

Pure: `disk` looks and acts, this module decides. The order makes a killed run harmless. A manifest that
lists old and new files stands before the first file is touched, and the final one comes last, so that
whatever a dead process leaves behind is listed, and only what is listed is ever removed.
"""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import chain

from quadgen import ownership
from quadgen.ownership import MANIFEST
from quadgen.problems import Collector
from quadgen.tree import File, HostTree


class Kind(StrEnum):
    """What happens to a file. `MODE`: its bytes are right, its permission bits are not."""

    CREATE = "create"
    UPDATE = "update"
    REMOVE = "remove"
    MODE = "mode"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file that is not as it should be."""

    kind: Kind
    path: str
    """Below the output directory, the host's name first."""
    old: bytes | None = None
    """The bytes on disk; None where there is no file, and where the survey was not asked to keep texts."""
    new: bytes | None = None
    """The bytes that shall stand there; None for `REMOVE`."""
    old_mode: int | None = None
    """The permission bits on disk; None where there is no file."""
    new_mode: int | None = None
    """The permission bits that shall stand there; None for `REMOVE`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPlan:
    """What one host needs, in the order of the fields; what is removed goes after everything else."""

    host: str
    directories: tuple[str, ...]
    """To make, below the output directory, outermost first."""
    opening: bytes | None
    """The manifest that must stand before any file is touched; None where the one on disk will do."""
    files: tuple[Change, ...]
    """Sorted by path, without the manifest."""
    closing: bytes | None
    """The final manifest, where neither the opening one nor the one on disk is it."""
    manifest: Change | None
    """What becomes of the manifest, all in all."""
    gone: tuple[str, ...]
    """What a manifest lists and nobody wants, below the output directory, whether it still exists or not: the
    directories on the way go too, where that leaves them empty."""

    @property
    def changes(self) -> tuple[Change, ...]:
        """Every change, the manifest's own included, sorted by path."""
        last = () if self.manifest is None else (self.manifest,)
        return tuple(sorted(self.files + last, key=lambda change: change.path))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The difference between a rendered fleet and the tree on disk."""

    hosts: tuple[HostPlan, ...]
    """Only the hosts that change: in the fleet's order, then those that left it, by name."""
    interrupted: bool
    """A render was killed here, or writes at this very moment; the next one clears what was left."""

    @property
    def empty(self) -> bool:
        """Whether the tree is exactly what was rendered."""
        return not self.hosts and not self.interrupted

    @property
    def differs(self) -> bool:
        """Whether a repository would see a difference: git keeps no more of a mode than the executable bits."""
        return self.interrupted or any(
            change.kind is not Kind.MODE or ((change.old_mode or 0) ^ (change.new_mode or 0)) & 0o111
            for change in self.changes
        )

    @property
    def changes(self) -> Iterator[Change]:
        """Every change, host by host, each host's sorted by path."""
        return (change for host in self.hosts for change in host.changes)

    @property
    def paths(self) -> list[str]:
        """Every path, below the output directory, that carrying out the plan may touch."""
        paths = [f"{host.host}/{MANIFEST}" for host in self.hosts]
        paths += [change.path for host in self.hosts for change in host.files]
        paths += [path for host in self.hosts for path in host.gone]
        return list(dict.fromkeys(paths))


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A regular file as it stands on disk: its bytes and its permission bits."""

    data: bytes
    mode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What stands on disk for one host that has a directory."""

    host: str
    place: str
    """The host's directory as the user would name it, for messages."""
    manifest: Seen | None
    listed: frozenset[str]
    """The paths that the manifest lists, below the host's directory."""
    files: Mapping[str, Seen | None]
    """Every path that is rendered or listed; None where there is no file."""
    absent: frozenset[str]
    """The directories on the way to those paths that do not exist, below the output directory."""


@lru_cache(maxsize=4096)
def ancestors(path: str) -> tuple[str, ...]:
    """List every directory on the way to a relative path, outermost first: `a/b/c` gives `a`, `a/b`."""
    parts = path.split("/")[:-1]
    return tuple("/".join(parts[: end + 1]) for end in range(len(parts)))


def fresh(tree: HostTree) -> HostPlan:
    """Plan a host that has no directory yet."""
    host = tree.host
    return HostPlan(
        host=host,
        directories=(host, *_above(host, [file.path for file in tree.files])),
        opening=tree.manifest,
        files=tuple([_created(f"{host}/{file.path}", file) for file in tree.files]),
        closing=None,
        manifest=_created(f"{host}/{MANIFEST}", File(path=MANIFEST, data=tree.manifest)),
        gone=(),
    )


def decide(tree: HostTree, standing: Standing, *, texts: bool, problems: Collector) -> HostPlan | None:
    """Plan a host that has a directory; None where nothing changes.

    A file in the way that no manifest lists becomes a `not-ours` problem, unless its bytes are those to be
    written: then it is adopted. `texts` keeps the old bytes in the changes, for a diff.
    """
    host = tree.host
    wanted = {file.path: file for file in tree.files}
    changes = []
    for path, seen in sorted(standing.files.items()):
        file = wanted.get(path)
        if seen and file and seen.data != file.data and path not in standing.listed:
            problems.add(ownership.foreign(f"{standing.place}/{path}", host=host))
        elif (change := _compared(f"{host}/{path}", seen, file, texts=texts)) is not None:
            changes.append(change)
    final = File(path=MANIFEST, data=tree.manifest)
    manifest = _compared(f"{host}/{MANIFEST}", standing.manifest, final, texts=texts)
    if not changes and manifest is None:
        return None
    opening, closing = _manifests(tree, standing, wanted.keys())
    return HostPlan(
        host=host,
        directories=tuple(directory for directory in _above(host, wanted) if directory in standing.absent),
        opening=opening,
        files=tuple(changes),
        closing=closing,
        manifest=manifest,
        gone=tuple(f"{host}/{path}" for path in sorted(standing.listed - wanted.keys())),
    )


def departed(standing: Standing, *, texts: bool) -> HostPlan:
    """Plan a host that left the fleet: everything that its manifest lists goes, and then the manifest."""
    host = standing.host
    changes = (_compared(f"{host}/{path}", seen, None, texts=texts) for path, seen in sorted(standing.files.items()))
    return HostPlan(
        host=host,
        directories=(),
        opening=None,
        files=tuple(change for change in changes if change is not None),
        closing=None,
        manifest=_compared(f"{host}/{MANIFEST}", standing.manifest, None, texts=texts),
        gone=tuple(f"{host}/{path}" for path in sorted({*standing.listed, MANIFEST})),
    )


def _manifests(tree: HostTree, standing: Standing, wanted: AbstractSet[str]) -> tuple[bytes | None, bytes | None]:
    """Choose the manifest to write before the files and the one to write after; None where it stands."""
    on_disk = None if standing.manifest is None else standing.manifest.data
    if on_disk == tree.manifest:
        return None, None
    if on_disk is None or standing.listed <= wanted:
        return tree.manifest, None
    both = ownership.union(on_disk, tree.manifest)
    return None if both == on_disk else both, tree.manifest


def _above(host: str, paths: Iterable[str]) -> list[str]:
    """List the directories between the host's own and these paths, outermost first."""
    return [f"{host}/{directory}" for directory in dict.fromkeys(chain.from_iterable(map(ancestors, paths)))]


def _compared(path: str, seen: Seen | None, file: File | None, *, texts: bool) -> Change | None:
    """Compare what stands at `path`, below the output directory, with what shall stand there."""
    if seen is None:
        return None if file is None else _created(path, file)
    old = seen.data if texts else None
    if file is None:
        return Change(kind=Kind.REMOVE, path=path, old=old, old_mode=seen.mode)
    if seen.data != file.data:
        kind = Kind.UPDATE
    elif seen.mode != file.mode:
        kind = Kind.MODE
    else:
        return None
    return Change(kind=kind, path=path, old=old, new=file.data, old_mode=seen.mode, new_mode=file.mode)


def _created(path: str, file: File) -> Change:
    return Change(kind=Kind.CREATE, path=path, new=file.data, new_mode=file.mode)
