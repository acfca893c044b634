"""The declared files of a host, and those that an earlier tree left, against what stands there."""

import posixpath
from collections.abc import Iterator
from difflib import unified_diff
from typing import Final

from quadgen.installed.declared import Declared, DeclaredFile
from quadgen.installed.saying import of_file
from quadgen.installed.seen import Found, Kind, Seen
from quadgen.problems import Problem

_SHOWN: Final = 24
"""Lines of a difference that notes have."""
_WIDE: Final = 1000
"""Characters of such a line: commands have room, of which the end may differ, and a file without a line end has not."""


def files(declared: Declared, seen: Seen) -> Iterator[Problem]:
    """Problems of codes `file-missing` and `file-changed`: a declared file is not there, or is another."""
    unseen = {problem.place for problem in seen.problems}
    for file in declared.files:
        place = seen.place(file.path)
        found = seen.files.get(file.path)
        if found is not None:
            yield from _changed(declared, file, found, seen)
        elif place not in unseen:
            message = f"{place.file} is not there"
            yield of_file(declared, file, seen, message, code="file-missing", hint="install the tree again")


def _changed(declared: Declared, file: DeclaredFile, found: Found, seen: Seen) -> Iterator[Problem]:
    path = seen.place(file.path).file
    if found.kind is not Kind.FILE:
        leads = f" to {found.target}" if found.target else ""
        message = f"{path} is {found.kind}{leads}, and should be a file"
        yield of_file(declared, file, seen, message, code="file-changed", hint="put the declared file in its place")
        return
    if found.data != file.data:
        yield of_file(
            declared,
            file,
            seen,
            f"{path} is not what was rendered",
            code="file-changed",
            notes=_difference(found.data, file.data, path, f"{declared.directory}/{file.path}"),
            line=_first(found.data, file.data),
            hint="install the tree again, or bring the change into the fleet file",
        )
    if found.mode != file.mode:
        message = f"{path} has the mode {found.mode:04o}, and should have {file.mode:04o}"
        yield of_file(declared, file, seen, message, code="file-changed", hint=f"chmod {file.mode:04o} {path}")
    owner = _owner(file, seen)
    if owner is not None and found.owner != owner:
        message = f"{path} belongs to the user {found.owner}, and should belong to {owner}"
        yield of_file(declared, file, seen, message, code="file-changed", hint=f"chown {owner} {path}")


def left_over(declared: Declared, seen: Seen) -> Iterator[Problem]:
    """Problems of code `left-over`: the state lists a file that is there, and no tree declares it."""
    state = seen.state
    if state is None:
        return
    if state.host != declared.host:
        yield Problem(
            code="not-ours",
            message=f"the state of this machine is that of {state.host}, not of {declared.host}",
            host=declared.host,
            hint=f"give --host {state.host}, or move {seen.place(state.path).file} out of the way",
            place=seen.place(state.path),
        )
        return
    wanted = {file.path for file in declared.files}
    for path in state.files:
        if path not in wanted and path in seen.files:
            yield Problem(
                code="left-over",
                message=f"{seen.place(path).file} is of an earlier tree, and this one does not declare it",
                host=declared.host,
                hint="install the tree again: that stops its service and takes it away",
                place=seen.place(path),
            )
    units = {(file.unit, file.user) for file in declared.units}
    for unit, user in state.services:
        loaded = seen.loaded.get((user, unit))
        if (unit, user) not in units and loaded is not None and loaded.active not in {"inactive", "failed"}:
            yield Problem(
                code="left-over",
                message=f"{unit} is of an earlier tree and still runs",
                host=declared.host,
                service=unit.removesuffix(".service"),
                hint=f"systemctl {'--user ' if user else ''}stop {unit}",
                place=seen.place(posixpath.normpath(loaded.fragment).lstrip("/")) if loaded.fragment else None,
            )


def _owner(file: DeclaredFile, seen: Seen) -> int | None:
    """The number of the user that it should belong to; None where nobody can tell.

    Whoever owns a unit decides what runs as its manager. A mounted image may have other numbers than this machine.
    """
    if seen.root != "/":
        return None
    if file.user is None:
        return 0
    account = seen.accounts.get(file.user)
    return account.uid if account else None


def _first(old: bytes, new: bytes) -> int:
    """The line of `old`, from 1, at which the two part."""
    before, after = old.split(b"\n"), new.split(b"\n")
    pairs = zip(before, after, strict=False)
    return next((number for number, (one, other) in enumerate(pairs, 1) if one != other), min(len(before), len(after)))


def _difference(old: bytes, new: bytes, before: str, after: str) -> tuple[str, ...]:
    """A unified difference from what is there to what was rendered, as far as notes have room."""
    found = unified_diff(_lines(old), _lines(new), before, after, n=1, lineterm="")
    lines = [line if len(line) <= _WIDE else f"{line[:_WIDE]} ..." for line in found]
    more = len(lines) - _SHOWN
    return (*lines[:_SHOWN], *([f"... and {more} more lines"] if more > 0 else []))


def _lines(data: bytes) -> list[str]:
    lines = data.decode("utf-8", "backslashreplace").split("\n")
    return [*lines[:-1], f"{lines[-1]} (without a line end)"] if lines[-1] else lines[:-1]
