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

PODMAN_ARGS: Final[Mapping[str, str]] = {
    "AppArmor": "--security-opt=apparmor=",
    "HttpProxy": "--http-proxy=",
    "Memory": "--memory=",
    "Retry": "--retry=",
    "RetryDelay": "--retry-delay=",
}
"""What to write as `PodmanArgs=`, followed by the value, where Podman is too old for a key of [Container].

These and ReloadCmd= and ReloadSignal=, which `podman run` has no argument for, are the keys newer than 5.4.2.
"""

_VERSION: Final = re.compile(
    r"v?(\d{1,6})(?:\.(\d{1,6}))?(?:\.(\d{1,6}))?([-~](?:rc|dev|alpha|beta)[\w.]*)?(?:[-+][\w.+~-]*)?",
    re.ASCII,
)


@cache
def _floors() -> Mapping[str, Mapping[str, str]]:
    floors: Mapping[str, Mapping[str, str]] = json.loads(pkgutil.get_data("quadgen", "data/quadlet-keys.json") or b"{}")
    return floors


def floor(section: str, key: str) -> str | None:
    """Give the first Podman whose Quadlet takes `key` in `section`, such as "5.3.0"; None where none does."""
    return _floors().get(section, {}).get(key)


def reader(key: str) -> Reader | None:
    """Tell how Podman reads a key of [Container]; None where it has no such key."""
    return _READER_OF.get(key)


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
