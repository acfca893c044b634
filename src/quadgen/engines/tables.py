"""Which shipped flag table speaks for an engine's build."""

from functools import cache

from quadgen.engines.flags import Choice, choose, shipped_tables


@cache
def choose_for(kind: str, build: str | None) -> Choice:
    """The table for a build of an engine of `kind`."""
    if kind != "llama.cpp":
        raise KeyError(kind)
    return choose(shipped_tables(), build)
