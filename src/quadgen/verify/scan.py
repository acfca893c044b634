"""The reading end: which hosts a rendered tree holds, and which unit files each of them."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from quadgen.problems import Place, Problem, Rejected, Severity, Unavailable
from quadgen.verify.layout import QUADLETS, SYSTEM, UNITS, Host, Manager, UnitFile, place

MANIFEST: Final = "manifest.json"

_PLACES: Final = tuple(
    (re.compile(pattern + r"(?:/(?P<below>.+))?"), manager, quadlets)
    for pattern, manager, quadlets in (
        (r"etc/containers/systemd(?!/users(?:/|$))", SYSTEM, True),
        (r"etc/systemd/system", SYSTEM, False),
        (r"etc/containers/systemd/users(?!/\d+(?:/|$))", "every user", True),
        (r"etc/containers/systemd/users/(?P<home>\d+)", None, True),
        (r"etc/systemd/user", "every user", False),
        (r"(?P<home>.+)/\.config/containers/systemd", None, True),
        (r"(?P<home>.+)/\.config/systemd/user", None, False),
    )
)


class _Where(NamedTuple):
    manager: str
    quadlets: bool
    """Whether Podman's generator reads it; else systemd does."""
    below: str


def find_hosts(root: str) -> tuple[dict[str, str], list[Problem]]:
    """Name and directory of each host below `root`, sorted; `root` may be one host's directory itself.

    Directories beside them that have no manifest come as warnings of code `not-verified`.
    Raises Unavailable when `root` cannot be read, Rejected (`nothing-to-verify`) when it holds no manifest.
    """
    top = Path(root)
    if (top / MANIFEST).is_file():
        return {top.resolve().name: str(top)}, []
    try:
        names = sorted(entry.name for entry in top.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    except OSError as error:
        raise Unavailable(f"cannot read {root}: {error.strerror}") from error
    found = {name: str(top / name) for name in names if (top / name / MANIFEST).is_file()}
    if not found:
        raise Rejected(
            [
                Problem(
                    code="nothing-to-verify",
                    message=f"{root} holds no rendered host: no {MANIFEST} in it or one level below",
                    hint="give the directory that `quadgen render` wrote",
                )
            ]
        )
    strays = [name for name in names if name not in found]
    return found, [_aside(name, root, name, f"it has no {MANIFEST}") for name in strays]


def read_host(name: str, directory: str) -> Host:
    """Read one host's directory. Raises Unavailable for a file that cannot be read."""
    problems: list[Problem] = []
    listed, podman = _manifest(name, directory, problems)
    held: dict[str, tuple[list[UnitFile], list[UnitFile]]] = {}
    seen: set[str] = set()
    for path, plain in _files(directory):
        seen.add(path)
        folder, _, file_name = path.rpartition("/")
        if folder.endswith((".wants", ".requires")):
            continue  # links that enable a unit which is verified where it lies
        is_unit = file_name.endswith((*QUADLETS, *UNITS))
        where = _where(folder)
        if not plain:
            if is_unit or Path(directory, path).is_dir():
                problems.append(
                    _aside(name, directory, path, "it is a link, no regular file, or its name is not UTF-8")
                )
        elif where is None or (is_unit and not where.quadlets and where.below):
            if is_unit and "systemd" in folder.split("/"):
                problems.append(_aside(name, directory, path, "no manager reads this directory"))
        else:
            below = f"{where.below}/{file_name}" if where.below else file_name
            file = UnitFile(path=path, below=below, data=_read(f"{directory}/{path}"))
            held.setdefault(where.manager, ([], []))[0 if where.quadlets else 1].append(file)
            if where.below.endswith(".d") and file_name.endswith(".conf") and path not in listed:
                problems.append(_drop_in(name, directory, file))
    problems.extend(_absent(name, directory, path) for path in sorted(listed.keys() - seen))
    managers = tuple(
        Manager(name=key, quadlets=tuple(quadlets), units=tuple(units))
        for key, (quadlets, units) in sorted(held.items())
    )
    return Host(
        name=name,
        directory=directory,
        managers=managers,
        listed=listed,
        podman=podman,
        problems=tuple(problems),
    )


def _files(directory: str) -> Iterator[tuple[str, bool]]:
    """Paths below `directory`, links not followed; whether each is a plain file with a name in UTF-8."""

    def unreadable(error: OSError) -> None:
        raise Unavailable(f"cannot read {error.filename}: {error.strerror}") from error

    for folder, folders, names in os.walk(directory, onerror=unreadable):
        inside = folder.removeprefix(directory).strip("/")
        linked = [name for name in folders if Path(folder, name).is_symlink()]
        folders.sort()
        for name in sorted((*names, *linked)):
            here = Path(folder, name)
            path = f"{inside}/{name}" if inside else name
            shown = path.encode("utf-8", "backslashreplace").decode()
            yield shown, shown == path and here.is_file() and not here.is_symlink()


def _where(folder: str) -> _Where | None:
    for pattern, manager, quadlets in _PLACES:
        if match := pattern.fullmatch(folder):
            known = manager or f"/{match['home']}"
            return _Where(manager=known, quadlets=quadlets, below=match["below"] or "")
    return None


def _manifest(host: str, directory: str, problems: list[Problem]) -> tuple[dict[str, str | None], str | None]:
    """Read what it lists, path to service, and the least Podman version that it asks for."""
    path = f"{directory}/{MANIFEST}"
    try:
        manifest: dict[str, Any] = json.loads(_read(path))
        files: list[dict[str, Any]] = manifest["files"]
        podman = manifest.get("requires", {}).get("podman")
        return {str(file["path"]): file.get("service") for file in files}, podman and str(podman)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        problems.append(
            Problem(
                code="not-ours",
                message=f"{path} is not a manifest that quadgen wrote",
                host=host,
                place=Place(file=path, line=1, column=1),
            )
        )
        return {}, None


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise Unavailable(f"cannot read {path}: {error.strerror}") from error


def _aside(host: str, directory: str, path: str, reason: str) -> Problem:
    return Problem(
        code="not-verified",
        message=f"{path} was not verified: {reason}",
        severity=Severity.WARNING,
        host=host,
        place=Place(file=f"{directory}/{path}", line=1, column=1),
    )


def _drop_in(host: str, directory: str, file: UnitFile) -> Problem:
    return Problem(
        code="foreign-drop-in",
        message=f"{file.below} changes what quadgen rendered, and no manifest lists it",
        severity=Severity.WARNING,
        host=host,
        hint="say it in the fleet file, where `unit:` takes any key that is not decided",
        place=place(directory, file, None),
    )


def _absent(host: str, directory: str, path: str) -> Problem:
    return Problem(
        code="file-missing",
        message=f"the manifest lists {path}, which is not there",
        host=host,
        hint="run `quadgen render` again",
        place=Place(file=f"{directory}/{MANIFEST}", line=1, column=1),
    )
