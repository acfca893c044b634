"""What would make a service the host's root, in the words of podman-run(1), Podman's units and systemd's.

Refused is what gives a service more than it has as it was decided: capabilities beyond its own process, namespaces
of the host or of another, hooks that run outside of the container, files that root opens for it. What only takes a
layer of its sandbox away is let through with a note (`loosened`): some drivers need it.
"""

import re
from collections.abc import Iterator
from posixpath import normpath
from typing import Final

from quadgen.engines.base import Refusal
from quadgen.resolution import Host
from quadgen.resolve import reach

CAPABILITIES: Final = frozenset({"IPC_LOCK", "NET_BIND_SERVICE", "SYS_NICE"})
"""What acts on the process alone: locked memory, a port below 1024, priorities and NUMA placement."""
_CAPABILITIES: Final = "IPC_LOCK, NET_BIND_SERVICE and SYS_NICE may be added"
_OWN_NAMESPACE: Final = {
    "cgroupns": r"private", "ipc": r"private|none|shareable|host", "pid": r"private", "uts": r"private",
    "userns": r"auto(?::[\w=:,@-]+)?|keep-id(?::[\w=,]+)?|nomap",
}  # fmt: skip
"""Values of --ipc and its like that share nothing with the host or with another container, but for ipc=host: ROCm's
own instructions ask for it."""
_ORDERS: Final = re.compile(r"(?:run\.oci|io\.podman|io\.container|io\.crun|org\.criu|io\.kubernetes|module\.wasm)\.")
"""Annotations that runtimes and their hooks take for orders (crun(1), oci-hooks(5))."""
_LOG_FILES: Final = re.compile(r"path=", re.IGNORECASE)
_STREAMS: Final = re.compile(r"null|inherit|journal|journal\+console|kmsg|kmsg\+console|syslog|syslog\+console")
_HOOKS: Final = frozenset({"ExecStartPre", "ExecStartPost", "ExecCondition", "ExecReload"})
_HARMLESS: Final = re.compile(
    r"-?(?:/usr)?/s?bin/(?:true|(?:sleep|nvidia-smi|nvidia-modprobe|mountpoint|modprobe)(?: +[\w=,.-]+)*"
    r"|(?:test|mountpoint|\[)(?: +[\w=,./!-]+| +\])*)"
)
"""Commands that leave nothing behind but a loaded driver; no path is written by any of them."""
_ACTIONS: Final = frozenset({"FailureAction", "SuccessAction", "StartLimitAction", "JobTimeoutAction"})
_DIRECTORIES: Final = frozenset(
    {"CacheDirectory", "ConfigurationDirectory", "LogsDirectory", "RuntimeDirectory", "StateDirectory"}
)
_ROOTED: Final = {
    "BusName": "takes a name on the system's bus",
    "IPCNamespacePath": "joins a namespace of others",
    "NetworkNamespacePath": "joins a namespace of others",
    "OpenFile": "makes systemd open a file as root",
    "PIDFile": "makes systemd remove a file as root",
    "PermissionsStartOnly": "lets commands of the unit run as root",
    "Sockets": "gives the service the sockets of another",
    "TTYPath": "makes systemd open a terminal as root",
    "USBFunctionDescriptors": "makes systemd open a file as root",
    "USBFunctionStrings": "makes systemd open a file as root",
    "UserNamespacePath": "joins a namespace of others",
}
"""Keys of [Service] that no value makes harmless, with what they do (systemd.exec(5), systemd.service(5))."""
_GROUPS: Final = frozenset(
    """
    0 adm disk docker input incus incus-admin kmem libvirt lxd podman root shadow sudo systemd-journal wheel
    """.split()  # noqa: SIM905 - reads better
)
"""Groups whose members are root in all but name, or read what is secret."""
_MACHINE: Final = re.compile(
    r"(?:ctrl-alt-del|emergency|exit|factory-reset|final|halt|hibernate|hybrid-sleep|initrd[\w-]*|kexec|poweroff|reboot|rescue"
    r"|runlevel[06]|shutdown|sleep|soft-reboot|suspend[\w-]*|system-update|umount)\.target"
    r"|(?:debug-shell|emergency|rescue|systemd-(?:halt|kexec|poweroff|reboot|soft-reboot|suspend|hibernate))\.service"
)
"""Units that end or change the machine, or open a shell of root's."""
_VITAL: Final = re.compile(
    r"(?:systemd-[\w@-]+|dbus(?:-broker)?|sshd?|NetworkManager|wpa_supplicant|polkit|auditd|firewalld|nftables|iptables"
    r"|ufw|fail2ban|cron|crond|getty@[\w-]+|user@\d+|chronyd|apparmor)\.(?:service|socket)"
    r"|(?:basic|sysinit|local-fs|multi-user|graphical|network|network-online|default|sockets|timers|paths)\.target"
    r"|-\.(?:mount|slice)|(?:system|user)\.slice"
)
"""Units that a host is lost without, so that nothing may conflict with them."""


