"""How far a measurement is, and what its time went into."""

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import mean

from quadgen.measuring.sample import Arm, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Seconds of a run."""

    asked: float
    """In timed requests."""
    loading: float
    """In starting servers, warming them up, and ending them."""
    own: float
    """The rest, which is the instrument's own: counters, proofs, the journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far it is."""

    done: int
    """Samples that are there, those of an earlier run included."""
    total: int
    turn: Turn | None
    """What is taken next; None at the end."""
    elapsed: float
    """Seconds of this run."""
    left: float | None
    """Seconds that it will take on, as what was done so far took; None before both arms had their turn."""
    spent: Spent


@dataclass(slots=True, kw_only=True)
class Course:
    """What is still to be done, and how long each thing took."""

    total: int
    left: list[Turn]
    _began: float = field(default_factory=time.monotonic, init=False)
    _turned: float = field(default_factory=time.monotonic, init=False)
    """When the last sample was there."""
    _took: defaultdict[Arm, list[float]] = field(default_factory=lambda: defaultdict(list), init=False)
    """Seconds of each sample, the loading of its server included."""
    _asked: float = field(default=0.0, init=False)
    _loading: float = field(default=0.0, init=False)

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Count what is done meanwhile as a timed request."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._asked += time.monotonic() - began

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Count what is done meanwhile as starting, warming or ending of servers."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._loading += time.monotonic() - began

    def took(self, turn: Turn) -> None:
        """Note that a sample is there."""
        now = time.monotonic()
        self._took[turn.arm].append(now - self._turned)
        self._turned = now
        self.left.remove(turn)

    def progress(self) -> Progress:
        """How far it is now."""
        elapsed = time.monotonic() - self._began
        return Progress(
            done=self.total - len(self.left),
            total=self.total,
            turn=self.left[0] if self.left else None,
            elapsed=elapsed,
            left=self._estimate(self.left),
            spent=Spent(asked=self._asked, loading=self._loading, own=elapsed - self._asked - self._loading),
        )

    def _estimate(self, turns: Sequence[Turn]) -> float | None:
        """By the mean of each arm: a server that is loaded for several samples is part of the first one's time."""
        if any(turn.arm not in self._took for turn in turns):
            return None
        return sum(mean(self._took[turn.arm]) for turn in turns)
