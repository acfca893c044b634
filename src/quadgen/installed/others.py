"""What stands beside the declared files and has a say: drop-ins, and other files of a unit's name."""

from collections.abc import Iterator, Sequence
from typing import Final

from quadgen.installed.declared import Declared, DeclaredFile
from quadgen.installed.places import GENERATOR, is_of_vendor, quadlet_directories, unit_directories
from quadgen.installed.saying import systemctl
from quadgen.installed.seen import Found, Seen
from quadgen.problems import Problem, Severity
from quadgen.unitfile import Malformed, read

_SHOWN: Final = 8
"""Lines of a drop-in that notes have."""
_NAMED: Final = 3
"""Units that a message names."""


def drop_ins(declared: Declared, seen: Seen) -> Iterator[Problem]:
    """Problems of code `foreign-drop-in`: the host changes units, and no manifest lists what does.

    A note where it is the distribution's and for every service.
    """
    wanted = {file.path for file in declared.files}
    changed: dict[str, tuple[Found, list[DeclaredFile]]] = {}
    for file in declared.units:
        for found in seen.others.get(_key(file), ()):
            if is_drop_in(found) and found.path not in wanted:
                changed.setdefault(found.path, (found, []))[1].append(file)
    for found, files in changed.values():
        yield drop_in(declared, files, found, seen)


def drop_in(declared: Declared, files: Sequence[DeclaredFile], found: Found, seen: Seen) -> Problem:
    """What is said of one drop-in, which changes the units of these files."""
    place = seen.place(found.path)
    vendor = is_of_vendor(found.path)
    units = [file.unit or "" for file in files]
    more = f" and {len(units) - _NAMED} more" if len(units) > _NAMED else ""
    return Problem(
        code="foreign-drop-in",
        message=f"{place.file} changes {', '.join(units[:_NAMED])}{more}, and no manifest lists it",
        severity=Severity.NOTE if vendor else Severity.ERROR,
        host=declared.host,
        service=files[0].service if len(files) == 1 else None,
        notes=_says(found),
        hint=None if vendor else "say it in the fleet file, where `unit:` takes any key that is not decided",
        place=place,
    )


def shadows(declared: Declared, seen: Seen) -> Iterator[Problem]:
    """Problems of code `unit-shadowed`: another file of the name is found before the declared one."""
    for file in declared.units:
        first = next(_before(file, seen), None)
        if first is None:
            continue
        place = seen.place(first.path)
        reader = "Podman" if file.is_quadlet and first.path.endswith(f"/{file.name}") else "systemd"
        message, hint = (
            f"comes before {seen.place(file.path).file}",
            f"take {place.file} away, or rename one of the two",
        )
        if first.masks:
            again = "--runtime " if first.path.startswith("run/") else ""
            message, hint = f"masks {file.unit}", f"{systemctl(file)} unmask {again}{file.unit}"
        yield Problem(
            code="unit-shadowed",
            message=f"{place.file} {message}",
            host=declared.host,
            service=file.service,
            notes=(f"{reader} takes the first file of a name",),
            hint=hint,
            place=place,
        )


def is_drop_in(found: Found) -> bool:
    """Whether it is a drop-in, and no unit."""
    return found.path.endswith(".conf") and found.path.rpartition("/")[0].endswith(".d")


def _key(file: DeclaredFile) -> tuple[str | None, str]:
    return file.user, file.unit or ""


def _before(file: DeclaredFile, seen: Seen) -> Iterator[Found]:
    """Files of the name of a Quadlet, or of its unit, that are found before it."""
    account = seen.accounts.get(file.user) if file.user else None
    if file.user and account is None:
        return
    others = [found for found in seen.others.get(_key(file), ()) if not is_drop_in(found)]
    if file.is_quadlet:
        places = quadlet_directories(account, seen.podman)
        same = [found for found in others if found.path.endswith(f"/{file.name}")]
        here = next((number for number, found in enumerate(same) if found.path == file.path), None)
        rank = _rank(file.path, places)
        yield from same[:here] if here is not None else [each for each in same if _rank(each.path, places) < rank]
    units = unit_directories(account)
    ours = next((path for path in units if path.endswith(f"/{GENERATOR}")), "") if file.is_quadlet else ""
    rank = _rank(f"{ours or file.path.rpartition('/')[0]}/{file.unit}", units)
    yield from (
        found
        for found in others
        if found.path.endswith(f"/{file.unit}") and found.path != file.path and _rank(found.path, units) < rank
    )


def _rank(path: str, places: Sequence[str]) -> int:
    """The position of the directory that a path lies in, the nearest of several."""
    held = [(len(place), number) for number, place in enumerate(places) if path.startswith(f"{place}/")]
    return max(held, default=(0, len(places)))[1]


def _says(found: Found) -> tuple[str, ...]:
    """What a drop-in sets, as it stands there; nothing is known of one that could not be read."""
    if not found.data:
        return ()
    text = found.data.decode("utf-8", "backslashreplace")
    try:
        lines = [f"[{entry.section}] {entry.key}={entry.value}" for entry in read(text)]
    except Malformed as error:
        return (f"it cannot be read: {error}",)
    more = len(lines) - _SHOWN
    return (*lines[:_SHOWN], *([f"... and {more} more"] if more > 0 else [])) or ("it sets nothing",)
