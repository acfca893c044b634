"""`unit:` of the fleet, laid over a rendered unit: lines added, replaced or taken out, the rest left as it is."""

import re
from collections.abc import Iterable
from typing import Final

from quadgen import quadlet_keys, systemd_keys
from quadgen.resolution import Override

_share: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?%").fullmatch


def _repeats(section: str, key: str) -> bool:
    if section in ("Container", "Quadlet"):
        return quadlet_keys.repeats(section, key)
    return systemd_keys.repeats(section, key)


def encode(section: str, value: str) -> str:
    """A hand-written value: the unit's own syntax, but for what only quadgen may write.

    `%` is doubled, but in a share such as `80%`: systemd reads no specifier where it takes one, and leaves a `%`
    at the end alone where it does. `$` is doubled in [Container], whose values end in Podman's command line; in
    [Service] it stays, since hooks such as ExecStartPre= live on $MAINPID and the like.
    """
    if section != "Container" and _share(value):
        return value
    value = value.replace("%", "%%")
    return value.replace("$", "$$") if section == "Container" else value


def overlay(text: str, overrides: Iterable[Override]) -> str:
    """Lay `overrides` over `text`: after quadgen's own lines where the key may repeat, else in their place."""
    lines = text.split("\n")
    for section, key, values in overrides:
        _lay(lines, section, key, None if values is None else [f"{key}={encode(section, value)}" for value in values])
    return "\n".join(lines).strip("\n") + "\n"


def _lay(lines: list[str], section: str, key: str, new: list[str] | None) -> None:
    start = next((index for index, line in enumerate(lines) if line == f"[{section}]"), None)
    if start is None:
        if new:
            lines[len(lines) - 1 :] = ["", f"[{section}]", *new, ""]
        return
    end = next((index for index in range(start + 1, len(lines)) if lines[index].startswith("[")), len(lines))
    while not lines[end - 1]:
        end -= 1
    own = [index for index in range(start + 1, end) if lines[index].startswith(f"{key}=")]
    if new is not None and own and _repeats(section, key):
        lines[own[-1] + 1 : own[-1] + 1] = new
    elif own:
        lines[own[0] : own[-1] + 1] = new or []
    elif new:
        lines[end:end] = new
