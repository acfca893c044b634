"""The layers of a service's sandbox that a fleet may take away, each of them said."""

import re
from typing import Final

from quadgen.engines.base import Refusal
from quadgen.resolution import Host
from quadgen.resolve.privileges import CAPABILITIES, HOOKS, harmless

_LAYERS: Final = frozenset(
    """
    CapabilityBoundingSet DevicePolicy IPAddressAllow IPAddressDeny KeyringMode LockPersonality
    MemoryDenyWriteExecute NoNewPrivileges PrivateDevices
    PrivateTmp PrivateUsers ProcSubset ProtectClock ProtectControlGroups ProtectHome ProtectHostname ProtectKernelLogs
    ProtectKernelModules ProtectKernelTunables ProtectProc ProtectSystem RemoveIPC RestrictAddressFamilies
    RestrictNamespaces RestrictRealtime RestrictSUIDSGID SystemCallArchitectures SystemCallFilter UMask
    """.split()  # noqa: SIM905 - reads better
)
"""Lines of a native unit that may go or change."""
_LOOSER: Final = frozenset({
    ("AppArmor", "unconfined"), ("NoNewPrivileges", "false"), ("ReadOnly", "false"), ("SeccompProfile", "unconfined"),
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


_GONE: Final = {
    "DropCapability": "the container has the capabilities that Podman gives by default",
    "NoNewPrivileges": "a setuid program in the container may gain privileges",
    "ReadOnly": "the root of the container can be written to",
}
"""What it means that a line of a container is taken out."""


def loosened(host: Host, section: str, key: str, words: list[str] | None) -> str | None:
    """What of the sandbox an accepted key takes away, as a clause; None where nothing.

    `words` are those that Podman reads in a key of [Container], and else the lines; None where the fleet takes the
    line out.
    """
    if section == "Service" and host.runtime == "podman" and key in HOOKS and not all(map(harmless, words or ())):
        who = f"as {host.rootless}" if host.rootless else "as root"
        return f"{key}= runs on the host {who}, outside of the container"
    if section == "Service" and host.runtime == "systemd" and key in _LAYERS:
        return f"{key}= of the sandbox is not quadgen's own"
    if section != "Container":
        return None
    if words is None:
        return _GONE.get(key)
    if key == "PodmanArgs":
        found = _LOOSER_WORDS.search(" ".join(words))
        return f"{found[0]} takes a layer of the container's sandbox away" if found else None
    for word in words:
        more = key == "AddCapability" and word.upper().removeprefix("CAP_") not in CAPABILITIES
        if more or (key, word.casefold()) in _LOOSER:
            return f"{key}={word} takes a layer of the container's sandbox away"
    return None
