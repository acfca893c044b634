"""A service's container as words of `podman run`: what its unit would run, but for what only a service needs.

They are made of the same `ContainerUnit` as the unit. What a unit has and a measured container has not is in
`LEFT_OUT`; what it has instead, in `MEASURED`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from quadgen import quadlet_keys
from quadgen.resolution import Override, Resolution
from quadgen.resolve import override_values
from quadgen.units.container import ContainerUnit, container

MEASURED: Final = (
    "--network=host",  # so that the server listens on loopback, on a port that nobody has to know before
    "--no-healthcheck",  # the image's own asks a fixed port, and takes CPU seconds
    "--log-driver=none",  # what it says is read where it is attached, and fills no journal
    "--sdnotify=ignore",
)
"""What every measured container has."""
LEFT_OUT: Final[Mapping[str, str]] = {
    "AutoUpdate": "it is no unit's container",
    "CgroupsMode": "it is in no unit's control group",
    "ContainerName": "the service's own may be running",
    "GlobalArgs": "they stand before `run`, and say how Podman works rather than what it runs",
    "Label": "whoever looks for the service by its labels must not find it",
    "LogDriver": "",
    "LogOpt": "",
    "Notify": "",
    "Pull": "an image that changes between two samples would be compared with itself",
    "ReloadCmd": "",
    "ReloadSignal": "",
    "ServiceName": "",
    "StartWithPod": "",
    "StopSignal": "it is killed",
    "StopTimeout": "it is killed",
    **dict.fromkeys(
        ("AddHost", "DNS", "DNSOption", "DNSSearch", "ExposeHostPort", "IP", "IP6", "Network", "NetworkAlias"),
        "it has the network of the host",
    ),
    "PublishPort": "it has the network of the host",
    **dict.fromkeys(("RemapGid", "RemapUid", "RemapUidSize", "RemapUsers"), "nothing new is written with them"),
}
"""Keys of a unit that a measured container does without, with the reason where it is not the key's own meaning. All
keys whose name begins with Health are left out as well."""
_left_out_option: Final = re.compile(
    r"--(?:add-host|cgroups|dns|dns-option|dns-search|expose|health-[\w-]+|ip6?|label|log-driver|log-opt|mac-address"
    r"|network-alias|stop-signal)(?:=.*)?",
    re.DOTALL,
).fullmatch
"""The same, where a fleet says it by PodmanArgs=."""
_NEWEST: Final = "99"
"""A Podman that lacks no key, so that each is found under its own name whatever the host's is."""
_USER: Final = "--user="
_GROUP: Final = "--user=:"
_OPTIONS: Final[Mapping[str, str]] = {
    "AddCapability": "--cap-add=", "AddDevice": "--device=", "Annotation": "--annotation=",
    "DropCapability": "--cap-drop=", "Environment": "--env=", "Group": _GROUP, "Mount": "--mount=",
    "SeccompProfile": "--security-opt=seccomp=", "Timezone": "--tz=", "User": _USER, "Volume": "--volume=",
}  # fmt: skip
"""What keys older than those of `quadlet_keys.argument` become (ConvertContainer, pkg/systemd/quadlet/quadlet.go of
Podman 5.8.2)."""
_SWITCHES: Final[Mapping[str, str]] = {
    "NoNewPrivileges": "--security-opt=no-new-privileges", "ReadOnly": "--read-only", "RunInit": "--init",
    "VolatileTmp": "--tmpfs=/tmp:rw,size=512M,mode=1777",
}  # fmt: skip

Said = tuple[str, str]
"""A key of [Container] and one word that Podman reads in it."""


def container_words(resolution: Resolution) -> tuple[str, ...]:
    """What stands between `podman run` and the server's arguments: options, and the image as the last word.

    Each option is one word. Neither a name nor `--rm` is among them.
    """
    host = replace(resolution.host, podman=_NEWEST)
    unit = container(replace(resolution, host=host))
    kept = [said for said in _said(unit, resolution.api_key) if not _is_left_out(said[0])]
    words = [word for said in _overridden(kept, unit.overrides) for word in _words(*said)]
    pull = "never" if resolution.pull == "never" else "missing"
    return (*MEASURED, f"--pull={pull}", *_one_user(words), unit.image)


