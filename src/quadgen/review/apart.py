"""Values beside each other, so that a reader sees what differs: two that are not the same never look the same."""

from collections.abc import Sequence
from typing import Final
from unicodedata import normalize

LONG: Final = 160
"""Characters up to which a value is shown whole: an image with its digest is, a probe is not."""
AROUND: Final = 40
"""Characters of what all values share that are shown before and after what differs."""


def apart(old: Sequence[str], new: Sequence[str]) -> tuple[list[str], list[str]]:
    """The values of both sides as they are shown; long ones without what all of them begin and end with.

    All lose as much at each end, and get an ellipsis for it, so that no two become alike. What is on one side only is
    whole, since nothing else shows what was left out. Every character shows.
    """
    shown = _spelled([*old, *new])
    if old and new:
        shown = _middles(shown)
    return shown[: len(old)], shown[len(old) :]


def _spelled(values: list[str]) -> list[str]:
    """With an escape for each character that does not show, and for letters where only their composition differs.

    A backslash is doubled then, or it would read like one of these.
    """
    composed = len({normalize("NFC", value) for value in values}) < len(set(values))
    if not composed and all(map(str.isprintable, values)):
        return values
    return ["".join(_letter(each, plain=not composed) for each in value) for value in values]


def _letter(letter: str, *, plain: bool) -> str:
    if letter == "\\":
        return "\\\\"
    return letter if letter.isprintable() and (plain or letter.isascii()) else ascii(letter)[1:-1]


def _middles(values: list[str]) -> list[str]:
    if max(map(len, values)) <= LONG or len(set(values)) == 1:
        return values
    begin = _shared(values)
    end = _shared([value[begin:][::-1] for value in values])
    before, after = _left_out(begin), _left_out(end)
    dots = "…" if before else "", "…" if after else ""
    return [f"{dots[0]}{value[before : len(value) - after]}{dots[1]}" for value in values]


def _shared(values: list[str]) -> int:
    """With how many characters all values begin: what the first and the last of their order share, all share."""
    least, most = min(values), max(values)
    return next((at for at, each in enumerate(least) if each != most[at : at + 1]), len(least))


def _left_out(shared: int) -> int:
    """Of so many characters at one end how many are left out: an ellipsis for a few would be no gain."""
    return shared - AROUND if shared > 2 * AROUND else 0
