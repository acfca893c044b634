"""The files of a tree on this host: what must change, and changing it so that any end leaves each file old or new."""

from __future__ import annotations

import contextlib
import os
import pwd
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from . import managers, reaching, state, tree
from .managers import Trouble
from .people import person
from .reaching import Seen, Spot, acting
from .state import Owned, State
from .tree import File, Manifest


@dataclass(frozen=True)
class Change:
    """A file that is not as it should be. `after` None: it goes; `before` None: it is not there."""

    spot: Spot
    before: Seen | None
    after: bytes | None
    file: File | None
    edited: bool
    """Somebody else changed or removed it since it was installed."""

    @property
    def kind(self) -> str:
        """What becomes of it, in the word of a result."""
        return "remove" if self.after is None else "create" if self.before is None else "update"


@dataclass(frozen=True)
class Plan:
    """What the files of a tree need. `problems` are sentences; with any of them nothing is to be touched."""

    manifest: Manifest
    changes: tuple[Change, ...]
    problems: tuple[str, ...]

    def paths(self, kind: str) -> list[str]:
        """The paths to `create`, `update` or `remove`, as the system knows them, without `root`."""
        return [f"/{change.spot.path}" for change in self.changes if change.kind == kind]


def plan(directory: str | None, root: str, known: State, digest: str | None = None) -> Plan:
    """Compare a tree with what stands below `root`. Raises Trouble where the tree itself is not whole.

    `digest`: as for `tree.read`.
    """
    manifest = tree.read(directory, digest)
    if manifest.host and known.host not in (None, manifest.host):
        raise Trouble(f"this machine has what was rendered for {known.host}, and the tree is that of {manifest.host}")
    texts = {file.path: tree.content(directory or "", file) for file in manifest.files}
    files = {file.path: file for file in manifest.files}
    changes: list[Change] = []
    problems: list[str] = []
    for path in sorted(manifest.paths | known.owned):
        try:
            change = _change(root, path, files.get(path), texts.get(path), known)
            if path in files:
                _check(change.spot, manifest, files[path], root)
            if not _as_wanted(change):
                reaching.check_writable(change.spot)
        except Trouble as trouble:
            problems.append(str(trouble))
            continue
        if not _as_wanted(change):
            changes.append(change)
    return Plan(manifest, tuple(changes), tuple(dict.fromkeys(problems)))


def _change(root: str, path: str, file: File | None, text: bytes | None, known: State) -> Change:
    spot = reaching.reach(root, path)
    seen = reaching.look(spot)
    if seen is not None and path not in known.owned and seen.data != text:
        raise Trouble(
            f"{spot.name} is in the way: quadgen did not install it, and it is not what it would write; "
            "move it away or delete it"
        )
    installed = {known.files.get(path), known.pending.get(path)} - {None}
    there = None if seen is None else sha256(seen.data).hexdigest()
    return Change(spot, seen, text, file, edited=path in known.files and there not in installed)


def _check(spot: Spot, manifest: Manifest, file: File, root: str) -> None:
    """Refuse a file that would not be its user's, or that whoever runs this may not install."""
    user = manifest.user_of(file)
    if os.geteuid() != 0:
        if root == "/":
            _check_own(spot, user, told=bool(manifest.services))
        return
    if not manifest.services:  # an older manifest, which does not tell
        return
    if user is None:
        if spot.uid != 0:
            whose = reaching.user_name(spot.uid)
            raise Trouble(f"{spot.name} is to be the system's, but lies in a directory of {whose}")
    elif spot.uid != _uid(user, root):
        if spot.missing and spot.uid == 0:
            raise Trouble(f"there is no {spot.absent[0]}, which is to be {user}'s: make the home directory of {user}")
        whose = reaching.user_name(spot.uid)
        raise Trouble(f"{spot.name} is to be {user}'s, but lies in a directory of {whose}")


def _uid(user: str, root: str) -> int:
    who = person(user, root)
    if who is None:
        raise Trouble(f"there is no user {user} on this host")
    return who.uid


def _check_own(spot: Spot, user: str | None, *, told: bool) -> None:
    me = pwd.getpwuid(os.geteuid())
    if told and user != me.pw_name:
        whose = "the system's" if user is None else f"{user}'s"
        raise Trouble(f"{spot.name} is {whose}, and this runs as {me.pw_name}: let Ansible become root")
    if not spot.name.startswith(f"{me.pw_dir.rstrip('/')}/"):
        raise Trouble(f"{spot.name} is not below {me.pw_dir}, the home of {me.pw_name}: let Ansible become root")


def _as_wanted(change: Change) -> bool:
    if change.file is None or change.before is None:
        return change.file is None and change.before is None
    wanted = (change.after, change.file.mode, change.spot.uid)
    return wanted == (change.before.data, change.before.mode, change.before.uid)


