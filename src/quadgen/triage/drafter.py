"""A drafter as triage sees it: its class, which decides what a round costs, and the widths that it drafts."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from quadgen.engines.drafters import DEFAULTS, DRAFTERS, lookups
from quadgen.facts.kinds import COSTS, Cost

WIDTHS: Final = (1, 3, 7)
"""What is shown of a drafter that drafts as much as it is told to."""
WIDEST: Final = 16
"""The best width is looked for up to here, where the type does not have its own."""
_TYPICAL: Final = MappingProxyType({"plain": "draft-simple", "head": "draft-mtp", "block": "draft-dflash"})
"""A type of each class that runs a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafter:
    """What was named: a class, or a --spec-type, whose class is known."""

    name: str
    spec_type: str | None
    """None where only the class was named."""
    cost: Cost
    widths: tuple[int, ...]
    """What is shown where nobody asks for others."""

    @property
    def looks_up(self) -> bool:
        """Whether it looks tokens up and runs no model: it drafts only in some rounds, and as wide as its type is."""
        return self.cost.name == "ngram"

    @property
    def words(self) -> str:
        """What it is, with its article."""
        what = {
            "plain": "a plain draft model",
            "ngram": "an n-gram drafter",
            "head": "a trained head",
            "block": "a trained block drafter",
        }[self.cost.name]
        return what if self.spec_type is None else f"{what} ({self.spec_type})"

    def passes(self, width: int) -> int:
        """Passes of a model in a round that drafts `width` tokens."""
        if self.looks_up:
            return 0
        return width if self.cost.sequential else min(width, 1)


def drafter(name: str) -> Drafter | None:
    """The drafter of a class or --spec-type; None where there is none of that name."""
    if name in COSTS:
        widths = _own(name) if lookups([name]) else WIDTHS
        return Drafter(name=name, spec_type=name, cost=COSTS[name], widths=widths)
    if name in _TYPICAL:
        return Drafter(name=name, spec_type=None, cost=COSTS[_TYPICAL[name]], widths=WIDTHS)
    if name == "ngram":
        types = lookups(DRAFTERS)
        widths = tuple(sorted({width for each in types for width in _own(each)}))
        return Drafter(name=name, spec_type=None, cost=COSTS[types[0]], widths=widths)
    return None


def names() -> tuple[str, ...]:
    """Every name that `drafter` knows: the classes, then the types."""
    return (*dict.fromkeys(cost.name for cost in COSTS.values()), *COSTS)


def _own(spec_type: str) -> tuple[int, ...]:
    """The widths of an n-gram type: it drafts no less than the first and no more than the last."""
    widest = DRAFTERS[spec_type].width
    least = DEFAULTS.get(f"spec-{spec_type}-n-min", widest)
    return tuple(sorted({min(least, widest), widest}))
