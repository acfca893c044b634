"""Checkpoints on this machine, read from their start in windows: a header is some megabytes of many gigabytes."""

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from quadgen.disk.reading import unavailable
from quadgen.gguf.shards import siblings
from quadgen.gguf.source import Source
from quadgen.ownership import shown
from quadgen.problems import Unavailable

WINDOW: Final = 2**18
"""Bytes that are read at a time."""


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A `Source`."""

    name: str
    size: int
    descriptor: int

    def read(self, offset: int, least: int) -> bytes:
        """As `Source.read`."""
        pieces: list[bytes] = []
        have = 0
        while have < least:
            try:
                piece = os.pread(self.descriptor, max(least - have, WINDOW), offset + have)
            except OSError as error:
                raise unavailable("read", self.name, error) from error
            if not piece:
                break
            pieces.append(piece)
            have += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


@contextmanager
def opened(path: str) -> Iterator[list[Source]]:
    """Open a checkpoint: one source for each shard, in order, by the path of the first.

    Raises `Unavailable` with the path of what cannot be had, `Malformed` for the path of a later shard.
    """
    names = siblings(path)
    with ExitStack() as stack:
        files = [_opened(name, stack) for name in names[:1]]
        for number, name in enumerate(names[1:], 2):
            try:
                files.append(_opened(name, stack))
            except Unavailable as error:
                raise Unavailable(f"{error}, and it is shard {number} of {len(names)}") from error
        yield [*files]


def _opened(name: str, stack: ExitStack) -> LocalFile:
    try:
        # a pipe would wait for somebody to write
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        stack.callback(os.close, descriptor)
        found = os.fstat(descriptor)
    except OSError as error:
        raise unavailable("read", name, error) from error
    except ValueError as error:  # a NUL
        raise Unavailable(f"cannot read {shown(name)}: {error}") from error
    if not stat.S_ISREG(found.st_mode):
        what = "a directory" if stat.S_ISDIR(found.st_mode) else "not a file"
        raise Unavailable(f"cannot read {shown(name)}: it is {what}")
    return LocalFile(name, found.st_size, descriptor)