def expected(planned: Plan, known: State) -> State:
    """The state once the files are as planned."""
    if planned.changes:
        known = _opened(planned, known)
    return _closed(planned.manifest, known, known.made)


def carry_out(planned: Plan, root: str, place: str, known: State) -> State:
    """Change the files; the state in `place`, which is locked, tells before and after. Returns the state after.

    Modes do not depend on the umask. Raises Trouble, naming the file, where something cannot be written: what was
    done until then stays, and the next run goes on from there.
    """
    if planned.problems:
        raise Trouble("; ".join(planned.problems))
    umask = os.umask(0o022)
    try:
        _clear(root, known.pending)
        if planned.changes:
            known = _opened(planned, known)
            state.write(place, known)
            _act(planned.changes)
        after = _closed(planned.manifest, known, tuple(_kept(root, planned.manifest, known.made)))
        if after != known:
            state.write(place, after)
    except OSError as error:
        raise Trouble(f"cannot write {error.filename or root}: {error.strerror}") from error
    finally:
        os.umask(umask)
    return after


def _opened(planned: Plan, known: State) -> State:
    """The state while files change: what was and what will be, both."""
    edited = {change.file.unit for change in planned.changes if change.edited and change.file is not None}
    users = [each.user for each in known.services.values()] + [each.user for each in planned.manifest.services]
    made = [directory for change in planned.changes if change.file is not None for directory in change.spot.missing]
    return replace(
        known,
        host=planned.manifest.host or known.host,
        pending={
            **known.pending,
            **{change.spot.path: change.file.sha256 for change in planned.changes if change.file is not None},
        },
        made=tuple(dict.fromkeys((*known.made, *made))),
        services=_services(known, planned.manifest),
        running={unit: digest for unit, digest in known.running.items() if unit not in edited},
        stale=state.several([*known.stale, managers.own(), *users]),
    )


def _closed(manifest: Manifest, known: State, made: tuple[str, ...]) -> State:
    return replace(
        known,
        host=manifest.host or known.host,
        files={file.path: file.sha256 for file in manifest.files},
        pending={},
        made=made,
        services=_services(known, manifest),
    )


def _services(known: State, manifest: Manifest) -> dict[str, Owned]:
    """What is owned already, which goes when it was stopped, and what the manifest has."""
    return {**known.services, **state.remembered(manifest.services)}


def _act(changes: Sequence[Change]) -> None:
    for change in changes:
        if change.after is not None and change.file is not None:
            with acting(change.spot):
                for directory in change.spot.absent:
                    with contextlib.suppress(FileExistsError):  # two files in one new directory
                        os.mkdir(directory, 0o755)
                _put(change.spot.name, change.after, change.file.mode)
    for change in changes:
        if change.after is None:
            with acting(change.spot), contextlib.suppress(FileNotFoundError):
                os.unlink(change.spot.name)


def _put(name: str, data: bytes, mode: int) -> None:
    """Make a file hold `data`, in one step as anyone else sees it."""
    aside = temporary(name)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(aside)
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | reaching.OURS, mode)
    try:
        written = os.write(handle, data)
        while written < len(data):
            written += os.write(handle, data[written:])
        os.fsync(handle)  # a machine that loses power must not come up with an empty unit
    except BaseException as fault:
        with contextlib.suppress(OSError):  # the first failure is the one to report
            os.unlink(aside)
        if isinstance(fault, OSError):  # that of a write names no file
            raise Trouble(f"cannot write {name}: {fault.strerror}") from fault
        raise
    finally:
        os.close(handle)
    os.rename(aside, name)


def temporary(name: str) -> str:
    """Name the file beside `name` that becomes it; neither Quadlet nor systemd reads files of this suffix."""
    directory, slash, last = name.rpartition("/")
    return f"{directory}{slash}.{last}.quadgen-new"


def _clear(root: str, paths: Iterable[str]) -> None:
    """Remove the files beside those of a run that was killed."""
    for path in paths:
        spot = reaching.reach(root, path)
        with acting(spot), contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(temporary(spot.name))


def _kept(root: str, manifest: Manifest, made: Sequence[str]) -> Iterator[str]:
    """Remove those directories of quadgen's that hold nothing any more; yield the others."""
    needed = {directory for path in manifest.paths for directory in tree.ancestors(path)}
    kept = [each for each in sorted(made, reverse=True) if each in needed or not _removed(root, each)]
    return reversed(kept)


def _removed(root: str, directory: str) -> bool:
    """Whether a directory is gone, or no directory any more."""
    try:
        spot = reaching.reach(root, directory)
        if spot.missing:
            return True
        with acting(spot):
            os.rmdir(spot.name)
    except (FileNotFoundError, NotADirectoryError, Trouble):
        return True
    except OSError:
        return False
    return True
