"""Files of a host that would run in the place of what was rendered: Podman and systemd take the first of a name.

Such a service starts, and may well answer, so that nothing would ever look wrong.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from .people import below, person
from .said_by_units import entries, files_of

_SYSTEM: Final = ("/etc/systemd/system", "/run/systemd/system")
_USER: Final = (
    "{home}/.config/systemd/user",
    "/etc/systemd/user",
    "{runtime}/systemd/user",
    "/run/systemd/user",
)
"""Where systemd looks before the directory of its generators (systemd.unit(5)), for units that somebody wrote."""


def unmet(manifest: Mapping[str, Any], root: str, leaving: Collection[str]) -> list[str]:
    """Which files come before the containers of a manifest, a sentence each.

    `leaving` are files that this very change removes, such as a native unit whose service becomes a container.
    """
    users = {
        each["unit"]: each.get("user") for each in entries(manifest, "services") if isinstance(each.get("unit"), str)
    }
    found = []
    for path, unit in files_of(manifest):
        if not path.endswith(".container") or unit not in users:  # an older manifest does not tell whose it is
            continue
        for first in _before(os.path.basename(path), unit, users[unit], root):
            if first not in leaving and os.path.lexists(below(root, first)):
                found.append(_sentence(first, unit, path, users[unit], root))
                break
    return found


def _before(name: str, unit: str, user: object, root: str) -> Iterator[str]:
    """Paths that are found before a Quadlet file and what becomes of it."""
    if not isinstance(user, str):
        yield f"/run/containers/systemd/{name}"
        yield from (f"{directory}/{unit}" for directory in _SYSTEM)
        return
    who = person(user, root)
    if who is not None:
        runtime = f"/run/user/{who.uid}"
        yield f"{runtime}/containers/systemd/{name}"
        yield from (f"{directory.format(home=who.home, runtime=runtime)}/{unit}" for directory in _USER)


def _sentence(first: str, unit: str, path: str, user: object, root: str) -> str:
    here = below(root, first)
    if os.path.islink(here) and os.readlink(here) == "/dev/null":
        scope = " --user" if isinstance(user, str) else ""
        runtime = " --runtime" if first.startswith("/run/") else ""
        return f"{first} masks {unit}; systemctl{scope} unmask{runtime} {unit}"
    return f"{first} comes before /{path}, and would run in its place; take it away, or rename one of the two"
