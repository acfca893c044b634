"""What the options of `quadgen triage` hold, read and bounded. Raises `typer.BadParameter`, which names the option."""

import math
from typing import Final

import typer

from quadgen.breakeven import WIDEST, Verify, acceptance_for
from quadgen.triage import Band, Drafter, VerifyCost, drafter
from quadgen.triage.drafter import names

_LEAST: Final = 1e-6
_MOST: Final = 1e9
"""Between these, no rate, step or factor of a machine overflows the arithmetic."""
_WIDTHS: Final = 64
"""Widths that are shown at once, at most."""


def bad(option: str, sentence: str) -> typer.BadParameter:
    """What is wrong with an option."""
    return typer.BadParameter(sentence, param_hint=option)


def positive(option: str, value: float | None) -> float | None:
    """A rate or a time; None stays."""
    if value is not None and not _LEAST <= value <= _MOST:  # nan is in no range
        raise bad(option, f"{value:g} is not a number above 0 that a machine could have")
    return value


def commit(option: str, value: float | None) -> float | None:
    """Tokens of a round."""
    if value is not None and not 1 <= value <= WIDEST + 1:
        raise bad(option, f"{value:g} is not a number of tokens: a round yields at least 1, at most {WIDEST + 1}")
    return value


def share(option: str, value: float | None) -> float | None:
    """A part of the whole, and not nothing."""
    if value is not None and not 0 < value <= 1:
        raise bad(option, f"{value:g} is not a share above 0, up to 1")
    return value


def named(option: str, name: str) -> Drafter:
    """A class of drafters, or a --spec-type."""
    found = drafter(name)
    if found is None:
        raise bad(option, f"{name!r} is none of {', '.join(names())}")
    return found


def widths(option: str, text: str | None) -> tuple[int, ...]:
    """`1,3,7`; empty where nobody asks."""
    if text is None:
        return ()
    found = tuple(sorted({_whole(option, part, "a width") for part in text.split(",")}))
    if not 1 <= found[0] <= found[-1] <= WIDEST:
        raise bad(option, f"a round drafts at least 1 token, and at most {WIDEST}")
    if len(found) > _WIDTHS:
        raise bad(option, f"these are {len(found)} widths, and at most {_WIDTHS} are shown")
    return found


def verify_cost(option: str, text: str) -> VerifyCost:
    """`1.3` for every width, or `4:1.2,8:1.6`: by tokens of a pass."""
    if ":" not in text:
        factor = _factor(option, text)
        return VerifyCost(factor=Verify(flat=factor), source=f"{option}, the same at every width", measured=True)
    points = tuple(_point(option, part) for part in text.split(","))
    sizes = [tokens for tokens, _ in points]
    if sizes != sorted(set(sizes)):
        raise bad(option, "give each number of tokens once, in ascending order")
    return VerifyCost(factor=Verify(points=points), source=option, measured=True)


def band(option: str, text: str) -> Band | None:
    """`0.5`, `0.4-0.6`, or `2.2@3`: tokens of a round at a width; None where it is none of these, and so a file."""
    if not text:
        raise bad(option, "say an acceptance between 0 and 1, or a file")
    if (ends := _floats(text, "@")) is not None:
        return _of_length(option, text, *ends)
    ends = _floats(text) or _floats(text, "-")
    if ends is None:
        return None
    if not all(0 <= end <= 1 for end in ends):
        raise bad(option, f"{text} is not an acceptance: that is between 0 and 1")
    if ends[0] > ends[-1]:
        raise bad(option, f"{text} goes from more to less")
    return Band(low=ends[0], high=ends[-1], source=option)


def _floats(text: str, between: str = "") -> list[float] | None:
    """A number, or two with something between them; None where it is not that."""
    parts = text.split(between) if between else [text]
    try:
        return [float(part) for part in parts] if len(parts) == 1 + len(between) else None
    except ValueError:
        return None


def _of_length(option: str, text: str, length: float, width: float) -> Band:
    if not (1 <= width <= WIDEST and width == int(width)):
        raise bad(option, f"{text}: a round drafts at least 1 token, and at most {WIDEST}")
    p = acceptance_for(length, int(width)) if length >= 1 else None
    if p is None:
        raise bad(option, f"{text}: a round of {width:g} drafts yields at least 1 token, at most {width + 1:g}")
    return Band(low=p, high=p, source=f"{option}, {length:g} tokens per round at a width of {width:g}")


def _point(option: str, text: str) -> tuple[int, float]:
    tokens, _, factor = text.partition(":")
    size = _whole(option, tokens, "a number of tokens")
    if not 2 <= size <= WIDEST + 1:  # noqa: PLR2004 - a pass over 1 token is the unit
        raise bad(option, f"a pass over {size} tokens is none that verifies drafts: give 2 to {WIDEST + 1}")
    return size, _factor(option, factor)


def _factor(option: str, text: str) -> float:
    try:
        factor = float(text)
    except ValueError:
        raise bad(option, f"{text!r} is no number: write 1.3, or 4:1.2,8:1.6") from None
    if not math.isfinite(factor) or not _LEAST <= factor <= _MOST:
        raise bad(option, f"{text} is not a multiple of a pass over one token")
    return factor


def _whole(option: str, text: str, what: str) -> int:
    word = text.strip()
    if not (word.isascii() and word.isdigit() and len(word) <= 9):  # noqa: PLR2004 - more digits than any has
        raise bad(option, f"{text!r} is not {what}")
    return int(word)
