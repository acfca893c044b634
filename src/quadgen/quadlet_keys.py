"""The keys that Quadlet knows, since which Podman, and how each of them is read.

Quadlet drops a whole unit for one key that it does not know, so each key has a floor. The floors are
data/quadlet-keys.yml; quadlet-keys.json beside it is the same in a form that needs no YAML library.
"""

import json
import pkgutil
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final, Literal, get_args

Reader = Literal["args_last", "key_val", "args_all", "strv", "raw", "last", "bool"]
"""The functions of Podman's parser that read a key (pkg/systemd/parser/unitfile.go), which is how it is written:

args_last: LookupLastArgs, words of the last line. key_val: LookupAllKeyVal, quoted assignments. args_all:
LookupAllArgs, words of all lines. strv: LookupAllStrv, words whose backslashes are plain. raw: LookupAll, each
line as it is. last: Lookup, the last line as it is. bool: LookupBoolean.
"""

_READERS: Final[Mapping[Reader, str]] = {
    "args_last": "Exec ReloadCmd",
    "key_val": "Annotation Environment Label",
    "args_all": "EnvironmentFile GlobalArgs Mask Mount PodmanArgs Secret Unmask",
    "strv": "AddCapability AddDevice DropCapability GIDMap LogOpt RemapGid RemapUid Sysctl UIDMap",
    "raw": """AddHost ContainersConfModule DNS DNSOption DNSSearch ExposeHostPort GroupAdd Network NetworkAlias
        PublishPort Tmpfs Ulimit Volume""",
    "last": """AppArmor AutoUpdate CgroupsMode ContainerName Entrypoint Group HealthCmd HealthInterval
        HealthLogDestination HealthMaxLogCount HealthMaxLogSize HealthOnFailure HealthRetries HealthStartPeriod
        HealthStartupCmd HealthStartupInterval HealthStartupRetries HealthStartupSuccess HealthStartupTimeout
        HealthTimeout HostName IP IP6 Image LogDriver Memory Notify PidsLimit Pod Pull ReloadSignal RemapUidSize
        RemapUsers Retry RetryDelay Rootfs SeccompProfile SecurityLabelFileType SecurityLabelLevel
        SecurityLabelType ServiceName ShmSize StopSignal StopTimeout SubGIDMap SubUIDMap Timezone User UserNS
        WorkingDir""",
    "bool": """EnvironmentHost HttpProxy NoNewPrivileges ReadOnly ReadOnlyTmpfs RunInit SecurityLabelDisable
        SecurityLabelNested StartWithPod VolatileTmp""",
}
"""Every key of [Container], by Podman's pkg/systemd/quadlet/quadlet.go at 5.8.2; 5.4.2 reads them alike."""

_READER_OF: Final[Mapping[str, Reader]] = {
    key: reader for reader in get_args(Reader) for key in _READERS[reader].split()
}
_REPEATED: Final = frozenset({"key_val", "args_all", "strv", "raw"})

_ARGUMENTS: Final[Mapping[str, str]] = {
    "AddHost": "--add-host=", "AppArmor": "--security-opt=apparmor=", "AutoUpdate": "--label=io.containers.autoupdate=",
    "CgroupsMode": "--cgroups=", "DNS": "--dns=", "DNSOption": "--dns-option=", "DNSSearch": "--dns-search=",
    "Entrypoint": "--entrypoint=", "GIDMap": "--gidmap=", "GroupAdd": "--group-add=", "HealthCmd": "--health-cmd=",
    "HealthInterval": "--health-interval=", "HealthOnFailure": "--health-on-failure=",
    "HealthRetries": "--health-retries=", "HealthStartPeriod": "--health-start-period=",
    "HealthStartupCmd": "--health-startup-cmd=", "HealthStartupInterval": "--health-startup-interval=",
    "HealthStartupRetries": "--health-startup-retries=", "HealthStartupSuccess": "--health-startup-success=",
    "HealthStartupTimeout": "--health-startup-timeout=", "HealthTimeout": "--health-timeout=",
    "HostName": "--hostname=", "HttpProxy": "--http-proxy=", "IP": "--ip=", "IP6": "--ip6=",
    "LogDriver": "--log-driver=", "LogOpt": "--log-opt=", "Mask": "--security-opt=mask=", "Memory": "--memory=",
    "NetworkAlias": "--network-alias=", "Notify": "--sdnotify=", "PidsLimit": "--pids-limit=", "Pull": "--pull=",
    "ReadOnlyTmpfs": "--read-only-tmpfs=", "Retry": "--retry=", "RetryDelay": "--retry-delay=",
    "Secret": "--secret=", "SecurityLabelDisable": "--security-opt=label=disable",
    "SecurityLabelFileType": "--security-opt=label=filetype:", "SecurityLabelLevel": "--security-opt=label=level:",
    "SecurityLabelNested": "--security-opt=label=nested", "SecurityLabelType": "--security-opt=label=type:",
    "ShmSize": "--shm-size=", "StopSignal": "--stop-signal=", "StopTimeout": "--stop-timeout=",
    "SubGIDMap": "--subgidname=", "SubUIDMap": "--subuidname=", "Sysctl": "--sysctl=", "Tmpfs": "--tmpfs=",
    "UIDMap": "--uidmap=", "Ulimit": "--ulimit=", "Unmask": "--security-opt=unmask=", "UserNS": "--userns=",
    "WorkingDir": "--workdir=",
}  # fmt: skip
"""The argument of podman-run(1) that says what a key newer than Podman 4.4.0 says, up to its value.

By Podman's pkg/systemd/quadlet/quadlet.go at 5.8.2, which makes these arguments of these keys, and by its
cmd/podman/common/create.go at 4.4.0, which has them all but for those in `_LATER`. Left out is what podman-run(1)
has no argument for (ReloadCmd, ReloadSignal, StartWithPod, ServiceName), what stands before `run` or instead of the
image (GlobalArgs, ContainersConfModule, Rootfs), what names other Quadlet units, which no argument does (Mount, Pod),
and what Podman itself learned with the key (HealthLogDestination, HealthMaxLogCount, HealthMaxLogSize).
"""
_LATER: Final[Mapping[str, str]] = {
    "Notify": "4.7.0", "Retry": "5.0.0", "RetryDelay": "5.0.0", "SecurityLabelNested": "4.5.0",
}  # fmt: skip
"""The first Podman with an argument that 4.4.0 does not have: `--sdnotify=healthy`, `--retry`, `label=nested`."""
HEALTHY: Final = "5.0.0"
"""The first Podman whose Quadlet knows Notify=healthy; older ones know the key and read another word as no."""

