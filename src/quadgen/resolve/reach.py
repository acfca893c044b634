"""What of its host a service may be given: the paths and devices that would hand over the host are not among them.

A container's root is the host's root wherever the container sees a file of the host's (user_namespaces(7), rootful
Podman has none): without any capability it still owns what root owns.
"""

import re
from functools import lru_cache
from typing import Final

from quadgen.engines.base import Refusal

_CLOSED: Final = tuple(
    """
    /boot /dev /efi /etc /proc /run /sys /var/backups /var/cron /var/lib/containerd /var/lib/containers /var/lib/docker
    /var/lib/kubelet /var/lib/lxc /var/lib/machines /var/lib/portables /var/lib/private /var/lib/systemd /var/run
    /var/spool/at /var/spool/cron
    """.split()  # noqa: SIM905 - reads better
)
"""Nothing at, below or above these: keys and passwords, sockets of other programs, what starts as root."""
_OPEN: Final = tuple(
    """
    /etc/ca-certificates /etc/group /etc/hosts /etc/localtime /etc/OpenCL /etc/passwd /etc/pki/ca-trust
    /etc/pki/tls/certs /etc/resolv.conf /etc/ssl/cert.pem /etc/ssl/certs /etc/timezone /etc/vulkan
    """.split()  # noqa: SIM905 - reads better
)
"""What people need of /etc: nothing in there is secret, and it may be read."""
_HOLDERS: Final = ("/dev/shm", "/run/media")  # noqa: S108 - nothing is made there
"""What is below them is somebody's own: files in memory, and the disks that a desktop mounts."""
_PROGRAMS: Final = ("/bin", "/lib", "/lib32", "/lib64", "/nix", "/sbin", "/usr")
"""What the host itself runs: it may be read."""
_WHOLE: Final = frozenset({"/", "/home", "/var", "/var/home", "/var/lib"})
"""Directories of everybody: something below them may be meant."""
_PRIVATE: Final = frozenset(
    """
    .aws .azure .bash_history .bash_login .bash_logout .bash_profile .bashrc .config .docker .git-credentials .gitconfig
    .gnupg .gnome .kube .local .mozilla .netrc .password-store .pki .profile .ssh .thunderbird .vault-token .zprofile
    .zshenv .zshrc bin
    """.split()  # noqa: SIM905 - reads better
)
"""Of a home: keys, and what that user's shell or manager runs. .local/share is looked at more closely."""
_SHARED_PRIVATE: Final = frozenset({"containers", "keyrings", "systemd", "applications", "dbus-1", "flatpak"})
_HOME: Final = re.compile(r"(/home/[^/]+|/root|/var/home/[^/]+|/var/roothome)(?:/(.*))?")
_NODE: Final = re.compile(
    r"/dev/(?:dri(?:/(?:by-path/)?[\w:.@-]+)?|kfd|nvidia[\w-]*(?:/[\w-]+)?|accel(?:/[\w-]+)?|dxg|infiniband(?:/[\w-]+)?"
    r"|mali\d+|galcore|rknpu\w*|nvhost[\w-]*|nvmap)"
)
_CDI: Final = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*=[\w.:-]+")
_CLASS: Final = re.compile(r"char-(?:nvidia[\w*-]*|drm|kfd|accel)")


def covers(directory: str, path: str) -> bool:
    """Whether `path` is `directory` or below it."""
    return directory in ("/", path) or path.startswith(f"{directory}/")


@lru_cache(maxsize=1024)
def path_refusal(path: str, home: str, *, writable: bool) -> Refusal | None:
    """Why a service may not be given `path` of its host, absolute and clean; None where it may.

    `home` is that of the user that runs it.
    """
    path = path.rstrip("/") or "/"
    why = _why(path, home, writable=writable)
    if why is None:
        return None
    hint = "add `ro`" if why is _READ_ONLY else "give it a directory of its own, such as one below /srv"
    return "unsafe-value", f"{path} of the host {why}", hint


_READ_ONLY: Final = "is what the host itself runs or trusts: it may be read, and not be written to"


def _why(path: str, home: str, *, writable: bool) -> str | None:
    if any(path.startswith(f"{holder}/") for holder in _HOLDERS):
        return None
    if any(covers(open_one, path) for open_one in _OPEN):
        return _READ_ONLY if writable else None
    if path in _WHOLE:
        return "holds what belongs to others too"
    for closed in _CLOSED:
        if covers(closed, path):
            return f"is no service's: {closed} holds keys, sockets or what runs as root"
        if covers(path, closed):
            return f"holds {closed}, where keys, sockets or what runs as root are"
    if writable and any(covers(programs, path) for programs in _PROGRAMS):
        return _READ_ONLY
    return _of_home(path, home, writable=writable)


def _of_home(path: str, home: str, *, writable: bool) -> str | None:
    """A user's own home may be read where a model lies in it, and not be written to."""
    found = _HOME.fullmatch(path)
    if home != "/" and covers(path, home):
        own = path == home and home != "/root"
        return None if own and not writable else "holds everything of the user that runs it"
    inside = path.removeprefix(f"{home}/") if path.startswith(f"{home}/") else None
    if inside is None and found is not None:
        if not found[2]:
            return "is the whole home of a user"
        inside = found[2]
    if inside is None:
        return None
    first, *rest = inside.split("/")
    if first == ".local" and rest[:1] == ["share"] and len(rest) > 1 and rest[1] not in _SHARED_PRIVATE:
        return None
    return f"is private to its user: {first} holds keys or what that user runs" if first in _PRIVATE else None


def device_refusal(device: str) -> Refusal | None:
    """Why a service may not have a device, a CDI name or a node, with `:container:permissions`; None where it may."""
    node = device.partition(":")[0] if device.startswith("/") else device
    if _CDI.fullmatch(device) or (_NODE.fullmatch(node) and "/../" not in f"{node}/" and "/." not in node):
        return None
    return (
        "unsafe-value",
        f"{device} is no GPU or accelerator, and may hand the host's disks or memory over",
        "such as /dev/dri/renderD128, /dev/kfd, nvidia.com/gpu=0",
    )


def device_class_refusal(rule: str) -> Refusal | None:
    """Why a native unit may not be let at what DeviceAllow= names; None where it may."""
    name = rule.partition(" ")[0]
    if _CLASS.fullmatch(name) or (name.startswith("/") and device_refusal(name) is None):
        return None
    return "unsafe-value", f"{name} is no GPU or accelerator", "such as char-drm, char-nvidia*, /dev/kfd"
