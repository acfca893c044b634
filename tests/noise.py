"""Rates as machines give them, to see what the verdict makes of them.

`PYTHONPATH=src:tests python tests/noise.py 7 2000` prints, for 7 rounds and 2000 measurements of each kind, how often
a candidate wins that is as fast as its comparator, and how often one that is faster by a factor. Draws are those of a
fixed seed.
"""

import math
import random
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from quadgen.measuring.bootstrap import interval

STRAY: Final = 7.3 / 40
"""What a stray sample was of the usual rate, on two cores that others used too."""


@dataclass(frozen=True, kw_only=True)
class Noise:
    """What moves a rate, as shares of it."""

    spread: float = 0.02
    """Standard deviation of each sample."""
    stray: float = 0.0
    """Chance of a stray sample."""
    lasting: float = 0.0
    """Correlation of a sample with the one before it."""
    drift: float = 0.0
    """How much slower the machine is in the end."""
    texts: float = 0.0
    """How far the fastest and the slowest of three texts, which take turns, are from the middle."""
    mirrored: bool = False
    """Whether the comparator comes first in every second round."""


KINDS: Final[Mapping[str, Noise]] = {
    "1%": Noise(spread=0.01),
    "2%": Noise(),
    "5%": Noise(spread=0.05),
    "2%, strays 10%": Noise(stray=0.1),
    "2%, lasting 0.5": Noise(lasting=0.5),
    "2%, lasting 0.9": Noise(lasting=0.9),
    "2%, texts 10%": Noise(texts=0.1),
    "2%, drift 2%": Noise(drift=0.02),
    "2%, drift 5%": Noise(drift=0.05),
    "2%, drift 5%, A B B A": Noise(drift=0.05, mirrored=True),
    "0.5%, drift 5%": Noise(spread=0.005, drift=0.05),
    "0.5%, drift 5%, A B B A": Noise(spread=0.005, drift=0.05, mirrored=True),
}


def chance(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - nothing here is secret


def rates(draws: random.Random, rounds: int, noise: Noise, ratio: float = 1.0) -> tuple[list[float], list[float]]:
    """Rates of candidate and comparator, taken by turns, round by round."""
    arms: tuple[list[float], list[float]] = ([], [])
    before, last = draws.gauss(0, 1), 2 * rounds - 1
    for at in range(2 * rounds):
        number, second = divmod(at, 2)
        before = noise.lasting * before + math.sqrt(1 - noise.lasting**2) * draws.gauss(0, 1)
        rate = math.exp(noise.spread * before) * (1 - noise.drift * at / last)
        rate *= 1 + noise.texts * (number % 3 - 1)
        rate *= STRAY if draws.random() < noise.stray else 1
        which = second ^ (noise.mirrored and number % 2)
        arms[which].append(40 * rate * (1 if which else ratio))
    return arms


def wins(rounds: int, noise: Noise, ratio: float, *, of: int, seed: int = 1) -> int:
    """How many of so many measurements say that the candidate is faster."""
    draws = chance(seed)
    return sum(interval(*rates(draws, rounds, noise, ratio))[0] > 1 for _ in range(of))


def main(rounds: int, of: int) -> None:
    ratios = (1.0, 1.02, 1.05, 1.1, 1.2)
    sys.stdout.write(f"{rounds} rounds{'':21}" + "".join(f"{ratio:>9}" for ratio in ratios) + "\n")
    for name, noise in KINDS.items():
        told = "".join(f"{wins(rounds, noise, ratio, of=of) / of:9.2%}" for ratio in ratios)
        sys.stdout.write(f"{name:29}{told}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
