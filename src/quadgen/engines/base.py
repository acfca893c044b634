"""What an engine must know, so that the rest of quadgen need not: its words, its devices and its images."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from quadgen.engines.flags import Choice, FlagTable
    from quadgen.resolution import (
        Argument,
        Decision,
        Devices,
        EngineEntry,
        Host,
        Known,
        Model,
        Probe,
        Resolution,
        Share,
        Variable,
    )
    from quadgen.resolve.report import Reporter
    from quadgen.speculation import ProfileSpec
    from quadgen.unitfile import Word

Refusal = tuple[str, str, str | None]
"""A code, a message and a hint."""
_POSITION = re.compile("0|[1-9][0-9]{0,3}").fullmatch
"""As engines write it themselves: CUDA00 is none of their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendDevices:
    """How one backend names its devices, and how a container or process gets at them."""

    prefix: str
    """The engine's device names are this and a number: CUDA0."""
    variable: str
    """Hides the other cards from a process."""
    joined: Callable[[Sequence[str]], str]
    """The variable's value for some cards."""
    order: tuple[tuple[str, str], ...] = ()
    """Variables that make the numbering the one of the PCI bus."""
    cdi: bool = False
    """Whether a card is passed to a container by its CDI name."""
    render_nodes: bool = False
    """Whether a card's `id` may be a render node below /dev/dri."""
    always: tuple[str, ...] = ()
    """Nodes that every container of the backend needs."""
    nodes: tuple[str, ...] = ()
    """Nodes that stand for all cards."""
    unit_nodes: tuple[str, ...] = ()
    """What DeviceAllow= of a native unit must let through."""

    def number(self, device: str) -> int | None:
        """The position that a name such as CUDA0 counts, from 0; None where no device of this backend is called so."""
        digits = device.removeprefix(self.prefix)
        return int(digits) if digits != device and _POSITION(digits) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """What the container of an engine needs beside what every container gets."""

    read_only: bool = False
    """Whether it runs on a read-only root with a writable HOME."""
    seccomp: str | None = None
    """For SeccompProfile=; None is Podman's own profile."""
    masks: tuple[str, ...] = ()
    """Paths of the image that it must not see."""
    arguments: tuple[str, ...] = ()
    """Of podman-run(1), where Quadlet has no key."""


