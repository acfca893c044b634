"""What the target does today: its rate, what a round of it yields, and so what its step takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from quadgen.triage.figures import joined
from quadgen.triage.given import Given, Unclear

_APART: Final = 0.02
"""How far rate, step and commit may be apart before they contradict each other."""
_CAME: Final = {
    True: "none of its drafts was accepted",
    False: "drafted nothing",
    None: "yielded one token per round",
}
"""What came of a speculation that won nothing, by whether it drafted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was said of the target; None is what was not."""

    rate: Given | None = None
    """Tokens per second."""
    step: Given | None = None
    """Seconds of a round of the target as it runs today."""
    commit: Given | None = None
    """Tokens that such a round yields, at least 1."""
    plain_step: Given | None = None
    """Seconds of a pass over one token without drafting."""
    internal: bool = False
    """Whether the rate is the engine's own: without prompts, waiting and delivery."""
    engine_rate: float | None = None
    """The engine's own rate beside a rate that a client saw."""
    idle: str | None = None
    """Of a server that speculates although its rounds yielded one token: what was seen, a sentence without its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Rate, step and commit, of which each follows from the other two."""

    rate: float
    """Tokens per second today: the incumbent."""
    step: float
    """Seconds of a round of the target as it runs today, which is a pass where it does not draft."""
    commit: float
    """Tokens that a round of it yields today, at least 1; 1 where it does not draft."""
    source: str
    internal: bool = False
    engine_rate: float | None = None
    plain: Given | None = None
    """Seconds of a pass over one token without drafting, where that was measured."""
    told: bool = True
    """Whether anybody said what a round yields; if not, 1 was assumed."""
    idle: str | None = None
    """That it speculates all the same, as `Figures.idle`, where its rounds yield one token because of that source."""

    @property
    def drafts(self) -> bool:
        """Whether it speculates already."""
        return self.commit > 1 + _APART / 10

    @property
    def plain_step(self) -> float:
        """Seconds of a pass over one token; taken to be a round of today where nobody measured it."""
        return self.plain.value if self.plain else self.step

    @property
    def plain_rate(self) -> float:
        """Tokens per second of passes that yield one token each."""
        return 1 / self.plain_step


def either(first: Figures | None, other: Figures | None) -> Figures | None:
    """What the first source says, and the other where it says nothing."""
    if first is None or other is None:
        return first or other
    return Figures(
        rate=first.rate or other.rate,
        step=first.step or other.step,
        commit=first.commit or other.commit,
        plain_step=first.plain_step or other.plain_step,
        internal=first.internal if first.rate else other.internal,
        engine_rate=first.engine_rate or (other.rate.value if other.rate and other.internal and first.rate else None),
        idle=first.idle if first.commit else other.idle,
    )


def target(flags: Figures, read: Figures | None = None) -> Target:
    """Put together what the options say and what was read; options win. Raises `Unclear`.

    Rate and step give what a round yields, rate and commit give the step, a step alone gives the rate. The rate that
    was read counts only where the options say neither rate nor step: a step of one source and a rate of another
    would make up a commit that nobody saw.
    """
    read = read or Figures()
    rate, step = flags.rate, flags.step
    commit = flags.commit or (None if rate and step else read.commit)
    internal = False
    if rate is None and step is None:
        rate, internal = read.rate, read.internal
    if rate is None and step is None:
        raise Unclear("--target-rate", "say what the target does today: --target-rate, --target-step, or a source")
    told = commit is not None or bool(rate and step)
    made_rate, made_step, made_commit, source = _completed(rate, step, commit)
    if made_commit < 1 - _APART:
        sentence = f"a round of the target yields at least 1 token, and rate x step is {made_commit:.3g}"
        raise Unclear("--target-step", sentence)
    return Target(
        rate=made_rate, step=made_step, commit=max(1.0, made_commit), source=source, internal=internal,
        engine_rate=read.engine_rate, plain=flags.plain_step or read.plain_step, told=told,
        idle=read.idle if commit is not None and commit is read.commit else None,
    )  # fmt: skip


def idle(types: Sequence[str], where: str, *, drafted: bool | None) -> str:
    """The sentence of `Figures.idle`; `types` is empty where the server does not say which.

    `drafted` is None where nobody says whether it drafted at all.
    """
    named = f" with {joined(list(types))}" if types else ""
    return f"the target speculates{named}, and {_CAME[drafted]} {where}"


def _completed(rate: Given | None, step: Given | None, commit: Given | None) -> tuple[float, float, float, str]:
    """Rate, step, commit, and where they are from."""
    if rate and step:
        product = rate.value * step.value
        source = f"rate from {rate.source}, step from {step.source}"
        if commit is None:
            return rate.value, step.value, product, f"{source}, commit = rate x step"
        if abs(product / commit.value - 1) > _APART:
            sentence = f"rate x step is {product:.4g}, and the commit per round is said to be {commit.value:.4g}"
            raise Unclear("--commit-per-round", sentence)
        return rate.value, step.value, commit.value, f"{source}, commit from {commit.source}"
    yields = commit.value if commit else 1.0
    whence = f"commit from {commit.source}" if commit else "commit assumed to be 1"
    if rate:
        return rate.value, yields / rate.value, yields, f"rate from {rate.source}, {whence}, step = commit / rate"
    assert step is not None  # noqa: S101 - one of both is there
    return yields / step.value, step.value, yields, f"step from {step.source}, {whence}, rate = commit / step"