def capability_refusals(key: str, names: list[str]) -> Iterator[Refusal]:
    """What is wrong with capabilities that are added."""
    for name in names:
        if name.upper().removeprefix("CAP_") not in CAPABILITIES:
            yield "unsafe-value", f"{name} in {key}= is power over the host, which no server needs", _CAPABILITIES


def namespace_refusal(key: str, kind: str, value: str) -> Refusal | None:
    """What is wrong with the namespace that a container gets, `kind` as podman-run(1) calls it."""
    if re.fullmatch(_OWN_NAMESPACE[kind], value):
        return None
    message = f"{key}={value} shares a namespace with the host or with another container"
    return "unsafe-value", message, "leave it out: a container has its own"


def security_refusal(value: str) -> Refusal | None:
    """What is wrong with one `--security-opt` beyond what it unmasks for speculation."""
    name, _, rest = value.replace(":", "=", 1).partition("=")
    shown = f"--security-opt={value}"
    if name == "label":
        return "unsafe-value", f"{shown} undoes what was decided", "use `selinux`"
    if name == "no-new-privileges" and rest.casefold() not in ("", "true", "1", "t"):
        return "unsafe-value", f"{shown} lets setuid programs gain privileges", "leave it out"
    if name == "systempaths" or (name == "unmask" and _kernel(rest)):
        return _unmasked(shown)
    if name not in ("no-new-privileges", "seccomp", "apparmor", "mask", "unmask", "proc-opts"):
        return "unsafe-value", f"{shown} may undo what was decided", None
    return None


def _kernel(paths: str) -> bool:
    return any(path.lstrip("/").split("/")[0] in ("proc", "sys", "dev", "") for path in paths.split(":"))


def _unmasked(shown: str) -> Refusal:
    return "unsafe-value", f"{shown} shows the container the kernel's own files", "leave it out"


def option_refusal(name: str, value: str) -> Refusal | None:
    """What is wrong with one option of podman-run(1) that otherwise leaves alone what was decided."""
    kind = name.removeprefix("--")
    if kind in _OWN_NAMESPACE:
        return namespace_refusal(name, kind, value)
    match name:
        case "--cap-add":
            return next(capability_refusals(name, value.split(",")), None)
        case "--security-opt":
            return security_refusal(value)
        case "--creds":
            return "literal-secret", f"{name} is a password in git", "log the host in: podman login --authfile"
        case "--decryption-key" if ":" in value:
            return "literal-secret", f"{name} is given a passphrase, which is then in git", "use a key without one"
        case "--tls-verify" if value.casefold() not in ("", "true", "1"):
            return "unsafe-value", f"{name}={value} lets anybody on the way choose the image", "leave it out"
    return container_refusal(_KEYS.get(name, ""), value)