_VERSION: Final = re.compile(
    r"v?(\d{1,6})(?:\.(\d{1,6}))?(?:\.(\d{1,6}))?([-~](?:rc|dev|alpha|beta)[\w.]*)?(?:[-+][\w.+~-]*)?",
    re.ASCII,
)


@cache
def _floors() -> Mapping[str, Mapping[str, str]]:
    floors: Mapping[str, Mapping[str, str]] = json.loads(pkgutil.get_data("quadgen", "data/quadlet-keys.json") or b"{}")
    return floors


def keys(section: str) -> frozenset[str]:
    """The keys of a section that any Podman takes."""
    return frozenset(_floors().get(section, {}))


def floor(section: str, key: str) -> str | None:
    """Give the first Podman whose Quadlet takes `key` in `section`, such as "5.3.0"; None where none does."""
    return _floors().get(section, {}).get(key)


def reader(key: str) -> Reader | None:
    """Tell how Podman reads a key of [Container]; None where it has no such key."""
    return _READER_OF.get(key)


@lru_cache(maxsize=64)
def lacking(podman: str) -> frozenset[str]:
    """The keys of [Container] that a Podman would drop the unit for, Notify=healthy among them as `Notify`."""
    newer = {key for key, since in _floors()["Container"].items() if not at_least(podman, since)}
    return frozenset(newer if at_least(podman, HEALTHY) else {*newer, "Notify"})


def argument(key: str, value: str, podman: str) -> str | None:
    """The argument of podman-run(1) that says `key=value` to a Podman without the key; None where it has none.

    `value` is one word, or one line, as the key's reader gives it, and `true` or `false` for a switch. Empty where
    nothing need be said.
    """
    start = _ARGUMENTS.get(key)
    if start is None or (key in _LATER and not at_least(podman, _LATER[key])):
        return None
    if start[-1] in "=:":
        return f"{start}{value}"
    return start if value == "true" else ""


def argument_floor(text: str) -> str | None:
    """The first Podman that takes an argument of `argument`; None where every Podman with a Quadlet does."""
    return next((since for key, since in _LATER.items() if text.startswith(_ARGUMENTS[key])), None)


def newness(section: str, key: str, podman: str) -> tuple[str, str]:
    """Since when `section` has a key that a Podman lacks, in words, and the first Podman with which a unit may have it.

    The second is older where an argument that `podman` lacks too says the same. Such a key must have a floor.
    """
    since = HEALTHY if key == "Notify" else floor(section, key) or ""
    other = _LATER.get(key) if section == "Container" else None
    if other is None or at_least(podman, other):
        return f"new in {since}", since
    said = "--sdnotify=healthy" if key == "Notify" else _ARGUMENTS[key].rstrip("=")
    return f"new in {since}, and as {said} in {other}", other


def repeats(section: str, key: str) -> bool:
    """Whether a further line of `key` adds to the lines before, in a `.container` file's own sections.

    False where it replaces them, where the key is not known, and in [Quadlet], whose one key is a switch.
    """
    return section == "Container" and _READER_OF.get(key) in _REPEATED


def nearest(section: str, key: str) -> str | None:
    """Find the key of `section` that was probably meant, or None; another case alone is always near."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a refusal needs it

    offers = {offer.lower(): offer for offer in _floors().get(section, {})}
    asked = key.lower()
    near = [asked] if asked in offers else get_close_matches(asked, offers, n=1, cutoff=0.75)
    return offers[near[0]] if near else None


@lru_cache(maxsize=1024)
def at_least(version: str, wanted: str) -> bool | None:
    """Whether Podman `version` is `wanted` or newer; None where either is no version.

    `5.4` is 5.4.0, a distribution's revision (`5.4.2+ds1-2`) does not count, and a pre-release (`5.8.0-rc1`) is
    older than its release.
    """
    have, want = _parsed(version), _parsed(wanted)
    return None if have is None or want is None else have >= want


def _parsed(version: str) -> tuple[int, int, int, bool] | None:
    found = _VERSION.fullmatch(version)
    if found is None:
        return None
    return int(found[1]), int(found[2] or 0), int(found[3] or 0), found[4] is None
