"""Reading the headers of checkpoints that a command line names."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from quadgen.cli.malformed import malformed
from quadgen.facts import reading
from quadgen.facts.record import Facts
from quadgen.gguf.header import Header
from quadgen.gguf.source import Malformed, Source
from quadgen.gguf.tokens import Words, words
from quadgen.problems import Problem, Rejected
from quadgen.remote.names import is_remote, shown


class Found(NamedTuple):
    """A checkpoint that was read."""

    name: str
    """As it was asked for, without what is secret in an address; of the first shard."""
    facts: Facts
    headers: tuple[Header, ...]
    """Of all shards, in order."""
    words: Words | None = None
    """None where there are none, or nobody asked for them."""


def read(name: str, *, environ: Mapping[str, str]) -> Found:
    """Read one checkpoint. Raises `Rejected` where it is none, `Unavailable` where it cannot be had."""
    found = _read(name, environ, whole=False)
    if isinstance(found, Problem):
        raise Rejected([found])
    return found


def both(target: str, draft: str, *, environ: Mapping[str, str]) -> tuple[Found, Found]:
    """Read two checkpoints with their tokens. Raises as `read`, for both at once."""
    one, other = (_read(name, environ, whole=True) for name in (target, draft))
    if isinstance(one, Problem) or isinstance(other, Problem):
        raise Rejected([each for each in (one, other) if isinstance(each, Problem)])
    return one, other


def _read(name: str, environ: Mapping[str, str], *, whole: bool) -> Found | Problem:
    called, shards = shown(name), []
    try:
        with _opened(name, environ) as sources:
            shards = [source.name for source in sources]
            called = shards[0]
            facts, headers = reading.read(sources)
            tokens = words(sources[0]) if whole and facts.vocabulary is not None else None
    except Malformed as error:
        return malformed(called, error, shards)
    return Found(called, facts, headers, tokens)


@contextmanager
def _opened(name: str, environ: Mapping[str, str]) -> Iterator[list[Source]]:
    if is_remote(name):
        from quadgen import remote  # noqa: PLC0415 - only what is fetched needs it

        with remote.opened(name, environ=environ) as sources:
            yield sources
    else:
        from quadgen.disk import windows  # noqa: PLC0415 - only what lies here needs it

        with windows.opened(name) as sources:
            yield sources
