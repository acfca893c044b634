"""Other units of the host: which of them a service may start, stop, or take the place of."""

import re
from collections.abc import Iterator
from typing import Final

from quadgen.engines.base import Refusal

_ACTIONS: Final = frozenset({"FailureAction", "SuccessAction", "StartLimitAction", "JobTimeoutAction"})
_STARTS: Final = frozenset(
    {"Also=", "BindsTo=", "OnFailure=", "OnSuccess=", "Requires=", "Upholds=", "Wants=", "`after`"}
)
"""What starts the units that it names, or has them started. The others only order, stop or follow: a server that ends
before the host sleeps (`Conflicts=sleep.target`) is nobody's loss."""
_STOPS: Final = frozenset({"Conflicts=", "PropagatesStopTo=", "RequiredBy=", "`conflicts`"})
"""What stops the units that it names, or keeps them from starting."""
_MACHINE: Final = (
    r"(?:ctrl-alt-del|emergency|exit|factory-reset|final|halt|hibernate|hybrid-sleep|initrd[\w-]*|kexec|poweroff|reboot|rescue"
    r"|runlevel[06]|shutdown|sleep|soft-reboot|suspend[\w-]*|system-update|umount)\.target"
    r"|(?:debug-shell|emergency|rescue|systemd-(?:halt|kexec|poweroff|reboot|soft-reboot|suspend|hibernate))\.service"
)
"""Units that end or change the machine, or open a shell of root's."""
_VITAL: Final = (
    r"(?:systemd-[\w@-]+|dbus(?:-broker)?|sshd?|NetworkManager|wpa_supplicant|polkit|auditd|firewalld|nftables|iptables"
    r"|ufw|fail2ban|cron|crond|getty@[\w-]+|user@\d+|chronyd|apparmor)\.(?:service|socket)"
    r"|(?:basic|sysinit|local-fs|multi-user|network|network-online|default|sockets|timers|paths)\.target"
    r"|-\.(?:mount|slice)|(?:system|user)\.slice"
)
"""Units that a host is lost without, so that nothing may stop them."""


def unit_refusals(key: str, value: str) -> Iterator[Refusal]:
    """What is wrong with one line of a key of [Unit] or [Install]."""
    if key in _ACTIONS and value != "none":
        yield "unsafe-value", f"{key}={value} lets a failing server end the machine", "leave it out"
    elif key == "Alias":
        message = f"{key}={value} puts the unit in the place of another of that name"
        yield "unsafe-value", message, "name the service differently"


def dependency_refusal(key: str, name: str) -> Refusal | None:
    """What is wrong with a unit that a service is ordered by, started with or stopped for.

    `key` is written as the fleet says it: `Wants=`, or a field in backquotes.
    """
    if key in _STARTS and re.fullmatch(_MACHINE, name):
        hint = "order the service alone: unit: {Unit: {After: ...}}" if key == "`after`" else None
        return "unsafe-value", f"{key} may not start {name}, which ends, suspends or opens the machine", hint
    if key in _STOPS and re.fullmatch(_VITAL, name):
        hint = "use WantedBy=" if key == "RequiredBy=" else None
        return "unsafe-value", f"{key} may not stop {name}, which the host is lost without", hint
    return None


def taken_by_system(name: str) -> bool:
    """Whether a service of this name would take the place of a unit that the host is lost without."""
    return bool(re.fullmatch(_VITAL, f"{name}.service") or re.fullmatch(_MACHINE, f"{name}.service"))
