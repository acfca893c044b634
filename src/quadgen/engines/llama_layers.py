"""One option under two keys of `flags`: reported where the fleet can undo it."""

from quadgen.engines.base import Ask


def report_twice(ask: Ask, key: str, other: str, *, keep: str = "keep one") -> None:
    """Report two keys that are one option: `key` where one layer says both, else the one of the higher layer.

    Layers merge key by key, so that only a null takes the lower one out; `keep` is the hint where that is not it.
    """
    low, high = sorted((other, key), key=lambda each: _rank(ask, each))
    hint = keep
    if _rank(ask, low) < _rank(ask, high):
        place = ".".join(map(str, ask.report.chain.origin("flags", low)[:-1]))
        hint = f"add `{low}: null` beside it, since {place} says {low}"
    ask.report.add("duplicate-flag", f"{high} and {low} are one option", "flags", high, hint=hint, at_key=True)


def _rank(ask: Ask, key: str) -> int:
    """The position of the highest layer that says a key."""
    path = ask.report.chain.origin("flags", key)[:-2]
    return next((at for at, layer in enumerate(ask.report.chain.layers) if layer.path == path), 0)
