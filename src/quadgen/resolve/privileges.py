"""What would make a service the host's root, in the words of podman-run(1), Podman's units and systemd's.

Refused is what gives a service more than it has as it was decided: capabilities beyond its own process, namespaces
of the host or of another, files that root opens for it. What only takes a layer of its sandbox away is let through
with a note (`sandbox.loosened`), and so are commands of a container's unit, which run outside of it.
"""

import re
from collections.abc import Iterator
from posixpath import normpath
from typing import Final

from quadgen.engines.base import Refusal
from quadgen.resolve import reach
from quadgen.unitfile import Malformed, service_split

CAPABILITIES: Final = frozenset({"IPC_LOCK", "NET_BIND_SERVICE", "SYS_NICE"})
"""What acts on the process alone: locked memory, a port below 1024, priorities and NUMA placement."""
_BOXED: Final = frozenset({"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SYS_PTRACE"})
"""What a container may have beside, with a note: in its own namespaces these reach its own processes and mounts.

Podman gives all but the last to every container (containers.conf(5), default_capabilities): an image whose entry
point changes the user needs them, and a model file that only its owner may read. The last stands in AMD's own
instructions:
https://rocm.docs.amd.com/projects/install-on-linux/en/docs-6.2.0/how-to/3rd-party/pytorch-install.html.
A native unit has the whole host before it, and gets none of them.
"""
_OWN_NAMESPACE: Final = {
    "cgroupns": r"private", "ipc": r"private|none|shareable|host", "pid": r"private", "uts": r"private",
    "userns": r"auto(?::[\w=:,@-]+)?|keep-id(?::[\w=,]+)?|nomap",
}  # fmt: skip
"""Values of --ipc and its like that share nothing with the host or with another container, but for ipc=host: ROCm's
own instructions ask for it."""
_ORDERS: Final = r"(?:run\.oci|io\.podman|io\.container|io\.crun|org\.criu|io\.kubernetes|module\.wasm)\."
"""Annotations that runtimes and their hooks take for orders (crun(1), oci-hooks(5))."""
_LOG: Final = r"/var/log/(?:[\w@-][\w.@-]*/)*[\w@-][\w.@-]*\.log"
"""A file of a log, which nothing on a host runs or trusts."""
_LOG_FILES: Final = rf"(?i:path=(?!{_LOG}$))"
_STREAMS: Final = (
    r"null|inherit|journal|journal\+console|kmsg|kmsg\+console|syslog|syslog\+console"
    rf"|(?:file|append|truncate):{_LOG}"
)
HOOKS: Final = frozenset({"ExecStartPre", "ExecStartPost", "ExecStopPost", "ExecCondition", "ExecReload"})
_HARMLESS: Final = (
    r"-?(?:/usr)?/s?bin/(?:true|sleep(?: +[\w.]+)+|nvidia-modprobe(?: +[\w=,.-]+)*"
    r"|modprobe(?: +(?:-[aqv]+|\w[\w=,.-]*))+"
    r"|nvidia-smi(?: +(?!-f|--f|--d|daemon|dmon|pmon|stats)[\w=,.-]+)*"
    r"|(?:test|mountpoint|findmnt|ls|\[)(?: +(?:[\w=,.:@/!-]+|'[\w=,.:@/! -]*'|\]))*)"
)
"""Commands that leave nothing behind but a loaded driver; no path is written by any of them.

Wherever `WorkingDirectory=` points: modprobe takes no option that names a configuration (-C, -d), nor nvidia-smi one
that names a file.
"""
_DIRECTORIES: Final = frozenset(
    {"CacheDirectory", "ConfigurationDirectory", "LogsDirectory", "RuntimeDirectory", "StateDirectory"}
)
_ROOTED: Final = {
    "BusName": "takes a name on the system's bus",
    "IPCNamespacePath": "joins a namespace of others",
    "NetworkNamespacePath": "joins a namespace of others",
    "OpenFile": "makes systemd open a file itself",
    "PIDFile": "makes systemd remove a file itself",
    "PermissionsStartOnly": "lets commands of the unit run as the manager's own user",
    "Sockets": "gives the service the sockets of another",
    "TTYPath": "makes systemd open a terminal itself",
    "USBFunctionDescriptors": "makes systemd open a file itself",
    "USBFunctionStrings": "makes systemd open a file itself",
    "UserNamespacePath": "joins a namespace of others",
}
"""Keys of [Service] that no value makes harmless, with what they do (systemd.exec(5), systemd.service(5))."""
_GROUPS: Final = frozenset(
    """
    0 adm disk docker input incus incus-admin kmem libvirt lxd podman root shadow sudo systemd-journal wheel
    """.split()  # noqa: SIM905 - reads better
)
"""Groups whose members are root in all but name, or read what is secret."""


