"""Everything that a comparison needs to know of a host, gathered."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from quadgen.installed.declared import Declared, DeclaredFile
from quadgen.installed.places import (
    Account,
    quadlet_directories,
    quadlet_drop_ins,
    unit_directories,
    unit_drop_ins,
)
from quadgen.installed.seen import Found, Seen, State, state
from quadgen.onhost.accounts import accounts
from quadgen.onhost.asking import Asking
from quadgen.onhost.inside import Root
from quadgen.problems import Place, Problem, Severity

STATE: Final = "var/lib/quadgen/state.json"
"""Where a pull as root keeps what quadgen owns."""
_OWN_STATE: Final = ".local/state/quadgen/state.json"
"""Where one as a user does, below the home directory."""
_USERS: Final = "etc/containers/systemd/users"


def look(declared: Declared, root: str, *, environ: Mapping[str, str]) -> Seen:
    """Look at the host's files below `root`, an absolute directory, and ask its services where that is `/`."""
    files = Root(path=root, host=declared.host)
    known = accounts(declared, files)
    owned, problems = _state(files, known)
    paths = {file.path for file in declared.files} | {*(owned.files if owned else ())}
    at = {path: found for path in sorted(paths) if (found := files.at(path)) is not None}
    seen = Seen(root=root, files=at, accounts=known, state=owned)
    asking = Asking(declared=declared, accounts=known, environ=environ)
    if root == "/":
        seen = replace(seen, podman=asking.version())
    others = {(file.user, file.unit or ""): tuple(_others(file, files, seen)) for file in declared.units}
    seen = replace(seen, others=others)
    if root == "/":
        seen = asking.services(seen)
    else:  # where services are asked for, who cannot be asked is said
        problems += tuple(_unknown(declared, root, known))
    return replace(seen, problems=(*problems, *files.problems, *seen.problems))


def _unknown(declared: Declared, root: str, known: Mapping[str, Account]) -> Iterator[Problem]:
    for user in dict.fromkeys(file.user for file in declared.units if file.user and file.user not in known):
        message = f"{root}/etc/passwd has no user {user}: what else changes the units of {user} was not looked at"
        yield Problem(code="not-verified", message=message, severity=Severity.WARNING, host=declared.host)


def _state(files: Root, known: Mapping[str, Account]) -> tuple[State | None, tuple[Problem, ...]]:
    for path in (STATE, *(f"{account.home}/{_OWN_STATE}" for account in known.values())):
        found = files.followed(path)
        if found is not None:
            held = state(path, found.data)
            if held is not None:
                return held, ()
            place = Place(file=f"{files.path.rstrip('/')}/{path}", line=1, column=1)
            message = f"{place.file} is no state of version 1: what an earlier tree left is not known"
            warning = Problem(
                code="not-verified", message=message, severity=Severity.WARNING, host=files.host, place=place
            )
            return None, (warning,)
    return None, ()


def _others(file: DeclaredFile, files: Root, seen: Seen) -> Iterator[Found]:
    """Files that have the name of a Quadlet or of its unit, and drop-ins for either, in the order of their search."""
    account = seen.accounts.get(file.user) if file.user else None
    if file.user and account is None:
        return
    unit = file.unit or ""
    paths: list[str] = []
    if file.is_quadlet:
        folders = [
            folder
            for top in quadlet_directories(account, seen.podman)
            for folder in files.below(top)
            if _is_read(folder, top, account)
        ]
        paths += _named(files, folders, file.name, quadlet_drop_ins(file.name, seen.podman))
    paths += _named(files, unit_directories(account), unit, unit_drop_ins(unit))
    for path in dict.fromkeys(paths):
        found = files.followed(path)
        if found is not None:
            yield found


def _named(files: Root, folders: Iterable[str], name: str, drop_ins: Iterable[str]) -> Iterator[str]:
    """The paths of this name, and of drop-ins, of all these directories."""
    beside = [*drop_ins]
    for folder in folders:
        names = files.names(folder)
        if name in names:
            yield f"{folder}/{name}"
        for inner in (each for each in beside if each in names):
            yield from (
                f"{folder}/{inner}/{each}" for each in files.names(f"{folder}/{inner}") if each.endswith(".conf")
            )


def _is_read(folder: str, top: str, account: Account | None) -> bool:
    """Whether the generator reads a directory: below `users` are those of each number, and of everybody."""
    if account is None:
        return not f"{folder}/".startswith(f"{_USERS}/")
    if not top.endswith("/users"):
        return True
    first = folder.removeprefix(top).lstrip("/").partition("/")[0]
    return not (first.isascii() and first.isdecimal())
