"""The two states that a plan compares: a tree that was committed, and a fleet that is compiled."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import typer

from quadgen.cli.plan_revision import Snapshot
from quadgen.cli.work import Folder
from quadgen.pipeline import Compiled, Files, compile_fleet
from quadgen.problems import Problem, Rejected, Unavailable
from quadgen.review import state
from quadgen.review.change import Side
from quadgen.revisions import Repository, pointer

_SHA1: str = "0" * 40
"""An id as a repository has it that nobody asked for another digest."""
Reader = Callable[[Mapping[str, Iterable[str]]], dict[str, dict[str, bytes]]]
"""Gives the bytes of files, by host and path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One state of a fleet."""

    side: Side
    hosts: Mapping[str, state.Files]
    contents: Reader = field(repr=False)
    compiled: Compiled | None = None
    """The fleet, where it was compiled and could be read."""
    unreadable: tuple[Problem, ...] = ()
    """Why it could not be read."""
    notes: tuple[str, ...] = ()


def commit_of(repository: Repository, revision: str, option: str) -> str:
    """The commit that a revision names. Raises a usage error where there is none."""
    found = repository.commit(revision)
    if found is None:
        deepen = ": this clone is shallow, so `git fetch --unshallow`, or fetch it first" if repository.shallow else ""
        raise typer.BadParameter(f"{revision!r} names no commit of this repository{deepen}", param_hint=option)
    return found


def inside(repository: Repository, name: str, option: str) -> str:
    """A name from the top of the repository. Raises a usage error where it lies outside."""
    found = repository.path(name)
    if found is None:
        raise typer.BadParameter(f"{name} is not in the repository of the fleet", param_hint=option)
    return found


def committed(repository: Repository, revision: str | None, fleet: str, output: str) -> State:
    """The rendered tree of a revision; its fleet, compiled, where it has none; nothing where it has no fleet either.

    None is HEAD, which need not have a commit yet.
    """
    name = "HEAD" if revision is None else revision
    if revision is None and repository.commit(name) is None:
        return _nothing(name, None, "nothing is committed yet, so everything is new")
    commit = commit_of(repository, name, "--from")
    under = inside(repository, output if repository.top is None else os.path.realpath(output), "--output")
    entries = repository.listing(commit, under)
    hosts = state.of_listing(entries, under)
    if hosts:
        side = Side(revision=name, commit=commit, source="rendered")
        return State(side=side, hosts=hosts, contents=_committed_bytes(repository, hosts, output))
    snapshot = Snapshot(repository, commit, fleet, inside(repository, fleet, "FLEET"))
    if not snapshot.exists():
        return _nothing(name, commit, f"{name} has neither {output} nor {fleet}, so everything is new")
    found = compiled(fleet, snapshot, Side(revision=name, commit=commit, source="fleet"), like=commit)
    if found.unreadable:
        return _nothing(name, commit, f"{name} has no {output}, and its {fleet} cannot be read: everything is new")
    if found.compiled is not None and found.compiled.refused:
        notes = (f"{name} has no {output}, and its {fleet} is refused: what was refused there counts as new",)
        return State(side=found.side, hosts=found.hosts, contents=found.contents, compiled=found.compiled, notes=notes)
    return found


def _nothing(revision: str, commit: str | None, note: str) -> State:
    side = Side(revision=revision, commit=commit, source="nothing")
    return State(side=side, hosts={}, contents=lambda _: {}, notes=(note,))


def _committed_bytes(repository: Repository, hosts: Mapping[str, state.Files], output: str) -> Reader:
    def read(wanted: Mapping[str, Iterable[str]]) -> dict[str, dict[str, bytes]]:
        ids = {
            host: {path: hosts[host][path] for path in paths if path in hosts[host]}
            for host, paths in wanted.items()
            if host in hosts
        }
        blobs = repository.blobs(each for files in ids.values() for each in files.values())
        if any(map(pointer, blobs.values())):
            raise Unavailable(f"Git LFS keeps files of {output} outside of git: take them out of .gitattributes")
        return {host: {path: blobs[each] for path, each in files.items()} for host, files in ids.items()}

    return read


def standing(fleet: str, *, like: str | None) -> State:
    """The fleet as it stands, compiled. `like` is an id of the repository, if it has one."""
    side = Side(revision=None, commit=None, source="fleet")
    return compiled(fleet, Folder(fleet), side, like=like or _SHA1)


def of_revision(repository: Repository, revision: str, fleet: str) -> State:
    """The fleet of a revision, compiled. Raises a usage error where it has none."""
    commit = commit_of(repository, revision, "--to")
    snapshot = Snapshot(repository, commit, fleet, inside(repository, fleet, "FLEET"))
    if not snapshot.exists():
        raise typer.BadParameter(f"{revision} has no {fleet}", param_hint="--to")
    return compiled(fleet, snapshot, Side(revision=revision, commit=commit, source="fleet"), like=commit)


def compiled(fleet: str, files: Files, side: Side, *, like: str) -> State:
    """A fleet, compiled; the same where it is refused, and without hosts where it cannot be read at all."""
    try:
        found = compile_fleet(fleet, files)
    except Rejected as rejected:
        return State(side=side, hosts={}, contents=lambda _: {}, unreadable=rejected.problems)
    return State(
        side=side,
        hosts=state.of_trees(found.trees, like=like),
        contents=lambda wanted: state.contents(found.trees, wanted),
        compiled=found,
    )
