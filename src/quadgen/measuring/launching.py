"""How the server of an arm is started: as its unit would, but for where it listens and what the instrument needs.

What is left out and what is added is all in two tables, each with its reason.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from quadgen.engines.registry import ENGINES
from quadgen.measuring.containers import container_words
from quadgen.measuring.launch import Launch
from quadgen.resolution import Argument, Card, Mount, Resolution
from quadgen.resolve.files import covers
from quadgen.unitfile import Word

_ASKED: Final = "it is asked on loopback by quadgen alone"
_READ: Final = "what it says at its start is read, and goes nowhere else"

LEFT_OUT: Final[Mapping[str, str]] = MappingProxyType({
    **dict.fromkeys(
        ("--host", "--port", "--reuse-port", "--api-prefix", "--api-key", "--api-key-file", "--ssl-key-file",
         "--ssl-cert-file"),
        _ASKED,
    ),
    **dict.fromkeys(
        ("--log-disable", "--log-file", "--log-jsonl", "--log-colors", "--log-verbosity", "--log-verbose"), _READ
    ),
    "--log-prompts-dir": "the prompts of a measurement are none of the service's",
    "--slots": "/slots says whether it speculates",
    "--sleep-idle-seconds": "a server that sleeps loads its model again within a sample",
    "--cache-ram": "a prompt that it kept would not be computed, and keeping takes time between requests",
})  # fmt: skip
"""Options of the service, by their own names, that a measured server is started without however they are written."""
ADDED: Final[Mapping[tuple[str, ...], str]] = MappingProxyType({
    ("--cache-ram", "0"): "no work is kept between requests",
    ("--metrics",): "its counters say what was drafted",
    ("--slots",): LEFT_OUT["--slots"],
    ("--log-verbosity", "4"): "from 4 on it names the drafters that it set up",
})  # fmt: skip
"""What a measured server is told beside what its service says, as far as the build knows it; both arms alike."""
_HOME: Final = "HOME"
"""The unit's is a directory that only its own user may write to."""


def launch(resolution: Resolution, *, server: str | None = None) -> Launch:
    """The server of an arm: in its container, or natively as `runtime: systemd` or `server`, a program, says.

    Its unit's limits and other keys are those of a container alone: a native server is started without them.
    """
    arguments = tuple(_words(resolution))
    found = Launch(
        program=server or resolution.binary, arguments=arguments, environment=tuple(_environment(resolution)),
        types=resolution.decision.types, ready_within=float(resolution.start_timeout),
    )  # fmt: skip
    if resolution.host.runtime == "systemd":
        return found
    if server is None:
        return replace(found, program="podman", environment=(), container=container_words(resolution))
    return replace(found, arguments=tuple(_outside(word, resolution.mounts) for word in arguments))


def _words(resolution: Resolution) -> Iterator[str]:
    for argument in resolution.arguments:
        if _name(resolution, argument) not in LEFT_OUT:
            yield from map(str, argument.words)
    there = {_name(resolution, argument) for argument in resolution.arguments} - LEFT_OUT.keys()
    for words in ADDED:
        if words[0] not in there and resolution.engine.table.find(words[0]) is not None:
            yield from words


def _name(resolution: Resolution, argument: Argument) -> str:
    """The option's own long name, whichever spelling the fleet has."""
    word: Word = argument.words[0]
    option = resolution.engine.table.find(word) if isinstance(word, str) else None
    return str(word) if option is None else option.canonical


def _environment(resolution: Resolution) -> Iterator[tuple[str, str]]:
    """The service's variables, without its HOME."""
    seen = {variable.name: variable.value for variable in resolution.environment if variable.name != _HOME}
    return iter(sorted({**dict(_uncontained(resolution)), **seen}.items()))


def _uncontained(resolution: Resolution) -> Iterator[tuple[str, str]]:
    """What hides the other cards from a native server, where a container is not passed them in the first place."""
    devices = resolution.devices
    rules = ENGINES[resolution.engine.kind].devices(resolution.backend)
    whole = len(devices.cards) == len(resolution.host.cards or devices.cards)
    if rules is None or whole or devices.names != tuple(f"{rules.prefix}{at}" for at in range(len(devices.cards))):
        return
    yield from rules.order
    yield rules.variable, rules.joined([_number(card) for card in devices.cards])


def _number(card: Card) -> str:
    """The card as a visibility variable names it: by what NVIDIA calls it, else by its position."""
    name = (card.id or "").removeprefix("nvidia.com/gpu=")
    return name if name.startswith(("GPU-", "MIG-")) and ":" not in name else str(card.position)


def _outside(word: str, mounts: tuple[Mount, ...]) -> str:
    """A word of a container's server with the paths that the host has for what is mounted; several have commas."""
    return ",".join(_path(part, mounts) for part in word.split(","))


def _path(path: str, mounts: tuple[Mount, ...]) -> str:
    for mount in sorted(mounts, key=lambda each: -len(each.target)):
        if covers(mount.target, path) and mount.source.startswith("/"):
            return f"{mount.source.rstrip('/')}{path.removeprefix(mount.target)}"
    return path
