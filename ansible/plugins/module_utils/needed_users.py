"""What the users of a host must be allowed: to linger, to use the GPU, to lock memory."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from typing import Final

from . import access
from .managers import Run, Trouble, show
from .people import NOBODY_KNOWN, Person, below, group, group_name

_locked: Final = re.compile(r"^Max locked memory +(\S+) +(\S+)", re.MULTILINE)


def lingering(who: Person, root: str) -> Iterator[str]:
    """Whether the user's manager runs without a login (loginctl(1) keeps that as a file)."""
    if access.there(below(root, f"/var/lib/systemd/linger/{who.name}")) is False:
        yield (
            f"{who.name} does not linger: its services end at logout and do not start at boot; "
            f"loginctl enable-linger {who.name}"
        )


def subordinate(who: Person, root: str) -> Iterator[str]:
    """Whether the user has ids for the other users of an image (subuid(5)); without them it cannot be unpacked."""
    if "subid:" in _text(root, "/etc/nsswitch.conf"):
        return  # they come from elsewhere
    settings = ("/etc/containers/storage.conf", f"{who.home}/.config/containers/storage.conf")
    if any(re.search(r'^\s*ignore_chown_errors\s*=\s*"?true', _text(root, each), re.MULTILINE) for each in settings):
        return
    lacking = [
        name
        for name in ("subuid", "subgid")
        if (root == "/" or access.there(below(root, f"/etc/{name}")))
        and not any(line.split(":")[0] in (who.name, str(who.uid)) for line in _text(root, f"/etc/{name}").splitlines())
    ]
    if lacking and who.uid != 0:
        yield (
            f"{who.name} has no ids of its own in {' and '.join(f'/etc/{name}' for name in lacking)}, which rootless "
            f"Podman needs; usermod --add-subuids 100000-165535 --add-subgids 100000-165535 {who.name}, with a range "
            "that nobody has, then podman system migrate as that user"
        )


def grouped(who: Person | None, names: list[str], devices: list[str], root: str, run: Run) -> Iterator[str]:
    """Whether who runs the services may use the nodes of the GPU.

    `who` is the user of rootless services, or None: native units of the system name these groups, and do not start
    where one of them is not there. A user needs no group whose nodes are open to it anyway.
    """
    if not names:
        return
    if who is None:
        for name in names:
            if group(name, root) is None:
                yield f"there is no group {name}, which units here start with; groupadd --system {name}"
        return
    closed: dict[int, str] = {}
    waiting: dict[int, str] = {}
    now = _groups_of_manager(who, root, run)
    for node in _nodes(devices, root):
        if access.may(below(root, node), who, access.READ | access.WRITE) is False:
            closed.setdefault(_group_of(node, root), node)
        elif now is not None:
            running = Person(who.name, who.uid, who.gid, now, who.home)
            if access.may(below(root, node), running, access.READ | access.WRITE) is False:
                waiting.setdefault(_group_of(node, root), node)
    for gid, node in closed.items():
        name = group_name(gid, root)
        if name in names and gid not in who.groups:
            mend = f"usermod --append --groups {name} {who.name}, then {_again(who)}"
        else:
            mend = "let a group of that user's read and write it, by a rule for udev"
        yield f"{who.name} may not use {node}, of the group {name}; {mend}"
    for gid, node in waiting.items():
        yield (
            f"{who.name} is in the group {group_name(gid, root)}, but its systemd was started before, and may not use "
            f"{node}; {_again(who)}"
        )


def locking(who: Person, root: str, run: Run) -> Iterator[str]:
    """Whether the user's manager may lock any amount of memory.

    What it has counts, since pam_limits(8) may have raised it; of one that does not run, the setting does, unless
    limits.conf(5) has one too.
    """
    found = _manager(who, run)
    setting = found.get("LimitMEMLOCK", "")
    running = _locked.search(_text(root, f"/proc/{found.get('MainPID', '0')}/limits"))
    limit = setting if running is None else running[2]
    if not limit.isdigit() or (running is None and _limited_elsewhere(root)):
        return  # unlimited, or nobody knows
    lock = f"{who.name} may not lock enough memory: {limit} bytes"
    if setting == "infinity":
        yield f"{lock}, until its systemd starts anew; {_again(who)}"
        return
    yield (
        f"{lock}; put [Service] and LimitMEMLOCK=infinity into /etc/systemd/system/user@.service.d/memlock.conf, "
        f"then systemctl daemon-reload and {_again(who)}"
    )


def _limited_elsewhere(root: str) -> bool:
    places = [*glob.glob(below(glob.escape(root), "/etc/security/limits.d/*.conf")), "/etc/security/limits.conf"]
    texts = [_text("/" if place.startswith(root) else root, place) for place in places]
    return any(re.search(r"^\s*[^#\n]*\bmemlock\b", text, re.MULTILINE) for text in texts)


def _again(who: Person) -> str:
    return f"systemctl restart user@{who.uid}.service, which ends its services and sessions"


def _manager(who: Person, run: Run) -> dict[str, str]:
    unit = f"user@{who.uid}.service"
    try:
        return show([unit], ["MainPID", "LimitMEMLOCK"], run=run).get(unit, {})
    except Trouble:
        return {}


def _groups_of_manager(who: Person, root: str, run: Run) -> frozenset[int] | None:
    """What the user's running manager may use, and so its services: groups are given at its start. None: unknown."""
    status = _text(root, f"/proc/{_manager(who, run).get('MainPID', '0')}/status")
    groups = re.search(r"^Groups:(.*)$", status, re.MULTILINE)
    own = re.search(r"^Gid:\s*(\d+)", status, re.MULTILINE)
    if groups is None or own is None:
        return None
    return frozenset(map(int, [*groups[1].split(), own[1]]))


def _nodes(devices: list[str], root: str) -> list[str]:
    """The nodes that a server opens: of /dev/dri those that compute, never those that only show pictures."""
    found: dict[str, None] = {}
    for device in devices or ["/dev/dri"]:
        here = below(root, device)
        if os.path.isdir(here):
            found.update(dict.fromkeys(f"{device}/{os.path.basename(each)}" for each in render_nodes(here)))
        elif os.path.exists(here):
            found[device] = None
    return list(found)


def render_nodes(directory: str) -> list[str]:
    """The nodes of a directory of GPUs that compute."""
    return sorted(glob.glob(f"{glob.escape(directory)}/renderD*"))


def _group_of(node: str, root: str) -> int:
    try:
        return os.stat(below(root, node)).st_gid
    except OSError:
        return NOBODY_KNOWN


def _text(root: str, path: str) -> str:
    try:
        with open(below(root, path), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
