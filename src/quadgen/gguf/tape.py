"""The bytes of a header as a reader passes over them: some windows of a source, and nothing that was passed."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, Final

from quadgen.gguf.source import Malformed, Source

LITTLE: Final = {kind: Struct(f"<{kind}") for kind in "BbHhIiQqfd"}
BIG: Final = {kind: Struct(f">{kind}") for kind in "BbHhIiQqfd"}
"""How a number is written, by its letter in the module struct, in both orders."""
MOST: Final = 64 * 2**20
"""Bytes of a header: those of the largest vocabularies have a fifth of it. A file can be a hole of many terabytes."""
_SHOWN: Final = 80


def named(text: str) -> str:
    """A key or the name of a tensor as messages have it: short, and with nothing that does not show."""
    cut = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return cut if cut.isprintable() else repr(cut)[1:-1]


@dataclass(slots=True)
class Tape:
    """A place in a file that only moves on. What cannot be read raises `Malformed` with that place."""

    source: Source
    buffer: bytes = b""
    """What is at hand of the file."""
    at: int = 0
    """Where in `buffer` the reader stands."""
    start: int = 0
    """Byte of the file at which `buffer` begins."""
    numbers: dict[str, Struct] = field(default_factory=lambda: LITTLE)
    lengths: Struct = LITTLE["Q"]
    """Of counts and of the lengths of texts."""
    _sha256: Any = field(default_factory=hashlib.sha256)
    _hashed: int = 0
    """How much of `buffer` the digest has."""

    @property
    def position(self) -> int:
        """Byte of the file that comes next."""
        return self.start + self.at

    def wrong(self, message: str, *, key: str | None = None, offset: int | None = None) -> Malformed:
        """What is wrong at a place, which is here unless `offset` says another; `key` is as messages have it."""
        return Malformed(message, offset=self.position if offset is None else offset, key=key)

    def short(self, what: str, *, key: str | None = None) -> Malformed:
        """What is wrong where the file is too short for `what`, such as "its header needs"."""
        size = self.source.size
        have = self.start + len(self.buffer) if size is None else size
        return self.wrong(f"{what} more than the {have} bytes that the file has", key=key)

    def fits(self, count: int, what: str, *, key: str | None = None) -> None:
        """Raise `Malformed` if the source says that there are no `count` bytes more, or they are too many."""
        size = self.source.size
        if size is not None and count > size - self.position:
            raise self.short(what, key=key)
        self._bounded(count, key)

    def have(self, count: int, key: str | None = None) -> None:
        """Bring at least `count` bytes to hand."""
        if len(self.peek(count)) - self.at < count:
            raise self.short("its header needs", key=key)

    def peek(self, count: int) -> bytes:
        """Bring `count` bytes to hand, or fewer at the end of the file, and return the buffer."""
        if len(self.buffer) - self.at < count:
            self._bounded(count, None)
            self._hash()
            rest = self.buffer[self.at :]
            read = self.source.read(self.position + len(rest), count - len(rest))
            self.start += self.at
            self.buffer = rest + read if rest else bytes(read)
            self.at = self._hashed = 0
        return self.buffer

    def number(self, kind: str) -> int:
        """Pass over one whole number of a letter of the module struct."""
        number = self.numbers[kind]
        self.have(number.size)
        found: int = number.unpack_from(self.buffer, self.at)[0]
        self.at += number.size
        return found

    def length(self) -> int:
        """Pass over a count, or the length of a text: of 8 bytes, of 4 in the first version."""
        self.have(self.lengths.size)
        found: int = self.lengths.unpack_from(self.buffer, self.at)[0]
        self.at += self.lengths.size
        return found

    def take(self, count: int, key: str | None = None) -> bytes:
        """Pass over bytes and return them."""
        self.have(count, key)
        found = self.buffer[self.at : self.at + count]
        self.at += count
        return found

    def skip(self, count: int, key: str | None = None) -> None:
        """Pass over bytes, as many as there are, a window at a time."""
        while count > len(self.buffer) - self.at:
            count -= len(self.buffer) - self.at
            self.at = len(self.buffer)
            self.have(1, key)
        self.at += count

    def pieces(self, count: int, unit: int, most: int, key: str | None = None) -> Iterator[bytes]:
        """Pass over `count` units of some bytes, and return them in pieces of up to `most` units."""
        while count:
            self.have(unit, key)
            units = min(count, most, (len(self.buffer) - self.at) // unit)
            yield self.take(units * unit)
            count -= units

    def digest(self) -> str:
        """SHA-256 in hex of everything that was passed."""
        self._hash()
        found: str = self._sha256.hexdigest()
        return found

    def _bounded(self, count: int, key: str | None) -> None:
        if self.position + count > MOST:
            raise self.wrong(f"its header has more than the {MOST // 2**20} MiB that quadgen reads", key=key)

    def _hash(self) -> None:
        if self.at > self._hashed:
            self._sha256.update(memoryview(self.buffer)[self._hashed : self.at])
            self._hashed = self.at
