"""Where Podman's generator and systemd look for a unit and for what changes it, in their order.

The first file of a name counts, and of the drop-ins of one name too. Podman: pkg/systemd/quadlet/unitdirs.go and
GetUnitDropinPaths in pkg/systemd/parser/unitfile.go; systemd: systemd.unit(5), "Unit File Load Path". Paths are below
the root of the host's file system, without a slash in front.
"""

from dataclasses import dataclass
from typing import Final

from quadgen import quadlet_keys

GENERATOR: Final = "generator"
"""The directory of a unit path that Podman's generator writes to."""

_SYSTEM: Final = (
    "etc/systemd/system.control", "run/systemd/system.control", "run/systemd/transient",
    "run/systemd/generator.early", "etc/systemd/system", "etc/systemd/system.attached", "run/systemd/system",
    "run/systemd/system.attached", "run/systemd/generator", "usr/local/lib/systemd/system", "usr/lib/systemd/system",
    "run/systemd/generator.late",
)  # fmt: skip
_DROP_INS_SINCE: Final = "5.0.0"
_WIDE_DROP_INS_SINCE: Final = "5.2.0"
_VENDORS: Final = ("usr/", "run/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A user of the host."""

    name: str
    uid: int
    gid: int
    home: str
    """Below the root of the host's file system, without a slash in front."""

    @property
    def runtime(self) -> str:
        """The directory of the user's manager at run time (XDG_RUNTIME_DIR), below the root."""
        return f"run/user/{self.uid}"


def quadlet_directories(account: Account | None, podman: str | None) -> tuple[str, ...]:
    """Where the generator looks for Quadlets, each with the directories below it; an unknown Podman looks everywhere.

    Of the system's, `etc/containers/systemd/users` is left out; of a user's, the directories of other users' numbers.
    """
    found: tuple[tuple[str, str], ...]
    if account is None:
        found = (
            ("run/containers/systemd", "5.3.0"),
            ("etc/containers/systemd", "4.4.0"),
            ("usr/share/containers/systemd", "4.4.0"),
        )
    else:
        found = (
            (f"{account.runtime}/containers/systemd", "5.3.0"),
            (f"{account.home}/.config/containers/systemd", "4.4.0"),
            ("etc/containers/systemd/users", "4.6.0"),
            (f"etc/containers/systemd/users/{account.uid}", "4.6.0"),
            ("usr/share/containers/systemd/users", "6.0.0"),
            (f"usr/share/containers/systemd/users/{account.uid}", "6.0.0"),
        )
    return tuple(path for path, since in found if _has(podman, since))


def unit_directories(account: Account | None) -> tuple[str, ...]:
    """Where systemd looks for units."""
    if account is None:
        return _SYSTEM
    home, runtime = account.home, account.runtime
    return (
        f"{home}/.config/systemd/user.control", f"{runtime}/systemd/user.control", f"{runtime}/systemd/transient",
        f"{runtime}/systemd/generator.early", f"{home}/.config/systemd/user", "etc/xdg/systemd/user",
        "etc/systemd/user", f"{runtime}/systemd/user", "run/systemd/user", f"{runtime}/systemd/generator",
        f"{home}/.local/share/systemd/user", "usr/local/share/systemd/user", "usr/share/systemd/user",
        "usr/local/lib/systemd/user", "usr/lib/systemd/user", f"{runtime}/systemd/generator.late",
    )  # fmt: skip


def unit_drop_ins(unit: str) -> tuple[str, ...]:
    """The directories, beside a unit or in any other of the unit path, whose drop-ins systemd takes for it."""
    return _folders(unit)


def quadlet_drop_ins(name: str, podman: str | None) -> tuple[str, ...]:
    """The directories in a directory of Quadlets whose drop-ins the generator takes for this one."""
    if not _has(podman, _DROP_INS_SINCE):
        return ()
    return _folders(name) if _has(podman, _WIDE_DROP_INS_SINCE) else (f"{name}.d",)


def is_of_vendor(path: str) -> bool:
    """Whether a drop-in is the distribution's, or a generator's, and is not of one unit: Fedora has some in usr/lib."""
    folder = path.rpartition("/")[0].rpartition("/")[2]
    return path.startswith(_VENDORS) and folder in {"service.d", "container.d"}


def _folders(name: str) -> tuple[str, ...]:
    """By its own name, by each prefix of it that ends with a dash, by its kind: the nearest first."""
    stem, _, suffix = name.rpartition(".")
    parts = stem.split("-")
    prefixes = [f"{'-'.join(parts[:number])}-.{suffix}.d" for number in range(len(parts) - 1, 0, -1)]
    return (f"{name}.d", *prefixes, f"{suffix}.d")


def _has(podman: str | None, since: str) -> bool:
    return podman is None or quadlet_keys.at_least(podman, since) is not False
