"""An answer while it comes: its bytes within bounds of size and time, and its lines."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import httpx

from quadgen.server.failures import Asked, NoAnswer, unreachable
from quadgen.server.patience import Patience

MOST: Final = 16 * 2**20
"""Bytes of an answer, and of one event; /slots of 64 slots has 100 kB."""
MOST_EVENTS: Final = 64 * 2**20
"""Bytes of an answer in events, which have some 300 a token."""
_PLAIN: Final = frozenset({"", "identity", "none"})


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Coming:
    """An answer whose status and headers are there. What reads it raises `NoAnswer`."""

    response: httpx.Response
    asked: Asked
    patience: Patience

    @property
    def status(self) -> int:
        """Its HTTP status."""
        return self.response.status_code

    @property
    def headers(self) -> Mapping[str, str]:
        """By names that may be asked for in any case."""
        return self.response.headers

    def text(self) -> str:
        """All of it; what is no UTF-8 is replaced."""
        return b"".join(piece for _, piece in self.pieces(MOST)).decode("utf-8", "replace")

    def lines(self) -> Iterator[tuple[float, bytes]]:
        """Its lines with their times; cut at line feeds only: JSON may hold every other character that ends a line."""
        rest = b""
        arrived = 0.0
        for arrived, piece in self.pieces(MOST_EVENTS):
            *lines, rest = (rest + piece).split(b"\n")
            if len(rest) > MOST:
                raise self.asked.failed(f"one event of its answer has more than {MOST} bytes")
            yield from ((arrived, line.rstrip(b"\r")) for line in lines)
        if rest:
            yield arrived, rest

    def pieces(self, most: int) -> Iterator[tuple[float, bytes]]:
        """Its bytes with the `time.monotonic()` of their arrival; `most` of them.

        As they were sent: a few compressed bytes can come to any number.
        """
        if self.headers.get("content-encoding", "").strip().lower() not in _PLAIN:
            raise self.asked.failed("its answer is compressed, although it was asked not to", self.status)
        chunks, have = self.response.iter_raw(), 0
        while (piece := self._next(chunks)) is not None:
            have += len(piece)
            if have > most:
                raise self.asked.failed(
                    f"its answer has more than {most} bytes: that is no answer of a server of models"
                )
            yield time.monotonic(), piece

    def _next(self, chunks: Iterator[bytes]) -> bytes | None:
        failed: NoAnswer | None = None
        piece, late = None, False
        try:
            piece = next(chunks, None)
        except (httpx.HTTPError, OSError) as error:
            failed = unreachable(error, self.asked)
            late = self.patience.renewed and isinstance(error, httpx.TimeoutException)
        if late or self.patience.over:
            seconds = f"{self.patience.seconds:g} seconds"
            since = f", and no event of it came for {seconds}" if self.patience.renewed else f" after {seconds}"
            raise self.asked.failed(f"its answer is not whole{since}")
        if failed is not None:
            raise failed  # outside: what httpx raises holds the key
        return piece