_KEYS: Final = {
    "--annotation": "Annotation", "--cgroups": "CgroupsMode", "--group-add": "GroupAdd",
    "--health-log-destination": "HealthLogDestination", "--log-opt": "LogOpt",
}  # fmt: skip
"""Options with the key of [Container] that says the same."""


def container_refusal(key: str, value: str) -> Refusal | None:  # noqa: PLR0911 - a key, an answer
    """What is wrong with one word of a key of [Container]."""
    match key:
        case "AddCapability":
            return next(capability_refusals(key, [value]), None)
        case "UserNS":
            return namespace_refusal(key, "userns", value)
        case "NoNewPrivileges" if value == "false":
            return "unsafe-value", "NoNewPrivileges=false lets setuid programs gain privileges", "leave it out"
        case "Unmask" if _kernel(value):
            return _unmasked(f"Unmask={value}")
        case "Annotation" if _ORDERS.match(value):
            name = value.partition("=")[0]
            return "unsafe-value", f"the annotation {name} is an order to what runs the container", "leave it out"
        case "LogOpt" if _LOG_FILES.match(value):
            return "unsafe-value", f"{key}={value} makes Podman write a file of the host", "use the journal"
        case "HealthLogDestination" if value not in ("local", "events_logger"):
            return "unsafe-value", f"{key}={value} makes Podman write files of the host", "use local or events_logger"
        case "CgroupsMode" if value not in ("enabled", "split", "no-conmon"):
            return "unsafe-value", f"{key}={value} takes the container out of its unit's bounds", "leave it out"
        case "GroupAdd" if value in _GROUPS:
            return "unsafe-value", f"the group {value} is root in all but name, or reads what is secret", None
    return None


def service_refusals(host: Host, service: str, key: str, value: str) -> Iterator[Refusal]:
    """What is wrong with one line of a key of [Service]; `service` is the name of its unit."""
    if key in _HOOKS:
        yield from _hook(host, key, value)
    elif key in ("AmbientCapabilities", "CapabilityBoundingSet"):
        yield from capability_refusals(key, value.split())
    elif key == "NoNewPrivileges" and value.casefold() not in ("1", "yes", "true", "on", "y", "t"):
        yield "unsafe-value", f"{key}={value} lets setuid programs gain privileges", "leave it out"
    elif key in ("StandardOutput", "StandardError", "StandardInput") and not _STREAMS.fullmatch(value):
        yield "unsafe-value", f"{key}={value} makes systemd open a file or a terminal as root", "use journal or null"
    elif key in _ROOTED:
        yield "unsafe-value", f"{key}= {_ROOTED[key]}", "leave it out"
    elif key in _DIRECTORIES and any(word.split(":")[0].split("/")[0] != service for word in value.split()):
        message = f"{key}={value} gives the service a directory that may be another's"
        yield "unsafe-value", message, f"name it {service}, or one below {service}/"
    elif key == "SupplementaryGroups" and (wrong := sorted(_GROUPS.intersection(value.split()))):
        yield "unsafe-value", f"the group {wrong[0]} is root in all but name, or reads what is secret", None


def sandboxed_root(host: Host, section: str, key: str) -> Refusal | None:
    """Why a native service that runs as root on purpose may not change a line of its sandbox."""
    if host.user != "root" or section != "Service" or key not in _SANDBOX:
        return None
    return "unsafe-value", f"{key}= stays as it is for a service that runs as root", "give it a `user` of its own"


def _hook(host: Host, key: str, value: str) -> Iterator[Refusal]:
    """A container's hooks run on the host, outside of it; a native unit's run in its own sandbox."""
    prefix = value[: len(value) - len(value.lstrip("@-:+!|"))]
    if set(prefix) & set("+!|"):
        yield "unsafe-value", f"{key}={value} runs outside of the unit's sandbox", f"leave {prefix} out"
    elif host.runtime == "podman" and not _HARMLESS.fullmatch(value):
        who = f"as {host.rootless}" if host.rootless else "as root"
        message = f"{key}= runs on the host {who}, outside of the container: a fleet may not say what"
        hint = "do it when the host is set up; true, sleep, test, mountpoint, modprobe and nvidia-smi are let through"
        yield "unsafe-value", message, hint