def capability_refusals(key: str, names: list[str], *, boxed: bool) -> Iterator[Refusal]:
    """What is wrong with capabilities that are added to a container (`boxed`) or a native unit."""
    allowed = CAPABILITIES | _BOXED if boxed else CAPABILITIES
    for name in names:
        if name.upper().removeprefix("CAP_") not in allowed:
            message = f"{name} in {key}= is power over the host, which no server needs"
            yield "unsafe-value", message, f"{', '.join(sorted(allowed))} may be added"


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
        return "unsafe-value", f"{shown} undoes what was decided", "use NoNewPrivileges="
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
            return next(capability_refusals(name, value.split(","), boxed=True), None)
        case "--security-opt":
            return security_refusal(value)
        case "--creds":
            return "literal-secret", f"{name} is a password in git", "log the host in: podman login --authfile"
        case "--decryption-key" if ":" in value:
            return "literal-secret", f"{name} is given a passphrase, which is then in git", "use a key without one"
        case "--tls-verify" if value.casefold() not in ("", "true", "1"):
            return (
                "unsafe-value",
                f"{name}={value} lets anybody on the way choose the image",
                "declare the registry insecure in the host's registries.conf",
            )
    return container_refusal(_KEYS.get(name, ""), value)


_KEYS: Final = {
    "--annotation": "Annotation", "--cgroups": "CgroupsMode", "--group-add": "GroupAdd",
    "--health-log-destination": "HealthLogDestination", "--log-opt": "LogOpt",
}  # fmt: skip
"""Options with the key of [Container] that says the same."""


def container_refusal(key: str, value: str) -> Refusal | None:
    """What is wrong with one word of a key of [Container]."""
    match key:
        case "AddCapability":
            return next(capability_refusals(key, [value], boxed=True), None)
        case "UserNS":
            return namespace_refusal(key, "userns", value)
        case "Unmask" if _kernel(value):
            return _unmasked(f"Unmask={value}")
        case "Annotation" if re.match(_ORDERS, value):
            name = value.partition("=")[0]
            return "unsafe-value", f"the annotation {name} is an order to what runs the container", "leave it out"
        case "LogOpt" if re.match(_LOG_FILES, value):
            return (
                "unsafe-value",
                f"{key}={value} makes Podman write a file of the host",
                "use the journal, or a file /var/log/NAME.log",
            )
        case "HealthLogDestination" if value not in ("local", "events_logger"):
            return "unsafe-value", f"{key}={value} makes Podman write files of the host", "use local or events_logger"
        case "CgroupsMode" if value not in ("enabled", "split", "no-conmon"):
            return "unsafe-value", f"{key}={value} takes the container out of its unit's bounds", "leave it out"
        case "GroupAdd" if value in _GROUPS:
            return "unsafe-value", f"the group {value} is root in all but name, or reads what is secret", None
    return None


def service_refusals(service: str, key: str, value: str) -> Iterator[Refusal]:
    """What is wrong with one line of a key of [Service]; `service` is the name of its unit."""
    if key in HOOKS:
        yield from _hook(key, value)
    elif key in ("AmbientCapabilities", "CapabilityBoundingSet"):
        yield from capability_refusals(key, value.split(), boxed=False)
    elif key in ("StandardOutput", "StandardError", "StandardInput") and not re.fullmatch(_STREAMS, value):
        yield (
            "unsafe-value",
            f"{key}={value} makes systemd open a file or a terminal itself",
            "use journal, or append:/var/log/NAME.log",
        )
    elif key in _ROOTED:
        yield "unsafe-value", f"{key}= {_ROOTED[key]}", "leave it out"
    elif key in _DIRECTORIES and any(word.split(":")[0].split("/")[0] != service for word in value.split()):
        message = f"{key}={value} gives the service a directory that may be another's"
        yield "unsafe-value", message, f"name it {service}, or one below {service}/"
    elif key == "SupplementaryGroups" and (wrong := sorted(_GROUPS.intersection(value.split()))):
        yield "unsafe-value", f"the group {wrong[0]} is root in all but name, or reads what is secret", None


def _hook(key: str, value: str) -> Iterator[Refusal]:
    prefix = value[: len(value) - len(value.lstrip("@-:+!|"))]
    if set(prefix) & set("+!|"):
        yield "unsafe-value", f"{key}={value} runs outside of the unit's sandbox", f"leave {prefix} out"
    try:
        service_split(value)
    except Malformed as error:
        yield "unsafe-value", f"{key}={value}: {error.reason}", None


def harmless(command: str) -> bool:
    """Whether a hook only looks, waits, or loads a driver."""
    return re.fullmatch(_HARMLESS, command) is not None


def served_refusal(path: str, home: str) -> Refusal | None:
    """Why the server may not give a directory to everybody who asks, as it does with that of `--path`."""
    if reach.path_refusal(normpath(f"/{path.lstrip('/')}"), home, writable=False) is None:
        return None
    return "unsafe-value", f"--path {path} would serve keys, or what hides them, to everybody", "below /srv or /models"
