"""The command line of `quadgen measure`, and which of its options go together."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

import typer

from quadgen.fleet.kinds import BACKENDS
from quadgen.measuring.sample import SAMPLES, TOKENS

STDOUT: Final = "-"


class Mode(StrEnum):
    """What is measured."""

    PLAN = "--plan"
    """Nothing: a fleet's needs are listed."""
    FLEET = "--fleet"
    URL = "--url"
    ALONE = "MODEL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options as they were written; None, or empty, where one was not. Metadata is what a message calls them."""

    target: str | None = field(default=None, metadata={"option": "HOST[/SERVICE]|MODEL"})
    fleet: str | None = field(default=None, metadata={"option": "--fleet"})
    profile: str | None = field(default=None, metadata={"option": "--profile"})
    server: str | None = field(default=None, metadata={"option": "--server"})
    backend: str | None = field(default=None, metadata={"option": "--backend"})
    build: str | None = field(default=None, metadata={"option": "--build"})
    against: str | None = field(default=None, metadata={"option": "--against"})
    draft_n_max: int | None = field(default=None, metadata={"option": "--draft-n-max"})
    draft_model: str | None = field(default=None, metadata={"option": "--draft-model"})
    server_args: str | None = field(default=None, metadata={"option": "--server-args"})
    context: int | None = field(default=None, metadata={"option": "--context"})
    model_id: str | None = field(default=None, metadata={"option": "--model-id"})
    url: str | None = field(default=None, metadata={"option": "--url"})
    against_url: str | None = field(default=None, metadata={"option": "--against-url"})
    device: str | None = field(default=None, metadata={"option": "--device"})
    api_key_file: str | None = field(default=None, metadata={"option": "--api-key-file"})
    workloads: tuple[str, ...] = field(default=(), metadata={"option": "--workload"})
    samples: int = SAMPLES
    tokens: int = TOKENS
    steady: bool = field(default=False, metadata={"option": "--steady"})
    together: bool = field(default=False, metadata={"option": "--together"})
    no_confirm: bool = field(default=False, metadata={"option": "--no-confirm"})
    resume: bool = field(default=False, metadata={"option": "--resume"})
    output: str | None = field(default=None, metadata={"option": "--output"})
    plan: str | None = field(default=None, metadata={"option": "--plan"})
    hosts: tuple[str, ...] = field(default=(), metadata={"option": "--host"})

    @property
    def mode(self) -> Mode:
        """What is measured, by the first option that says so."""
        named = ((self.plan, Mode.PLAN), (self.fleet, Mode.FLEET), (self.url, Mode.URL))
        return next((mode for value, mode in named if value is not None), Mode.ALONE)

    @property
    def place(self) -> tuple[str, str | None]:
        """Host and service of the target."""
        host, _, service = (self.target or "").partition("/")
        return host, service or None

    @property
    def words(self) -> tuple[str, ...]:
        """The words of --server-args. Raises `typer.BadParameter` where a quote is left open."""
        try:
            return tuple(shlex.split(self.server_args or ""))
        except ValueError as error:
            raise _bad("--server-args", f"these cannot be split into words: {error}".lower()) from None

    def given(self) -> Iterator[str]:
        """The options that were written, as a message names them."""
        for each in fields(self):
            if each.metadata and getattr(self, each.name) not in (None, (), False):
                yield each.metadata["option"]
        if self.samples != SAMPLES:
            yield "--samples"
        if self.tokens != TOKENS:
            yield "--tokens"

    def value(self, option: str) -> Any:  # noqa: ANN401 - an option's own type
        """What was written for an option."""
        return next((getattr(self, each.name) for each in fields(self) if each.metadata.get("option") == option), None)


