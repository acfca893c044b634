"""`unit` of the fleet: keys that are added to units by hand; none of them may undo what was decided."""

import re
from collections.abc import Mapping
from typing import Final

from quadgen import quadlet_keys, systemd_keys
from quadgen.problems import Severity
from quadgen.resolution import Host, Override
from quadgen.resolve import override_values, sandbox
from quadgen.resolve.override_values import UNIT_NAME
from quadgen.resolve.report import Reporter, nearest
from quadgen.unitfile.quote import quoted

_FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    "Container": {
        "Image": "image",
        "Exec": "flags` or `extra_args",
        "Environment": "env",
        "EnvironmentFile": "env",
        "EnvironmentHost": "env",
        "PublishPort": "port`, `bind` and `publish",
        "Volume": "volumes",
        "Mount": "volumes",
        "Tmpfs": "volumes",
        "Network": "network",
        "Label": "labels",
        "Secret": "secrets",
        "HealthCmd": "health",
        "HealthInterval": "health",
        "HealthTimeout": "health",
        "HealthRetries": "health",
        "HealthStartPeriod": "health",
        "HealthStartupCmd": "health",
        "HealthStartupInterval": "health",
        "Notify": "health",
        "Pull": "pull",
        "AutoUpdate": "auto_update",
        "StopTimeout": "stop_timeout",
        "Entrypoint": "engines.NAME.entrypoint",
        "ContainerName": "services",
        "ServiceName": "services",
        "Memory": "limits",
        "PidsLimit": "limits",
        "ShmSize": "limits",
        "SecurityLabelDisable": "selinux",
        "SecurityLabelType": "selinux",
        "Rootfs": "image",
        "Pod": "network",
        "ContainersConfModule": "env",
    },
    "Service": {
        "ExecStart": "flags` or `extra_args",
        "Environment": "env",
        "EnvironmentFile": "env",
        "PassEnvironment": "env",
        "UnsetEnvironment": "env",
        "ExecStop": "stop_timeout",
        "Type": "health",
        "Restart": "restart",
        "RestartSec": "restart",
        "TimeoutStartSec": "start_timeout",
        "TimeoutStopSec": "stop_timeout",
        "TimeoutSec": "start_timeout",
        "User": "user",
        "Group": "user",
        "DynamicUser": "user",
        "MemoryMax": "limits",
        "TasksMax": "limits",
        "CPUQuota": "limits",
        "LimitMEMLOCK": "limits",
        "LimitNOFILE": "limits",
        "LoadCredential": "api_key",
        "SetCredential": "api_key",
        "SetCredentialEncrypted": "api_key",
        "LoadCredentialEncrypted": "api_key",
        "ImportCredential": "api_key",
        "PAMName": "env",
        "RemainAfterExit": "restart",
        "KillMode": "stop_timeout",
        "RootDirectory": "engines.NAME.binary",
        "RootImage": "engines.NAME.binary",
        "MountImages": "engines.NAME.binary",
        "ExtensionImages": "engines.NAME.binary",
        "ExtensionDirectories": "engines.NAME.binary",
    },
    "Unit": {"StartLimitIntervalSec": "restart", "StartLimitBurst": "restart", "StartLimitInterval": "restart"},
    "Install": {},
    "Quadlet": {},
}
"""Keys that are decided already, with the field that decides them."""
_REMOVED: Final = {
    "AddDevice": "devices",
    "AssertPathExists": "model",
    "DeviceAllow": "devices",
    "ExecStartPost": "health",
    "ExecStartPre": "",
    "InaccessiblePaths": "",
    "Mask": "",
    "PodmanArgs": "limits",
}
"""Keys that may be added to, but whose own lines cannot go: with the field that decides them, if one does."""
_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


def is_unit_name(name: str) -> bool:
    """Whether `name` is a unit name with its suffix, by systemd's grammar."""
    return UNIT_NAME.fullmatch(name) is not None


def check(ask: Reporter, host: Host, program: str | None) -> tuple[Override, ...]:
    """`unit`, with everything refused that undoes a decision or that the host would drop in silence.

    `program` is what a native unit runs, where that is known.
    """
    sections = (
        ("Unit", "Container", "Service", "Install", "Quadlet")
        if host.runtime == "podman"
        else ("Unit", "Service", "Install")
    )
    found: list[Override] = []
    for section, keys in (ask.get("unit") or {}).items():
        if section not in sections:
            close = nearest(section, sections)
            hint = f"did you mean {close}?" if close else f"sections here: {', '.join(sections)}"
            ask.add("unsupported-key", f"this unit has no section [{section}]", "unit", section, hint=hint, at_key=True)
            continue
        for key, values in (keys or {}).items():
            if _known(ask, host, section, key) and _possible(ask, host, ("unit", section, key), values, program):
                found.append(_spelled(ask, host, section, key, values))
                _noted(ask, host, section, key, values)
    return tuple(found)