def unit_refusals(key: str, value: str) -> Iterator[Refusal]:
    """What is wrong with one line of a key of [Unit] or [Install]."""
    if key in _ACTIONS and value != "none":
        yield "unsafe-value", f"{key}={value} lets a failing server end the machine", "leave it out"
    elif key == "Alias":
        message = f"{key}={value} puts the unit in the place of another of that name"
        yield "unsafe-value", message, "name the service differently"


def dependency_refusal(key: str, name: str) -> Refusal | None:
    """What is wrong with a unit that another is ordered by, started with or stopped for."""
    if _MACHINE.fullmatch(name):
        return "unsafe-value", f"{key} may not name {name}, which ends the machine or opens it", None
    if key in ("Conflicts=", "`conflicts`") and _VITAL.fullmatch(name):
        return "unsafe-value", f"{key} may not name {name}, which the host is lost without", None
    return None


def served_refusal(path: str, home: str) -> Refusal | None:
    """Why the server may not give a directory to everybody who asks, as it does with that of `--path`."""
    if reach.path_refusal(normpath(f"/{path.lstrip('/')}"), home, writable=False) is None:
        return None
    return "unsafe-value", f"--path {path} would serve keys, or what hides them, to everybody", "below /srv or /models"


def taken_by_system(name: str) -> bool:
    """Whether a service of this name would take the place of a unit that the host is lost without."""
    return bool(_VITAL.fullmatch(f"{name}.service") or _MACHINE.fullmatch(f"{name}.service"))


_SANDBOX: Final = frozenset(
    """
    DevicePolicy IPAddressAllow IPAddressDeny KeyringMode LockPersonality MemoryDenyWriteExecute PrivateDevices
    PrivateTmp PrivateUsers ProcSubset ProtectClock ProtectControlGroups ProtectHome ProtectHostname ProtectKernelLogs
    ProtectKernelModules ProtectKernelTunables ProtectProc ProtectSystem RemoveIPC RestrictAddressFamilies
    RestrictNamespaces RestrictRealtime RestrictSUIDSGID SystemCallArchitectures SystemCallFilter UMask
    """.split()  # noqa: SIM905 - reads better
)
"""Lines of a native unit's sandbox that may go, one at a time."""
KEPT: Final = {
    "AmbientCapabilities": "", "CapabilityBoundingSet": "", "DropCapability": "", "NoNewPrivileges": "",
}  # fmt: skip
"""Lines that may not."""
_LOOSER: Final = {
    ("AppArmor", "unconfined"), ("ReadOnly", "false"), ("SeccompProfile", "unconfined"),
    ("SecurityLabelNested", "true"),
}  # fmt: skip
_LOOSER_WORDS: Final = re.compile(
    r"--security-opt[= ](?:seccomp|apparmor)[=:]unconfined|--ipc[= ]host|--oom-score-adj[= ]-\d+|--oom-kill-disable"
)


def loosened(host: Host, section: str, key: str, values: tuple[str, ...] | None) -> str | None:
    """What of the sandbox an accepted key takes away, as a clause; None where nothing."""
    if section == "Service" and host.runtime == "systemd" and key in _SANDBOX:
        return f"{key}= of the sandbox is not quadgen's own"
    if section != "Container":
        return None
    if values is None:
        return "the root of the container can be written to" if key == "ReadOnly" else None
    for value in values:
        found = _LOOSER_WORDS.search(value) if key == "PodmanArgs" else None
        if found is not None:
            return f"{found[0]} takes a layer of the container's sandbox away"
        if (key, value.casefold()) in _LOOSER:
            return f"{key}={value} takes a layer of the container's sandbox away"
    return None
