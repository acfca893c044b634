"""What a service is made of: what the fleet names, what was decided of it, and what it gets of its host."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from quadgen.engines.flags import FlagTable
from quadgen.evidence import Request, Row, Setting
from quadgen.facts.record import Facts
from quadgen.speculation import ProfileSpec
from quadgen.unitfile import Word

STOP_GRACE = 15
"""Seconds between Podman's SIGKILL and systemd's, so that Podman removes the container itself."""
UNIFIED = -1
"""`vram` of a card that computes in the host's own memory."""
UNLIMITED = -1
"""`memlock` without a bound."""


class Argument(NamedTuple):
    """One option with its value, as consecutive words of the argument vector."""

    words: tuple[Word, ...]
    why: str
    """The field of the fleet file that decided it, several of them with commas between, or the rule."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The way from a service to the first field that decided it."""
        return tuple(self.why.split(", ")[0].split(".", 1))


class Variable(NamedTuple):
    """One environment variable of the server."""

    name: str
    value: str
    why: str
    """The field of the fleet file that decided it, or the rule."""


class Share(NamedTuple):
    """A part of the host's memory, or of a card's."""

    what: str
    size: int
    """Bytes."""
    spare: bool = False
    """Whether the service starts and runs without it where no other service wants it."""
    card: int | None = None
    """The position of the card that it lies on; None is the host's own memory, also of a card that computes in that."""
    grows: bool = False
    """Whether it is there only after a while of use, up to this size."""
    missing: str | None = None
    """What is not in `size`, as a sentence without its end; None where nothing is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is recorded of the files of a service; None where nobody recorded it, or there is no such file."""

    model: Facts | None = None
    draft: Facts | None = None
    """Of the draft model."""
    head: Facts | None = None
    """Of an MTP head in a file of its own."""
    mmproj: Facts | None = None


NOTHING_KNOWN = Known()


class Override(NamedTuple):
    """One key that the fleet itself sets in a unit; None takes quadgen's own line out."""

    section: str
    key: str
    values: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineEntry:
    """One of the fleet's engines."""

    name: str
    kind: str
    build: str | None
    backends: frozenset[str]
    image: str | None
    binary: str | None
    entrypoint: tuple[str, ...]
    table: FlagTable
    table_note: str | None
    """A sentence where the flag table is not exactly this build's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A checkpoint. Exactly one of `file`, `hf` and `url` is set."""

    name: str
    id: str
    file: str | None
    hf: str | None
    url: str | None
    mtp: bool | str | None
    """True: a head in the file; a file name: a head of its own; False: none; None: nobody says."""
    mmproj: str | None
    chat_template_file: str | None
    size: int | None
    """Bytes of the whole checkpoint."""
    facts: Facts | None = None
    """What is recorded of its header; `mtp` is then the file's own answer, but for a head in a file of its own."""
    head_facts: Facts | None = None
    """The same of the file that `mtp` names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One GPU of a host. `vram` and `reserve` in bytes; `vram` None: unknown; `UNIFIED`: the host's own."""

    position: int
    name: str | None
    id: str | None
    vram: int | None
    reserve: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One machine, as far as all of its services share it."""

    name: str
    runtime: Literal["podman", "systemd"]
    podman: str
    rootless: str | None
    home: str
    user: str | None
    selinux: str
    cards: tuple[Card, ...] | None
    """None: the fleet does not say."""
    memory: int | None
    """Bytes; None: the fleet does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """What a service sees of the host's GPUs; empty on cpu."""

    cards: tuple[Card, ...] = ()
    names: tuple[str, ...] = ()
    """As the engine names them inside: CUDA0, Vulkan0, ..."""
    count: int | None = None
    """How many of its backend the engine finds, those that it is not told of included; None where nobody says."""
    passed: tuple[str, ...] = ()
    """Device nodes and CDI names for AddDevice=."""
    env: tuple[tuple[str, str], ...] = ()
    """Variables that hide the other cards."""
    measured_as: tuple[str, ...] = ()
    """Card names as measurements write them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A bind mount, or a named volume where `source` is no path."""

    source: str
    target: str
    options: str

    @property
    def text(self) -> str:
        """As Podman's --volume writes it."""
        return f"{self.source}:{self.target}:{self.options}" if self.options else f"{self.source}:{self.target}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The speculation of a service: what was asked, what it came to, and the rows that allow it."""

    profile: ProfileSpec
    setting: Setting
    against: Setting | None
    types: tuple[str, ...]
    """In the profile's own order, for --spec-type."""
    draft_n_max: int | None
    flags: tuple[tuple[str, Any], ...]
    draft_model: Model | None
    head_file: str | None
    """The MTP head's own file."""
    rows: tuple[Row, ...]
    """The measurements that allow it."""
    costs: tuple[Row, ...]
    """What it loses on other workloads."""
    notes: tuple[str, ...]
    request: Request | None = None
    """What the ledgers were asked; None where nothing had to be."""
    again: str | None = None
    """How it is measured again, where the rows are of another build or card and the policy says to warn."""