def _noted(ask: Reporter, host: Host, section: str, key: str, values: tuple[str, ...] | None) -> None:
    """Say what a key takes away of the sandbox, which is for the fleet to decide and for a review to see."""
    words = None if values is None else list(values)
    if section == "Container" and values is not None:
        words = override_values.words(key, values)
    looser = sandbox.loosened(host, section, key, words)
    if looser is not None:
        ask.add("sandbox-loosened", looser, "unit", section, key, severity=Severity.NOTE, at_key=True)


def _spelled(ask: Reporter, host: Host, section: str, key: str, values: tuple[str, ...] | None) -> Override:
    """The key, or for a Podman that lacks it the argument of podman-run(1) that says the same."""
    if key in override_values.UNIT_LISTS and values:
        return Override(section, key, tuple(override_values.named(ask.service or "", value) for value in values))
    if section != "Container" or not values or key not in quadlet_keys.lacking(host.podman):
        return Override(section, key, values)
    words = (quadlet_keys.argument(key, word, host.podman) for word in override_values.words(key, values))
    return Override(section, "PodmanArgs", tuple(quoted(word) for word in words if word))


def _known(ask: Reporter, host: Host, section: str, key: str) -> bool:
    """Whether a key is one that the host's programs read, and that is not decided already; reports why not."""
    place = ("unit", section, key)
    if not _KEY.fullmatch(key):
        ask.add("unsupported-key", f"{key!r} is no key of a unit", *place, hint="letters, digits and -", at_key=True)
        return False
    field = _FIELDS[section].get(key)
    if field is not None and not (section == "Service" and host.runtime == "podman" and key == "LoadCredential"):
        ask.add("unexpected-value", f"{key}= is decided by `{field}`", *place, hint=f"use `{field}`", at_key=True)
        return False
    if section in ("Container", "Quadlet"):
        floor = quadlet_keys.floor(section, key)
        if floor is None:
            close = quadlet_keys.nearest(section, key)
            ask.add(
                "unsupported-key",
                f"Quadlet knows no {key}= in [{section}], and would drop the whole unit",
                *place,
                at_key=True,
                hint=f"did you mean {close}?" if close else "see podman-systemd.unit(5)",
            )
            return False
        if not quadlet_keys.at_least(host.podman, floor) and (
            section != "Container" or quadlet_keys.argument(key, "", host.podman) is None
        ):
            since, least = quadlet_keys.newness(section, key, host.podman)
            newer = f"use Podman {least} or newer"
            if not ask.chain.said("podman"):
                newer = f"state the host's Podman as `podman:` where it is {least} or newer"
            ask.add(
                "unsupported-key",
                f"Podman {host.podman} has no {key}= ({since}), and would drop the whole unit",
                *place,
                at_key=True,
                hint=f"{newer}, or leave the key out",
            )
            return False
    elif not systemd_keys.known(section, key):
        right = systemd_keys.section_of(key)
        close = systemd_keys.nearest(section, key)
        hint = (
            f"it belongs into [{right[0]}]"
            if right
            else f"did you mean {close}?"
            if close
            else "see systemd.directives(7)"
        )
        ask.add(
            "unsupported-key",
            f"systemd knows no {key}= in [{section}], and would ignore it in silence",
            *place,
            hint=hint,
            at_key=True,
        )
        return False
    return True


def _possible(
    ask: Reporter,
    host: Host,
    place: tuple[str, str, str],
    values: tuple[str, ...] | None,
    program: str | None,
) -> bool:
    """Whether the values of a key, or their absence, leave alone what was decided; reports why not."""
    _, section, key = place
    rooted = sandbox.held(host, section, key)
    if rooted is not None:
        ask.add(rooted[0], rooted[1], *place, hint=rooted[2], at_key=True)
        return False
    if values is None:
        if key not in _REMOVED:
            return True
        field = _REMOVED[key]
        message = f"{key}= is decided by `{field}`" if field else f"quadgen's own {key}= cannot be taken out"
        ask.add("unexpected-value", message, *place, hint="add to it, or leave it out", at_key=True)
        return False
    found = list(override_values.refusals(host, ask.service or "", section, key, values, program))
    for code, message, hint in found:
        ask.add(code, message, *place, hint=hint)
    return not found
