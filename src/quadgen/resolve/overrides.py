"""`unit` of the fleet: keys that are added to units by hand; none of them may undo what was decided."""

import re
from collections.abc import Mapping
from typing import Any, Final

from quadgen import quadlet_keys, systemd_keys
from quadgen.engines.side_doors import doors_in, reaches_speculation_path
from quadgen.resolution import Host, Override
from quadgen.resolve.report import Reporter, nearest
from quadgen.unitfile import Malformed, split_args

_UNIT_NAME: Final = re.compile(
    r"[A-Za-z0-9:_.\\@-]{1,240}\.(service|socket|device|mount|automount|swap|target|path|timer|slice|scope)"
)
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
        "ExecStopPost": "stop_timeout",
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
        "KillMode": "stop_timeout",
        "RootDirectory": "engines.NAME.binary",
        "RootImage": "engines.NAME.binary",
    },
    "Unit": {"StartLimitIntervalSec": "restart", "StartLimitBurst": "restart", "StartLimitInterval": "restart"},
    "Install": {},
    "Quadlet": {},
}
"""Keys that are decided already, with the field that decides them."""
_PODMAN_ARGS: Final = frozenset(
    "--env -e --env-file --env-host --env-merge --unsetenv --unsetenv-all --entrypoint --rootfs --secret --privileged "  # noqa: SIM905 - reads better
    "--volume -v --mount --volumes-from --hooks-dir --module --config".split()
)
"""Arguments of podman that pass variables, programs, files or every privilege past what was decided."""


def is_unit_name(name: str) -> bool:
    """Whether `name` is a unit name with its suffix, by systemd's grammar."""
    return _UNIT_NAME.fullmatch(name) is not None


def _arguments(ask: Reporter, place: tuple[str, str, str], values: tuple[str, ...]) -> bool:
    """Whether words for podman leave the decisions alone; reports those that do not."""
    good = True
    for value in values:
        for word in split_args(value):
            name = word.partition("=")[0]
            short = len(word) > 2 and word[:2] in {"-e", "-v"} and word[1] != "-"  # noqa: PLR2004 - -eNAME=value
            if name in _PODMAN_ARGS or short:
                hint = "use `env`, `secrets`, `volumes` or the engine's `entrypoint`"
                ask.add("unsafe-value", f"{name} in {place[2]}= undoes what was decided", *place, hint=hint)
                good = False
        for door in doors_in(value):
            ask.add("speculation-outside-profile", f"{door} reaches speculation, which only a profile may", *place)
            good = False
    return good


def _binds(ask: Reporter, place: tuple[str, str, str], values: tuple[str, ...]) -> bool:
    """Whether bind mounts of a native unit leave the server's own configuration file alone."""
    for value in values:
        for item in value.split():
            source, _, rest = item.lstrip("-").partition(":")
            target = rest.partition(":")[0] or source
            if reaches_speculation_path(target):
                message = f"{target} is where llama-server reads a config.ini, which reaches speculation"
                ask.add("speculation-outside-profile", message, *place)
                return False
    return True


def check(ask: Reporter, host: Host) -> tuple[Override, ...]:
    """`unit`, with everything refused that undoes a decision or that the host would drop in silence."""
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
            if _key(ask, host, section, key, values):
                found.append(Override(section, key, values))
    return tuple(found)


def _key(ask: Reporter, host: Host, section: str, key: str, values: Any) -> bool:  # noqa: ANN401 - a tuple of text, or None
    place = ("unit", section, key)
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
        if not quadlet_keys.at_least(host.podman, floor) and key not in quadlet_keys.PODMAN_ARGS:
            ask.add(
                "unsupported-key",
                f"Podman {host.podman} has no {key}= (new in {floor}), and would drop the whole unit",
                *place,
                at_key=True,
                hint="state the host's Podman as `podman:`, or leave the key out",
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
    return _values(ask, host, place, values or ())


def _values(ask: Reporter, host: Host, place: tuple[str, str, str], values: tuple[str, ...]) -> bool:
    """Whether a key can carry its values, and they leave the decisions alone."""
    key = place[2]
    for value in values:
        if value.strip() != value or value.endswith("\\"):
            message = f"{key}= cannot carry {value!r}: outer blanks and a last backslash are lost or join lines"
            ask.add("unsafe-value", message, *place)
            return False
    if key == "AddDevice" and any(value.startswith("-") for value in values):
        message = "a leading - makes Quadlet drop the device in silence where it is missing"
        ask.add("unsafe-value", message, *place, hint="leave the - out")
        return False
    if key == "GroupAdd" and host.rootless and any(value != "keep-groups" for value in values):
        message = "keep-groups cannot be combined with other groups"
        ask.add("unsafe-value", message, *place, hint="add the user to the group on the host")
        return False
    if place[1] == "Container" and quadlet_keys.reader(key) in ("args_all", "args_last", "key_val"):
        for value in values:
            try:
                split_args(value)
            except Malformed as error:
                ask.add("unsafe-value", f"{key}={value}: {error.reason}", *place)
                return False
    if key in ("PodmanArgs", "GlobalArgs"):
        return _arguments(ask, place, values)
    if key in ("BindPaths", "BindReadOnlyPaths"):
        return _binds(ask, place, values)
    return True
