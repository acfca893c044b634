"""Whether both arms said the same, round by round."""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Final

from quadgen.measuring.result import Likeness
from quadgen.measuring.sample import Sample

_SHOWN: Final = 32
"""Characters that are shown of a difference."""

Pair = tuple[Sample, Sample]
"""Candidate and comparator of one round."""


def likeness(pairs: Sequence[Pair]) -> Likeness:
    """Compare what was said token by token; `pairs` are in the order of their rounds.

    An answer that goes on where the other ends differs from there on.
    """
    for one, other in pairs:
        if one.output != other.output:
            start = _shared(one.text, other.text)
            return Likeness(
                same=sum(first.output == second.output for first, second in pairs),
                rounds=len(pairs),
                first=(one.turn.round, _shared(one.output, other.output)),
                candidate=one.text[start : start + _SHOWN],
                comparator=other.text[start : start + _SHOWN],
            )
    return Likeness(same=len(pairs), rounds=len(pairs))


def _shared(one: Iterable[object], other: Iterable[object]) -> int:
    """How many of the first are the same."""
    return sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(one, other, strict=False)))
