"""What was seen of a host, as values."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeGuard

from quadgen.installed.places import Account
from quadgen.problems import Place, Problem

_SERVICE: Final = re.compile(r"[\w:.\\@-]+\.service").fullmatch
_UNWRITTEN: Final = re.compile("[\x00-\x1f\x7f\ud800-\udfff]").search
"""What no path of a rendered tree has."""


class Kind(StrEnum):
    """What stands at a path."""

    FILE = "a file"
    DIRECTORY = "a directory"
    LINK = "a symbolic link"
    OTHER = "neither a file nor a directory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Something that stands at a path of the host."""

    path: str
    """Below the root, without a slash in front."""
    kind: Kind
    data: bytes = b""
    """Of a file, or of what a link leads to."""
    mode: int = 0
    owner: int = 0
    target: str = ""
    """What a link says."""

    @property
    def masks(self) -> bool:
        """Whether systemd takes it for no unit at all."""
        return self.target == "/dev/null" or (self.kind is Kind.FILE and not self.data)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What the host's state says that quadgen owns on it."""

    path: str
    host: str
    files: tuple[str, ...] = ()
    """Below the root, without a slash in front."""
    services: tuple[tuple[str, str | None], ...] = ()
    """Unit and user."""
    running: Mapping[str, str] = field(default_factory=dict)
    """The `restart` digest that a unit was last started with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """The main process of a native service."""

    words: tuple[str, ...]
    environment: Mapping[str, str] | None
    """None where only its owner may see it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """The container that has the name of a service's."""

    name: str
    unit: str | None
    """The unit that started it."""
    running: bool
    words: tuple[str, ...]
    """What it was created with: podman-inspect(1), `CreateCommand`."""
    image: str
    """The image that it was made of, by its id."""
    image_name: str
    named: str | None = None
    """The id of the image that has this name today; None where none has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A unit as systemd has it: systemctl(1), `show`."""

    unit: str
    load: str
    active: str
    sub: str = ""
    result: str = ""
    fragment: str = ""
    source: str = ""
    drop_ins: tuple[str, ...] = ()
    stale: bool = False
    """Whether its files changed since they were read (`NeedDaemonReload`)."""
    enabled: str = ""
    """`UnitFileState`."""
    restarts: int = 0
    status: int = 0
    asserted: bool = True
    process: int = 0
    """Its main process; 0 is none."""
    queued: bool = False
    """Whether systemd has a job for it that is not done: of a unit that does not run, its start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Everything that was seen of one host."""

    root: str
    """As the user wrote it, `/` for the running system."""
    files: Mapping[str, Found] = field(default_factory=dict)
    """What stands at the declared paths, and at those of the state."""
    others: Mapping[tuple[str | None, str], tuple[Found, ...]] = field(default_factory=dict)
    """Files of a unit's name, and drop-ins for it, in the order in which they are looked for; by user and unit."""
    accounts: Mapping[str, Account] = field(default_factory=dict)
    """By name."""
    state: State | None = None
    loaded: Mapping[tuple[str | None, str], Loaded] = field(default_factory=dict)
    """By user and unit; what nobody could ask for is not there."""
    running: Mapping[tuple[str | None, str], Process | Container | None] = field(default_factory=dict)
    """As above; None where a service should have a container, and none is there."""
    generated: Mapping[tuple[str | None, str], bytes] = field(default_factory=dict)
    """The text of the unit file that systemd loaded, where a generator made it."""
    podman: str | None = None
    problems: tuple[Problem, ...] = ()
    """What could not be looked at."""

    def place(self, path: str, line: int = 1) -> Place:
        """A path of the host, as it is written here."""
        return Place(file=f"{self.root.rstrip('/')}/{path}", line=line, column=1)


def state(path: str, data: bytes) -> State | None:
    """Read the state that the last pull left; None where it is none."""
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(whole, dict) or whole.get("version") != 1 or not isinstance(whole.get("host"), str):
        return None
    files, services, running = (whole.get(key) or {} for key in ("files", "services", "running"))
    if not all(isinstance(each, dict) for each in (files, services, running)):
        return None
    return State(
        path=path,
        host=whole["host"],
        files=tuple(sorted(name.removeprefix("/") for name in files if _is_plain(name))),
        services=tuple(
            sorted((unit, _user(entry)) for unit, entry in services.items() if _SERVICE(unit)),
        ),
        running={unit: digest for unit, digest in running.items() if isinstance(digest, str)},
    )


def _user(entry: object) -> str | None:
    user = entry.get("user") if isinstance(entry, dict) else None
    return user if isinstance(user, str) else None


def _is_plain(name: object) -> TypeGuard[str]:
    return (
        isinstance(name, str) and not {"", ".", ".."} & set(name.removeprefix("/").split("/")) and not _UNWRITTEN(name)
    )