_HOW: Final = frozenset({"--workload", "--samples", "--tokens", "--no-confirm", "--resume", "--output"})
_STARTED: Final = frozenset({"--steady", "--together", "--server"})
_NAMED: Final = frozenset({"--profile", "--draft-n-max", "--draft-model", "--model-id", "--backend", "--build"})
_TAKES: Final[Mapping[Mode, frozenset[str]]] = MappingProxyType({
    Mode.PLAN: frozenset({"--plan", "--host"}),
    Mode.FLEET: _HOW | _STARTED | {"--fleet", "HOST[/SERVICE]|MODEL", "--profile"},
    Mode.URL: _HOW | _NAMED | {"--url", "--against-url", "--api-key-file", "--device"},
    Mode.ALONE: _HOW | _STARTED | _NAMED | {"HOST[/SERVICE]|MODEL", "--against", "--server-args", "--context"},
})  # fmt: skip
_NEEDS: Final[Mapping[Mode, tuple[tuple[str, str], ...]]] = MappingProxyType({
    Mode.PLAN: (),
    Mode.FLEET: (
        ("HOST[/SERVICE]|MODEL", "say which service of the fleet is measured"),
        ("--profile", "say which profile of the fleet is measured"),
    ),
    Mode.URL: (
        ("--against-url", "name the server that it must beat"),
        ("--backend", "say what both compute on: no server tells"),
    ),
    Mode.ALONE: (
        ("HOST[/SERVICE]|MODEL", "name a checkpoint, or a service with --fleet, or a server that runs with --url"),
        ("--server", "say which llama-server is run; without a fleet, no other place names it"),
        ("--backend", "say what it computes on"),
        ("--profile", "say what is measured: a profile, or types as --spec-type names them"),
    ),
})  # fmt: skip
_WHY: Final[Mapping[Mode, str]] = MappingProxyType({
    Mode.PLAN: "--plan runs nothing, so leave this out",
    Mode.FLEET: "the fleet says it all, so leave this out",
    Mode.URL: "both servers run already, so leave this out",
    Mode.ALONE: "goes with",
})  # fmt: skip
_HOME: Final[Mapping[str, str]] = MappingProxyType({
    "--host": "--plan", "--against-url": "--url", "--api-key-file": "--url", "--device": "--url",
})  # fmt: skip
"""What an option belongs to that a model alone has nothing for."""


def check(asked: Asked, *, shell: bool) -> None:
    """Refuse options that do not go together. `shell` is whether a script is wanted."""
    mode = asked.mode
    if shell and mode is not Mode.PLAN:
        raise _bad("--format", "only --plan makes a script")
    for option in asked.given():
        if option not in _TAKES[mode]:
            raise _bad(option, f"goes with {_HOME[option]} alone" if mode is Mode.ALONE else _WHY[mode])
        _text(option, asked.value(option))
    for option, why in _NEEDS[mode]:
        if not asked.value(option):
            raise _bad(option, why)
    if mode is Mode.FLEET and not asked.place[0]:
        raise _bad("HOST[/SERVICE]|MODEL", "name the host before the slash")
    if asked.backend is not None and asked.backend not in BACKENDS:
        raise _bad("--backend", f"there is no {asked.backend!r}: one of {', '.join(BACKENDS)}")
    if asked.output is not None and not asked.output:
        raise _bad("--output", "name a ledger, or - for standard output")
    if asked.steady and asked.together:
        raise _bad("--together", "--steady keeps both running as well: one of the two")
    _ = asked.words
    _names(asked)


def _text(option: str, value: object) -> None:
    """Refuse bytes that are no text, which no row, plan or script could hold."""
    try:
        "".join(map(str, value if isinstance(value, tuple) else (value,))).encode()
    except UnicodeEncodeError:
        raise _bad(option, "this is not UTF-8, and rows are") from None


def _names(asked: Asked) -> None:
    """Refuse workloads without a name, without a file, and of one name."""
    seen = set()
    for each in asked.workloads:
        name, says, file = each.partition("=")
        if not name or (says and not file):
            raise _bad("--workload", f"takes NAME or NAME=FILE, and {each!r} is neither")
        if name in seen:
            raise _bad("--workload", f"{name} is there twice")
        seen.add(name)


def _bad(option: str, message: str) -> typer.BadParameter:
    return typer.BadParameter(message, param_hint=option)
