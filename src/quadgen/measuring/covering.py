"""The fewest of several sets that have everything which any of them has."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

_EXACT: Final = 16
"""Sets that overlap in circles up to which every choice is tried; of more, the largest is taken."""

_Sets = Mapping[int, frozenset[int]]


def fewest(sets: Sequence[frozenset[int]]) -> tuple[int, ...]:
    """Positions of the fewest sets with every element of all of them, ascending; of equal sets the earlier is taken.

    None of those taken can be left out. Exact where no more than 16 sets overlap in circles, that is, where neither an
    element of one set alone nor a set that holds another decides.
    """
    taken = _search({at: elements for at, elements in enumerate(sets) if elements})
    return tuple(sorted(_needed(taken, sets)))


def _search(sets: _Sets) -> list[int]:
    taken: list[int] = []
    while sets:
        alone = _alone(sets)
        if alone:
            taken += sorted(alone)
            sets = _without(sets, frozenset().union(*(sets[at] for at in alone)))
            continue
        smaller = _largest_only(sets)
        if len(smaller) < len(sets):
            sets = smaller
            continue
        if len(sets) <= _EXACT:
            return [*taken, *_branch(sets)]
        best = max(sets, key=lambda at: (len(sets[at]), -at))
        taken.append(best)
        sets = _without(sets, sets[best])
    return taken


def _branch(sets: _Sets) -> list[int]:
    """Try each set that has the element which fewest have."""
    holders = _holders(sets)
    rarest = min(holders, key=lambda element: (len(holders[element]), element))
    ways = ([at, *_search(_without(sets, sets[at]))] for at in holders[rarest])
    return min(ways, key=len)


def _holders(sets: _Sets) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for at, elements in sets.items():
        for element in elements:
            found.setdefault(element, []).append(at)
    return found


def _alone(sets: _Sets) -> set[int]:
    """The sets that have an element which no other has."""
    return {holders[0] for holders in _holders(sets).values() if len(holders) == 1}


def _largest_only(sets: _Sets) -> _Sets:
    """Leave out what is part of another set; of equal ones the later."""
    holders = _holders(sets)

    def spare(at: int) -> bool:
        own = sets[at]
        near = min((holders[element] for element in own), key=len)
        return any(own < sets[other] or (own == sets[other] and other < at) for other in near if other != at)

    return {at: elements for at, elements in sets.items() if not spare(at)}


def _without(sets: _Sets, gone: frozenset[int]) -> _Sets:
    return {at: left for at, elements in sets.items() if (left := elements - gone)}


def _needed(taken: Iterable[int], sets: Sequence[frozenset[int]]) -> list[int]:
    """Leave out, the last taken first, what the others have as well."""
    kept = list(dict.fromkeys(taken))
    times = Counter(element for at in kept for element in sets[at])
    for at in reversed(tuple(kept)):
        if all(times[element] > 1 for element in sets[at]):
            kept.remove(at)
            times.subtract(sets[at])
    return kept
