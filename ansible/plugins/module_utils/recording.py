"""How a pull ended: the tree to go back to, the tree that is not tried again, or a host that has nothing any more."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from dataclasses import replace

from . import state, tree
from .managers import Trouble
from .state import GOOD, TREES, State
from .tree import MANIFEST

_LINK = f".{GOOD}.new"
"""Becomes `good` by a rename."""


def good(directory: str, place: str, known: State, *, check: bool, digest: str | None = None) -> bool:
    """Keep a copy of a tree whose services are healthy, and forget what was refused; whether that is news.

    The copy stands whole below its digest before `good` leads to it, so that there is one to go back to at any time.
    """
    try:
        manifest = tree.read(directory, digest)
    except Trouble as trouble:  # a commit came while a model was loaded, and what was started is there no more
        raise Trouble(f"{trouble}; what this run started is healthy and stays, with no copy to go back to") from None
    services = state.remembered(manifest.services)
    running = {unit: digest for unit, digest in known.running.items() if unit in services or not services}
    after = replace(known, services=services, running=running, refused=None, reason=None)
    link = os.path.join(place, GOOD)
    target = os.path.join(TREES, manifest.sha256)
    copied = os.path.islink(link) and os.readlink(link) == target and last(place)[1] is None
    if not check:
        _check(directory, manifest, known)
        if not copied:
            _written(lambda: _keep(directory, manifest, place, target))
        _tidy(place, manifest.sha256)
        if after != known:
            _written(lambda: state.write(place, after))
    return not copied or after != known


def _check(directory: str, manifest: tree.Manifest, known: State) -> None:
    """Refuse a tree that is not what this host runs: another run, or a new commit, put it there meanwhile."""
    installed = {file.path: file.sha256 for file in manifest.files} == known.files and not known.pending
    runs = all(known.running.get(each.unit, each.restart) == each.restart for each in manifest.services)
    if not installed or not runs:
        raise Trouble(f"{directory} is not what this host runs now: it was changed meanwhile, and the next run goes on")


def last(place: str) -> tuple[tree.Manifest, str | None]:
    """The last tree that was healthy (`NOTHING` where there is none), and what is wrong with its copy."""
    directory = state.good(place)
    try:
        manifest = tree.read(directory)
        for file in manifest.files:
            tree.content(directory or "", file)
    except Trouble as trouble:
        return tree.NOTHING, str(trouble)
    return manifest, None


def refused(digest: str, place: str, known: State, reason: str, *, check: bool) -> bool:
    """Remember by the digest of its manifest that a tree was rolled back, and why; whether that is news."""
    after = replace(known, refused=digest, reason=reason)
    if after != known and not check:
        _written(lambda: state.write(place, after))
    return after != known


def retired(place: str, known: State, *, check: bool) -> bool:
    """Forget this host; raises Trouble while files of quadgen's are still installed."""
    if known.owned:
        raise Trouble(f"{', '.join(f'/{path}' for path in sorted(known.owned))} is still installed")
    there = os.path.lexists(place)
    if there and not check:
        _written(lambda: state.remove(place))
    return there


def _keep(directory: str, manifest: tree.Manifest, place: str, target: str) -> None:
    trees = os.path.join(place, TREES)
    aside = os.path.join(trees, ".new")
    os.makedirs(trees, 0o700, exist_ok=True)  # whatever the umask: others can pass through the state's directory
    shutil.rmtree(aside, ignore_errors=True)
    os.makedirs(aside, 0o700)
    for file in manifest.files:
        _copy(os.path.join(aside, file.path), tree.content(directory, file))
    _copy(os.path.join(aside, MANIFEST), tree.bytes_of(os.path.join(directory, MANIFEST)))
    kept = os.path.join(place, target)
    shutil.rmtree(kept, ignore_errors=True)  # whole, but for hands that were in it: `good` does not lead there
    os.rename(aside, kept)
    link = os.path.join(place, _LINK)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(link)
    os.symlink(target, link)
    os.rename(link, os.path.join(place, GOOD))


def _tidy(place: str, kept: str) -> None:
    """Remove the trees that were good before, and what a killed run left beside them."""
    for name in os.listdir(os.path.join(place, TREES)):
        if name != kept:
            shutil.rmtree(os.path.join(place, TREES, name), ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(place, _LINK))


def _copy(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())  # before `good` leads here: what power loss leaves of it would be of no use


def _written(action: Callable[[], None]) -> None:
    try:
        action()
    except OSError as error:
        raise Trouble(f"cannot write {error.filename}: {error.strerror}") from error
