"""Which flag table speaks for an engine's build."""

from functools import cache

from quadgen.engines.flags import Choice
from quadgen.engines.registry import ENGINES


@cache
def choose_for(kind: str, build: str | None) -> Choice:
    """The table for a build of an engine of `kind`."""
    return ENGINES[kind].flags(build)
