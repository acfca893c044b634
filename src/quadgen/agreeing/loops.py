"""Where a text begins to say the same again and again, as greedy texts of small and of base models do."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

_TIMES: Final = 3
"""So often is a passage said at the end of a text that loops, the first time included."""
_LEAST: Final = 24
"""Tokens that a loop has at least, so that a rule across a page or a run of blanks is none."""
_WORDS: Final = 6
"""Tokens in a row that were all said before are said again; fewer come back in any text."""
_KINDS: Final = 3
"""Different tokens of such a row at least: a rule across a page is no passage."""
_SHARE: Final = 0.75
"""Of the tokens of a loop whose turns differ by a number or a name: so many of them are said again, at least."""
_NEARLY: Final = 0.9
"""The same of a loop whose turns differ in more than one place. Lists of records say something new in each: of JSON
with three fields, options of a program, and routes of a server 0.83 to 0.86 of Gemma 3's tokens are said again."""


def loop(tokens: Sequence[int]) -> int | None:
    """The token from which a text only repeats what it has said, up to its end; None where it does not.

    The first time that the passage is said does not belong to that. A turn may differ from those before it in a token
    here and there, such as a number that counts or the name of a month.
    """
    return min((at for at in (_exact(tokens), _near(tokens)) if at is not None), default=None)


def _exact(tokens: Sequence[int]) -> int | None:
    starts = [
        len(tokens) - again
        for period in range(1, len(tokens) // _TIMES + 1)
        if (again := _again(tokens, period)) >= max(period * (_TIMES - 1), _LEAST - period)
    ]
    return min(starts, default=None)


def _again(tokens: Sequence[int], period: int) -> int:
    """How many tokens at the end are what stood `period` before them."""
    for count, at in enumerate(range(len(tokens) - 1, period - 1, -1)):
        if tokens[at] != tokens[at - period]:
            return count
    return max(0, len(tokens) - period)


def _near(tokens: Sequence[int]) -> int | None:
    """The same for a text of which nearly all is said again: twice from where it begins, thrice at the end."""
    said = _said(tokens, 1)
    start, last = _nearly_all(said), _nearly_all(_said(tokens, _TIMES - 1))
    if start is None or last is None:
        return None
    again = said[start:]
    anew = sum(one and not other for one, other in pairwise([True, *again]))
    return start if anew <= _turns(tokens[start:]) or sum(again) >= _NEARLY * len(again) else None


def _turns(tokens: Sequence[int]) -> int:
    """How often what is said most often is said, without an overlap."""
    ends: dict[tuple[int, ...], list[int]] = {}
    for at in range(len(tokens) - _WORDS + 1):
        found = ends.setdefault(tuple(tokens[at : at + _WORDS]), [])
        if not found or found[-1] <= at:
            found.append(at + _WORDS)
    return max(map(len, ends.values()), default=0)


def _said(tokens: Sequence[int], times: int) -> list[bool]:
    """Of each token, whether it stands in a row of `_WORDS` that was said so often before, without an overlap."""
    found = [False] * len(tokens)
    seen: dict[tuple[int, ...], list[int]] = {}
    for at in range(len(tokens) - _WORDS + 1):
        row = tuple(tokens[at : at + _WORDS])
        if len(set(row)) < _KINDS:
            continue
        ends = seen.setdefault(row, [])
        if sum(end <= at for end in ends) >= times:
            found[at : at + _WORDS] = [True] * _WORDS
        if not ends or ends[-1] <= at:
            ends.append(at + _WORDS)
    return found


def _nearly_all(said: Sequence[bool]) -> int | None:
    """Where the longest end of a text begins that has enough tokens, and `_SHARE` of them said again."""
    count, start = 0, None
    for length, again in enumerate(reversed(said), 1):
        count += again
        if again and length >= _LEAST and count >= length * _SHARE:
            start = len(said) - length
    return start