class Lever(NamedTuple):
    """A variable by which a service takes less memory."""

    name: str
    value: str
    saves: int
    """Bytes that it takes less with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What the server of a service says of itself where it runs as it was decided; None is "not known beforehand"."""

    names: frozenset[str]
    """By any of these it may call its model."""
    slots: int | None
    context: int | None
    """Tokens of each slot."""
    file: str | None
    """The checkpoint's name, without its directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """Where the files of a service are, as the server sees them."""

    models_dir: str
    model: str
    mmproj: str | None
    chat_template_file: str | None
    lora: tuple[str, ...]
    draft_model: str | None
    head: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPath:
    """A file or directory that an argument of the fleet's own names."""

    path: str
    argument: "Argument"
    written: bool = False
    """Whether the server writes there; what it reads must be there before it starts."""
    served: bool = False
    """Whether it gives what is there to everybody who asks."""

    @property
    def name(self) -> str:
        """The option."""
        return str(self.argument.words[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Everything decided so far that an engine turns into words."""

    report: "Reporter"
    host: "Host"
    engine: "EngineEntry"
    backend: str
    model: "Model"
    decision: "Decision"
    devices: "Devices"
    paths: Paths
    listen: str
    port: int
    context: int
    api_key_file: "Word | None"
    boxed: bool
    """Whether it listens in a container network of its own, behind what is published."""
    exposed: bool
    """Reachable beyond loopback without a key."""
    known: "Known"
    """What is recorded of its files."""


class Engine(Protocol):
    """One kind of server. An engine is a module with one instance; nothing needs to inherit from this.

    `arguments` reports what the engine cannot do through `ask.report` and returns what it can say; it never
    returns a word that it knows the engine would refuse.
    """

    @property
    def kind(self) -> str:
        """As fleets write it."""

    @property
    def service(self) -> str:
        """The name of a host's only service."""

    @property
    def port(self) -> int:
        """Where it listens unless told otherwise."""

    @property
    def start_timeout(self) -> int:
        """Seconds, where nothing is known of the model's size."""

    @property
    def context(self) -> int | None:
        """Tokens of one conversation where nobody says; None where that depends on the checkpoint."""

    @property
    def backends(self) -> tuple[str, ...]:
        """What it can be built with."""

    @property
    def runtimes(self) -> tuple[str, ...]:
        """`podman`, `systemd`: how it can be run."""

    @property
    def drafters(self) -> tuple[str, ...]:
        """The types that a profile may draft with."""

    @property
    def own_head(self) -> bool:
        """Whether each of its checkpoints has an MTP head, whatever the fleet says of the model."""

    @property
    def unmeasurable(self) -> str | None:
        """Why `quadgen measure` cannot time its servers, as a sentence without its end; None where it can."""

    @property
    def program(self) -> str:
        """Where its published images have the server."""

    @property
    def box(self) -> Box:
        """What its containers need."""

    @property
    def variables(self) -> tuple[tuple[str, str], ...]:
        """The environment that each of its services has."""

    @property
    def closed(self) -> Mapping[str, str]:
        """Fields of a service that it has nothing for, with the reason."""

    def flags(self, build: str | None) -> "Choice":
        """The flags of a build."""

    def engine_refusals(self, fields: Mapping[str, Any]) -> Iterable[tuple[str, Refusal]]:
        """What an entry of `engines` asks for that it cannot be, each with its key."""

    def cannot_draft(self, spec: "ProfileSpec") -> str | None:
        """Why it can run a profile with no checkpoint at all, or None."""

    def variable(self, name: str, table: "FlagTable", value: str | None) -> Refusal | None:
        """Why the fleet may not set a variable; `value` is None where a secret holds it."""

    def companions(self, report: "Reporter", file: str) -> tuple[str, ...]:
        """Files that must be there beside the checkpoint `file`."""

    def devices(self, backend: str) -> BackendDevices | None:
        """How `backend` names its devices; None where it computes on none."""

    def image(self, engine: "EngineEntry", backend: str) -> str | None:
        """The image that is published for an engine; None where there is none."""

    def arguments(self, ask: Ask) -> "tuple[Argument, ...]":
        """The server's words after its own name.

        Each `Argument` is one option with its value, and why it is there, which `quadgen explain` prints: the key of
        a service that decided it (`context`, `flags.jinja`), several with commas between, or `rule: ` and a reason.
        """

    def paths(self, table: "FlagTable", arguments: "Iterable[Argument]") -> "Iterable[NamedPath]":
        """The files and directories that arguments name, but for those that a field of the fleet does."""

    def environment(self, ask: Ask) -> "tuple[Variable, ...]":
        """The variables that say what was decided."""

    def memlock(self, arguments: "Sequence[Argument]") -> int | None:
        """`limits.memlock` where nobody says, for a service with these arguments; None is the host's own."""

    def with_context(
        self, ask: Ask, arguments: "Sequence[Argument]", context: int
    ) -> "tuple[Ask, tuple[Argument, ...]]":
        """The same with a conversation of so many tokens, for `memory`."""

    def levers(self, service: "Resolution") -> tuple[Lever, ...]:
        """What is left to set where this service takes too much memory, the cheapest first."""

    def served(self, service: "Resolution") -> Served:
        """What a server of this service says of itself."""

    def memory(self, ask: Ask, arguments: "Sequence[Argument]") -> "tuple[Share, ...]":
        """What it takes of the host's memory and of each card with these arguments, as far as that is known.

        Empty where nobody knows anything.
        """

    def probe(self, ask: Ask) -> "Probe | None":
        """Its readiness probe; None where `health: false`."""
