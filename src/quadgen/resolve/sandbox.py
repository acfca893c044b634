"""The layers of a service's sandbox that a fleet may take away, one at a time and said, and those that stay."""

import re
from typing import Final

from quadgen.engines.base import Refusal
from quadgen.resolution import Host
from quadgen.resolve.privileges import CAPABILITIES

_LAYERS: Final = frozenset(
    """
    DevicePolicy IPAddressAllow IPAddressDeny KeyringMode LockPersonality MemoryDenyWriteExecute PrivateDevices
    PrivateTmp PrivateUsers ProcSubset ProtectClock ProtectControlGroups ProtectHome ProtectHostname ProtectKernelLogs
    ProtectKernelModules ProtectKernelTunables ProtectProc ProtectSystem RemoveIPC RestrictAddressFamilies
    RestrictNamespaces RestrictRealtime RestrictSUIDSGID SystemCallArchitectures SystemCallFilter UMask
    """.split()  # noqa: SIM905 - reads better
)
"""Lines of a native unit that may go."""
KEPT: Final = {
    "AmbientCapabilities": "", "CapabilityBoundingSet": "", "DropCapability": "", "NoNewPrivileges": "",
}  # fmt: skip
"""Lines that may not."""
_LOOSER: Final = frozenset({
    ("AppArmor", "unconfined"), ("ReadOnly", "false"), ("SeccompProfile", "unconfined"),
    ("SecurityLabelNested", "true"),
})  # fmt: skip
_LOOSER_WORDS: Final = re.compile(
    r"--security-opt[= ](?:seccomp|apparmor)[=:]unconfined|--ipc[= ]host"
    rf"|--cap-add[= ](?!(?:(?:CAP_)?(?:{'|'.join(sorted(CAPABILITIES))})(?:,|\b))+(?:\s|$))[\w,]+",
    re.IGNORECASE,
)


def held(host: Host, section: str, key: str) -> Refusal | None:
    """Why a native service that runs as root on purpose may not change a line of its sandbox."""
    if host.user != "root" or section != "Service" or key not in _LAYERS:
        return None
    return "unsafe-value", f"{key}= stays as it is for a service that runs as root", "give it a `user` of its own"


def loosened(host: Host, section: str, key: str, words: list[str] | None) -> str | None:
    """What of the sandbox an accepted key takes away, as a clause; None where nothing.

    `words` are those that Podman reads in a key of [Container]; None where the fleet takes the line out.
    """
    if section == "Service" and host.runtime == "systemd" and key in _LAYERS:
        return f"{key}= of the sandbox is not quadgen's own"
    if section != "Container":
        return None
    if words is None:
        return "the root of the container can be written to" if key == "ReadOnly" else None
    if key == "PodmanArgs":
        found = _LOOSER_WORDS.search(" ".join(words))
        return f"{found[0]} takes a layer of the container's sandbox away" if found else None
    for word in words:
        more = key == "AddCapability" and word.upper().removeprefix("CAP_") not in CAPABILITIES
        if more or (key, word.casefold()) in _LOOSER:
            return f"{key}={word} takes a layer of the container's sandbox away"
    return None
