"""What is to be run: a server, its target, a drafter, and the settings that are set against the formula."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from quadgen.facts.kinds import COSTS

PROMPT: Final = (
    "The keeper of the lighthouse climbed the stairs every evening, lit the lamp, "
    "and wrote into a book what the sea had brought that day."
)
NGRAM: Final = (
    "an n-gram drafter drafts only where the text repeats itself, and a round without a draft has nothing whose "
    "acceptance could be forced: measure it on its own work instead"
)
_OWN: Final = ("--host", "--port", "--api-key", "--api-key-file", "--api-prefix", "--ssl-key-file", "--ssl-cert-file",
               "--log-file", "--log-verbosity", "--parallel", "--cache-ram", "--reuse-port", "--sleep-idle-seconds",
               "--alias")  # fmt: skip
"""Options with one argument that are set here, or that would keep quadgen from asking."""
_OWN_ALONE: Final = frozenset({"--log-disable", "--log-jsonl", "--no-slots", "--no-webui", "--no-ui"})
_DECIDED: Final = frozenset({
    "--spec-type", "--spec-default", "--spec-draft-n-max", "--spec-draft-n-min", "--spec-draft-p-min",
    "--spec-synth-len", "--spec-synth-rates",
})  # fmt: skip
"""What each setting decides anew. Of --spec-type the server takes all that it is given, for the target alone too."""
_HIDING: Final = frozenset({
    "--api-key", "--api-key-file", "--api-prefix", "--ssl-key-file", "--ssl-cert-file", "--log-disable", "--log-jsonl",
})  # fmt: skip
"""Without these it is asked on loopback, and its log read; the rest of `_OWN` is overruled where it is given."""
_SPECULATING: Final = ("--spec-", "--draft", "--lookup-cache-")
_ADDED: Final = ("--parallel", "1", "--cache-ram", "0", "--metrics", "--slots", "--log-verbosity", "4")
"""One request at a time, none of whose work is kept; the counters, and the time of drafting, which is said at 4."""


class Clock(StrEnum):
    """What times are measured by."""

    WALL = "wall"
    """The server's own figures, in seconds."""
    CPU = "cpu"
    """Seconds that processors worked for the server: other work on the machine hardly moves them. They say what a
    client waits for only where one thread computes."""


class Setting(NamedTuple):
    """One way to run the server."""

    width: int = 0
    """Tokens of a draft; 0 without a drafter."""
    p: float = 0.0
    """The forced chance that a drafted token is accepted when those before it were."""

    @property
    def rates(self) -> str:
        """As --spec-synth-rates takes it: the chance that a position is accepted, those before it included."""
        return ",".join(f"{self.p ** (place + 1):.9f}" for place in range(self.width))

    @property
    def words(self) -> str:
        """For people."""
        return f"width {self.width} at p = {self.p:g}" if self.width else "the target alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Everything that decides what is run."""

    server: str
    """The program, as the user named it."""
    base: tuple[str, ...]
    """Arguments of the target: its model, devices, threads; nothing of speculation."""
    spec_type: str
    """One that runs a model: `draft-simple`, `draft-mtp`, …"""
    drafting: tuple[str, ...] = ()
    """Arguments of the drafter: its model, where it has one, its devices and threads."""
    widths: tuple[int, ...]
    """Tokens of a draft, each at least 1."""
    acceptances: tuple[float, ...]
    """Chances to force, each from 0 to 1, beside the 0 at which the cost of a round is measured."""
    clock: Clock = Clock.WALL
    samples: int = 3
    """How often each setting is measured, at least once."""
    together: bool = False
    """Whether the servers of all settings run at once and are asked in turn, instead of each sample starting its own:
    no loading between samples, so that what drifts meets all alike; but it takes the memory of all of them."""
    tokens: int = 96
    """Tokens of a sample, at least 1: the same in every setting, for a pass costs more the longer the text is."""
    prompt: str | tuple[int, ...] = PROMPT
    """A text, or tokens."""
    ready_within: float = 600.0
    """Seconds until a server answers."""

    @property
    def sequential(self) -> bool:
        """Whether each drafted token is a pass of its own."""
        return COSTS[self.spec_type].sequential

    @property
    def settings(self) -> tuple[Setting, ...]:
        """What one sample goes through, the target alone first."""
        chances = sorted({0.0, *self.acceptances})
        return (Setting(), *(Setting(width, p) for width in self.widths for p in chances))

    def arguments(self, setting: Setting) -> tuple[str, ...]:
        """Of the server, but for where it listens."""
        target = (*self.base, *_ADDED)
        if not setting.width:
            return target
        return (
            *target,
            *self.drafting,
            *("--spec-type", self.spec_type),
            *("--spec-draft-n-max", str(setting.width)),
            *("--spec-draft-p-min", "0"),  # else a drafter that doubts drafts fewer
            *("--spec-synth-rates", setting.rates),
        )

    @property
    def lengths(self) -> tuple[int, int]:
        """Tokens of a short request and of a long one, whose difference is a sample.

        The end of a request is not like the rest: the server drafts no more than it may still say. Both have that end,
        and the prompt, so neither is in their difference.
        """
        short = max(self.widths) + 2
        return short, short + self.tokens


def parted(arguments: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Arguments as quadgen writes them, to those of the target and those of the drafter.

    Left out is what an `Ask` decides itself, and what would hide the server: its address, keys, logs.
    """
    base: list[str] = []
    drafting: list[str] = []
    for option in _options(arguments):
        name = option[0]
        if name in _OWN or name in _OWN_ALONE or name in _DECIDED:
            continue
        (drafting if name.startswith(_SPECULATING) else base).extend(option)
    return tuple(base), tuple(drafting)


def forbidden(arguments: Sequence[str]) -> str | None:
    """The first option of a user's that an `Ask` decides itself, or that would hide the server; None without one."""
    return next((word for word in arguments if word in _DECIDED or word in _HIDING), None)


def _options(arguments: Sequence[str]) -> Iterator[list[str]]:
    """An option with its arguments: what follows and is no option itself. A negative number is none."""
    option: list[str] = []
    for word in arguments:
        if option and word.startswith("-") and not word[1:2].isdigit():
            yield option
            option = []
        option.append(word)
    if option:
        yield option
