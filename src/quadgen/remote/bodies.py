"""The bytes of an answer as they arrive: some now, more later, and never more than asked for by a network packet."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import httpx

from quadgen.remote.failures import Failed, failure
from quadgen.remote.web import Answer, Web

GRACE: Final = 60.0
SLOWEST: Final = 2.0**14
"""Seconds that a piece may take however small it is, and bytes a second on top: a body can drip for ever."""


@dataclass(slots=True, repr=False)
class Body:
    """A body that is read piece by piece. Close it: a server goes on sending while it is open."""

    answer: Answer
    web: Web
    position: int
    """Byte of the file that comes next."""
    end: int | None
    """Byte of the file at which the body ends, where the headers say it."""
    clock: Callable[[], float] = time.monotonic
    _chunks: Iterator[bytes] = field(init=False)
    _rest: bytes = b""
    _failed: Failed | None = None
    """What ended it, told to whoever wants more than came before."""

    def __post_init__(self) -> None:
        self._chunks = self.answer.response.iter_raw()

    def close(self) -> None:
        """Give the connection back where the body is at its end, else close it."""
        if self.position == self.end and not self._rest and "content-length" in self.answer.response.headers:
            with suppress(httpx.HTTPError, OSError):
                next(self._chunks, b"")  # httpx sees the end, which has come, only when it looks for more
        self.answer.response.close()

    def skip(self, position: int) -> None:
        """Pass over everything before `position`. Raises `Failed`."""
        while self.position < position:
            if not self.take(min(position - self.position, 2**20)):
                return

    def take(self, size: int) -> bytes:
        """Return up to `size` bytes; fewer at the end, and where the connection breaks later. Raises `Failed`."""
        pieces, have = [], 0
        until = self.clock() + GRACE + size / SLOWEST
        while have < size and self._failed is None:
            if not self._rest:
                try:
                    self._rest = next(self._chunks, b"")
                except (httpx.HTTPError, OSError) as error:
                    self._failed = failure(error, self.answer.spot.url.netloc.decode("ascii"))
                if not self._rest:
                    break
                self.web.left -= len(self._rest)
                if self.clock() > until:
                    self._failed = Failed("the server sends too slowly", passing=False)
                    break
            piece, self._rest = self._rest[: size - have], self._rest[size - have :]
            pieces.append(piece)
            have += len(piece)
        self.position += have
        if self._failed is not None and not (self._failed.passing and have):
            raise self._failed
        return b"".join(pieces)