def _is_left_out(key: str) -> bool:
    return key in LEFT_OUT or key.startswith("Health")


def _said(unit: ContainerUnit, api_key: str | None) -> Iterator[Said]:
    """What the template of the unit writes, in its order."""
    yield from _each("Entrypoint", unit.entrypoint)
    yield from (("AddDevice", device) for device in unit.devices)
    yield from _each("GroupAdd", "keep-groups" if unit.keep_groups else None)
    yield from _each("SecurityLabelDisable", "true" if unit.label_disable else None)
    yield from _each("SecurityLabelType", unit.label_type)
    yield from (("NoNewPrivileges", "true"), ("DropCapability", "all"))
    yield from (("Mask", path) for path in unit.masks)
    yield "RunInit", "true"
    yield from _each("ReadOnly", "true" if unit.read_only else None)
    yield from _each("SeccompProfile", unit.seccomp)
    yield from (("Volume", mount) for mount in unit.mounts)
    yield from (("Environment", f"{name}={value}") for name, value in unit.environment)
    # the server's key is for those who dial the service
    yield from (("Secret", secret) for secret in unit.secrets if not secret.startswith(f"{api_key},type=mount,"))
    yield from _each("Memory", unit.memory)
    yield from _each("PidsLimit", None if unit.pids is None else str(unit.pids))
    yield from _each("ShmSize", unit.shm)
    yield from (("Ulimit", limit) for limit in unit.ulimits)
    yield from (("PodmanArgs", word) for word in unit.podman_args)


def _each(key: str, value: str | None) -> Iterator[Said]:
    if value:
        yield key, value


def _overridden(said: Iterable[Said], overrides: Iterable[Override]) -> list[Said]:
    """The same with the keys that the fleet itself sets, as `overlay` lays them over the unit."""
    found = list(said)
    for section, key, values in overrides:
        if section != "Container" or _is_left_out(key):
            continue
        if values is None or not quadlet_keys.repeats("Container", key):
            found = [each for each in found if each[0] != key]
        words = () if values is None else override_values.words(key, values)
        added = _joined(words) if key == "PodmanArgs" else words
        found += [(key, word) for word in added]
    return found


def _joined(words: Iterable[str]) -> Iterator[str]:
    """Options with their values as one word each; a word that begins with no dash is the value of the one before."""
    waiting: str | None = None
    for word in words:
        if waiting is not None and not word.startswith("-"):
            yield f"{waiting}={word}"
            waiting = None
            continue
        if waiting is not None:
            yield waiting
        waiting = word
    if waiting is not None:
        yield waiting


def _words(key: str, value: str) -> Iterator[str]:
    if key == "PodmanArgs":
        yield from () if _left_out_option(value) else (value,)
    elif key in _SWITCHES:
        yield from (_SWITCHES[key],) if value == "true" else ()
    elif key == "Volume":
        yield _OPTIONS[key] + _volume(value)
    elif key in _OPTIONS:
        yield _OPTIONS[key] + (value.lower() if key.endswith("Capability") else value)
    elif word := quadlet_keys.argument(key, value, _NEWEST):
        yield word


def _volume(value: str) -> str:
    """A mount whose volume is a Quadlet unit has the name that the unit gives it, unless that says another."""
    source, colon, rest = value.partition(":")
    is_unit = source.endswith(".volume") and "/" not in source
    return f"systemd-{source.removesuffix('.volume')}{colon}{rest}" if is_unit else value


def _one_user(words: Iterable[str]) -> Iterator[str]:
    """The same with user and group in one option, as Podman takes them."""
    said: dict[str, str] = {}
    for word in words:
        kind = next((each for each in (_GROUP, _USER) if word.startswith(each)), None)
        if kind is None:
            yield word
        else:
            said[kind] = word.removeprefix(kind)
    if _USER in said:
        yield _USER + ":".join(said[kind] for kind in (_USER, _GROUP) if kind in said)
